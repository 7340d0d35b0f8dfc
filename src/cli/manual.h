// The manual pages as roff, made from the verbs' declarations, so they cannot become stale. The
// build prints them with `lockkeeper help --man [VERB]`.
#pragma once

#include <string>
#include <string_view>

#include "cli/shape.h"

namespace lockkeeper::cli {

// lockkeeper(1): the verbs, the files, the exit statuses.
std::string manual_overview(const VerbShape& program, std::string_view version);
// lockkeeper-VERB(1), with its subcommands.
std::string manual_page(const VerbShape& verb, std::string_view version);

// Text escaped for roff, in ASCII.
std::string roff_text(std::string_view text);

}  // namespace lockkeeper::cli
