// Several at once who each could end one lease (F21), and `run` with all that can happen to it and
// to what it started.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <random>

#include "support/campaign.h"
#include "support/stage.h"

namespace lockkeeper::stage {
namespace {

using testing::AnyOf;

class Reapers : public testing::Test {
 protected:
  std::size_t ends_of(const std::string& lease, std::string* how = nullptr) {
    std::size_t ends = 0;
    for (const Json& event : stage_.expect(0, "", {"log"}).lines()) {
      const std::string what = event["event"].get<std::string>();
      if (event["lease"] != lease || what == "granted" || what == "renewed") continue;
      if (what != "released" && what != "expired" && what != "ended") continue;
      ++ends;
      if (how != nullptr) *how = what;
    }
    return ends;
  }

  Campaign campaign_;
  Stage stage_;
};

// The lease runs out while its owner renews and releases it, two reapers clear away and a stranger
// asks for it: whoever comes first, there is one end with one cause, and every answer fits it.
TEST_F(Reapers, F21_I5_I8_ExpiryReleaseRenewalAndTwoReapersAtOnce) {
  std::mt19937 random(campaign_.seed());
  std::size_t seen[3] = {};  // released, expired, renewed before
  for (int i = 0; i < 40 && !HasFailure(); ++i) {
    SCOPED_TRACE(campaign_.repeat() + "round " + std::to_string(i));
    const std::string lease = stage_.expect(0, "ann", {"acquire", "a", "--ttl", "40ms"}).lease();
    pause_ms(static_cast<int>(random() % 50));
    Process first = stage_.start("boss", {"purge"});
    Process renew = stage_.start("ann", {"renew", "--lease", lease, "--ttl", "41ms"});
    Process release = stage_.start("ann", {"release", "--lease", lease});
    Process second = stage_.start("chief", {"purge"});
    Process next = stage_.start("bob", {"acquire", "a", "--wait=60s"});
    EXPECT_EQ(first.wait(), 0);
    EXPECT_EQ(second.wait(), 0);
    EXPECT_EQ(next.wait(), 0) << next.err();
    const int renewed = renew.wait();
    const int released = release.wait();
    EXPECT_THAT(renewed, AnyOf(0, 66, 79)) << renew.err();
    EXPECT_THAT(released, AnyOf(0, 66, 79)) << release.err();
    std::string how;
    EXPECT_EQ(ends_of(lease, &how), 1U) << "I5, I11";
    EXPECT_EQ(how == "released", released == 0) << "I9: " << how << ", release said " << released;
    EXPECT_THAT(how, AnyOf("released", "expired"));
    ++seen[how == "released" ? 0 : 1];
    if (renewed == 0) ++seen[2];
    stage_.expect(0, "bob", {"release", "a"});
  }
  std::printf("ended by release %zu, by time %zu; renewed before that %zu\n", seen[0], seen[1],
              seen[2]);
}

// A dead holder and three who find it at the same moment.
TEST_F(Reapers, F21_I5_I11_ADeadHolderIsEndedOnce) {
  for (int i = 0; i < 15 && !HasFailure(); ++i) {
    SCOPED_TRACE(i);
    Process holder(stage_.command({"sleep", "600"}));
    const std::string lease =
        stage_.expect(0, "ann", {"acquire", "a", "--attach", std::to_string(holder.pid())}).lease();
    holder.signal(SIGKILL);
    EXPECT_EQ(holder.wait(), 137);
    std::vector<Process> all;
    for (const char* who : {"bob", "cat"}) {
      all.push_back(stage_.start(who, {"acquire", "a", "--wait=60s"}));
      all.push_back(stage_.start(who, {"purge"}));
    }
    Process back = stage_.start("ann", {"release", "--lease", lease});
    Process renew = stage_.start("ann", {"renew", "--lease", lease});
    // Its owner may still give it back in so many words, if nobody has found it dead before.
    const int released = back.wait();
    EXPECT_THAT(released, AnyOf(0, 66, 79)) << back.err();
    EXPECT_THAT(renew.wait(), AnyOf(66, 79)) << "a dead holder's lease was renewed";
    // One of the two has it now, the other follows.
    ASSERT_TRUE(eventually([&] { return !all[0].running() || !all[2].running(); }));
    const bool bob_first = !all[0].running();
    stage_.expect(0, bob_first ? "bob" : "cat", {"release", "a"});
    for (Process& process : all) EXPECT_EQ(process.wait(), 0) << process.err();
    std::string how;
    EXPECT_EQ(ends_of(lease, &how), 1U) << "I11";
    EXPECT_EQ(how, released == 0 ? "released" : "ended") << "I9";
    stage_.expect(0, bob_first ? "cat" : "bob", {"release", "a"});
  }
}

class RunChaos : public testing::Test {
 protected:
  // The command of `run` and a child of it that does not end with it.
  Process family(const std::string& after) {
    const std::string script =
        "sh -c 'echo $$ >child; exec sleep 600' & echo $$ >command; "
        "while [ ! -s child ]; do sleep 0.01; done; echo x >ready; " +
        after;
    Process run = stage_.start("ann", {"run", "a", "--", "sh", "-c", script});
    EXPECT_TRUE(eventually([&] { return exists(stage_.repo() + "/ready"); })) << run.err();
    return run;
  }
  static bool gone(pid_t pid) { return state_of(pid) == '\0' || state_of(pid) == 'Z'; }
  pid_t pid_in(const char* name) const {
    return static_cast<pid_t>(std::atoi(read_text(stage_.repo() + "/" + name).c_str()));
  }

  Stage stage_;
};

TEST_F(RunChaos, I5_TheLeaseOfAKilledRunLastsUntilItsCommandAndTheirChildrenAreGone) {
  Process run = family("exec sleep 600");
  Process waiter = stage_.start("bob", {"acquire", "a", "--wait"});
  ASSERT_TRUE(stage_.queue_grows_to(1));
  run.signal(SIGKILL);
  EXPECT_EQ(run.wait(), 137);
  stage_.expect(75, "cat", {"check", "a"});
  ::kill(pid_in("command"), SIGKILL);
  ASSERT_TRUE(eventually([&] { return gone(pid_in("command")); }));
  EXPECT_EQ(stage_.expect(75, "cat", {"check", "a"}).json()["conflicts"][0]["alive"], true);
  EXPECT_TRUE(waiter.running());
  ::kill(pid_in("child"), SIGKILL);
  EXPECT_EQ(waiter.wait(), 0) << waiter.err();
}

// What the command leaves running is ended before the lease is given back.
TEST_F(RunChaos, A11_WhatTheCommandLeavesRunningEndsWithTheRun) {
  Process run = family("exit 3");
  EXPECT_EQ(run.wait(), 3);
  EXPECT_TRUE(gone(pid_in("child")));
  stage_.expect(0, "bob", {"acquire", "a"});
}

// Stopped and continued within its lease, run has lost nothing.
TEST_F(RunChaos, F6_I7_RunThatIsStoppedForAMomentGoesOn) {
  Process run = family("while [ ! -e stop ]; do sleep 0.02; done; exit 4");
  for (int i = 0; i < 5; ++i) {
    run.signal_group(SIGTSTP);
    ASSERT_TRUE(eventually([&] { return state_of(run.pid()) == 'T'; }));
    stage_.expect(75, "bob", {"acquire", "a"});
    run.signal_group(SIGCONT);
  }
  write_text(stage_.repo() + "/stop", "");
  EXPECT_EQ(run.wait(), 4) << run.err();
  stage_.expect(0, "bob", {"acquire", "a"});
}

}  // namespace
}  // namespace lockkeeper::stage
