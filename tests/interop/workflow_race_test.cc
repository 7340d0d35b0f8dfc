// Both sides at once, in a tight loop, with kills: in the protocol's write-then-check order there
// are never two holders (I1).
#include <gmock/gmock.h>

#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "base/random.h"
#include "interop/workflow_scene.h"

namespace lockkeeper::stage {
namespace {

using testing::HasSubstr;
using testing::Not;

class WorkflowRace : public WorkflowScene {
 protected:
  WorkflowRace() { std::filesystem::create_directories(arena()); }

  std::string arena() const { return stage_.path("arena"); }
  std::string log_of(const std::string& agent) const {
    return read_text(arena() + "/" + agent + ".log");
  }
  std::size_t held(const std::string& agent) const {
    const std::string log = log_of(agent);
    std::size_t count = 0;
    for (std::size_t at = log.find("held"); at != std::string::npos;
         at = log.find("held", at + 1)) {
      ++count;
    }
    return count;
  }
  Process side(const char* script, const std::string& agent, Words more = {}) {
    Words argv{"bash",     std::string(LOCKKEEPER_INTEROP_FOLDER) + "/" + script,
               out(),      agent,
               "src/a.ts", arena()};
    argv.insert(argv.end(), more.begin(), more.end());
    return Process(stage_.command(argv));
  }
  void stop(std::vector<Process>& sides) {
    write_text(arena() + "/stop", "");
    for (Process& each : sides) EXPECT_EQ(each.wait(), 0) << each.err();
    std::filesystem::remove(arena() + "/stop");
  }
  void expect_exclusion(const Words& agents) {
    for (const std::string& agent : agents) {
      EXPECT_THAT(log_of(agent), Not(HasSubstr("BOTH"))) << agent;
      EXPECT_THAT(log_of(agent), Not(HasSubstr("FAILED"))) << agent;
    }
  }
  // A killed child of the script may finish the call that it was in.
  static bool group_is_dead(pid_t group) {
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const auto pid = static_cast<pid_t>(std::atoi(entry.path().filename().c_str()));
      if (pid > 0 && ::getpgid(pid) == group && state_of(pid) != 'Z') return false;
    }
    return true;
  }
  // After a kill -9: whoever cleans up after the dead does what the protocol says.
  void bury(const std::string& agent, bool ours) {
    std::error_code none;
    const std::string holder = arena() + "/holder";
    if (std::filesystem::read_symlink(holder, none) == agent) std::filesystem::remove(holder);
    if (ours) {
      stage_.as("", {"workflow", "unlock", "--output", "out", "--agent", agent});
    } else {
      std::filesystem::remove(lock_path(agent + ".lock"), none);
    }
  }
};

// `native`: ours takes the file by `acquire`, and only its mirror stands in the folder.
TEST_F(WorkflowRace, I1_NeverTwoHoldersInWriteThenCheckOrder) {
  constexpr std::size_t kRounds = 12;
  workflow(0, "lock", {"--agent", "first", "--file", "docs/x"});  // the layout is there
  for (const bool foreign_first : {true, false}) {
    std::vector<Process> sides;
    if (foreign_first) sides.push_back(side("workflow_foreign.sh", "theirs"));
    sides.push_back(side("workflow_ours.sh", "ours"));
    sides.push_back(side("workflow_ours.sh", "native", {"native"}));
    if (!foreign_first) sides.push_back(side("workflow_foreign.sh", "theirs"));
    const std::size_t ours = held("ours"), theirs = held("theirs"), native = held("native");
    EXPECT_TRUE(eventually([&] {
      return held("ours") >= ours + kRounds && held("theirs") >= theirs + kRounds &&
             held("native") >= native + kRounds;
    })) << held("ours")
        << " " << held("theirs") << " " << held("native");
    stop(sides);
  }
  expect_exclusion({"ours", "theirs", "native"});
  EXPECT_EQ(lock_files(), std::vector<std::string>{"first.lock"});
  std::printf("held: ours %zu, native %zu, theirs %zu times\n", held("ours"), held("native"),
              held("theirs"));
}

TEST_F(WorkflowRace, I1_NeverTwoHoldersWithKillsOnBothSides) {
  constexpr int kKills = 12;
  const std::uint64_t seed = SystemRandom().next();
  SeededRandom random(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  workflow(0, "lock", {"--agent", "first", "--file", "docs/x"});
  for (int i = 0; i < kKills; ++i) {
    Process theirs = side("workflow_foreign.sh", "theirs");
    Process ours = side("workflow_ours.sh", "ours");
    pause_ms(static_cast<int>(60 + random_below(random, 200)));
    Process& victim = i % 2 == 0 ? ours : theirs;
    const pid_t group = victim.pid();
    victim.signal_group(SIGKILL);
    victim.wait();
    EXPECT_TRUE(eventually([&] { return group_is_dead(group); }));
    bury(i % 2 == 0 ? "ours" : "theirs", i % 2 == 0);
    // The survivor goes on.
    const std::string survivor = i % 2 == 0 ? "theirs" : "ours";
    const std::size_t before = held(survivor);
    EXPECT_TRUE(eventually([&] { return held(survivor) > before; })) << survivor << " " << i;
    write_text(arena() + "/stop", "");
    (i % 2 == 0 ? theirs : ours).wait();
    std::filesystem::remove(arena() + "/stop");
  }
  for (const char* const agent : {"ours", "theirs"}) {
    EXPECT_THAT(log_of(agent), Not(HasSubstr("BOTH"))) << agent;
  }
  // A file that its writer was killed over is a clear error, and nothing else is.
  EXPECT_THAT(log_of("ours"), Not(HasSubstr("FAILED 70")));
  workflow(0, "lock", {"--agent", "last", "--file", "src/a.ts"});
  EXPECT_EQ(lock_files(), (std::vector<std::string>{"first.lock", "last.lock"}));
}

// Killed at every step of a lock: nothing is left that nobody can clear away, and what stands there
// is either whole and in the table, or not there.
TEST_F(WorkflowRace, AKillAtAnyStepOfALockLeavesAWholeWorld) {
  workflow(0, "lock", {"--agent", "first", "--file", "docs/x"});
  const auto lock = [&](const std::string& agent) {
    Launch launch = stage_.launch(
        "", {"workflow", "lock", "--output", "out", "--agent", agent, "--file", "src/a.ts"});
    launch.traced = true;
    return Process(std::move(launch));
  };
  int calls = 0;
  {
    Process whole = lock("count");
    EXPECT_EQ(whole.step([&](const SystemCall& call) {
      calls = call.number;
      return true;
    }),
              0);
    workflow(0, "unlock", {"--agent", "count"});
  }
  ASSERT_GT(calls, 10);
  const int step = std::max(1, calls / 24);
  for (int at = 1; at <= calls; at += step) {
    SCOPED_TRACE("killed at call " + std::to_string(at) + " of " + std::to_string(calls));
    {
      Process killed = lock("victim");
      killed.step([&](const SystemCall& call) { return call.number < at; });
    }
    const Answer next = stage_.json(
        "", {"workflow", "lock", "--output", "out", "--agent", "next", "--file", "src/a.ts"});
    if (next.status == 75) {
      EXPECT_EQ(next.json()["conflicts"][0]["agent"], "victim") << next.all();
      workflow(0, "unlock", {"--agent", "victim"});
      workflow(0, "lock", {"--agent", "next", "--file", "src/a.ts"});
    } else {
      EXPECT_EQ(next.status, 0) << next.all();
    }
    EXPECT_EQ(lock_files(), (std::vector<std::string>{"first.lock", "next.lock"}));
    workflow(0, "unlock", {"--agent", "next"});
  }
}

// Whoever looks may find a lease that is not published yet, or a file that is being replaced: it
// must not come between.
TEST_F(WorkflowRace, AScopeChangesWhileOthersLook) {
  workflow(0, "lock", {"--agent", "front", "--file", "src/a.ts"});
  Process looking(stage_.command(
      {"bash", "-c",
       "while [[ ! -e " + arena() + "/stop ]]; do lockkeeper list --json || exit 1; done"}));
  for (int i = 0; i < 15; ++i) {
    workflow(0, "update", {"--agent", "front", i % 2 == 0 ? "--add" : "--remove", "src/b.ts"});
    EXPECT_EQ(lock_files(), std::vector<std::string>{"front.lock"});
  }
  write_text(arena() + "/stop", "");
  EXPECT_EQ(looking.wait(), 0) << looking.out();
  EXPECT_EQ(stage_.list()["leases"].size(), 1U);
}

// Two who lock one name at once are one owner: still only one of them may have it.
TEST_F(WorkflowRace, I1_OneNameIsLockedOnce) {
  for (int round = 0; round < 6; ++round) {
    std::vector<Process> sides;
    for (int i = 0; i < 3; ++i) {
      // The same scope for two of them: asking again for one's own must not look like a grant.
      sides.push_back(stage_.start("", {"workflow", "lock", "--output", "out", "--agent", "one",
                                        "--file", "src/f" + std::to_string(i / 2)}));
    }
    int granted = 0;
    for (Process& each : sides) {
      const int status = each.wait();
      EXPECT_TRUE(status == 0 || status == 75) << each.out() << each.err();
      granted += status == 0 ? 1 : 0;
    }
    EXPECT_EQ(granted, 1) << round;
    EXPECT_EQ(stage_.list()["leases"].size(), 1U);
    EXPECT_EQ(lock_files(), std::vector<std::string>{"one.lock"});
    workflow(0, "unlock", {"--agent", "one"});
  }
}

}  // namespace
}  // namespace lockkeeper::stage
