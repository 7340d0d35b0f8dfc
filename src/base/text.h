// Text for messages: what a person or an agent reads, and what it can paste into a shell.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace lockkeeper {

// Strict UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF. NUL is allowed.
bool is_valid_utf8(std::string_view text);

// `text` in double quotes for an error message: control characters and bytes that are not UTF-8
// become \xNN, and what is longer than `limit` bytes is cut and ends in "…". Always valid UTF-8.
std::string quote(std::string_view text, std::size_t limit = 120);

// One shell word that means exactly `text`: bare where that is safe, else in single quotes.
// REQUIRES: no NUL in `text` (no shell word can hold one).
std::string shell_quote(std::string_view text);

// The candidate that `word` was most likely meant to be, for "did you mean": the smallest edit
// distance (a swap of two neighbours counts as one), case ignored, the first of equals. None if
// even the nearest differs in more than a third of its letters (at least one may differ).
std::optional<std::string> nearest(std::string_view word,
                                   std::span<const std::string_view> candidates);

}  // namespace lockkeeper
