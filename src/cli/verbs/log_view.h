// One event of the history as a line for people.
#pragma once

#include "cli/output.h"
#include "core/encoding.h"
#include "service/commands.h"

namespace lockkeeper::cli {

// How wide the columns of a log are: as its events need them.
struct LogColumns {
  std::size_t what = 10;
  std::size_t agent = 12;
  void widen(const core::Event& event);
};

// For people, where this process is: "2026-01-17 16:30:00".
std::string local_time(std::int64_t wall_ms);

// At a terminal (`columns` > 0): cut to fit, in local time. Otherwise whole, in UTC.
Line event_line(const core::Event& event, std::size_t columns, const LogColumns& widths = {});

// --since: a seq, a time, or how long ago.
Result<void> read_since(const std::string& text, std::int64_t now_wall_ms,
                        service::LogCommand& command);

}  // namespace lockkeeper::cli
