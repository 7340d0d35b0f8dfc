// F1 at the calls to the store: every verb that makes any, before and after each call, under both
// durabilities.
#include "chaos/crash_point.h"

namespace lockkeeper::stage {
namespace {

using testing::AnyOf;

constexpr int kFew = 3;

TEST_P(CrashPoint, F1_I2_I8_Acquire) {
  at_every_place(kFew, [&](int place) {
    const Words words{"acquire", "src/a", "lib/", "*.h", "--request-id", id()};
    const bool killed = dies(place, "ann", words);
    const Json lease = only_lease();
    if (!lease.is_null()) {
      EXPECT_EQ(lease["resources"].size(), 3U) << "I2 " << lease.dump();
    }
    if (!killed) {
      EXPECT_FALSE(lease.is_null()) << "I9";
    }
    healthy();
    const Answer again = stage_.expect(0, "ann", words);
    EXPECT_EQ(again.json()["lease"]["resources"].size(), 3U);
    if (!lease.is_null()) {
      EXPECT_EQ(again.lease(), lease["id"]) << "I8: granted twice";
    }
    stage_.expect(0, "ann", {"release", "--lease", again.lease()});
    stage_.expect(79, "ann", words);  // rule 12: a replay after its end never grants anew
    return killed;
  });
}

TEST_P(CrashPoint, F1_I8_Release) {
  at_every_place(kFew, [&](int place) {
    const std::string held = stage_.expect(0, "ann", {"acquire", "a", "b/"}).lease();
    const bool killed = dies(place, "ann", {"release", "--lease", held});
    const Json lease = only_lease();
    if (!lease.is_null()) {
      EXPECT_EQ(lease["resources"].size(), 2U) << "between";
    }
    if (!killed) {
      EXPECT_TRUE(lease.is_null());
    }
    healthy();
    stage_.expect(lease.is_null() ? 66 : 0, "ann", {"release", "--lease", held});
    stage_.expect(0, "bob", {"acquire", "a", "b/"});
    stage_.expect(0, "bob", {"release", "--all"});
    return killed;
  });
}

TEST_P(CrashPoint, F1_L4_ReleaseWithAWaiter) {
  at_every_place(kFew, [&](int place) {
    stage_.expect(0, "ann", {"acquire", "a"});
    Process waiter = stage_.start("bob", {"acquire", "a", "--wait"});
    EXPECT_TRUE(stage_.queue_grows_to(1));
    const bool killed = dies(place, "ann", {"release", "a"});
    const Json list = stage_.list();
    EXPECT_EQ(list["leases"].size(), 1U) << list.dump(1);
    const bool handed_over = list["leases"][0]["agent"] == "bob";
    if (!killed) {
      EXPECT_TRUE(handed_over) << "rule 5: a handoff in the same commit";
    }
    if (!handed_over) {
      EXPECT_EQ(list["waiters"].size(), 1U) << list.dump(1);
    }
    healthy();
    if (!handed_over) stage_.expect(0, "ann", {"release", "a"});
    EXPECT_EQ(waiter.wait(), 0) << waiter.err();
    stage_.expect(0, "bob", {"release", "a"});
    return killed;
  });
}

TEST_P(CrashPoint, F1_F3_I8_L6_AcquireThatWaits) {
  at_every_place(kFew, [&](int place) {
    stage_.expect(0, "ann", {"acquire", "a"});
    const Words words{"acquire", "a", "--wait", "--request-id", id()};
    Process waiter(planned(place, "bob", words));
    EXPECT_TRUE(eventually([&] { return !waiter.running() || stage_.waiters() == 1; }));
    stage_.expect(0, "ann", {"release", "a"});
    const int status = waiter.wait();
    EXPECT_THAT(status, AnyOf(0, kKilled)) << waiter.err();
    healthy();
    if (status == 0) {
      stage_.expect(0, "bob", {"release", "a"});
      return false;
    }
    // Dead in the queue or after the handoff: it delays nobody, and asking again finds the
    // request new or says that its grant is over.
    const Answer again = stage_.json("bob", words);
    EXPECT_THAT(again.status, AnyOf(0, 79)) << again.all();
    if (again.status == 0) stage_.expect(0, "bob", {"release", "a"});
    stage_.expect(0, "cat", {"acquire", "a", "--wait=30s"});
    stage_.expect(0, "cat", {"release", "a"});
    return true;
  });
}

TEST_P(CrashPoint, F1_I3_Renew) {
  at_every_place(kFew, [&](int place) {
    const Answer held = stage_.expect(0, "ann", {"acquire", "a", "b", "--ttl", "1h"});
    const bool killed = dies(place, "ann", {"renew", "a", "--ttl", "3h"});
    const Json before = held.json()["lease"];
    const Json after = only_lease();
    EXPECT_EQ(after["id"], before["id"]);
    EXPECT_EQ(after["fence"], before["fence"]);
    if (!killed) {
      EXPECT_GT(after["expires_at"], before["expires_at"]);
    }
    healthy();
    stage_.expect(0, "ann", {"renew", "a", "--ttl", "3h"});
    EXPECT_GT(only_lease()["expires_at"], before["expires_at"]);
    stage_.expect(0, "ann", {"release", "--all"});
    return killed;
  });
}

TEST_P(CrashPoint, F1_I7_I11_Break) {
  at_every_place(kFew, [&](int place) {
    const Answer held = stage_.expect(0, "ann", {"acquire", "a"});
    const bool killed = dies(place, "boss", {"break", "a", "--reason", "stuck"});
    const bool broken = only_lease().is_null();
    if (!killed) {
      EXPECT_TRUE(broken);
    }
    std::size_t recorded = 0;
    for (const Json& event : stage_.expect(0, "", {"log"}).lines()) {
      if (event["event"] == "broken" && event["lease"] == held.lease()) ++recorded;
    }
    EXPECT_EQ(recorded, broken ? 1U : 0U) << "I11";
    healthy();
    stage_.expect(broken ? 79 : 0, "ann", {"renew", "--lease", held.lease()});
    if (!broken) stage_.expect(0, "ann", {"release", "a"});
    return killed;
  });
}

TEST_P(CrashPoint, F1_L1_Run) {
  at_every_place(kFew, [&](int place) {
    const bool killed = dies(place, "ann", {"run", "a", "b/", "--", "true"});
    healthy();
    stage_.expect(0, "bob", {"acquire", "a", "b/", "--wait=30s"});
    EXPECT_EQ(only_lease()["agent"], "bob");
    stage_.expect(0, "bob", {"release", "--all"});
    return killed;
  });
}

TEST_P(CrashPoint, F1_I5_Purge) {
  at_every_place(kFew, [&](int place) {
    stage_.expect(0, "ann", {"acquire", "over", "--ttl", "1ms"});
    stage_.expect(0, "bob", {"acquire", "kept"});
    pause_ms(5);
    const bool killed = dies(place, "boss", {"purge", "--history", "--yes"});
    healthy();
    stage_.expect(75, "cat", {"acquire", "kept"});
    stage_.expect(0, "cat", {"acquire", "over"});
    stage_.expect(0, "cat", {"release", "over"});
    stage_.expect(0, "bob", {"release", "kept"});
    stage_.expect(0, "", {"purge", "--history", "--yes"});
    return killed;
  });
}

// What only reads changes nothing, wherever it dies, and keeps nobody out.
TEST_P(CrashPoint, F1_I5_Check) {
  reader_dies({"check", "a", "other"});
}

TEST_P(CrashPoint, F1_I4_CheckOfAFence) {
  const Answer held = stage_.expect(0, "ann", {"acquire", "fenced"});
  reader_dies({"check", "fenced", "--fence", std::to_string(held.fence())});
}

TEST_P(CrashPoint, F1_I5_List) {
  reader_dies({"list"});
}

TEST_P(CrashPoint, F1_I11_Log) {
  reader_dies({"log"});
}

TEST_P(CrashPoint, F1_I5_PurgeOfWhatIsOver) {
  at_every_place(kFew, [&](int place) {
    stage_.expect(0, "ann", {"acquire", "over", "--ttl", "1ms"});
    const Answer kept = stage_.expect(0, "bob", {"acquire", "kept"});
    pause_ms(5);
    const bool killed = dies(place, "boss", {"purge"});
    healthy();
    stage_.expect(0, "bob", {"check", "kept", "--fence", std::to_string(kept.fence())});
    stage_.expect(0, "cat", {"acquire", "over"});
    stage_.expect(0, "cat", {"release", "over"});
    stage_.expect(0, "bob", {"release", "kept"});
    return killed;
  });
}

// Nothing of these touches the store: there is no place to be killed at.
TEST_P(CrashPoint, F1_ConfigAndCompletionNeverCallTheStore) {
  EXPECT_FALSE(dies(1, "ann", {"config", "show"}));
  EXPECT_FALSE(dies(1, "ann", {"completion", "bash"}));
}

INSTANTIATE_TEST_SUITE_P(Each, CrashPoint,
                         testing::Combine(testing::Values("full", "process"), testing::Bool()),
                         crash_name);

}  // namespace
}  // namespace lockkeeper::stage
