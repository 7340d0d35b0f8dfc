#include "dialect/mkdir/owner.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

#include "base/clock.h"
#include "base/text.h"
#include "realm/identity.h"

namespace lockkeeper::dialect::mkdir {
namespace {

constexpr std::int64_t kMoment = 1'768'663'800'123;  // 2026-01-17T15:30:00.123Z

// The zone for one test.
class Zone {
 public:
  explicit Zone(const char* name) {
    if (const char* const old = std::getenv("TZ")) old_ = old;
    ::setenv("TZ", name, 1);
  }
  ~Zone() {
    if (old_) {
      ::setenv("TZ", old_->c_str(), 1);
    } else {
      ::unsetenv("TZ");
    }
  }
  Zone(const Zone&) = delete;
  Zone& operator=(const Zone&) = delete;

 private:
  std::optional<std::string> old_;
};

TEST(MkdirOwner, TimeAsDateIsecondsHasIt) {
  {
    const Zone zone("UTC0");
    EXPECT_EQ(local_time(kMoment), "2026-01-17T15:30:00+00:00");
  }
  {
    const Zone zone("XYZ-5:30");
    EXPECT_EQ(local_time(kMoment), "2026-01-17T21:00:00+05:30");
  }
  const Zone zone("XYZ8");
  EXPECT_EQ(local_time(kMoment), "2026-01-17T07:30:00-08:00");
  EXPECT_EQ(local_time(-1), "1969-12-31T15:59:59-08:00");
}

TEST(MkdirOwner, ThreeLinesThereAndBack) {
  const Zone zone("XYZ-1");
  const std::string text = owner_text("back end", "T-17", kMoment);
  EXPECT_EQ(text, "agent: back end\ntask: T-17\ntimestamp: 2026-01-17T16:30:00+01:00\n");
  const OwnerLines lines = parse_owner(text);
  EXPECT_EQ(lines.agent, "back end");
  EXPECT_EQ(lines.task, "T-17");
  EXPECT_EQ(lines.since_wall_ms, kMoment - 123);
}

TEST(MkdirOwner, BadInputNeverFails) {
  for (const char* const text : {"", "\n\n", "agent", "agent:", "agent: \ntask: x",
                                 ":::", "\xff\xfe", "{\"agent\":\"json\"}", "Agent: upper"}) {
    EXPECT_EQ(parse_owner(text).agent, kUnknownAgent) << text;
  }
  const OwnerLines odd = parse_owner(
      "# note\r\ntimestamp: yesterday\r\ntask:T:1\r\nextra: x\r\nagent:  a:b \r\nagent: "
      "second\r\n");
  EXPECT_EQ(odd.agent, "a:b");
  EXPECT_EQ(odd.task, "T:1");
  EXPECT_FALSE(odd.since_wall_ms);
  EXPECT_FALSE(parse_owner("timestamp: 2026-01-17T15:30:00\n").since_wall_ms);  // whose zone?
  const OwnerLines raw = parse_owner("agent: a\xff\x1b[2Jb\n");
  EXPECT_EQ(raw.agent, "a\\xff\\x1b[2Jb");
  const std::string huge = parse_owner("agent: " + std::string(100'000, 'x')).agent;
  EXPECT_LT(huge.size(), 256U);
  EXPECT_TRUE(is_valid_utf8(huge));
  EXPECT_EQ(parse_owner(std::string("agent: a\0b", 10)).agent, "a\\x00b");
  for (const std::string& many : {std::string(150, '\x01'), std::string(150, '"')}) {
    const std::string name = parse_owner("agent: b " + many + "\n").agent;
    EXPECT_TRUE(realm::check_agent_name(name, "agent")) << name;
  }
}

}  // namespace
}  // namespace lockkeeper::dialect::mkdir
