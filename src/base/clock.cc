#include "base/clock.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <optional>

#include "base/assert.h"
#include "base/text.h"

namespace lockkeeper {
namespace {

constexpr std::int64_t kSecondMs = 1000;
constexpr std::int64_t kMinuteMs = 60 * kSecondMs;
constexpr std::int64_t kHourMs = 60 * kMinuteMs;
constexpr std::int64_t kDayMs = 24 * kHourMs;

struct Unit {
  std::string_view name;
  std::int64_t ms;
};

// From the longest down: a duration names each at most once and in this order.
constexpr Unit kUnits[] = {
    {"d", kDayMs}, {"h", kHourMs}, {"m", kMinuteMs}, {"s", kSecondMs}, {"ms", 1}};

std::int64_t read_ms(clockid_t id) {
  timespec time{};
  const int status = ::clock_gettime(id, &time);
  LOCKKEEPER_ASSERT(status == 0);
  return std::int64_t{time.tv_sec} * kSecondMs + time.tv_nsec / 1'000'000;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view take_while_digits(std::string_view& text) {
  const auto end = std::ranges::find_if_not(text, is_digit);
  const auto size = static_cast<std::size_t>(end - text.begin());
  const std::string_view digits = text.substr(0, size);
  text.remove_prefix(size);
  return digits;
}

std::string_view take_unit(std::string_view& text) {
  const auto size = static_cast<std::size_t>(std::ranges::find_if(text, is_digit) - text.begin());
  const std::string_view unit = text.substr(0, size);
  text.remove_prefix(size);
  return unit;
}

// `digits` × `unit_ms` + `sum_ms`, or none beyond the longest duration: nothing here can overflow.
std::optional<std::int64_t> add_part(std::int64_t sum_ms, std::string_view digits,
                                     std::int64_t unit_ms) {
  std::int64_t count = 0;
  for (const char digit : digits) {
    count = count * 10 + (digit - '0');
    if (count > kLongestDurationMs / unit_ms) return std::nullopt;
  }
  const std::int64_t total = sum_ms + count * unit_ms;
  if (total > kLongestDurationMs) return std::nullopt;
  return total;
}

std::unexpected<Error> bad_duration(std::string_view text, std::string_view why,
                                    DurationRules rules) {
  return fail(Code::kInvalidInput, fmt::format("duration {}: {}", quote(text), why),
              fmt::format("write a duration as 300ms, 90s, 20m, 2h, 1h30m or 2d{}",
                          rules.allow_none ? ", or none for no end" : ""));
}

std::unexpected<Error> bad_time(std::string_view text, std::string_view why) {
  return fail(Code::kInvalidInput, fmt::format("time {}: {}", quote(text), why),
              "write a time as 2026-01-17T15:30:00Z, 2026-01-17T15:30:00.000Z or "
              "2026-01-17T16:30:00+01:00");
}

// Takes exactly `digits` digits from the front; none if they are not there.
std::optional<int> take_number(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) return std::nullopt;
  int value = 0;
  for (const char c : text.substr(0, digits)) {
    if (!is_digit(c)) return std::nullopt;
    value = value * 10 + (c - '0');
  }
  text.remove_prefix(digits);
  return value;
}

bool take_one_of(std::string_view& text, std::string_view choices) {
  if (text.empty() || choices.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

// "YYYY-MM-DD" as days since 1970.
std::optional<std::int64_t> take_date(std::string_view& text) {
  const auto year = take_number(text, 4);
  if (!year || !take_one_of(text, "-")) return std::nullopt;
  const auto month = take_number(text, 2);
  if (!month || !take_one_of(text, "-")) return std::nullopt;
  const auto day = take_number(text, 2);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year{*year},
                                         std::chrono::month{static_cast<unsigned>(*month)},
                                         std::chrono::day{static_cast<unsigned>(*day)}};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days{date}.time_since_epoch().count();
}

// "HH:MM:SS" and an optional fraction. A leap second counts as the first of the next minute.
std::optional<std::int64_t> take_time_of_day(std::string_view& text) {
  const auto hour = take_number(text, 2);
  if (!hour || !take_one_of(text, ":")) return std::nullopt;
  const auto minute = take_number(text, 2);
  if (!minute || !take_one_of(text, ":")) return std::nullopt;
  const auto second = take_number(text, 2);
  if (!second || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  std::int64_t ms = *hour * kHourMs + *minute * kMinuteMs + *second * kSecondMs;
  if (take_one_of(text, ".")) {
    const std::string_view fraction = take_while_digits(text);
    if (fraction.empty()) return std::nullopt;
    std::int64_t digit_ms = 100;
    for (const char digit : fraction.substr(0, 3)) {
      ms += (digit - '0') * digit_ms;
      digit_ms /= 10;
    }
  }
  return ms;
}

// "Z" or "+HH:MM": how far the written time is ahead of UTC.
std::optional<std::int64_t> take_zone(std::string_view& text) {
  if (take_one_of(text, "Zz")) return 0;
  const bool behind = text.starts_with('-');
  if (!take_one_of(text, "+-")) return std::nullopt;
  const auto hours = take_number(text, 2);
  if (!hours || !take_one_of(text, ":")) return std::nullopt;
  const auto minutes = take_number(text, 2);
  if (!minutes || *hours > 23 || *minutes > 59) return std::nullopt;
  const std::int64_t ms = *hours * kHourMs + *minutes * kMinuteMs;
  return behind ? -ms : ms;
}

}  // namespace

Now SystemClock::now() const {
  return Now{.mono_ms = read_ms(CLOCK_MONOTONIC), .wall_ms = read_ms(CLOCK_REALTIME)};
}

std::string format_time(std::int64_t wall_ms) {
  using std::chrono::floor;
  // RFC 3339 has four digits for the year.
  constexpr std::int64_t kFirstMs = -62'167'219'200'000;  // 0000-01-01T00:00:00.000Z
  constexpr std::int64_t kLastMs = 253'402'300'799'999;   // 9999-12-31T23:59:59.999Z
  const std::chrono::sys_time<std::chrono::milliseconds> time{
      std::chrono::milliseconds{std::clamp(wall_ms, kFirstMs, kLastMs)}};
  const auto midnight = floor<std::chrono::days>(time);
  const std::chrono::year_month_day date{midnight};
  const std::chrono::hh_mm_ss of_day{time - midnight};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     of_day.hours().count(), of_day.minutes().count(), of_day.seconds().count(),
                     of_day.subseconds().count());
}

Result<std::int64_t> parse_time(std::string_view text) {
  std::string_view rest = text;
  const auto days = take_date(rest);
  if (!days) return bad_time(text, "does not start with a date");
  if (!take_one_of(rest, "Tt ")) return bad_time(text, "has no T between date and time of day");
  const auto ms_of_day = take_time_of_day(rest);
  if (!ms_of_day) return bad_time(text, "has no time of day after the date");
  const auto ahead_ms = take_zone(rest);
  if (!ahead_ms) return bad_time(text, "does not say its zone (Z for UTC)");
  if (!rest.empty()) return bad_time(text, "goes on after the zone");
  return *days * kDayMs + *ms_of_day - *ahead_ms;
}

Result<std::int64_t> parse_duration_ms(std::string_view text, DurationRules rules) {
  if (text == "none") {
    if (rules.allow_none) return kNoEnd;
    return bad_duration(text, "an end is needed here", rules);
  }
  if (text == "0") return 0;
  if (text.empty()) return bad_duration(text, "is empty", rules);
  if (text.starts_with('-')) return bad_duration(text, "is negative", rules);
  std::string_view rest = text;
  std::size_t next_unit = 0;
  std::int64_t sum_ms = 0;
  while (!rest.empty()) {
    const std::string_view digits = take_while_digits(rest);
    const std::string_view name = take_unit(rest);
    if (digits.empty()) return bad_duration(text, "is not a whole number with a unit", rules);
    if (name.empty()) return bad_duration(text, "has no unit", rules);
    const auto* const unit = std::ranges::find(kUnits, name, &Unit::name);
    if (unit == std::end(kUnits)) {
      return bad_duration(text, fmt::format("has the unknown unit {}", quote(name)), rules);
    }
    const auto index = static_cast<std::size_t>(unit - std::begin(kUnits));
    if (index < next_unit) {
      return bad_duration(text, "its units must go from long to short, each once", rules);
    }
    next_unit = index + 1;
    const auto sum = add_part(sum_ms, digits, unit->ms);
    if (!sum) return bad_duration(text, "is longer than 100 years", rules);
    sum_ms = *sum;
  }
  return sum_ms;
}

std::string format_duration(std::int64_t ms) {
  if (ms == kNoEnd) return "no end";
  if (ms == 0) return "0s";
  // Unsigned, because the most negative number has no positive counterpart.
  std::uint64_t rest =
      ms < 0 ? ~static_cast<std::uint64_t>(ms) + 1 : static_cast<std::uint64_t>(ms);
  std::string out = ms < 0 ? "-" : "";
  for (std::size_t i = 0; i < std::size(kUnits); ++i) {
    const auto unit_ms = static_cast<std::uint64_t>(kUnits[i].ms);
    if (rest < unit_ms) continue;
    out += fmt::format("{}{}", rest / unit_ms, kUnits[i].name);
    rest %= unit_ms;
    if (i + 1 == std::size(kUnits)) break;
    const auto next_ms = static_cast<std::uint64_t>(kUnits[i + 1].ms);
    if (rest >= next_ms) out += fmt::format(" {}{}", rest / next_ms, kUnits[i + 1].name);
    break;
  }
  return out;
}

std::string format_ago(std::int64_t then_wall_ms, std::int64_t now_wall_ms) {
  const std::int64_t age_ms = std::max<std::int64_t>(0, now_wall_ms - then_wall_ms);
  return format_duration(age_ms / 1'000 * 1'000) + " ago";
}

}  // namespace lockkeeper
