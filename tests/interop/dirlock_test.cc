// The dirlock protocol beside ours: each sees the other, whoever comes first, and
// whatever is killed.
#include <gmock/gmock.h>

#include <csignal>

#include "interop/dirlock_scene.h"

namespace lockkeeper::stage {
namespace {

using testing::HasSubstr;
using testing::Not;

class DirLock : public DirLockScene {};

TEST_F(DirLock, ForeignFirstWeAreRefusedWithItsDetails) {
  Process foreign(this->foreign({"once"}));
  ASSERT_TRUE(foreign_holds()) << foreign.err();
  const Answer refused = guarded("touch started");
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("[LOCK] Lock held by PID " + std::to_string(foreign.pid())));
  EXPECT_THAT(refused.err, HasSubstr("   Agents: foreign\n"));
  EXPECT_THAT(refused.err, HasSubstr("   Lock file: " + lock()));
  EXPECT_FALSE(exists(stage_.repo() + "/started"));
  // Once the layout is known, the native door sees it too.
  stage_.expect(0, "", {"layout", "add", "dirlock", temp()});
  const Answer held = stage_.expect(75, "bob", {"acquire", "src/a.py"});
  const Json conflict = held.json()["conflicts"][0];
  EXPECT_EQ(conflict["foreign"]["kind"], "dirlock") << conflict.dump();
  EXPECT_EQ(conflict["foreign"]["path"], lock());
  EXPECT_EQ(conflict["held"], "./");
  EXPECT_THAT(conflict["agent"].get<std::string>(), HasSubstr(std::to_string(foreign.pid()) + "@"));
  let_foreign_go();
  EXPECT_EQ(foreign.wait(), 0) << foreign.err();
  EXPECT_EQ(guarded("true").status, 0);
  stage_.expect(0, "bob", {"acquire", "src/a.py"});
}

TEST_F(DirLock, OursFirstItIsRefused) {
  Process ours = hold("go");
  ASSERT_TRUE(inside("go")) << ours.err();
  const Answer refused = stage_.finish(foreign({"once"}));
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("Lock held by PID " + std::to_string(ours.pid()) + " (ann)"));
  write_text(out("go"), "");
  EXPECT_EQ(ours.wait(), 0);
  Process foreign(this->foreign({"once"}));
  EXPECT_TRUE(foreign_holds());
  let_foreign_go();
  EXPECT_EQ(foreign.wait(), 0);
}

TEST_F(DirLock, L1_KilledWithNineItIsTakenOver) {
  Process foreign(this->foreign({"once"}));
  ASSERT_TRUE(foreign_holds());
  foreign.signal(SIGKILL);
  foreign.wait();
  EXPECT_TRUE(exists(lock()));
  const Answer ours = guarded("true");
  EXPECT_EQ(ours.status, 0) << ours.err;
  EXPECT_THAT(ours.err, HasSubstr("Stale lock from crashed process (PID " +
                                  std::to_string(foreign.pid()) + " is dead) — clearing"));
  EXPECT_TRUE(temp_is_empty());
}

TEST_F(DirLock, L1_KilledWithNineWeAreTakenOverAndOurCommandIsTold) {
  for (const bool by_foreign : {true, false}) {
    SCOPED_TRACE(by_foreign);
    std::filesystem::remove(out("go-in"));
    Process ours = hold("go");
    ASSERT_TRUE(inside("go"));
    const auto command = static_cast<pid_t>(std::atoi(read_text(out("go-in")).c_str()));
    ours.signal(SIGKILL);
    ours.wait();
    EXPECT_TRUE(eventually([&] { return state_of(command) == 0; }));
    EXPECT_TRUE(exists(lock()));
    if (by_foreign) {
      Process foreign(this->foreign({"once"}));
      EXPECT_TRUE(foreign_holds()) << foreign.err();
      let_foreign_go();
      EXPECT_EQ(foreign.wait(), 0);
    } else {
      EXPECT_EQ(guarded("true").status, 0);
    }
    EXPECT_TRUE(temp_is_empty());
  }
}

// Creation is atomic on both sides: never two inside.
TEST_F(DirLock, I1_CreationInATightLoopNeverLetsTwoIn) {
  constexpr int kOurs = 3;
  constexpr int kRounds = 80;
  Process foreign(this->foreign({"loop", "100000"}));
  const std::string critical = "mkdir " + out("inside") + " || { echo ours >>" + out("overlaps") +
                               "; exit 0; }; sleep 0.002; rmdir " + out("inside");
  std::vector<Process> loops;
  for (int i = 0; i < kOurs; ++i) {
    const std::string loop = "for i in $(seq " + std::to_string(kRounds) + "); do " +
                             Stage::program() + " guard -q --agent a" + std::to_string(i) +
                             " -- sh -c '" + critical + "; echo x >>" + out("entered") +
                             "'; s=$?; [ $s -le 1 ] || echo $s >>" + out("odd") + "; done";
    loops.emplace_back(stage_.command({"sh", "-c", loop}));
  }
  for (Process& loop : loops) EXPECT_EQ(loop.wait(), 0) << loop.err();
  let_foreign_go();
  EXPECT_EQ(foreign.wait(), 0) << foreign.err();
  EXPECT_EQ(read_text(out("overlaps")), "");
  EXPECT_EQ(read_text(out("odd")), "") << loops[0].err();
  EXPECT_NE(read_text(out("entered")), "");
  EXPECT_GT(std::atoi(read_text(out("foreign-entered")).c_str()), 0);
  EXPECT_TRUE(temp_is_empty());
}

// Both unlink: the hole of the original. Ours compares before it removes.
TEST_F(DirLock, I1_OfManyThatStealOneDeadLockOneIsInAtATime) {
  constexpr int kRounds = 6;
  constexpr int kStealers = 5;
  for (int round = 0; round < kRounds; ++round) {
    write_text(lock(), round % 2 == 0 ? record(kDead) : record(1, 30 * kMinute, "another"));
    std::vector<Process> stealers;
    for (int i = 0; i < kStealers; ++i) {
      stealers.push_back(stage_.start(
          "a" + std::to_string(i),
          guard("mkdir " + out("inside") + " || echo x >>" + out("overlaps") +
                "; sleep 0.05; rmdir " + out("inside") + "; echo x >>" + out("entered"))));
    }
    for (Process& stealer : stealers) {
      const int status = stealer.wait();
      EXPECT_TRUE(status == 0 || status == 1) << status << stealer.err();
    }
    ASSERT_EQ(read_text(out("overlaps")), "") << round;
    ASSERT_GE(read_text(out("entered")).size(), 2U * static_cast<std::size_t>(round + 1));
    ASSERT_TRUE(temp_is_empty()) << round;
  }
}

TEST_F(DirLock, I7_StolenByAnotherToolOurCommandIsToldAndStopped) {
  Process ours = hold("go");
  ASSERT_TRUE(inside("go"));
  Process foreign(this->foreign({"steal"}));
  ASSERT_TRUE(foreign_holds()) << foreign.err();
  EXPECT_EQ(ours.wait(), 79) << ours.err();
  EXPECT_EQ(read_text(out("go-told")), "told\n");
  EXPECT_THAT(ours.err(), HasSubstr("[LOCK] Lock lost: "));
  EXPECT_THAT(ours.out(), Not(HasSubstr("released")));
  EXPECT_THAT(read_text(lock()), HasSubstr(std::to_string(foreign.pid())));  // left alone
  let_foreign_go();
  EXPECT_EQ(foreign.wait(), 0);
}

TEST_F(DirLock, I7_ForcedByOneOfOursTheVictimIsToldAndStoppedOnRecord) {
  Process victim = hold("go");
  ASSERT_TRUE(inside("go"));
  const Answer taker = stage_.as("bob", guard("true", {"--stale-timeout", "0"}));
  EXPECT_EQ(taker.status, 0) << taker.err;
  EXPECT_THAT(taker.err, HasSubstr("⚠️  [LOCK] Force-clearing lock (--stale-timeout 0)\n"));
  EXPECT_EQ(victim.wait(), 79) << victim.err();
  EXPECT_THAT(victim.err(), HasSubstr("[LOCK] Lock lost: bob"));
  EXPECT_THAT(victim.err(), HasSubstr(" broke it, reason \"guard --stale-timeout 0\" — stopping"));
  EXPECT_EQ(read_text(out("go-told")), "told\n");
  EXPECT_TRUE(logged("broken", "stale_timeout"));
  EXPECT_TRUE(temp_is_empty());
}

TEST_F(DirLock, Rule2_ALiveHolderThatIsTooOldIsBroken) {
  Process victim = hold("go");
  ASSERT_TRUE(inside("go"));
  stage_.pass_ms(1'300);
  EXPECT_EQ(guarded("true", {"--stale-timeout", "0.5"}).status, 1);
  const Answer taker = stage_.as("bob", guard("true", {"--stale-timeout", "0.02"}));
  EXPECT_EQ(taker.status, 0) << taker.err;
  EXPECT_THAT(taker.err, HasSubstr("[LOCK] Lock held by PID " + std::to_string(victim.pid())));
  EXPECT_THAT(taker.err, HasSubstr("Stale lock (>0.02m) — force-clearing and acquiring"));
  EXPECT_EQ(victim.wait(), 79) << victim.err();
  EXPECT_TRUE(logged("broken", "stale_timeout"));
}

TEST_F(DirLock, Rule2_AnotherToolsOldLockIsClearedOnRecord) {
  write_text(lock(), record(1, 30 * kMinute, "another"));
  EXPECT_EQ(guarded("true", {"--stale-timeout", "60"}).status, 1);
  const Answer taker = guarded("true");
  EXPECT_EQ(taker.status, 0) << taker.err;
  EXPECT_TRUE(logged("broken", "stale_timeout"));
  // Dead by rule 1 is no break.
  write_text(lock(), record(kDead, 30 * kMinute));
  EXPECT_EQ(guarded("true").status, 0);
}

TEST_F(DirLock, RemovedByAPersonTheLockIsGoneAndTheCommandStops) {
  Process ours = hold("go");
  ASSERT_TRUE(inside("go"));
  const Answer removed =
      stage_.finish(stage_.command({"sh", "-c", "rm " + temp() + "/agent-dir-*.lock"}));
  EXPECT_EQ(removed.status, 0) << removed.err;
  EXPECT_EQ(ours.wait(), 79) << ours.err();
  EXPECT_EQ(read_text(out("go-told")), "told\n");
  EXPECT_TRUE(logged("released", "artefact_removed"));
  EXPECT_EQ(guarded("true").status, 0);
}

TEST_F(DirLock, SignalsEndCommandAndLock) {
  for (const int number : {SIGINT, SIGTERM}) {
    SCOPED_TRACE(number);
    const std::string name = "s" + std::to_string(number);
    Process ours =
        stage_.start("ann", guard("trap 'echo told >" + out(name) + "; exit 7' INT TERM; echo >" +
                                  out(name + "-in") + "; while :; do sleep 0.02; done"));
    ASSERT_TRUE(inside(name));
    ours.signal(number);
    EXPECT_EQ(ours.wait(), 128 + number);
    EXPECT_EQ(read_text(out(name)), "told\n");
    EXPECT_THAT(ours.out(), HasSubstr("🔓 [LOCK] Lock released (held for "));
    EXPECT_TRUE(temp_is_empty());
  }
  EXPECT_EQ(stage_.list()["leases"].size(), 0U);
}

// At whatever moment it comes: the lock is given back, or never was there.
TEST_F(DirLock, ASignalAtAnyMomentLeavesNoLiveLock) {
  for (int i = 0; i < 25; ++i) {
    SCOPED_TRACE(i);
    Process ours = stage_.start("ann", guard("exec sleep 600"));
    pause_ms(i * 3);
    ours.signal(SIGTERM);
    EXPECT_EQ(ours.wait(), 143);
    ASSERT_EQ(guarded("true").status, 0);
    ASSERT_TRUE(temp_is_empty());
  }
}

TEST_F(DirLock, TheStatusIsTheCommands) {
  EXPECT_EQ(guarded("exit 0").status, 0);
  EXPECT_EQ(guarded("exit 7").status, 7);
  EXPECT_EQ(guarded("kill -KILL $$").status, 137);
  EXPECT_EQ(stage_.as("ann", {"guard", "--", "./nowhere"}).status, 127);
  EXPECT_EQ(stage_.as("ann", {"guard", "--", "./src"}).status, 126);
  EXPECT_TRUE(temp_is_empty());
  EXPECT_EQ(stage_.list()["leases"].size(), 0U);
}

TEST_F(DirLock, InARepositoryItIsTheFolderForEverybody) {
  Process ours = hold("go", {"--cwd", "src"});
  ASSERT_TRUE(inside("go")) << ours.err();
  EXPECT_TRUE(exists(lock_of(stage_.repo() + "/src")));
  EXPECT_EQ(stage_.expect(75, "bob", {"acquire", "src/a.py"}).json()["conflicts"][0]["held"],
            "src/");
  stage_.expect(0, "bob", {"acquire", "docs/a.md"});
  // Another folder for temporary files is no way around it.
  std::filesystem::create_directories(stage_.path("other"));
  stage_.env["TMPDIR"] = stage_.path("other");
  const Answer elsewhere = guarded("true", {"--cwd", "src"});
  EXPECT_EQ(elsewhere.status, 1);
  EXPECT_THAT(elsewhere.err, HasSubstr("[LOCK] Lock held by PID " + std::to_string(ours.pid())));
  // Nor is a folder above it.
  EXPECT_EQ(guarded("true").status, 1);
  write_text(out("go"), "");
  EXPECT_EQ(ours.wait(), 0) << ours.err();
}

TEST_F(DirLock, WhatIsHeldInsideRefusesItWithItsHolder) {
  stage_.expect(0, "bob", {"acquire", "src/a.py", "--reason", "JWT"});
  const Answer refused = guarded("touch started");
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("⚠️  [LOCK] Lock held by bob (started "));
  EXPECT_THAT(refused.err, HasSubstr("   Holds: src/a.py\n   Reason: \"JWT\"\n"));
  EXPECT_FALSE(exists(stage_.repo() + "/started"));
  EXPECT_TRUE(temp_is_empty());
  EXPECT_EQ(guarded("true", {"--stale-timeout", "0"}).status, 1);  // no directory lock: not cleared
  const Json json = stage_.json("ann", {"guard", "--json", "--", "true"}).json();
  EXPECT_EQ(json["outcome"], "held");
  EXPECT_EQ(json["error"]["code"], "held");
  EXPECT_EQ(json["conflicts"][0]["agent"], "bob");
  EXPECT_TRUE(json["holder"].is_null());
}

TEST_F(DirLock, ItsCommandWorksUnderIt) {
  const std::string program = Stage::program();
  const Answer answer = guarded(program + " acquire -q a.py && " + program + " run a.py -- pwd -P",
                                {"-q", "--cwd", "src"});
  EXPECT_EQ(answer.status, 0) << answer.all();
  EXPECT_EQ(answer.out, physical(stage_.repo() + "/src") + "\n");
}

// The first lock in a folder makes it a realm. It must not be granted beside the guard.
TEST_F(DirLock, A6_TheFirstLockInAPlainFolderMeetsTheGuard) {
  const std::string plain = stage_.path("plain");
  std::filesystem::create_directories(plain + "/sub");
  Process ours = hold("go", {"--cwd", plain});
  ASSERT_TRUE(inside("go")) << ours.err();
  for (const char* path : {"a.py", "sub/a.py"}) {
    const Answer refused = stage_.as("bob", {"acquire", plain + "/" + path});
    EXPECT_EQ(refused.status, 75) << refused.all();
  }
  EXPECT_EQ(stage_.as("bob", {"check", "--realm", plain + "/sub", "a.py"}).status, 75);
  write_text(out("go"), "");
  EXPECT_EQ(ours.wait(), 0) << ours.err();
  EXPECT_EQ(stage_.as("bob", {"acquire", plain + "/a.py"}).status, 0);
}

TEST_F(DirLock, WhereItCannotWriteItIsTheMachines) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  std::filesystem::create_directories(stage_.path("plain"));
  std::filesystem::permissions(stage_.path("plain"), std::filesystem::perms(0555));
  const Answer answer = guarded("cat " + temp() + "/agent-dir-*.lock; pwd; echo $LOCKKEEPER_LEASE.",
                                {"--cwd", stage_.path("plain"), "-q"});
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_THAT(answer.out, HasSubstr("\"cwd\": \"" + physical(stage_.path("plain")) + "\""));
  EXPECT_THAT(answer.out, HasSubstr("\n.\n"));
  EXPECT_FALSE(exists(stage_.path("plain") + "/.lockkeeper"));
  EXPECT_TRUE(temp_is_empty());
}

TEST_F(DirLock, ThroughALinkItIsTheSameFolder) {
  std::filesystem::create_symlink(stage_.repo(), stage_.path("link"));
  Process ours = hold("go", {"--cwd", stage_.path("link")});
  ASSERT_TRUE(inside("go"));
  EXPECT_TRUE(exists(lock()));
  EXPECT_EQ(guarded("true").status, 1);
  write_text(out("go"), "");
  EXPECT_EQ(ours.wait(), 0);
}

TEST_F(DirLock, TheDocumentsCommandsWorkOnOurs) {
  const Answer answer =
      guarded("f=" + temp() +
                  "/agent-dir-$(echo -n \"$(pwd -P)\" | sha256sum | cut -d' ' -f1).lock; "
                  "cat $f; grep -c '\"pid\"' $f",
              {"-q", "--agents", "auto-advance,product-dev"});
  EXPECT_EQ(answer.status, 0) << answer.all();
  const std::size_t end = answer.out.rfind('}');
  ASSERT_NE(end, std::string::npos);
  const Json json = Json::parse(answer.out.substr(0, end + 1));
  EXPECT_EQ(json["cwd"], physical(stage_.repo()));
  EXPECT_EQ(json["agents"], (Json{"auto-advance", "product-dev"}));
  EXPECT_EQ(json.size(), 5U);
}

TEST_F(DirLock, ANativeFolderLeaseOfAProcessIsShown) {
  stage_.expect(0, "", {"layout", "add", "dirlock", temp()});
  Process sleeper(stage_.command({"sleep", "600"}));
  stage_.expect(0, "bob", {"acquire", "./", "--attach", std::to_string(sleeper.pid())});
  EXPECT_THAT(read_text(lock()), HasSubstr("\"pid\": " + std::to_string(sleeper.pid())));
  EXPECT_EQ(stage_.finish(foreign({"once"})).status, 1);
  EXPECT_EQ(guarded("true").status, 1);
  // It is no guard's: the rules of the directory lock do not end it.
  const Answer forced = guarded("true", {"--stale-timeout", "0"});
  EXPECT_EQ(forced.status, 1);
  EXPECT_THAT(forced.err, HasSubstr("Lock held by bob"));
  stage_.expect(0, "bob", {"release", "./"});
  EXPECT_TRUE(temp_is_empty());
}

}  // namespace
}  // namespace lockkeeper::stage
