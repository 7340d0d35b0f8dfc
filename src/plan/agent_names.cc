#include "plan/agent_names.h"

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace lockkeeper::plan {
namespace {

bool is_word_character(char c) {
  return is_ascii_word(c) || static_cast<unsigned char>(c) >= 0x80;
}

std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char c : name) {
    if (is_word_character(c)) {
      words.back() += c;
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

}  // namespace

std::string distinct_name(std::string_view agent, std::string_view other) {
  const std::vector<std::string> all = words_of(agent);
  const std::vector<std::string> others = words_of(other);
  std::vector<std::string> own;
  for (const std::string& word : all) {
    if (std::ranges::find(others, word) == others.end()) own.push_back(word);
  }
  const auto has_letters = [](const std::string& word) {
    return std::ranges::any_of(word, is_ascii_letter);
  };
  // "1" alone is no name.
  const std::string name = join(std::ranges::any_of(own, has_letters) ? own : all, "-");
  return name.empty() ? "agent" : name;
}

std::string with_infix(const std::string& path, const std::string& word) {
  const std::size_t slash = path.rfind('/');
  const std::size_t name = slash == std::string::npos ? 0 : slash + 1;
  const std::size_t dot = std::min(path.find('.', name + 1), path.size());
  return path.substr(0, dot) + "." + word + path.substr(dot);
}

}  // namespace lockkeeper::plan
