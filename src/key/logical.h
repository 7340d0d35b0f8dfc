// Logical keys: `prefix:rest`. Each namespace converts text with one obvious meaning to canonical
// form. It refuses the rest, and the message has the corrected form or the broken rule.
#pragma once

#include <string_view>

#include "base/error.h"
#include "key/automaton.h"
#include "key/resource.h"

namespace lockkeeper::key {

// `text` is NFC and looks_logical(). operation_not_permitted: an unknown prefix; lists the known
// ones. invalid_resource: a broken rule.
Result<Parsed> parse_logical(std::string_view text, const Rules& rules);

// See restore().
Result<Resource> restore_logical(std::string_view text, Kind kind);

// What names look like in this namespace; '/' is path space.
Names names_of_space(std::string_view space);
// The separator between the segments of its names: '/', or '.' for events.
char separator_of_space(std::string_view space);

}  // namespace lockkeeper::key
