// Logical keys: `prefix:rest`. Each namespace brings what has one obvious meaning into canonical
// form and refuses the rest with the corrected form or the broken rule in the message.
#pragma once

#include <string_view>

#include "base/error.h"
#include "key/automaton.h"
#include "key/resource.h"

namespace lockkeeper::key {

// `text` is NFC and looks_logical(). operation_not_permitted for an unknown prefix, listing the
// known ones; invalid_resource for a broken rule.
Result<Parsed> parse_logical(std::string_view text, const Rules& rules);

// See restore().
Result<Resource> restore_logical(std::string_view text, Kind kind);

// What names look like in this namespace; '/' is path space.
Names names_of_space(std::string_view space);
// What stands between the segments of its names: '/', or '.' for events.
char separator_of_space(std::string_view space);

}  // namespace lockkeeper::key
