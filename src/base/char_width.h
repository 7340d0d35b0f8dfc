// How many columns a character takes on a terminal.
#pragma once

namespace lockkeeper {

// Marks on the character before, joiners and variation selectors.
bool has_no_width(char32_t c);
// East Asian scripts and emoji take two columns. Yes where fonts differ: a character that is
// narrower than expected leaves a gap, but a wider one breaks the line.
bool is_wide(char32_t c);

}  // namespace lockkeeper
