// How much room a character takes where all have one width, as at a terminal.
#pragma once

namespace lockkeeper {

// Marks on the character before, and what only joins or varies it.
bool has_no_width(char32_t c);
// East Asian scripts and emoji: two columns. Where fonts differ, yes: what was expected to be wide
// and is not leaves a gap, the other way round a line breaks.
bool is_wide(char32_t c);

}  // namespace lockkeeper
