// The little Unicode that keys need: one spelling for equal names, and messages that can be printed
// whatever bytes were given. Everything here is pure; no locale is consulted.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace lockkeeper::key {

inline constexpr char32_t kCodePointMax = 0x10FFFF;

// The text in NFC, or in NFD. nullopt: it is not UTF-8.
std::optional<std::string> normal_form(std::string_view text, bool composed);

// The text in NFC. invalid_resource if it is not UTF-8.
Result<std::string> nfc(std::string_view text);

// Case folding, one code point to one code point, so that `?` and classes stay exact: where Unicode
// folds to several ('ß' to "ss") the lower case is taken instead. Idempotent.
char32_t fold(char32_t code_point);

// fold() over NFC text; the result is NFC again.
std::string fold_text(std::string_view nfc_text);

// The code point at the front, which is removed. REQUIRES: valid UTF-8, not empty.
char32_t take_code_point(std::string_view& text);
void append_utf8(std::string& to, char32_t code_point);

bool is_control(char32_t code_point);  // controls and the line and paragraph separators
bool is_blank(char32_t code_point);    // a space of any kind

// `text` without the blanks at its end. REQUIRES: valid UTF-8.
std::string_view trim_end(std::string_view text);

// 'text' in quotes for a message: escaped as base/quote.h has it, long text cut.
std::string in_quotes(std::string_view text);

}  // namespace lockkeeper::key
