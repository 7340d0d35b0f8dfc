// Times as CoordMCP writes them: local, without a zone, compared with datetime.now(). The fraction
// of a second is separate: it is the mark of our entries (coordmcp_layout.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lockkeeper::dialect::coordmcp {

inline constexpr std::int64_t kMinuteMs = 60'000;

struct LocalTime {
  std::int64_t wall_s = 0;  // unix time
  int micros = 0;
  std::int64_t wall_ms() const { return wall_s * 1000 + micros / 1000; }
  static LocalTime from_wall_ms(std::int64_t wall_ms);
};

// "2024-01-20T10:30:00.000123", or with a space for the T; without a fraction of 0, as Python's
// str() and isoformat() do. Clamped to the years 1 to 9998, so that Python can still add to it.
std::string format_local(const LocalTime& time, char separator);

// What Python's datetime.fromisoformat accepts: a date, T or a space, hours and minutes, optionally
// seconds, a fraction and a zone. Without a zone it is local time; if the clock was put back and
// the time is ambiguous, the later one, so that a lock never ends early (I6).
std::optional<LocalTime> parse_local(std::string_view text);

}  // namespace lockkeeper::dialect::coordmcp
