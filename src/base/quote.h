// What others wrote (names, reasons, messages, paths), made safe to show to people and to models.
// Every door shows such text through here: it cannot end its line, move a cursor, turn the
// direction of reading, hide words, or pass for words of ours. JSON keeps the text as it is, in a
// field of its own.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace lockkeeper {

// Does it show nothing of its own? Controls, line and paragraph separators, direction marks,
// characters without width, joiners, variation selectors, tags, noncharacters.
bool is_hidden(char32_t c);

// The first hidden character ("the hidden character U+202E") or byte that is not UTF-8 ("the byte
// 0xff, which is not UTF-8"); nullopt: there is none.
std::optional<std::string> hidden_in(std::string_view text);

// `text` in double quotes, on one line, always valid UTF-8. Controls and bytes that are not UTF-8
// become \xNN, other hidden characters \u{N}. At most `limit` bytes between the quotes; text that
// is cut ends in "…".
std::string quote(std::string_view text, std::size_t limit = 120);

inline constexpr std::size_t kNameBytesShown = 200;

// A name: as it is if it is one plain word, otherwise as quote() has it.
std::string shown(std::string_view name, std::size_t limit = kNameBytesShown);
// "a, b and 3 more", each as shown(), if only two should be named.
std::string shown_list(std::span<const std::string> names, std::size_t most = 20);

// The same escapes without the quotes, for whole lines that are ours but may contain others' text;
// '\n' stays if `lines`.
std::string escaped(std::string_view text, bool lines = false);

}  // namespace lockkeeper
