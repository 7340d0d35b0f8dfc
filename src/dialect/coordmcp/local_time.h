// Times as CoordMCP writes them: local, without a zone, compared with datetime.now(). The fraction
// of a second is kept apart: our own entries carry a mark in it (layout.h).
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

// "2024-01-20T10:30:00.000123", or with a blank for the T; without the fraction where it is 0, as
// Python's str() and isoformat() do. Clamped to the years 1 to 9998, which Python can still add to.
std::string format_local(const LocalTime& time, char separator);

// What Python's datetime.fromisoformat takes: a date, T or a blank, hours and minutes, seconds and
// a fraction where there are any, a zone where there is one. Without a zone it is local time; of
// the two moments that a clock put back gives one name, the later: a lock never ends early (I6).
std::optional<LocalTime> parse_local(std::string_view text);

}  // namespace lockkeeper::dialect::coordmcp
