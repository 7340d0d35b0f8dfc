#include "plan/placeholders.h"

#include <algorithm>

#include "base/text.h"

namespace lockkeeper::plan {
namespace {

bool is_known_placeholder(std::string_view name) {
  return std::ranges::any_of(placeholders(),
                             [&](const Placeholder& each) { return each.name == name; });
}

// The name in the braces that begin at `at`; empty: no placeholder can begin there.
std::string_view name_in_braces(std::string_view word, std::size_t at) {
  // These give braces another meaning: ${x}, awk '{print}'.
  constexpr std::string_view kElsewhere = "$%@#'\\{";
  if (word[at] != '{' || (at > 0 && kElsewhere.contains(word[at - 1]))) return {};
  std::size_t end = at + 1;
  while (end < word.size() && (is_ascii_word(word[end]) || word[end] == '_')) ++end;
  const bool closed = end < word.size() && word[end] == '}';
  if (!closed || (end + 1 < word.size() && word[end + 1] == '}')) return {};
  const std::string_view name = word.substr(at + 1, end - at - 1);
  const bool number = !name.empty() && name.front() >= '0' && name.front() <= '9';
  return number ? std::string_view() : name;
}

}  // namespace

const std::vector<Placeholder>& placeholders() {
  static const std::vector<Placeholder> kPlaceholders = {
      {"scope", "LOCKKEEPER_SCOPE"},     {"scope_file", "LOCKKEEPER_SCOPE_FILE"},
      {"agent", "LOCKKEEPER_AGENT"},     {"description", "LOCKKEEPER_DESCRIPTION"},
      {"task", "LOCKKEEPER_TASK"},       {"output", "LOCKKEEPER_OUTPUT"},
      {"attempt", "LOCKKEEPER_ATTEMPT"},
  };
  return kPlaceholders;
}

std::vector<std::string> unknown_placeholders(const Command& command) {
  std::vector<std::string> unknown;
  for (const std::string& word : command.words) {
    for (std::size_t at = 0; at < word.size(); ++at) {
      const std::string_view name = name_in_braces(word, at);
      if (name.empty() || is_known_placeholder(name)) continue;
      std::string text = "{" + std::string(name) + "}";
      if (std::ranges::find(unknown, text) == unknown.end()) unknown.push_back(std::move(text));
    }
  }
  return unknown;
}

std::string unknown_placeholder_text(const std::string& unknown) {
  constexpr std::size_t kLongest = 64;
  return (unknown.size() <= kLongest ? unknown : quote(unknown, kLongest)) +
         " is not a placeholder: the command gets it as it is";
}

std::string known_placeholders_text() {
  std::vector<std::string> names;
  for (const Placeholder& each : placeholders())
    names.push_back("{" + std::string(each.name) + "}");
  return "the placeholders are " + join(names, ", ");
}

}  // namespace lockkeeper::plan
