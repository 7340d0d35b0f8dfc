// One settings file while it is read: its values with their places, and its mistakes in words.
#pragma once

#include <algorithm>
#include <cstddef>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "base/toml.h"
#include "realm/setting.h"

namespace lockkeeper::realm {

// "a", "b" or "c": what a value may be. REQUIRES: not empty
std::string either(std::span<const std::string> texts);
std::string either(std::span<const std::string_view> words);
template <class T>
std::string either(std::span<const Word<T>> words) {
  std::vector<std::string> texts;
  for (const Word<T>& word : words) {
    const std::string meaning(word.meaning);
    texts.push_back(quote(word.text) + (meaning.empty() ? "" : " (" + meaning + ")"));
  }
  return either(texts);
}

// invalid_config: a file has more than `most` of something.
Result<void> check_total(const Origin& origin, std::string_view key, std::size_t total,
                         const std::string& what, std::size_t most);

class ConfigReader {
 public:
  explicit ConfigReader(std::string file) : file_(std::move(file)) {}

  Origin origin(const toml::source_region& at) const { return {file_, at.begin.line}; }
  Origin origin(const toml::node& node) const { return origin(node.source()); }

  // config_error() about a value.
  std::unexpected<Error> bad(const toml::node& node, std::string_view key,
                             std::string_view expected) const;
  // The error names the nearest of the keys that are known in the section, or where it belongs.
  std::unexpected<Error> unknown(const toml::key& key, std::string_view section,
                                 std::span<const std::string_view> known) const;

  // Adds an array of strings.
  Result<void> texts(const toml::node& node, std::string_view key, std::size_t most,
                     std::vector<RawText>& into) const;

  template <class T>
  Result<T> choice(const toml::node& node, std::string_view key,
                   std::span<const Word<T>> words) const {
    const auto* text = node.as_string();
    const std::string_view given = text == nullptr ? "" : std::string_view(text->get());
    const auto found = std::ranges::find(words, given, &Word<T>::text);
    if (found == words.end()) return bad(node, key, either(words));
    return found->value;
  }

 private:
  std::string file_;
};

}  // namespace lockkeeper::realm
