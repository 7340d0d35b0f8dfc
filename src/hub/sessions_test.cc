#include "hub/sessions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/test_clock.h"

namespace lockkeeper::hub {
namespace {

using core::Alive;
using testing::ElementsAre;
using testing::IsEmpty;

const std::string kRelay(32, 'a');
const std::string kOther(32, 'b');

std::uint64_t number_of(const std::string& person, std::uint64_t own) {
  return Sessions::mark_of(person) << Sessions::kOwnBits | own;
}

class SessionsTest : public testing::Test {
 protected:
  void pass(std::int64_t ms) { clock_.at.mono_ms += ms; }
  std::vector<std::uint64_t> beat(std::vector<std::uint64_t> living,
                                  std::vector<std::uint64_t> gone = {}) {
    const auto lost = sessions_.beat({"ann", kRelay, std::move(living), std::move(gone), at_ms_});
    EXPECT_TRUE(lost) << lost.error().message;
    return lost.value_or(std::vector<std::uint64_t>{});
  }
  TestClock clock_;
  Sessions sessions_{clock_};
  std::int64_t at_ms_ = 0;  // of the beats
  const std::uint64_t one_ = number_of("ann", 1);
};

TEST_F(SessionsTest, ANumberLivesAMinuteLongerThanTheBeats) {
  pass(120'000);
  EXPECT_EQ(sessions_.alive(one_), std::nullopt);
  ASSERT_TRUE(sessions_.attach("ann", kRelay, "app", one_));
  EXPECT_EQ(sessions_.alive(one_), Alive::kAlive);
  pass(59'999);
  EXPECT_EQ(sessions_.alive(one_), Alive::kAlive);
  EXPECT_THAT(beat({one_}), IsEmpty());
  pass(59'999);
  EXPECT_EQ(sessions_.alive(one_), Alive::kAlive);
  pass(1);
  EXPECT_EQ(sessions_.alive(one_), Alive::kDead);
}

// Somebody may have seen it as free.
TEST_F(SessionsTest, WhatWasDeadStaysDead) {
  pass(120'000);
  ASSERT_TRUE(sessions_.attach("ann", kRelay, "app", one_));
  pass(60'000);
  EXPECT_THAT(beat({one_}), ElementsAre(one_));
  EXPECT_NE(sessions_.alive(one_), Alive::kAlive);
}

TEST_F(SessionsTest, TheFirstMinuteBelongsToThoseWhoComeBack) {
  EXPECT_THAT(beat({one_}), IsEmpty());
  EXPECT_EQ(sessions_.alive(one_), Alive::kAlive);
  pass(60'000);
  EXPECT_THAT(beat({number_of("ann", 2)}), ElementsAre(number_of("ann", 2)));
}

TEST_F(SessionsTest, WhoIsGoneIsDeadAtOnceAlsoInTheFirstMinute) {
  EXPECT_THAT(beat({one_, number_of("ann", 2)}), IsEmpty());
  EXPECT_THAT(beat({number_of("ann", 2)}, {one_}), IsEmpty());
  EXPECT_EQ(sessions_.alive(one_), Alive::kDead);
  EXPECT_EQ(sessions_.alive(number_of("ann", 2)), Alive::kAlive);
  EXPECT_THAT(beat({one_, number_of("ann", 2)}), ElementsAre(one_));
  EXPECT_EQ(sessions_.attach("ann", kRelay, "app", one_).error().code, Code::kLost);
}

// What a process had asked for comes after the news of its end.
TEST_F(SessionsTest, WhoIsGoneGetsNothingMore) {
  pass(120'000);
  EXPECT_THAT(beat({}, {one_}), IsEmpty());
  EXPECT_EQ(sessions_.attach("ann", kRelay, "app", one_).error().code, Code::kLost);
  EXPECT_EQ(sessions_.alive(one_), Alive::kDead);
  pass(59'999);
  EXPECT_EQ(sessions_.attach("ann", kRelay, "app", one_).error().code, Code::kLost);
}

// A beat that was sent before the call and came after it leaves out the number once.
TEST_F(SessionsTest, WhoIsLeftOutTwiceIsGone) {
  pass(120'000);
  ASSERT_TRUE(sessions_.attach("ann", kRelay, "app", one_));
  EXPECT_THAT(beat({}), IsEmpty());
  EXPECT_EQ(sessions_.alive(one_), Alive::kAlive);
  EXPECT_THAT(beat({one_}), IsEmpty());
  EXPECT_THAT(beat({}), IsEmpty());
  EXPECT_EQ(sessions_.alive(one_), Alive::kAlive);
  EXPECT_THAT(beat({}), IsEmpty());
  EXPECT_NE(sessions_.alive(one_), Alive::kAlive);
}

// Beats that the network has kept back, from before the call.
TEST_F(SessionsTest, WhoIsLeftOutByOldBeatsLives) {
  pass(120'000);
  ASSERT_TRUE(sessions_.attach("ann", kRelay + "@5000", "app", one_));
  for (at_ms_ = 4'998; at_ms_ <= 5'000; ++at_ms_) EXPECT_THAT(beat({}), IsEmpty());
  EXPECT_EQ(sessions_.alive(one_), Alive::kAlive);
  for (at_ms_ = 5'001; at_ms_ <= 5'002; ++at_ms_) EXPECT_THAT(beat({}), IsEmpty());
  EXPECT_NE(sessions_.alive(one_), Alive::kAlive);
}

TEST_F(SessionsTest, ItSaysWhereSomebodyHasDied) {
  pass(120'000);
  ASSERT_TRUE(sessions_.attach("ann", kRelay, "app", one_));
  ASSERT_TRUE(sessions_.attach("ann", kRelay, "web", one_));
  ASSERT_TRUE(sessions_.attach("ann", kRelay, "web", number_of("ann", 2)));
  EXPECT_FALSE(sessions_.take_deaths().any());
  beat({one_}, {number_of("ann", 2)});
  EXPECT_THAT(sessions_.take_deaths().realms, ElementsAre("web"));
  pass(60'000);
  EXPECT_THAT(sessions_.take_deaths().realms, ElementsAre("app", "web"));
  EXPECT_FALSE(sessions_.take_deaths().any());
}

TEST_F(SessionsTest, NobodySpeaksForAnother) {
  pass(120'000);
  ASSERT_TRUE(sessions_.attach("ann", kRelay, "app", one_));
  EXPECT_EQ(sessions_.attach("bob", kRelay, "app", one_).error().code, Code::kInvalidInput);
  EXPECT_EQ(sessions_.attach("ann", kOther, "app", one_).error().code, Code::kInvalidInput);
  EXPECT_TRUE(sessions_.beat({"bob", kRelay, {}, {one_}, 0}));
  EXPECT_TRUE(sessions_.beat({"ann", kOther, {}, {one_}, 0}));
  EXPECT_EQ(sessions_.alive(one_), Alive::kAlive);
  for (const std::string& bad : {std::string(), std::string("x"), std::string(32, 'g')}) {
    EXPECT_EQ(sessions_.beat({"ann", bad, {}, {}, 0}).error().code, Code::kInvalidInput);
    EXPECT_EQ(sessions_.attach("ann", bad, "app", one_).error().code, Code::kInvalidInput);
  }
}

}  // namespace
}  // namespace lockkeeper::hub
