// Text for messages: what a person or an agent reads or pastes into a shell.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/quote.h"  // how others' text is shown

namespace lockkeeper {

// Strict UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF. NUL is allowed.
bool is_valid_utf8(std::string_view text);

// Bytes of the well-formed character at the front; 0: there is none. REQUIRES: not empty
std::size_t utf8_size(std::string_view text);
// The code point of one well-formed character.
char32_t utf8_value(std::string_view character);
// Is this a byte of a UTF-8 character, but not its first?
constexpr bool is_utf8_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U;
}
// Bytes of the character at the front, well-formed or not: the first byte and its continuations. At
// least 1.
std::size_t character_size(std::string_view text);
// At most `bytes` of it, never a part of a character.
std::string cut_utf8(std::string_view text, std::size_t bytes);

bool is_ascii(std::string_view text);

// These know no locale: only ASCII characters are letters and digits.
constexpr bool is_ascii_digit(char c) {
  return c >= '0' && c <= '9';
}
constexpr bool is_ascii_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
constexpr bool is_ascii_word(char c) {
  return is_ascii_letter(c) || is_ascii_digit(c);
}
// A letter, a digit, '.', '_' or '-': safe in a file name, a shell word and a URL.
constexpr bool is_name_character(char c) {
  return is_ascii_word(c) || c == '.' || c == '_' || c == '-';
}
constexpr char ascii_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
std::string lowered(std::string_view text);

// "a, b, c" with ", " between.
std::string join(std::span<const std::string> words, std::string_view between);
// "1 agent", "2 agents"; `many` if the plural is not formed with "s".
std::string counted(std::size_t count, std::string_view one, std::string_view many = {});

// Does the pattern match the whole text? `*` stands for any characters, `?` for one; everything
// else for itself, so case matters. The time is at most the product of the two lengths.
bool matches_text(std::string_view pattern, std::string_view text);

// Writes '%' and `sign` as %25 and, say, %23; and back. Leaves other codes alone.
std::string escape_sign(std::string_view text, char sign);
std::string unescape_sign(std::string_view text, char sign);

// One shell word that means exactly `text`: bare if that is safe, otherwise in single quotes.
// REQUIRES: no NUL in `text` (no shell word can contain one).
std::string shell_quote(std::string_view text);

// The candidate that `word` was most likely meant to be, for "did you mean": the first with the
// smallest edit distance (a swap of two neighbours counts as one), ignoring case. None: even the
// nearest differs in more than a third of its letters (at least one may differ).
std::optional<std::string> nearest(std::string_view word,
                                   std::span<const std::string_view> candidates);

}  // namespace lockkeeper
