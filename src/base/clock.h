// Time as the product sees it. Leases use the monotonic clock of one boot, because the wall clock
// jumps (I6 "never early"). The wall clock is for display and for log queries.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace lockkeeper {

struct Now {
  std::int64_t mono_ms = 0;  // CLOCK_MONOTONIC: stops in suspend, starts again at each boot
  std::int64_t wall_ms = 0;  // unix time
};

// The seam for tests: main gives a Clock (or a Now) to everything that needs the time.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Now now() const = 0;
};

class SystemClock final : public Clock {
 public:
  Now now() const override;
};

// RFC 3339, UTC, milliseconds: "2026-01-17T15:30:00.000Z". Clamped to the years 0000 to 9999.
std::string format_time(std::int64_t wall_ms);

// Reads what format_time writes, with or without milliseconds, or with a numeric zone offset.
// invalid_input: anything else. A time without a zone means another moment on another machine.
Result<std::int64_t> parse_time(std::string_view text);

// "300ms", "90s", "20m", "2h", "1h30m", "0", days as "2d". `none` gives kNoEnd where allowed.
// Negative values, unknown units, overflow and more than 100 years are invalid_input.
inline constexpr std::int64_t kNoEnd = -1;
inline constexpr std::int64_t kLongestDurationMs = 100LL * 366 * 24 * 3600 * 1000;
struct DurationRules {
  bool allow_none = false;
};
Result<std::int64_t> parse_duration_ms(std::string_view text, DurationRules rules = {});

// "1h 30m", "45s", "300ms": at most two neighbouring units, rounded down, for people; kNoEnd is
// "no end".
std::string format_duration(std::int64_t ms);
// "2m 5s ago", in whole seconds; "0s ago" if the wall clock was set back since.
std::string format_ago(std::int64_t then_wall_ms, std::int64_t now_wall_ms);

}  // namespace lockkeeper
