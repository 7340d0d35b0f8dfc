#include "key/namespaces.h"

#include <algorithm>
#include <array>
#include <functional>

#include "base/text.h"
#include "key/path.h"
#include "key/unicode.h"

namespace lockkeeper::key {

namespace {

bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}

char ascii_upper(char c) {
  return is_lower(c) ? static_cast<char>(c - 32) : c;
}

// Every character that breaks the rule becomes `other`, once per run.
std::string replaced(std::string_view text, char other, const std::function<bool(char)>& good) {
  std::string out;
  for (const char c : text) {
    if (good(c))
      out.push_back(c);
    else if (!out.empty() && !out.ends_with(other))
      out.push_back(other);
  }
  while (out.ends_with(other)) out.pop_back();
  return out;
}

// '//', '.', '..' and the '/' at the end have one meaning in a route. Empty if ".." leaves it.
std::string normal_route(std::string_view path) {
  std::vector<std::string> kept;
  for (const std::string& part : split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      kept.push_back(part);
    } else {
      if (kept.empty()) return "";
      kept.pop_back();
    }
  }
  std::string out;
  for (const std::string& part : kept) out.append("/").append(part);
  return out.empty() ? "/" : out;
}

Result<std::string> route_of(std::string_view method, std::string_view path,
                             const std::string& whole) {
  const std::string start = "api:" + std::string(method) + " ";
  if (!path.starts_with('/'))
    return refuse(whole, "the route starts with '/'", start + normal_route(path));
  if (const auto query = path.find_first_of("?#"); query != std::string_view::npos) {
    return refuse(whole, "a route has no query and no fragment",
                  start + normal_route(path.substr(0, query)));
  }
  if (path.contains('*')) {
    return refuse(whole, "api: keys have no patterns; name each route");
  }
  if (path.contains('\\') || path.contains(' ')) {
    return refuse(
        whole, "a route has no blank and no '\\'",
        start + normal_route(replaced(path, '-', [](char c) { return c != ' ' && c != '\\'; })));
  }
  std::string route = normal_route(path);
  if (route.empty()) return refuse(whole, "'..' leaves the root of the routes");
  return route;
}

bool is_port(std::string_view rest) {
  std::string name = lowered(rest);
  for (const std::string_view end : {"/tcp", "/udp", "-port", "_port"}) {
    if (name.ends_with(end)) name.resize(name.size() - end.size());
  }
  for (const std::string_view front : {"localhost", "127.0.0.1", "ports", "port", "tcp", "udp"}) {
    if (!name.starts_with(front)) continue;
    name.erase(0, front.size());
    if (!name.empty() && std::string_view("-_:/.").contains(name.front())) name.erase(0, 1);
    break;
  }
  if (name.starts_with(':')) name.erase(0, 1);
  return !name.empty() && name.size() <= 5 && std::ranges::all_of(name, is_ascii_digit);
}

}  // namespace

Result<std::string> canonical_api(std::string_view rest, std::vector<std::string>& warnings) {
  constexpr std::array<std::string_view, 9> kMethods = {
      "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "CONNECT"};
  constexpr std::string_view kRule = "an api: key is a method, one space and a route";
  const std::string whole = "api:" + std::string(rest);
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  const std::size_t space = rest.find(' ');
  if (space == std::string_view::npos) {
    // `api:guardrails`, `api:/v1/users`, `api:GET/v1/users`.
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    std::string method;
    std::ranges::transform(rest.substr(0, slash), std::back_inserter(method), ascii_upper);
    const bool has_method = is_one_of(kMethods, method);
    std::string route(has_method ? rest.substr(slash) : rest);
    std::ranges::replace(route, ':', '/');
    return refuse(whole, kRule, "api:" + (has_method ? method : "GET") + " " + normal_route(route));
  }
  std::string method;
  std::ranges::transform(rest.substr(0, space), std::back_inserter(method), ascii_upper);
  if (!std::ranges::all_of(method, [](char c) { return is_upper(c) || c == '-'; })) {
    return refuse(whole, std::string(kRule) + "; a method has letters only", "api:GET /v1/users");
  }
  rest.remove_prefix(space);
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  auto route = route_of(method, rest, whole);
  if (!route) return route;
  if (!is_one_of(kMethods, method)) {
    warnings.push_back(in_quotes(whole) + ": '" + method +
                       "' is not a usual HTTP method; usual are GET POST PUT PATCH DELETE HEAD "
                       "OPTIONS TRACE CONNECT");
  }
  return method + " " + *route;
}

Result<std::string> canonical_db(std::string_view rest) {
  constexpr std::string_view kRule = "a db: key is 'db:migration-slot' or 'db:schema:TABLE'";
  const std::string whole = "db:" + std::string(rest);
  std::string name = lowered(rest);
  if (name == "migration-slot") return name;
  const auto good = [](char c) { return is_lower(c) || is_ascii_digit(c) || c == '_'; };
  if (!name.starts_with("schema:")) {
    if (name.starts_with("migration")) return refuse(whole, kRule, "db:migration-slot");
    const std::string table = replaced(name, '_', good);
    return refuse(whole, kRule, table.empty() ? "db:migration-slot" : "db:schema:" + table);
  }
  const std::string_view table = std::string_view(name).substr(7);
  if (table.empty()) return refuse(whole, "no table is named", "db:schema:users");
  if (!is_lower(table.front()) || !std::ranges::all_of(table, good)) {
    const std::string fixed = replaced(table, '_', good);
    const bool usable = !fixed.empty() && is_lower(fixed.front());
    return refuse(whole, "a table is lowercase letters, digits and '_', starting with a letter",
                  usable ? "db:schema:" + fixed : "db:schema:t_" + fixed);
  }
  return name;
}

Result<std::string> canonical_env(std::string_view rest) {
  const std::string whole = "env:" + std::string(rest);
  if (is_port(rest)) {
    return fail(Code::kInvalidResource,
                in_quotes(whole) +
                    ": a port is not locked by an env: key; "
                    "take one with 'lockkeeper ports'",
                "lockkeeper ports");
  }
  const auto good = [](char c) { return is_name_character(c) || c == '/'; };
  if (!std::ranges::all_of(rest, good) || !is_ascii_word(rest.front())) {
    std::string fixed = replaced(rest, '-', good);
    fixed.erase(0, fixed.find_first_not_of("._-/"));
    return refuse(whole,
                  "an env: name is letters, digits, '.', '_', '-' and '/', "
                  "starting with a letter or digit",
                  fixed.empty() ? "" : "env:" + fixed);
  }
  return std::string(rest);
}

Result<std::string> canonical_feature(std::string_view rest, const Rules& rules,
                                      std::vector<std::string>& warnings) {
  const std::string whole = "feature:" + std::string(rest);
  const std::size_t colon = rest.rfind(':');
  const bool bare = colon == std::string_view::npos || colon + 1 == rest.size() || colon == 0;
  if (bare) {
    // Only its author knows the purpose. We suggest "pause", which is always known.
    const std::string id = replaced(rest, '-', is_name_character);
    const bool purpose_only = colon == 0 && !id.empty();
    const std::string fixed =
        purpose_only ? "<id>:" + lowered(id) : (id.empty() ? "<id>" : id) + ":<purpose>";
    return refuse(whole, "a feature: key is an id, ':' and a purpose", "feature:" + fixed);
  }
  const std::string_view id = rest.substr(0, colon);
  const std::string purpose = lowered(rest.substr(colon + 1));
  const auto id_char = [](char c) { return is_name_character(c) || c == ':'; };
  const bool id_good = std::ranges::all_of(id, id_char) && !id.starts_with(':') &&
                       !id.ends_with(':') && !id.contains("::");
  if (!id_good) {
    const std::string fixed = replaced(id, '-', is_name_character);
    return refuse(whole, "a feature's id is letters, digits, '.', '_', '-' and ':' between them",
                  "feature:" + (fixed.empty() ? "FEAT-123" : fixed) + ":" +
                      replaced(purpose, '-', is_name_character));
  }
  if (!std::ranges::all_of(purpose, is_name_character) || !is_ascii_word(purpose.front())) {
    const std::string fixed = replaced(purpose, '-', is_ascii_word);
    return refuse(whole, "a purpose is lowercase letters, digits, '.', '_' and '-'",
                  "feature:" + std::string(id) + ":" + (fixed.empty() ? "<purpose>" : fixed));
  }
  if (purpose != "pause" && !is_one_of(rules.feature_purposes, purpose)) {
    std::string known = "pause";
    for (const std::string& other : rules.feature_purposes) {
      if (other != "pause") known += " " + other;
    }
    warnings.push_back(in_quotes(whole) + ": unknown purpose '" + purpose + "'; known are " +
                       known);
  }
  return std::string(id) + ":" + purpose;
}

Result<std::string> canonical_task(std::string_view rest) {
  const std::string whole = "task:" + std::string(rest);
  if (rest == "." || rest == ".." || !std::ranges::all_of(rest, is_name_character)) {
    const std::string fixed = replaced(rest, '-', is_name_character);
    const bool usable = !fixed.empty() && fixed != "." && fixed != "..";
    return refuse(whole, "a task's id is letters, digits, '.', '_' and '-'",
                  usable ? "task:" + fixed : "");
  }
  LK_CHECK(check_segment_length(rest, whole));
  return std::string(rest);
}

}  // namespace lockkeeper::key
