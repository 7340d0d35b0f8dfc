// The verbs that look, renew and break, as one would type them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "support/stage.h"

namespace lockkeeper::stage {
namespace {

using testing::HasSubstr;

class Verbs : public testing::Test {
 protected:
  std::vector<std::string> events(const Words& more = {}) {
    Words words{"log"};
    words.insert(words.end(), more.begin(), more.end());
    std::vector<std::string> list;
    for (const Json& event : stage_.expect(0, "", words).lines()) {
      list.push_back(event["event"].get<std::string>());
    }
    return list;
  }

  Stage stage_;
};

TEST_F(Verbs, ListSelectsByAgentTaskAndPlace) {
  stage_.expect(0, "ann", {"acquire", "src/a", "--task", "T1", "--reason", "why"});
  stage_.expect(0, "bob", {"acquire", "lib/"});
  const auto count = [&](const Words& words) {
    return stage_.expect(0, "", words).json()["leases"].size();
  };
  EXPECT_EQ(count({"list"}), 2U);
  EXPECT_EQ(count({"list", "--agent", "ann"}), 1U);
  EXPECT_EQ(count({"list", "--task", "T1"}), 1U);
  EXPECT_EQ(count({"list", "--task", "T2"}), 0U);
  EXPECT_EQ(count({"list", "--under", "src/"}), 1U);
  EXPECT_EQ(count({"list", "--under", "lib/x"}), 1U);
  EXPECT_EQ(count({"list", "--all-realms"}), 2U);
  const std::string tree = stage_.as("", {"list", "--tree"}).out;
  EXPECT_THAT(tree, HasSubstr("ann"));
  EXPECT_THAT(tree, HasSubstr("bob"));
}

// A grant that nobody hears of would stay for its whole ttl.
TEST_F(Verbs, ARenewalForAnotherTaskSaysThatTheFirstStays) {
  stage_.expect(0, "ann", {"acquire", "a", "--task", "T-1"});
  const Json same = stage_.expect(0, "ann", {"acquire", "a", "--task", "T-1"}).json();
  EXPECT_FALSE(same.contains("warnings")) << same;
  const Json other = stage_.expect(0, "ann", {"acquire", "a", "--task", "T-2"}).json();
  EXPECT_EQ(other["lease"]["task"], "T-1");
  ASSERT_EQ(other["warnings"].size(), 1U) << other;
  EXPECT_THAT(other["warnings"][0].get<std::string>(), HasSubstr("taken for task \"T-1\""));
}

TEST_F(Verbs, A7_AGrantThatCannotBeToldIsGivenBack) {
  for (const char* where : {">/dev/full", ">&-"}) {
    for (const char* json : {"", "--json"}) {
      const Answer answer = stage_.finish(stage_.command(
          {"sh", "-c",
           std::string(Stage::program()) + " acquire a " + json + " --agent ann " + where}));
      EXPECT_NE(answer.status, 0) << where << json;
      EXPECT_EQ(stage_.list()["leases"].size(), 0U) << where << json;
    }
  }
}

TEST_F(Verbs, A7_NoVerbKeepsALockThatItCannotTell) {
  STAGE_IS_LOCAL("layouts");
  stage_.env["COORDMCP_DATA_DIR"] = stage_.path("data");
  std::filesystem::create_directories(stage_.repo() + "/spec");
  std::filesystem::create_directories(stage_.repo() + "/out");
  const auto untold = [&](const std::string& words) {
    const Answer answer = stage_.finish(
        stage_.command({"sh", "-c", std::string(Stage::program()) + " " + words + " >/dev/full"}));
    EXPECT_EQ(answer.status, 1) << words << answer.all();
    EXPECT_THAT(answer.err, HasSubstr("given back")) << words;
    EXPECT_EQ(stage_.list()["leases"].size(), 0U) << words;
  };
  untold("task acquire T-1 --file a --root spec --agent ann");
  untold("coordinator acquire a --agent ann");
  untold("coordmcp lock_files --agent-id ann --project-id p --file a");
  untold("workflow lock --output out --agent ann --file a");
  untold("pause F-1 --reason later --agent ann");
  const Answer ports = stage_.finish(stage_.command(
      {"sh", "-c", std::string(Stage::program()) + " ports allocate s1 >/dev/full"}));
  EXPECT_THAT(ports.err, HasSubstr("given back"));
}

// The signal once ended the program in the middle of a write.
TEST_F(Verbs, AFileSizeLimitIsAnErrorLikeAFullDisk) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "TSan writes a file before our program begins, and dies of the limit";
#endif
  stage_.env["LK"] = Stage::program();
  const auto limited = [&](const std::string& script) {
    return stage_.finish(stage_.command({"sh", "-c", "ulimit -f 0; " + script}));
  };
  const Answer refused = limited("\"$LK\" acquire a --agent ann");
  EXPECT_EQ(refused.status, 69) << refused.all();
  stage_.expect(0, "ann", {"acquire", "b"});
  // Our own stderr is a file as well: it is read through a pipe.
  const Answer inside = stage_.finish(stage_.command(
      {"sh", "-c",
       "(ulimit -f 0; \"$LK\" list >" + stage_.path("full") + "; echo status $? >&2) 2>&1 | cat"}));
  EXPECT_THAT(inside.out, HasSubstr("cannot write to stdout\nstatus")) << "list changes nothing";
  EXPECT_THAT(inside.out, HasSubstr("status 1"));
  const auto at_a_full_disk = [&](const std::string& words) {
    return stage_.finish(stage_.command({"sh", "-c", "\"$LK\" " + words + " >/dev/full"})).err;
  };
  for (const char* const looks : {"layout list", "config show", "help run", "--version"}) {
    if (through_hub() && looks == std::string("layout list")) continue;  // layouts are local
    EXPECT_EQ(at_a_full_disk(looks), "lockkeeper: cannot write to stdout\n") << looks;
  }
  EXPECT_THAT(at_a_full_disk("release b --agent ann"), HasSubstr("what was asked for is done"));
  stage_.expect(0, "ann", {"acquire", "b"});
  stage_.expect(75, "bob", {"acquire", "b"});
}

TEST_F(Verbs, AHintCanBeTypedForANameThatBeginsWithADash) {
  stage_.expect(0, "ann", {"acquire", "--", "-x"});
  EXPECT_THAT(stage_.as("bob", {"acquire", "--", "-x"}).err, HasSubstr("lockkeeper acquire ./-x"));
  EXPECT_THAT(stage_.as("bob", {"release", "--", "-x"}).err, HasSubstr("lockkeeper acquire ./-x"));
  EXPECT_THAT(stage_.as("bob", {"check", "--held", "--", "-y"}).err,
              HasSubstr("lockkeeper acquire ./-y"));
}

TEST_F(Verbs, B2_EveryVerbTellsTheLoserFirst) {
  stage_.env["LOCKKEEPER_SESSION"] = "s1";
  const std::vector<Words> verbs = {
      {"check", "b"},       {"check", "--held", "a"}, {"renew", "--all"}, {"list"},
      {"release", "--all"}, {"acquire", "b"},         {"message", "list"}};
  for (const Words& verb : verbs) {
    SCOPED_TRACE(verb.front());
    stage_.expect(0, "ann", {"acquire", "a"});
    stage_.expect(0, "boss", {"break", "a", "--reason", "urgent"});
    const Answer told = stage_.as("ann", verb);
    EXPECT_THAT(told.err, HasSubstr("a"));
    EXPECT_THAT(told.err, HasSubstr("boss")) << told.all();
    EXPECT_THAT(told.err, HasSubstr("urgent")) << told.all();
    if (verb.front() == "renew") {
      EXPECT_EQ(told.status, 79);
    }
    const Answer again = stage_.as("ann", verb);
    EXPECT_THAT(again.err, testing::Not(HasSubstr("urgent"))) << "told once";
    stage_.as("ann", {"release", "--all"});
  }
}

TEST_F(Verbs, B3_TheHolderHearsWhoWaits) {
  stage_.env["LOCKKEEPER_SESSION"] = "s1";
  stage_.expect(0, "ann", {"acquire", "a"});
  Process waiter = stage_.start("bob", {"acquire", "a", "--wait=60s", "--reason", "parser"});
  ASSERT_TRUE(stage_.queue_grows_to(1));
  for (const Words& verb : std::vector<Words>{{"check", "b"}, {"list"}, {"renew", "--all"}}) {
    const Answer told = stage_.as("ann", verb);
    EXPECT_THAT(told.err, HasSubstr("bob")) << told.all();
    EXPECT_THAT(told.err, HasSubstr("has waited")) << told.all();
    EXPECT_THAT(told.err, HasSubstr("parser")) << told.all();
  }
  stage_.expect(0, "ann", {"release", "a"});
  EXPECT_EQ(waiter.wait(), 0);
}

TEST_F(Verbs, B3_NobodyHearsOfAWaiterThatIsDead) {
  stage_.env["LOCKKEEPER_SESSION"] = "s1";
  stage_.expect(0, "ann", {"acquire", "a"});
  Process waiter = stage_.start("bob", {"acquire", "a", "--wait=60s"});
  ASSERT_TRUE(stage_.queue_grows_to(1));
  waiter.signal(SIGKILL);
  waiter.wait();
  if (through_hub()) {  // as soon as the relay has told of it
    EXPECT_TRUE(eventually([&] { return stage_.waiters() == 0; }));
  }
  EXPECT_EQ(stage_.as("ann", {"check", "b"}).err.find("has waited"), std::string::npos);
}

TEST_F(Verbs, CheckTellsOfAnOwnLeaseThatHasEnded) {
  stage_.expect(0, "ann", {"acquire", "a", "--ttl", "1s"});
  stage_.pass_ms(1'100);
  const Answer told = stage_.as("ann", {"check", "a"});
  EXPECT_EQ(told.status, 0);
  EXPECT_THAT(told.err, HasSubstr("your lease on a had already ended (expired)"));
  EXPECT_EQ(stage_.as("bob", {"check", "a"}).err.find("your lease"), std::string::npos);
}

TEST_F(Verbs, HintsActForWhoeverAsked) {
  stage_.expect(0, "ann", {"acquire", "src/"});
  stage_.expect(0, "bob", {"acquire", "docs/"});
  const auto hint = [&](const Words& words) { return stage_.as("", words).err; };
  EXPECT_THAT(hint({"release", "src/a.py", "--agent", "ann"}),
              HasSubstr("release that: lockkeeper release src/ --agent ann"));
  EXPECT_THAT(hint({"release", "docs/", "--agent", "ann"}),
              HasSubstr("lockkeeper break docs/ --agent ann --reason TEXT"));
  EXPECT_THAT(hint({"renew", "src/a.py", "--agent", "ann"}),
              HasSubstr("you hold src/, which overlaps it"));
  EXPECT_THAT(hint({"break", "--agent", "cat", "--reason", "r"}), HasSubstr("cat holds nothing"));
  EXPECT_THAT(hint({"release", "--all", "src/"}), HasSubstr("resources or --all, not both"));
  EXPECT_THAT(hint({"renew", "--all", "--ttl", "1s", "--agent", "ann"}),
              HasSubstr("a renewal never shortens a lease"));
  EXPECT_THAT(hint({"task", "acquire", "T 19"}), HasSubstr("write 'T-19'"));
  EXPECT_THAT(hint({"run", "x", "--", "echo a && echo b"}), HasSubstr("-- sh -c 'LINE'"));
  EXPECT_THAT(hint({"wait"}), HasSubstr("acquire RESOURCE --wait=10m"));
  EXPECT_THAT(hint({"who"}), HasSubstr("did you mean lockkeeper list?"));
}

TEST_F(Verbs, B9_ReleasingAPartNamesWhatCoversIt) {
  stage_.env["LOCKKEEPER_SESSION"] = "s1";
  stage_.expect(0, "ann", {"acquire", "src/core/"});
  const Answer refused = stage_.as("ann", {"release", "src/core/table.h"});
  EXPECT_EQ(refused.status, 66) << refused.all();
  EXPECT_THAT(refused.err, HasSubstr("src/core/, which you hold, covers it"));
  EXPECT_THAT(refused.err, HasSubstr("lockkeeper release src/core/"));
}

TEST_F(Verbs, C10_ABadLockFileHidesNoOtherLock) {
  STAGE_IS_LOCAL("layouts");
  stage_.expect(0, "ann", {"acquire", "src/a"});
  stage_.expect(0, "", {"layout", "add", "workflow", stage_.repo() + "/out"});
  stage_.file("out/locks/bad.lock", "nonsense");
  const Json listed = stage_.expect(69, "", {"list"}).json();
  ASSERT_EQ(listed["leases"].size(), 1U) << listed.dump(1);
  EXPECT_EQ(listed["leases"][0]["agent"], "ann");
  EXPECT_THAT(listed["error"]["message"].get<std::string>(), HasSubstr("bad.lock"));
  const Answer text = stage_.as("", {"list"});
  EXPECT_EQ(text.status, 69) << "what cannot be read may be a lock";
  EXPECT_THAT(text.out, HasSubstr("src/a"));
  EXPECT_THAT(text.err, HasSubstr("lockkeeper layout ignore"));
  const Json all = stage_.expect(69, "", {"list", "--all-realms"}).json();
  EXPECT_EQ(all["leases"].size(), 1U);
  EXPECT_NE(all["error"]["hint"].get<std::string>().find("lockkeeper doctor --realm /"),
            std::string::npos)
      << all << ": it works from anywhere";
  stage_.expect(69, "bob", {"check", "src/b"});
  stage_.expect(0, "ann", {"release", "src/a"});
}

TEST_F(Verbs, C10_PurgeEndsLeasesOfDeadProcesses) {
  Process holder(stage_.command({"sleep", "600"}));
  stage_.expect(0, "ann", {"acquire", "a", "--attach", std::to_string(holder.pid())});
  stage_.expect(0, "", {"purge"});
  EXPECT_THAT(events(), testing::ElementsAre("granted")) << "a living process keeps its lease";
  holder.signal(SIGKILL);
  holder.wait();
  stage_.expect(0, "", {"purge"});
  EXPECT_THAT(events(), testing::ElementsAre("granted", "ended"));
}

TEST_F(Verbs, I11_LogSaysWhatHappenedInOrder) {
  stage_.expect(0, "ann", {"acquire", "a"});
  stage_.expect(0, "ann", {"release", "a"});
  stage_.expect(0, "bob", {"acquire", "a", "--ttl", "1ms"});
  stage_.pass_ms(5);
  stage_.expect(0, "cat", {"acquire", "a"});
  stage_.expect(0, "dan", {"break", "a", "--reason", "urgent"});
  EXPECT_THAT(events(), testing::ElementsAre("granted", "released", "granted", "expired", "granted",
                                             "broken"));
  EXPECT_THAT(events({"--agent", "bob"}), testing::ElementsAre("granted", "expired"));
  const std::vector<Json> all = stage_.expect(0, "", {"log"}).lines();
  const std::string third = std::to_string(all[2]["seq"].get<std::uint64_t>());
  EXPECT_THAT(events({"--since", third}), testing::ElementsAre("expired", "granted", "broken"));
  EXPECT_EQ(events({"--since", "1h"}).size(), 6U);
  EXPECT_EQ(all[5]["reason"], "urgent");
  EXPECT_EQ(all[5]["by"]["agent"], "dan");
  EXPECT_EQ(all[0]["fence"], all[1]["fence"]);
  EXPECT_GT(all[2]["fence"], all[0]["fence"]);
}

TEST_F(Verbs, LogFollowGoesOnUntilInterrupted) {
  stage_.expect(0, "ann", {"acquire", "a"});
  Process log = stage_.start("", {"log", "--json", "--follow"});
  ASSERT_TRUE(eventually([&] { return log.out().find("granted") != std::string::npos; }));
  stage_.expect(0, "ann", {"release", "a"});
  EXPECT_TRUE(eventually([&] { return log.out().find("released") != std::string::npos; }));
  log.signal(SIGINT);
  EXPECT_EQ(log.wait(), 130);
}

TEST_F(Verbs, I7_TheFormerHolderOfABrokenLeaseIsToldAtItsNextCommand) {
  const std::string lease = stage_.expect(0, "ann", {"acquire", "a"}).lease();
  stage_.expect(64, "boss", {"break", "a"});  // a reason is needed
  const Json broken = stage_.expect(0, "boss", {"break", "a", "--reason", "gone home"}).json();
  EXPECT_EQ(broken["broken"][0]["agent"], "ann");
  const Answer next = stage_.expect(0, "ann", {"acquire", "b"});
  ASSERT_TRUE(next.json().contains("lost")) << next.out;
  EXPECT_THAT(next.json()["lost"].dump(), HasSubstr("gone home"));
  EXPECT_FALSE(stage_.expect(0, "ann", {"acquire", "c"}).json().contains("lost")) << "told twice";
  stage_.expect(79, "ann", {"renew", "--lease", lease});
  stage_.expect(66, "boss", {"break", "a", "--reason", "again"});
}

TEST_F(Verbs, BreakOfAnAgentAndOfTheDeadAlone) {
  Process holder(stage_.command({"sleep", "600"}));
  stage_.expect(0, "ann", {"acquire", "a", "--attach", std::to_string(holder.pid())});
  stage_.expect(0, "ann", {"acquire", "b"});
  stage_.expect(66, "boss", {"break", "a", "--dead", "--reason", "dead?"});
  stage_.expect(66, "boss", {"break", "b", "--expired", "--reason", "over?"});
  const Json broken = stage_.expect(0, "boss", {"break", "--agent", "ann", "--reason", "x"}).json();
  EXPECT_EQ(broken["broken"].size(), 2U);
  EXPECT_EQ(stage_.list()["leases"].size(), 0U);
}

TEST_F(Verbs, RenewLengthensNeverShortensAndSaysLost) {
  const Answer held = stage_.expect(0, "ann", {"acquire", "a", "--ttl", "1h"});
  const auto end_of = [](const Json& lease) { return lease["expires_at"].get<std::string>(); };
  const Json longer = stage_.expect(0, "ann", {"renew", "a", "--ttl", "2h"}).json();
  EXPECT_GT(end_of(longer["renewed"][0]), end_of(held.json()["lease"]));
  const Json same = stage_.expect(0, "ann", {"renew", "a", "--ttl", "1m"}).json();
  // A hub says how much is left, and each client reckons the end from that.
  if (!through_hub()) {
    EXPECT_EQ(end_of(same["renewed"][0]), end_of(longer["renewed"][0]));
  }
  EXPECT_EQ(same["renewed"][0]["fence"], held.fence());
  stage_.expect(66, "ann", {"renew", "never-held"});
  stage_.expect(77, "bob", {"renew", "--lease", held.lease()});
  stage_.expect(0, "ann", {"acquire", "brief", "--ttl", "1ms"});
  stage_.pass_ms(5);
  stage_.expect(79, "ann", {"renew", "brief"});
}

TEST_F(Verbs, ReleaseIsExactAndSaysWhatIsNotYours) {
  stage_.expect(0, "ann", {"acquire", "a", "b"});
  stage_.expect(0, "bob", {"acquire", "c"});
  const Answer mixed = stage_.expect(77, "ann", {"release", "a", "c", "d"});
  EXPECT_EQ(mixed.json()["released"], Json({"a"}));
  EXPECT_EQ(mixed.json()["not_held"], Json({"d"}));
  EXPECT_EQ(mixed.json()["not_owner"][0]["agent"], "bob");
  stage_.expect(66, "ann", {"release", "a"});
  stage_.expect(0, "ann", {"release", "--all"});
  stage_.expect(0, "ann", {"release", "--all"});
  EXPECT_EQ(stage_.list()["leases"].size(), 1U);
}

TEST_F(Verbs, Rule4_AskingAgainForExactlyOneOwnLeaseRenewsIt) {
  const Answer first = stage_.expect(0, "ann", {"acquire", "a", "b"});
  const Answer again = stage_.expect(0, "ann", {"acquire", "b", "a"});
  EXPECT_EQ(again.json()["outcome"], "renewed");
  EXPECT_EQ(again.fence(), first.fence());
  EXPECT_EQ(stage_.expect(0, "ann", {"acquire", "a"}).json()["outcome"], "granted");
}

TEST_F(Verbs, I4_AnOldFenceIsRefusedWhoeverHoldsItNow) {
  const Answer first = stage_.expect(0, "ann", {"acquire", "a"});
  const std::string old = std::to_string(first.fence());
  const std::string id = first.lease();
  stage_.expect(0, "tool", {"check", "a", "--fence", old, "--lease", id});
  stage_.expect(79, "tool", {"check", "b", "--fence", old, "--lease", id});
  stage_.expect(0, "ann", {"release", "a"});
  stage_.expect(79, "tool", {"check", "a", "--fence", old, "--lease", id});
  stage_.expect(0, "ann", {"acquire", "a"});
  stage_.expect(79, "ann", {"check", "a", "--fence", old});
}

}  // namespace
}  // namespace lockkeeper::stage
