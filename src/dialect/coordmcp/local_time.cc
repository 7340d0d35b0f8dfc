#include "dialect/coordmcp/local_time.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "base/bytes.h"

namespace lockkeeper::dialect::coordmcp {
namespace {

constexpr int kYearMin = 1;
constexpr int kYearMax = 9998;
constexpr int kFractionDigits = 6;

// Reads one text from left to right.
class Cursor {
 public:
  explicit Cursor(std::string_view rest) : rest_(rest) {}

  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool digits(std::size_t count, int& value) {
    if (rest_.size() < count) return false;
    value = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (rest_[i] < '0' || rest_[i] > '9') return false;
      value = value * 10 + (rest_[i] - '0');
    }
    rest_.remove_prefix(count);
    return true;
  }
  // Any number of digits after the point, cut to microseconds.
  bool fraction(int& micros) {
    int seen = 0;
    micros = 0;
    for (int digit = 0; digits(1, digit); ++seen) {
      if (seen < kFractionDigits) micros = micros * 10 + digit;
    }
    for (int i = seen; i < kFractionDigits; ++i) micros *= 10;
    return seen > 0;
  }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

int days_in(int year, int month) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return month == 2 && leap ? 29 : kDays[month - 1];
}

bool same_minute(const std::tm& a, const std::tm& b) {
  return a.tm_year == b.tm_year && a.tm_mon == b.tm_mon && a.tm_mday == b.tm_mday &&
         a.tm_hour == b.tm_hour && a.tm_min == b.tm_min;
}

std::int64_t latest_reading(const std::tm& fields) {
  std::tm any = fields;
  any.tm_isdst = -1;
  std::int64_t latest = ::mktime(&any);
  for (const int summer : {0, 1}) {
    std::tm tried = fields;
    tried.tm_isdst = summer;
    const std::time_t at = ::mktime(&tried);
    if (same_minute(tried, fields)) latest = std::max<std::int64_t>(latest, at);
  }
  return latest;
}

// mktime() is slow, and the entries of one file are close together, so results are cached per
// quarter of an hour. Clocks change only at its beginning.
std::int64_t local_seconds(const std::tm& fields) {
  constexpr int kQuarter = 15;
  struct Known {
    std::int64_t quarter = -1;
    std::uint64_t zone = 0;
    std::int64_t seconds = 0;
  };
  thread_local std::array<Known, 64> known{};
  const std::int64_t day = (fields.tm_year * 12 + fields.tm_mon) * 31 + fields.tm_mday;
  const std::int64_t quarter = (day * 24 + fields.tm_hour) * 4 + fields.tm_min / kQuarter;
  // By its name: the C library's own names may be changed by other threads.
  const char* const name = std::getenv("TZ");
  const std::uint64_t zone = hash64(name == nullptr ? "" : name);
  Known& slot = known[static_cast<std::uint64_t>(quarter) % known.size()];
  if (slot.quarter != quarter || slot.zone != zone) {
    std::tm start = fields;
    start.tm_min -= fields.tm_min % kQuarter;
    start.tm_sec = 0;
    slot = {quarter, zone, latest_reading(start)};
  }
  return slot.seconds + std::int64_t{fields.tm_min % kQuarter} * 60 + fields.tm_sec;
}

bool read_day(Cursor& in, std::tm& fields) {
  int year = 0, month = 0, day = 0;
  const bool read = in.digits(4, year) && in.take('-') && in.digits(2, month) && in.take('-') &&
                    in.digits(2, day);
  if (!read || year < kYearMin || month < 1 || month > 12) return false;
  if (day < 1 || day > days_in(year, month)) return false;
  fields.tm_year = year - 1900;
  fields.tm_mon = month - 1;
  fields.tm_mday = day;
  return true;
}

bool read_clock(Cursor& in, std::tm& fields, int& micros) {
  if (!in.digits(2, fields.tm_hour) || !in.take(':') || !in.digits(2, fields.tm_min)) return false;
  if (in.take(':')) {
    if (!in.digits(2, fields.tm_sec)) return false;
    if (in.take('.') && !in.fraction(micros)) return false;
  }
  return fields.tm_hour < 24 && fields.tm_min < 60 && fields.tm_sec < 60;
}

// "Z", "+02:00", "-0530", or nothing.
bool read_zone(Cursor& in, std::optional<int>& offset_s) {
  if (in.at_end()) return true;
  if (in.take('Z')) {
    offset_s = 0;
    return in.at_end();
  }
  const int sign = in.take('+') ? 1 : in.take('-') ? -1 : 0;
  int hours = 0, minutes = 0;
  if (sign == 0 || !in.digits(2, hours)) return false;
  in.take(':');
  if (!in.at_end() && !in.digits(2, minutes)) return false;
  if (hours > 23 || minutes > 59 || !in.at_end()) return false;
  offset_s = sign * (hours * 3600 + minutes * 60);
  return true;
}

}  // namespace

LocalTime LocalTime::from_wall_ms(std::int64_t wall_ms) {
  const std::int64_t ms = (wall_ms % 1000 + 1000) % 1000;
  return {(wall_ms - ms) / 1000, static_cast<int>(ms) * 1000};
}

std::string format_local(const LocalTime& time, char separator) {
  const std::time_t seconds = time.wall_s;
  std::tm fields{};
  ::localtime_r(&seconds, &fields);
  const int year = std::clamp(fields.tm_year + 1900, kYearMin, kYearMax);
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02d-%02d%c%02d:%02d:%02d", year, fields.tm_mon + 1,
                fields.tm_mday, separator, fields.tm_hour, fields.tm_min, fields.tm_sec);
  std::string out = text;
  if (time.micros == 0) return out;
  std::snprintf(text, sizeof text, ".%06d", time.micros);
  return out + text;
}

std::optional<LocalTime> parse_local(std::string_view text) {
  Cursor in(text);
  std::tm fields{};
  LocalTime time;
  if (!read_day(in, fields)) return std::nullopt;
  std::optional<int> offset_s;
  if (!in.at_end()) {
    if (!in.take('T') && !in.take(' ')) return std::nullopt;
    if (!read_clock(in, fields, time.micros) || !read_zone(in, offset_s)) return std::nullopt;
  }
  time.wall_s = offset_s ? ::timegm(&fields) - *offset_s : local_seconds(fields);
  return time;
}

}  // namespace lockkeeper::dialect::coordmcp
