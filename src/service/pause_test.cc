#include "service/pause.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "service/local/test_site.h"

namespace lockkeeper::service {
namespace {

using testing::HasSubstr;

class Pause : public testing::Test {
 protected:
  void acquire(const core::Owner& owner, const std::string& key, std::int64_t ttl_ms = 60'000,
               core::Mode mode = core::Mode::kExclusive) {
    Locks locks(*site_, owner);
    AcquireCommand command;
    command.wanted.texts = {key};
    command.wanted.mode = mode;
    command.ttl_ms = ttl_ms;
    command.terms.reason = "contract bump";
    const auto result = locks.acquire(command);
    ASSERT_TRUE(result) << result.error().message;
    ASSERT_EQ(outcome_status(result->outcome), 0);
  }

  Gate gate(const core::Owner& owner, const std::string& feature) {
    Locks locks(*site_, owner);
    auto looked = look_at_gate(locks, feature);
    EXPECT_TRUE(looked) << looked.error().message;
    return looked ? *looked : Gate{};
  }

  TestSite realm_;
  std::unique_ptr<Site> site_ = realm_.site();
};

TEST_F(Pause, TheKeyOfAFeatureIsAlsoItsOwn) {
  EXPECT_EQ(pause_key("F-1"), "feature:F-1:pause");
  EXPECT_EQ(pause_key("feature:F-1:pause"), "feature:F-1:pause");
  EXPECT_EQ(pause_key("feature:pause"), "feature:feature:pause:pause");
}

TEST_F(Pause, WithoutAStoreTheGateIsOpenAndNothingIsMade) {
  EXPECT_TRUE(gate({"ann", ""}, "F-1").open());
  EXPECT_FALSE(std::filesystem::exists(realm_.realm.store_folder));
}

TEST_F(Pause, ShutForAllButWhoPausedAndForItsOwnSubagentsToo) {
  acquire({"lead", "s"}, "feature:F-1:pause");
  EXPECT_TRUE(gate({"lead", "s"}, "F-1").open());
  EXPECT_TRUE(gate({"lead", "s"}, "F-1").mine);
  for (const core::Owner& other : {core::Owner{"worker", ""}, core::Owner{"lead", ""},
                                   core::Owner{"lead", "t"}, core::Owner{"lead", "s/sub"}}) {
    const Gate shut = gate(other, "F-1");
    EXPECT_FALSE(shut.open()) << other.session;
    EXPECT_FALSE(shut.mine);
    ASSERT_EQ(shut.others.size(), 1U);
    EXPECT_EQ(shut.others[0].holder.owner.agent, "lead");
    EXPECT_THAT(paused_text(shut, 0), HasSubstr("feature F-1 is paused: held by lead"));
    EXPECT_THAT(paused_text(shut, 0), HasSubstr("\"contract bump\""));
  }
  EXPECT_TRUE(gate({"worker", ""}, "F-2").open());
}

TEST_F(Pause, AnyHolderPausesAlsoASharedOne) {
  acquire({"a", ""}, "feature:F-1:pause", 60'000, core::Mode::kShared);
  acquire({"b", ""}, "feature:F-1:pause", 60'000, core::Mode::kShared);
  EXPECT_EQ(gate({"c", ""}, "F-1").others.size(), 2U);
  const Gate mine = gate({"a", ""}, "F-1");
  EXPECT_TRUE(mine.mine);
  EXPECT_FALSE(mine.open()) << "the other one still says stop";
}

TEST_F(Pause, I6_WhatIsOverPausesNobodyAndNeverEarly) {
  acquire({"lead", ""}, "feature:F-1:pause", 60'000);
  realm_.clock.ahead_ms = 50'000;
  EXPECT_FALSE(gate({"w", ""}, "F-1").open());
  realm_.clock.ahead_ms = 61'000;
  EXPECT_TRUE(gate({"w", ""}, "F-1").open());
}

TEST_F(Pause, AWaitEndsWithThePauseWithTimeOrWithTheAskersWill) {
  acquire({"lead", ""}, "feature:F-1:pause");
  Locks locks(*site_, {"w", ""});
  auto passed = pass_gate(locks, {"F-1", std::nullopt, {}});
  ASSERT_TRUE(passed);
  EXPECT_EQ(passed->outcome, core::Outcome::kHeld);
  passed = pass_gate(locks, {"F-1", 10, {}});
  ASSERT_TRUE(passed);
  EXPECT_EQ(passed->outcome, core::Outcome::kTimeout);
  EXPECT_FALSE(passed->gate.open());
  passed = pass_gate(locks, {"F-1", kWaitForever, [](const WaitProgress&) { return false; }});
  ASSERT_TRUE(passed);
  EXPECT_EQ(passed->outcome, core::Outcome::kInterrupted);
  passed = pass_gate(locks, {"F-1", kWaitForever, [&](const WaitProgress& wait) {
                               EXPECT_EQ(wait.conflicts.size(), 1U);
                               realm_.clock.ahead_ms += 61'000;
                               return true;
                             }});
  ASSERT_TRUE(passed);
  EXPECT_EQ(passed->outcome, core::Outcome::kGranted);
}

TEST_F(Pause, NamesThatNoFeatureHas) {
  Locks locks(*site_, {"w", ""});
  for (const char* const bad : {"", "a/b", "../x", "a b", ":", "x:", "\x1b[2J", "a,b&c"}) {
    const auto looked = look_at_gate(locks, bad);
    ASSERT_FALSE(looked) << bad;
    EXPECT_EQ(looked.error().code, Code::kInvalidResource) << bad;
  }
}

}  // namespace
}  // namespace lockkeeper::service
