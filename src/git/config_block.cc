#include "git/config_block.h"

#include <algorithm>

namespace lockkeeper::git {
namespace {

constexpr std::string_view kConfigBlock =
    "# lockkeeper: its commit guard. To remove it: lockkeeper install git --uninstall\n"
    "[include]\n"
    "\tpath = lockkeeper-hooks.config\n";
// In front of it, where the text before had no end of its line.
constexpr std::string_view kLineEnd = "\n# lockkeeper: the line above had no end\n";

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
  return text.erase(begin, at + kConfigBlock.size() - begin);
}

}  // namespace lockkeeper::git
