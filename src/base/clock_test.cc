#include "base/clock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"

namespace lockkeeper {
namespace {

using testing::HasSubstr;

TEST(SystemClockTest, monotonic_never_goes_back_and_wall_is_of_this_century) {
  const SystemClock clock;
  std::int64_t last_ms = clock.now().mono_ms;
  for (int i = 0; i < 1000; ++i) {
    const Now now = clock.now();
    ASSERT_GE(now.mono_ms, last_ms);
    last_ms = now.mono_ms;
  }
  EXPECT_GT(clock.now().wall_ms, 1'500'000'000'000);
}

TEST(FormatTime, writes_rfc3339_in_utc_with_milliseconds) {
  EXPECT_EQ(format_time(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(format_time(1'768'663'800'007), "2026-01-17T15:30:00.007Z");
  EXPECT_EQ(format_time(-1), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(format_time(951'782'400'000), "2000-02-29T00:00:00.000Z");
}

TEST(FormatTime, stays_in_four_digit_years_whatever_the_clock_says) {
  EXPECT_EQ(format_time(std::numeric_limits<std::int64_t>::max()), "9999-12-31T23:59:59.999Z");
  EXPECT_EQ(format_time(std::numeric_limits<std::int64_t>::min()), "0000-01-01T00:00:00.000Z");
}

TEST(ParseTime, reads_back_what_format_time_writes) {
  for (const std::int64_t ms : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1'768'663'800'007},
                                std::int64_t{253'402'300'799'999}}) {
    const auto back = parse_time(format_time(ms));
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(*back, ms);
  }
}

TEST(ParseTime, accepts_other_spellings_of_the_same_moment) {
  for (const char* text : {"2026-01-17T15:30:00Z", "2026-01-17T16:30:00+01:00",
                           "2026-01-17T10:00:00-05:30", "2026-01-17 15:30:00.0001z"}) {
    const auto ms = parse_time(text);
    ASSERT_TRUE(ms) << ms.error().message;
    EXPECT_EQ(*ms, 1'768'663'800'000) << text;
  }
  EXPECT_EQ(parse_time("2016-12-31T23:59:60Z").value_or(0),
            parse_time("2017-01-01T00:00:00Z").value_or(1));
  EXPECT_EQ(parse_time("1970-01-01T00:00:00.5Z").value_or(0), 500);
}

TEST(ParseTime, refuses_the_rest_and_names_the_value) {
  for (const char* text :
       {"", "now", "2026-01-17", "2026-13-01T00:00:00Z", "2026-02-29T00:00:00Z",
        "2026-00-01T00:00:00Z", "2026-01-17T24:00:00Z", "2026-01-17T15:60:00Z",
        "2026-01-17T15:30:61Z", "2026-01-17T15:30:00", "2026-01-17T15:30:00.Z",
        "2026-01-17T15:30:00Zx", "2026-01-17T15:30:00+1:00", "2026-01-17T15:30:00+24:00",
        "+026-01-17T15:30:00Z", "2026-1-17T15:30:00Z", "2026-01-17T15:30:00+"}) {
    const auto ms = parse_time(text);
    ASSERT_FALSE(ms) << text;
    EXPECT_EQ(ms.error().code, Code::kInvalidInput);
    EXPECT_THAT(ms.error().message, HasSubstr(quote(text)));
    EXPECT_THAT(ms.error().hint, HasSubstr("2026-01-17T15:30:00Z"));
  }
}

TEST(ParseDuration, accepts_the_documented_forms) {
  const std::vector<std::pair<const char*, std::int64_t>> forms = {
      {"300ms", 300},
      {"90s", 90'000},
      {"20m", 1'200'000},
      {"2h", 7'200'000},
      {"1h30m", 5'400'000},
      {"0", 0},
      {"0s", 0},
      {"2d", 172'800'000},
      {"1d1h1m1s1ms", 90'061'001},
      {"1s500ms", 1500},
      {"007s", 7000},
      {"36600d", kLongestDurationMs},
      {"1m1ms", 60'001},
      {"3162240000000ms", kLongestDurationMs}};
  for (const auto& [text, ms] : forms) {
    const auto parsed = parse_duration_ms(text);
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(*parsed, ms) << text;
  }
}

TEST(ParseDuration, none_only_where_allowed) {
  EXPECT_EQ(parse_duration_ms("none", {.allow_none = true}).value_or(0), kNoEnd);
  const auto refused = parse_duration_ms("none");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidInput);
  EXPECT_THAT(refused.error().hint, testing::Not(HasSubstr("none")));
}

TEST(ParseDuration, refuses_the_rest_names_the_value_and_the_accepted_forms) {
  const std::vector<std::pair<std::string, const char*>> cases = {
      {"", "is empty"},
      {"-5s", "is negative"},
      {"-0", "is negative"},
      {"90", "has no unit"},
      {"1h30", "has no unit"},
      {"h", "whole number"},
      {"1.5h", "unknown unit \".\""},
      {"5 s", "unknown unit"},
      {" 5s", "whole number"},
      {"5s ", "unknown unit"},
      {"5S", "unknown unit"},
      {"5w", "unknown unit \"w\""},
      {"30m1h", "long to short"},
      {"1h1h", "long to short"},
      {"NONE", "whole number"},
      {"101y", "unknown unit"},
      {"36601d", "longer than 100 years"},
      {"36600d1ms", "longer than 100 years"},
      {"9223372036854775807ms", "longer than 100 years"},
      {"18446744073709551617s", "longer than 100 years"},
      {"99999999999999999999999999999h", "longer than 100 years"},
      {"\xff", "whole number"},
      {std::string("5\0s", 3), "unknown unit"}};
  for (const auto& [text, why] : cases) {
    const auto parsed = parse_duration_ms(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, Code::kInvalidInput);
    EXPECT_THAT(parsed.error().message, HasSubstr(quote(text)));
    EXPECT_THAT(parsed.error().message, HasSubstr(why));
    EXPECT_THAT(parsed.error().hint, HasSubstr("300ms, 90s, 20m, 2h, 1h30m"));
  }
}

TEST(ParseDuration, a_64_kib_value_gives_a_short_message) {
  const auto parsed = parse_duration_ms(std::string(65536, '9'));
  ASSERT_FALSE(parsed);
  EXPECT_LT(parsed.error().message.size(), 300U);
}

TEST(FormatDuration, at_most_two_units) {
  EXPECT_EQ(format_duration(0), "0s");
  EXPECT_EQ(format_duration(300), "300ms");
  EXPECT_EQ(format_duration(1500), "1s 500ms");
  EXPECT_EQ(format_duration(45'000), "45s");
  EXPECT_EQ(format_duration(5'400'000), "1h 30m");
  EXPECT_EQ(format_duration(5'459'999), "1h 30m");
  EXPECT_EQ(format_duration(3'600'001), "1h") << "neighbouring units only";
  EXPECT_EQ(format_duration(90'000'000), "1d 1h");
  EXPECT_EQ(format_duration(kNoEnd), "no end");
  EXPECT_EQ(format_duration(-2000), "-2s");
  EXPECT_EQ(format_ago(1'000, 126'999), "2m 5s ago");
  EXPECT_EQ(format_ago(1'000, 1'999), "0s ago");
  EXPECT_EQ(format_ago(2'000, 1'000), "0s ago") << "the clock was set back";
  EXPECT_EQ(format_duration(std::numeric_limits<std::int64_t>::min()).substr(0, 1), "-");
}

}  // namespace
}  // namespace lockkeeper
