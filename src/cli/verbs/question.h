// A question to the person at the terminal.
#pragma once

#include <string>

#include "cli/context.h"

namespace lockkeeper::cli {

// Is there somebody to ask? Not without a terminal, with --json or with --quiet.
bool can_ask(VerbContext& context);

// "QUESTION [y/N] " on stderr. `usually`: what an empty answer means; the end of input is a no.
// REQUIRES: can_ask()
bool says_yes(VerbContext& context, const std::string& question, bool usually = false);

}  // namespace lockkeeper::cli
