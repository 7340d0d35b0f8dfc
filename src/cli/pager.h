// Long output at a terminal, page by page, as git shows it.
#pragma once

#include <vector>

#include "cli/cli.h"
#include "cli/output.h"

namespace lockkeeper::cli {

// Prints the lines. If stdout is a terminal and they do not fit on the screen, they go through
// LOCKKEEPER_PAGER, PAGER or less; an empty variable, and `cat`, mean no pager. If the pager cannot
// be started, they are printed.
void show_lines(const CliEnvironment& environment, Output& out, const std::vector<Line>& lines);

}  // namespace lockkeeper::cli
