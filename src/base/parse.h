// Short texts that are read as a whole: a number, a list of words.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockkeeper {

// The whole text as a number; nullopt: it is not one, or does not fit.
template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && rest == end ? std::optional(value) : std::nullopt;
}

// What stands between any of the separators, without empty parts.
std::vector<std::string> words_in(std::string_view text, std::string_view separators);

}  // namespace lockkeeper
