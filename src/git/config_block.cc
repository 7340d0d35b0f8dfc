#include "git/config_block.h"

#include <algorithm>

#include "base/parse.h"

namespace lockkeeper::git {
namespace {

// A condition that every repository meets: `git config include.path FILE` would replace the path of
// a plain [include].
constexpr std::string_view kSection = "[includeIf \"gitdir:/**\"]\n";
constexpr std::string_view kConfigBlock =
    "# lockkeeper: its commit guard. To remove it: lockkeeper install git --uninstall\n"
    "[includeIf \"gitdir:/**\"]\n"
    "\tpath = lockkeeper-hooks.config\n";
// In front of it, where the text before had no end of its line.
constexpr std::string_view kLineEnd = "\n# lockkeeper: the line above had no end\n";

// Does a line come before the next section? Then it is in ours, and ours must stay.
bool goes_on(std::string_view text) {
  for (const std::string& line : words_in(text, "\n")) {
    const std::size_t at = line.find_first_not_of(" \t\r");
    if (at == std::string::npos || line[at] == '#' || line[at] == ';') continue;
    return line[at] != '[';
  }
  return false;
}

}  // namespace

std::string included_text(std::string_view hooks_folder) {
  std::string text = "# Written by lockkeeper install git.\n[core]\n\thooksPath = \"";
  for (const char c : hooks_folder) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + "\"\n";
}

bool has_config_block(std::string_view config) {
  return config.contains(kConfigBlock);
}

std::string with_config_block(std::string_view config) {
  std::string text = without_config_block(config);
  if (!text.empty() && !text.ends_with('\n')) text += kLineEnd;
  return text.append(kConfigBlock);
}

std::string without_config_block(std::string_view config) {
  std::string text(config);
  const std::size_t at = text.find(kConfigBlock);
  if (at == std::string::npos) return text;
  std::size_t begin = at;
  if (std::string_view(text).substr(0, at).ends_with(kLineEnd)) begin -= kLineEnd.size();
  const std::size_t end = at + kConfigBlock.size();
  const std::string_view kept = goes_on(std::string_view(text).substr(end)) ? kSection : "";
  return text.replace(begin, end - begin, kept);
}

}  // namespace lockkeeper::git
