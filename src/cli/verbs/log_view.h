// One event of the history as a line for people.
#pragma once

#include "cli/output.h"
#include "core/encoding.h"

namespace lockkeeper::cli {

// At a terminal (`columns` > 0): cut to fit, in local time. Otherwise whole, in UTC.
Line event_line(const core::Event& event, std::size_t columns);

}  // namespace lockkeeper::cli
