// F1 below the seam: the program is killed at each system call that may change something, while it
// creates, opens, commits, repairs or removes a store. Skipped where nobody may trace.
#include <filesystem>
#include <fstream>

#include "chaos/crash_point.h"
#include "support/campaign.h"

namespace lockkeeper::stage {
namespace {

using testing::AnyOf;

class CrashStep : public CrashPoint {
 protected:
  void SetUp() override {
    CrashPoint::SetUp();
    if (!may_trace(stage_)) GTEST_SKIP() << "this process may not trace its children";
  }

  // Killed before its N-th system call that counts, or after it.
  Answer killed_at(int place, const std::string& agent, const Words& words) {
    return stage::killed_at(stage_, place, after(), agent, words, at_);
  }

  // As if there never had been a store, here and in the user's own folder.
  void no_store() {
    std::filesystem::remove_all(stage_.store());
    std::filesystem::remove_all(stage_.path("state"));
    std::filesystem::create_directories(stage_.path("state"));
    fence_ = 0;  // nothing is left that could know of it
  }

  // Granted exactly once under its id, whole, whatever the first attempt came to (I2, I8, I9).
  void asked_again(const Words& words, const Answer& first) {
    SCOPED_TRACE(at_);
    const Json lease = only_lease();
    if (first.status == 0) {
      EXPECT_EQ(first.lease(), lease["id"]) << "I9";
    }
    if (!lease.is_null()) {
      EXPECT_EQ(lease["resources"].size(), 2U) << "I2";
    }
    const Answer again = stage_.expect(0, "ann", words);
    EXPECT_EQ(again.json()["lease"]["resources"].size(), 2U);
    if (!lease.is_null()) {
      EXPECT_EQ(again.lease(), lease["id"]) << "I8";
      EXPECT_EQ(again.fence(), lease["fence"]) << "I8";
    }
    EXPECT_GT(again.fence(), fence_) << "I3";
    fence_ = again.fence();
    healthy();
    stage_.expect(75, "bob", {"acquire", "a"});
    stage_.expect(0, "ann", {"release", "--all"});
  }

  std::string at_;
  std::uint64_t fence_ = 0;
};

TEST_P(CrashStep, F1_I2_I3_I8_CreatingTheStoreAndTheFirstCommit) {
  at_every_place(20, [&](int place) {
    no_store();
    const Words words{"acquire", "a", "b/", "--request-id", id()};
    const Answer first = killed_at(place, "ann", words);
    // Nothing is locked, or all of it is; a half-made store is no damage and no lost state.
    stage_.expect(first.status == 0 || !only_lease().is_null() ? 75 : 0, "bob", {"check", "a"});
    asked_again(words, first);
    return first.status == kKilled;
  });
}

TEST_P(CrashStep, F1_I2_I3_I8_OpeningAndCommitting) {
  stage_.expect(0, "ann", {"acquire", "earlier"});
  stage_.expect(0, "ann", {"release", "earlier"});
  at_every_place(5, [&](int place) {
    const Words words{"acquire", "a", "b/", "--request-id", id()};
    const Answer first = killed_at(place, "ann", words);
    asked_again(words, first);
    return first.status == kKilled;
  });
}

TEST_P(CrashStep, F1_F7_I8_Release) {
  at_every_place(5, [&](int place) {
    const std::string held = stage_.expect(0, "ann", {"acquire", "a", "b/"}).lease();
    const Answer first = killed_at(place, "ann", {"release", "--lease", held});
    SCOPED_TRACE(at_);
    const Json lease = only_lease();
    if (!lease.is_null()) {
      EXPECT_EQ(lease["resources"].size(), 2U) << "between";
      EXPECT_EQ(first.status, kKilled) << "I9";
    }
    healthy();
    stage_.expect(lease.is_null() ? 66 : 0, "ann", {"release", "--lease", held});
    stage_.expect(0, "bob", {"acquire", "a"});
    stage_.expect(0, "bob", {"release", "a"});
    return first.status == kKilled;
  });
}

// A sound store is repaired: whatever happens meanwhile, its leases are there afterwards (I5),
// those of living processes as well.
TEST_P(CrashStep, A16_F1_I1_I3_I5_RepairOfASoundStore) {
  const std::string pid = std::to_string(::getpid());
  const Answer held = stage_.expect(0, "ann", {"acquire", "a", "b/", "--attach", pid});
  at_every_place(10, [&](int place) {
    const Answer first = killed_at(place, "boss", {"doctor", "--repair", "--force"});
    SCOPED_TRACE(at_);
    const Answer check = stage_.json("bob", {"check", "a"});
    EXPECT_THAT(check.status, AnyOf(75, 69)) << "held was reported as free: " << check.all();
    const Answer taken = stage_.json("bob", {"acquire", "a"});
    EXPECT_THAT(taken.status, AnyOf(75, 69)) << "I1: " << taken.all();
    if (check.status == 69) stage_.expect(0, "", {"doctor", "--repair"});
    EXPECT_EQ(only_lease()["id"], held.lease()) << "I5";
    stage_.expect(0, "ann", {"check", "a", "--fence", std::to_string(held.fence())});
    const Answer next = stage_.expect(0, "cat", {"acquire", "c"});
    EXPECT_GT(next.fence(), std::max(fence_, held.fence())) << "I3";
    fence_ = next.fence();
    stage_.expect(0, "cat", {"release", "c"});
    return first.status == kKilled;
  });
}

// The data file is cut short: what was in it is gone, and is never reported as free before the
// repair; afterwards fences go on above all that were ever given (I3).
TEST_P(CrashStep, F1_F15_I3_I10_RepairOfALostStore) {
  at_every_place(10, [&](int place) {
    const Answer held = stage_.expect(0, "ann", {"acquire", "a"});
    EXPECT_GT(held.fence(), fence_) << "I3";
    std::filesystem::resize_file(stage_.store() + "/data.mdb", place % 2 == 0 ? 0 : 5'000);
    const Answer first = killed_at(place, "boss", {"doctor", "--repair"});
    SCOPED_TRACE(at_);
    const Answer check = stage_.json("bob", {"check", "a"});
    EXPECT_THAT(check.status, AnyOf(0, 69)) << check.all();
    if (first.status == 0) {
      EXPECT_EQ(check.status, 0) << check.all();
    }
    if (check.status == 69) {
      EXPECT_EQ(check.json()["error"]["code"], "store_corrupt") << check.all();
      stage_.expect(0, "", {"doctor", "--repair"});
    }
    healthy();
    const Answer next = stage_.expect(0, "cat", {"acquire", "a"});
    EXPECT_GT(next.fence(), held.fence()) << "I3";
    fence_ = next.fence();
    stage_.expect(0, "cat", {"release", "a"});
    return first.status == kKilled;
  });
}

TEST_P(CrashStep, F1_I3_PurgeOfTheStore) {
  at_every_place(3, [&](int place) {
    const Answer held = stage_.expect(0, "ann", {"acquire", "a", "b/"});
    EXPECT_GT(held.fence(), fence_) << "I3";
    const Answer first = killed_at(place, "boss", {"purge", "--remove-store", "--force"});
    SCOPED_TRACE(at_);
    const Json lease = only_lease();
    if (!lease.is_null()) {
      EXPECT_EQ(lease["id"], held.lease());
      EXPECT_EQ(first.status, kKilled) << "I9";
      stage_.expect(0, "ann", {"release", "--all"});
    }
    const Answer next = stage_.expect(0, "cat", {"acquire", "a"});
    EXPECT_GT(next.fence(), held.fence()) << "I3";
    fence_ = next.fence();
    healthy();
    stage_.expect(0, "cat", {"release", "a"});
    return first.status == kKilled;
  });
}

// What lies between two system calls changes little: by default one side of each.
std::vector<CrashParam> sides() {
  if (number_from("LOCKKEEPER_CHAOS_LONG", 0) == 0) return {{"full", false}, {"process", true}};
  return {{"full", false}, {"full", true}, {"process", false}, {"process", true}};
}

INSTANTIATE_TEST_SUITE_P(Each, CrashStep, testing::ValuesIn(sides()), crash_name);

}  // namespace
}  // namespace lockkeeper::stage
