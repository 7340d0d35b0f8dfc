// The options and words of one call of git.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "enforce/shell/word.h"

namespace lockkeeper::enforce::shell {

// The options and words of a subcommand.
class GitWords {
 public:
  // `valued`: letters of options that take a value; after a blank, of those whose value is never
  // the next word. `longs`: long ones that take the next word.
  GitWords(std::span<const Word> words, std::string_view valued,
           std::initializer_list<std::string_view> longs);

  std::ptrdiff_t count(char letter) const { return std::ranges::count(letters_, letter); }
  bool has(char letter) const { return letters_.find(letter) != std::string::npos; }
  // Git takes abbreviations.
  bool has(std::string_view name) const {
    return std::ranges::any_of(longs_, [&](const std::string& given) {
      return given == name || (given.size() >= 4 && name.starts_with(given));
    });
  }
  // Of a letter of `valued`, and of a long option that takes the next word. Null: it has none.
  const Word* value_of(char letter) const {
    const auto found = values_.find(letter);
    return found == values_.end() ? nullptr : &found->second;
  }
  bool asks_for_help() const {
    return std::ranges::find(longs_, "--help") != longs_.end() || letters_ == "h";
  }
  bool has(char letter, std::string_view name) const { return has(letter) || has(name); }

  std::span<const Word> all() const { return words_; }
  bool has_dashes() const { return dashes_ != std::string::npos; }
  std::span<const Word> before_dashes() const {
    return all().first(std::min(dashes_, words_.size()));
  }
  std::span<const Word> after_dashes() const {
    return all().subspan(std::min(dashes_, words_.size()));
  }

 private:
  void letters(std::span<const Word> words, std::size_t& at, std::string_view valued);

  std::string letters_;
  std::map<char, Word> values_;  // long options by their letter: only --force-create has one
  std::vector<std::string> longs_;
  Words words_;
  std::size_t dashes_ = std::string::npos;
};

// Makes paths of pathspecs. `literal`: git takes them for plain names.
void add_paths(Danger& danger, std::span<const Word> words, bool literal);
// `clean -e NAME`: what git then takes for ignored, wherever it is. A pattern with a '/' or with
// more than `*` is not believed.
std::vector<Path> left_by_clean(std::span<const Word> words);

}  // namespace lockkeeper::enforce::shell
