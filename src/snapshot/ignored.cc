#include "snapshot/ignored.h"

#include <fnmatch.h>

#include <algorithm>
#include <optional>
#include <span>

#include "base/parse.h"
#include "base/text.h"

namespace lockkeeper::snapshot {
namespace {

constexpr std::uint64_t kIgnoreBytesMax = 256U << 10;
constexpr std::size_t kRulesMax = 4'096;
constexpr std::ptrdiff_t kStarsMax = 4;  // fnmatch() takes exponential time in them
constexpr std::size_t kPartsMax = 64;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

bool name_matches(const std::string& pattern, const std::string& name) {
  const bool plain = pattern.find_first_of("[\\") == std::string::npos;
  if (plain) return matches_text(pattern, name);
  if (std::ranges::count(pattern, '*') > kStarsMax) return false;
  return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

bool parts_match(std::span<const std::string> pattern, std::span<const std::string> names) {
  // reach[i]: the pattern so far can have taken the first i names.
  std::vector<bool> reach(names.size() + 1, false);
  reach[0] = true;
  for (std::size_t p = 0; p < pattern.size(); ++p) {
    std::vector<bool> next(names.size() + 1, false);
    const bool any = pattern[p] == "**";
    const bool last = p + 1 == pattern.size();
    for (std::size_t i = 0; i <= names.size(); ++i) {
      if (!reach[i]) continue;
      if (any) {
        // At the end it stands for everything inside, not for the folder itself.
        for (std::size_t to = i + (last && p > 0 ? 1 : 0); to <= names.size(); ++to)
          next[to] = true;
      } else if (i < names.size() && name_matches(pattern[p], names[i])) {
        next[i + 1] = true;
      }
    }
    reach = std::move(next);
  }
  return reach[names.size()];
}

// Blanks at the end do not count, unless they are escaped.
std::string_view without_blanks(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  while (line.ends_with(' ') && !line.ends_with("\\ ")) line.remove_suffix(1);
  return line;
}

std::optional<IgnoreRule> rule_in(std::string_view line) {
  line = without_blanks(line);
  if (line.empty() || line.starts_with('#')) return std::nullopt;
  IgnoreRule rule;
  if (line.starts_with('!')) {
    rule.not_ignored = true;
    line.remove_prefix(1);
  }
  if (line.ends_with('/')) {
    rule.folders_only = true;
    line.remove_suffix(1);
  }
  // git compares it with paths as it stands, and a path has no empty name.
  const bool empty_name = line.ends_with('/') || line.find("//") != std::string_view::npos;
  if (empty_name) return std::nullopt;
  rule.anchored = line.find('/') != std::string_view::npos;
  rule.parts = words_in(line, "/");
  if (rule.parts.empty() || rule.parts.size() > kPartsMax) return std::nullopt;
  return rule;
}

bool rule_matches(const IgnoreRule& rule, std::span<const std::string> names, bool folder) {
  if (rule.folders_only && !folder) return false;
  if (!rule.anchored) return name_matches(rule.parts.front(), names.back());
  return parts_match(rule.parts, names);
}

}  // namespace

std::vector<IgnoreRule> ignore_rules(std::string_view text) {
  std::vector<IgnoreRule> rules;
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  while (!text.empty() && rules.size() < kRulesMax) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (auto rule = rule_in(line)) rules.push_back(std::move(*rule));
  }
  return rules;
}

const std::vector<IgnoreRule>& Ignored::rules_in(const std::string& folder) {
  const auto known = rules_.find(folder);
  if (known != rules_.end()) return known->second;
  const std::string path = folder.empty() ? ".gitignore" : folder + "/.gitignore";
  const auto text = tree_.read(path, kIgnoreBytesMax);
  return rules_.emplace(folder, ignore_rules(text.value_or(""))).first->second;
}

// The nearest file decides, and in it the last line that matches.
bool Ignored::decided(std::string_view path, bool folder, bool& ignored) {
  const std::vector<std::string> names = words_in(path, "/");
  const auto by = [&](const std::vector<IgnoreRule>& rules, std::size_t from) {
    const auto below = std::span(names).subspan(from);
    for (auto rule = rules.rbegin(); rule != rules.rend(); ++rule) {
      if (!rule_matches(*rule, below, folder)) continue;
      ignored = !rule->not_ignored;
      return true;
    }
    return false;
  };
  for (std::size_t depth = names.size(); depth-- > 0;) {
    const std::string at = join(std::span(names).first(depth), "/");
    if (by(rules_in(at), depth)) return true;
  }
  return by(exclude_, 0);
}

bool Ignored::ignores(std::string_view path) {
  bool ignored = false;
  // What lies in a folder that is ignored cannot be taken out again.
  for (std::size_t slash = path.find('/'); slash != std::string_view::npos;
       slash = path.find('/', slash + 1)) {
    if (decided(path.substr(0, slash), true, ignored) && ignored) return true;
    ignored = false;
  }
  return decided(path, false, ignored) && ignored;
}

}  // namespace lockkeeper::snapshot
