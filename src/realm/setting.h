// One value of the settings and where it comes from.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace lockkeeper::realm {

// Where a value comes from. No file: the built-in default.
struct Origin {
  std::string file;
  std::uint32_t line = 0;
  std::string text() const;  // "default" or "path/lockkeeper.toml:3"
};

template <class T>
struct Setting {
  T value{};
  Origin origin;
};

// A text as written.
struct RawText {
  std::string value;
  Origin origin;
};

// One of the values that a setting chooses from.
template <class T>
struct Word {
  T value;
  std::string_view text;
  std::string_view meaning = {};  // for errors; may be empty
};

// The text of one of the words. REQUIRES: `value` is among them
template <class T>
std::string_view word_of(std::span<const Word<T>> words, const T& value) {
  return std::ranges::find(words, value, &Word<T>::value)->text;
}

}  // namespace lockkeeper::realm
