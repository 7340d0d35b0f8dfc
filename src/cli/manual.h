// The manual pages, as roff: made from the verbs' own declarations, as --help and completion are,
// so that they cannot go stale. The build prints them with `lockkeeper help --man [VERB]`.
#pragma once

#include <string>
#include <string_view>

#include "cli/shape.h"

namespace lockkeeper::cli {

// lockkeeper(1): the verbs, the files, the exit statuses.
std::string manual_overview(const VerbShape& program, std::string_view version);
// lockkeeper-VERB(1), with its subcommands.
std::string manual_page(const VerbShape& verb, std::string_view version);

// Text as roff has it: nothing in it is taken as a request or an escape, and it is ASCII.
std::string roff_text(std::string_view text);

}  // namespace lockkeeper::cli
