#include "core/sessions.h"

#include <algorithm>
#include <string_view>

#include "base/bytes.h"

namespace lockkeeper::core {
namespace {

constexpr std::string_view kNoSession = "-";
constexpr std::string_view kCommand = "run-";

// No session has a zero byte.
std::string name_of(const Owner& owner) {
  std::string name = owner.session;
  return name.append(1, '\0').append(owner.agent);
}

}  // namespace

Owner part_of(const Owner& whole, const std::string& name) {
  const std::string session(whole.session.empty() ? kNoSession : std::string_view(whole.session));
  return {whole.agent, session + "/" + name};
}

std::string part_name(const Owner& owner, const Owner& whole) {
  const std::size_t begin = part_of(whole, "").session.size();
  return owner.session.substr(begin, owner.session.find('/', begin) - begin);
}

std::string command_name(std::uint32_t number) {
  std::string bytes;
  append_be32(bytes, number);
  return std::string(kCommand) + to_hex(bytes);
}

bool is_command_name(std::string_view name) {
  return name.starts_with(kCommand) && name.size() == kCommand.size() + 8 &&
         name.find_first_not_of("0123456789abcdef", kCommand.size()) == std::string_view::npos;
}

Owner reader_of(const Owner& owner) {
  Owner reader = owner;
  while (is_command_name(std::string_view(reader.session).substr(reader.session.rfind('/') + 1))) {
    const std::optional<Owner> whole = nearest_whole(reader);
    if (!whole) break;
    reader = *whole;
  }
  return reader;
}

bool is_part_of(const Owner& owner, const Owner& whole) {
  const std::vector<std::string> wholes = wholes_of(owner);
  if (wholes.empty()) return false;
  return std::ranges::any_of(whole_names(whole), [&](const std::string& name) {
    return std::ranges::find(wholes, name) != wholes.end();
  });
}

std::vector<std::string> wholes_of(const Owner& owner) {
  std::vector<std::string> names;
  const std::string_view session = owner.session;
  if (session.starts_with('/')) return names;
  for (std::size_t slash = session.find('/'); slash != std::string::npos;
       slash = session.find('/', slash + 1)) {
    if (slash + 1 == session.size()) break;  // "S/" is a part of nothing
    const std::string_view whole = session.substr(0, slash);
    const std::string_view part =
        session.substr(slash + 1, session.find('/', slash + 1) - slash - 1);
    if (whole == kNoSession) {
      names.push_back(name_of({owner.agent, ""}));
    } else {
      // Another agent may have the same session, and is not the one who runs the command.
      names.push_back(is_command_name(part) ? name_of({owner.agent, std::string(whole)})
                                            : std::string(whole));
    }
  }
  return names;
}

std::vector<std::string> whole_names(const Owner& owner) {
  if (owner.session.empty()) return {name_of(owner)};
  if (owner.session == kNoSession) return {};
  return {owner.session, name_of(owner)};
}

Owner named_whole(const std::string& name) {
  const std::size_t end = name.find('\0');
  if (end == std::string::npos) return {"", name};
  return {name.substr(end + 1), name.substr(0, end)};
}

std::optional<Owner> nearest_whole(const Owner& owner) {
  if (wholes_of(owner).empty()) return std::nullopt;
  const std::string whole = owner.session.substr(0, owner.session.rfind('/'));
  return Owner{owner.agent, whole == kNoSession ? "" : whole};
}

bool is_one_party(const Owner& a, const Owner& b) {
  const auto outermost = [](const Owner& owner) {
    const std::vector<std::string> wholes = wholes_of(owner);
    if (wholes.empty()) return owner;
    return Owner{owner.agent, named_whole(wholes.front()).session};
  };
  return a == b || outermost(a) == outermost(b) || is_part_of(a, b) || is_part_of(b, a);
}

namespace {

// With "@name" behind `part`, unless it is there. nullopt: it carries another '@'.
std::optional<std::string> signed_text(const std::string& part, const std::string& mark) {
  const std::string_view plain =
      part.ends_with(mark) ? std::string_view(part).substr(0, part.size() - mark.size()) : part;
  if (plain.contains('@')) return std::nullopt;
  return std::string(plain) + mark;
}

// A part of a session is one of the person's because the whole is . "-/x" is a
// part of its agent, which has the name. A path has no parts.
std::optional<std::string> signed_session(const std::string& session, const std::string& mark) {
  if (session.empty() || session.starts_with("-/")) return session;
  const auto slash = session.starts_with('/') ? session.size() : session.find('/');
  const std::size_t end = std::min(slash, session.size());
  auto whole = signed_text(session.substr(0, end), mark);
  if (whole) *whole += session.substr(end);
  return whole;
}

}  // namespace

std::optional<Owner> signed_owner(const Owner& owner, const std::string& person) {
  const auto agent = signed_text(owner.agent, "@" + person);
  const auto session = signed_session(owner.session, "@" + person);
  if (!agent || !session) return std::nullopt;
  return Owner{*agent, *session};
}

}  // namespace lockkeeper::core
