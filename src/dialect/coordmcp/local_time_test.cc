#include "dialect/coordmcp/local_time.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <thread>
#include <vector>

namespace lockkeeper::dialect::coordmcp {
namespace {

// The process's zone for one test.
class Zone {
 public:
  explicit Zone(const char* name) { set(name); }
  ~Zone() { set(nullptr); }
  Zone(const Zone&) = delete;
  Zone& operator=(const Zone&) = delete;

 private:
  static void set(const char* name) {
    name != nullptr ? ::setenv("TZ", name, 1) : ::unsetenv("TZ");
    ::tzset();
  }
};

// Berlin's rule written out: no zone files are needed.
constexpr const char* kBerlin = "CET-1CEST,M3.5.0,M10.5.0/3";
constexpr std::int64_t kMoment = 1'705'746'600;  // 2024-01-20T10:30:00Z

TEST(LocalTime, IsWrittenAsPythonDoes) {
  const Zone zone("UTC0");
  EXPECT_EQ(format_local({kMoment, 0}, 'T'), "2024-01-20T10:30:00");
  EXPECT_EQ(format_local({kMoment, 42}, ' '), "2024-01-20 10:30:00.000042");
  EXPECT_EQ(format_local(LocalTime::from_wall_ms(kMoment * 1000 + 7), ' '),
            "2024-01-20 10:30:00.007000");
  EXPECT_EQ(format_local(LocalTime::from_wall_ms(-1), 'T'), "1969-12-31T23:59:59.999000");
}

TEST(LocalTime, IsLocalWithoutAZone) {
  const Zone zone(kBerlin);
  EXPECT_EQ(format_local({kMoment, 0}, 'T'), "2024-01-20T11:30:00");
  EXPECT_EQ(parse_local("2024-01-20T11:30:00")->wall_s, kMoment);
  EXPECT_EQ(parse_local("2024-01-20 11:30:00.5")->micros, 500'000);
  EXPECT_EQ(parse_local("2024-01-20 11:30:00.123456789")->micros, 123'456);
  EXPECT_EQ(parse_local("2024-01-20 11:30")->wall_s, kMoment);
  EXPECT_EQ(parse_local("2024-01-20")->wall_s, kMoment - 11 * 3600 - 1800);
}

TEST(LocalTime, AZoneIsTaken) {
  const Zone zone(kBerlin);
  for (const char* const text :
       {"2024-01-20T10:30:00Z", "2024-01-20 10:30:00+00:00", "2024-01-20T12:30:00+0200",
        "2024-01-20T05:00:00.000000-05:30", "2024-01-20T13:30:00+03"}) {
    ASSERT_TRUE(parse_local(text)) << text;
    EXPECT_EQ(parse_local(text)->wall_s, kMoment) << text;
  }
}

TEST(LocalTime, I6OfTwoMomentsWithOneNameTheLaterCounts) {
  const Zone zone(kBerlin);
  // 2024-10-27 02:30 came twice: at 00:30 and at 01:30 UTC.
  EXPECT_EQ(parse_local("2024-10-27 02:30:00")->wall_s, 1'729'992'600);
  // 2024-03-31 02:30 never came.
  EXPECT_TRUE(parse_local("2024-03-31 02:30:00"));
}

TEST(LocalTime, RoundTripsOverAYear) {
  for (const char* const name : {"UTC0", kBerlin, "EST5EDT,M3.2.0,M11.1.0", "<+0545>-5:45"}) {
    const Zone zone(name);
    for (std::int64_t at = kMoment; at < kMoment + 366LL * 86400; at += 7 * 3600 + 61) {
      const auto back = parse_local(format_local({at, 17}, ' '));
      ASSERT_TRUE(back) << name << at;
      EXPECT_GE(back->wall_s, at) << name;  // only where an hour comes twice
      EXPECT_LE(back->wall_s, at + 3600) << name;
      EXPECT_EQ(back->micros, 17);
    }
  }
}

TEST(LocalTime, RefusesWhatIsNoTime) {
  for (const char* const text :
       {"", "now", "2024", "2024-13-01", "2024-02-30", "2023-02-29", "2024-01-20X10:30:00",
        "2024-01-20T24:00:00", "2024-01-20T10:60:00", "2024-01-20T10:30:60", "2024-01-20T10:30:00.",
        "2024-01-20T10:30:00+", "2024-01-20T10:30:00+25:00", "2024-01-20T10:30:00Zulu",
        "2024-01-20T10:30:00 ", " 2024-01-20", "0000-01-01", "2024-1-2", "1705746600"}) {
    EXPECT_FALSE(parse_local(text)) << text;
  }
}

TEST(LocalTime, ManyThreadsReadTimesAtOnce) {
  const Zone zone(kBerlin);
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([] {
      for (int i = 0; i < 20'000; ++i) {
        const auto read = parse_local("2024-01-20T11:30:00");
        ASSERT_TRUE(read);
        ASSERT_EQ(read->wall_s, kMoment);
        ::tzset();  // as every localtime() and mktime() of a library does
      }
    });
  }
}

TEST(LocalTime, YearsThatPythonCannotAddToAreClamped) {
  const Zone zone("UTC0");
  EXPECT_EQ(format_local({300'000'000'000, 0}, 'T').substr(0, 4), "9998");
}

}  // namespace
}  // namespace lockkeeper::dialect::coordmcp
