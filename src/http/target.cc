#include "http/target.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/parse.h"
#include "base/text.h"

namespace lockkeeper::http {
namespace {

std::optional<std::string> decoded(std::string_view text, bool query) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '+' && query) c = ' ';
    if (c == '%') {
      std::string digits = lowered(text.substr(i + 1, 2));
      const std::string byte = from_hex(digits);
      if (byte.size() != 1) return std::nullopt;
      c = byte[0];
      i += 2;
    }
    out += c;
  }
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
  if (!is_valid_utf8(out) || std::ranges::any_of(out, is_control)) return std::nullopt;
  return out;
}

}  // namespace

std::string Target::value(const std::string& name) const {
  const auto found = query.find(name);
  return found == query.end() ? std::string() : found->second;
}

std::string Target::rest(std::size_t from) const {
  return from >= names.size() ? std::string() : join(std::span(names).subspan(from), "/");
}

std::optional<Target> parse_target(std::string_view text) {
  Target target;
  const auto mark = text.find('?');
  std::string_view path = text.substr(0, mark);
  if (!path.starts_with('/')) return std::nullopt;
  while (path.size() > 1) {
    path.remove_prefix(1);
    const auto end = std::min(path.find('/'), path.size());
    auto name = decoded(path.substr(0, end), false);
    if (!name || name->empty() || *name == "." || *name == "..") return std::nullopt;
    target.names.push_back(std::move(*name));
    path.remove_prefix(end);
    if (path == "/") return std::nullopt;
  }
  if (mark == std::string_view::npos) return target;
  for (const std::string& word : words_in(text.substr(mark + 1), "&")) {
    const auto equals = std::min(word.find('='), word.size());
    auto name = decoded(std::string_view(word).substr(0, equals), true);
    auto value = decoded(std::string_view(word).substr(std::min(equals + 1, word.size())), true);
    if (!name || !value) return std::nullopt;
    if (!target.query.emplace(std::move(*name), std::move(*value)).second) return std::nullopt;
  }
  return target;
}

}  // namespace lockkeeper::http
