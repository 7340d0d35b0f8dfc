// F1: the shipped program is killed before its N-th store call, N = 1, 2, 3, … until it completes,
// and once more after its last. Whatever N: the old state or the new one, never between, and the
// same request again gives the right answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "support/stage.h"

namespace lockkeeper::stage {
namespace {

using testing::AnyOf;

constexpr int kKilled = 137;
constexpr int kCallsMost = 2'000;  // no verb below has nearly as many

class CrashPoint : public testing::Test {
 protected:
  // Without syncs there are the same calls, only faster.
  void SetUp() override { stage_.file("lockkeeper.toml", "[store]\ndurability = \"process\"\n"); }

  // How many calls a verb makes may depend on how long it took: it looks again now and then.
  enum class Calls { kFixed, kVary };

  // Calls `once` with each plan until it says that the program was not killed, then with a kill
  // after the last call.
  void at_every_call(const std::function<bool(const std::string& plan)>& once,
                     Calls calls = Calls::kFixed) {
    for (int call = 1; call < kCallsMost; ++call) {
      n_ = call;
      SCOPED_TRACE("killed before store call " + std::to_string(call));
      const bool killed = once("kill@" + std::to_string(call));
      if (HasFailure()) return;
      if (killed) continue;
      ASSERT_GT(call, 3) << "the plan had no effect";
      SCOPED_TRACE("killed after the last");
      n_ = kCallsMost;
      const bool last = once("kill-after@" + std::to_string(call - 1));
      EXPECT_TRUE(last || calls == Calls::kVary);
      return;
    }
    FAIL() << "never came to an end";
  }

  Launch planned(const std::string& plan, const std::string& agent, const Words& words) {
    Launch launch = stage_.launch(agent, words);
    launch.env["LOCKKEEPER_TEST_FAULT"] = plan;
    return launch;
  }

  // True if it was killed; else it must have ended with 0.
  bool dies(const std::string& plan, const std::string& agent, const Words& words) {
    const Answer answer = stage_.finish(planned(plan, agent, words));
    EXPECT_THAT(answer.status, AnyOf(0, kKilled)) << answer.all();
    return answer.status == kKilled;
  }

  std::string id() const { return "r" + std::to_string(n_); }

  Json only_lease() {
    const Json leases = stage_.list()["leases"];
    EXPECT_LE(leases.size(), 1U) << leases.dump(1);
    return leases.empty() ? Json() : leases[0];
  }

  void healthy() { stage_.expect(0, "", {"doctor"}); }

  Stage stage_;
  int n_ = 0;
};

TEST_F(CrashPoint, F1_I2_I8_Acquire) {
  at_every_call([&](const std::string& plan) {
    const Words words{"acquire", "src/a", "lib/", "*.h", "--request-id", id()};
    const bool killed = dies(plan, "ann", words);
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

TEST_F(CrashPoint, F1_I8_Release) {
  at_every_call([&](const std::string& plan) {
    const std::string held = stage_.expect(0, "ann", {"acquire", "a", "b/"}).lease();
    const bool killed = dies(plan, "ann", {"release", "--lease", held});
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

TEST_F(CrashPoint, F1_L4_ReleaseWithAWaiter) {
  at_every_call([&](const std::string& plan) {
    stage_.expect(0, "ann", {"acquire", "a"});
    Process waiter = stage_.start("bob", {"acquire", "a", "--wait"});
    EXPECT_TRUE(stage_.queue_grows_to(1));
    const bool killed = dies(plan, "ann", {"release", "a"});
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

TEST_F(CrashPoint, F1_F3_I8_L6_AcquireThatWaits) {
  at_every_call(
      [&](const std::string& plan) {
        stage_.expect(0, "ann", {"acquire", "a"});
        const Words words{"acquire", "a", "--wait", "--request-id", id()};
        Process waiter(planned(plan, "bob", words));
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
      },
      Calls::kVary);
}

TEST_F(CrashPoint, F1_I3_Renew) {
  at_every_call([&](const std::string& plan) {
    const Answer held = stage_.expect(0, "ann", {"acquire", "a", "b", "--ttl", "1h"});
    const bool killed = dies(plan, "ann", {"renew", "a", "--ttl", "3h"});
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

TEST_F(CrashPoint, F1_I7_I11_Break) {
  at_every_call([&](const std::string& plan) {
    const Answer held = stage_.expect(0, "ann", {"acquire", "a"});
    const bool killed = dies(plan, "boss", {"break", "a", "--reason", "stuck"});
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

TEST_F(CrashPoint, F1_L1_Run) {
  at_every_call(
      [&](const std::string& plan) {
        const bool killed = dies(plan, "ann", {"run", "a", "b/", "--", "true"});
        healthy();
        stage_.expect(0, "bob", {"acquire", "a", "b/", "--wait=30s"});
        EXPECT_EQ(only_lease()["agent"], "bob");
        stage_.expect(0, "bob", {"release", "--all"});
        return killed;
      },
      Calls::kVary);
}

TEST_F(CrashPoint, F1_I5_Purge) {
  at_every_call([&](const std::string& plan) {
    stage_.expect(0, "ann", {"acquire", "over", "--ttl", "1ms"});
    stage_.expect(0, "bob", {"acquire", "kept"});
    pause_ms(5);
    const bool killed = dies(plan, "boss", {"purge", "--history"});
    healthy();
    stage_.expect(75, "cat", {"acquire", "kept"});
    stage_.expect(0, "cat", {"acquire", "over"});
    stage_.expect(0, "cat", {"release", "over"});
    stage_.expect(0, "bob", {"release", "kept"});
    stage_.expect(0, "", {"purge", "--history"});
    return killed;
  });
}

}  // namespace
}  // namespace lockkeeper::stage
