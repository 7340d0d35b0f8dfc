// `workflow run` as a person uses it: which agent starts when, under which locks, what is printed.
#include <filesystem>
#include <map>

#include "crew/crew_stage.h"

namespace lockkeeper::stage {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

using CrewRun = CrewStage;

TEST_F(CrewRun, StartsWhateverFitsUnderItsLocks) {
  // a and b meet, so they run side by side; c wants what a has; d needs b alone and must not wait
  // for c's turn: it releases a.
  write_plan({
      {"a", {"x"}, "touch m1; " + until("m2") + "; " + until("m4") + "; " + says("a", "x")},
      {"b", {"y"}, "touch m2; " + until("m1") + "; " + says("b", "y")},
      {"c", {"x"}, says("c", "x")},
      {"d", {"z"}, says("d", "z") + "; touch m4", {"b"}},
  });
  const Answer answer = run();
  EXPECT_EQ(answer.status, 0) << answer.all();
  EXPECT_THAT(ran(), ElementsAre("a", "b", "c", "d"));
  const Json c = agent("c");
  ASSERT_EQ(c["waits"].size(), 1U) << c.dump(1);
  EXPECT_EQ(c["waits"][0]["for"], "agent");
  EXPECT_EQ(c["waits"][0]["on"], "a");
  const Json d = agent("d");
  ASSERT_EQ(d["waits"].size(), 1U) << d.dump(1);
  EXPECT_EQ(d["waits"][0]["for"], "dependency");
  EXPECT_TRUE(exists(out() + "/report.md"));
  EXPECT_THAT(read_text(out() + "/timeline.svg"), HasSubstr("<svg"));
  expect_nothing_left();
}

TEST_F(CrewRun, AnAgentSeesItsScope) {
  write_plan({{"a",
               {"x"},
               "env; echo; printf '%s' \"{scope}\"; cat {scope_file}; echo {agent} {attempt}",
               {},
               {"task_description: 'mend \"it\"; rm -rf /nothing'", "task: T-7",
                "directories: [\"lib/\"]"}},
              {"b", {"y"}, until("m")}});
  stage_.expect(0, "ann", {"acquire", "theirs", "--reason", "because"});
  auto process = start();
  ASSERT_TRUE(eventually([&] { return exists(out() + "/agents/a/1/result.json"); }));
  write_text(stage_.repo() + "/m", "");
  EXPECT_EQ(process.wait(), 0) << process.err();
  const std::string text = log("a");
  for (const char* const part :
       {"LOCKKEEPER_AGENT=a\n", "LOCKKEEPER_LEASE=", "LOCKKEEPER_FENCE=", "LOCKKEEPER_TASK=T-7\n",
        "LOCKKEEPER_DESCRIPTION=mend \"it\"; rm -rf /nothing\n",
        "LOCKKEEPER_REALM=", "LOCKKEEPER_SCOPE=You are a", "You may change:\n- x\n- lib/\n",
        "- ann: theirs (\"because\")", "a 1\n"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  stage_.expect(0, "ann", {"release", "--all"});
}

TEST_F(CrewRun, ACommandTakesMoreInsideItsLock) {
  write_plan({{"a", {"src/"}, "\"$LOCKKEEPER\" acquire src/x other && echo inside >> \"$RAN\""}});
  EXPECT_EQ(run().status, 0) << log("a");
  EXPECT_THAT(ran(), ElementsAre("inside"));
  expect_nothing_left();
}

TEST_F(CrewRun, GitDoesNotTakeTheWorkOfAnotherAgent) {
  stage_.file("x", "old\n");
  stage_.file("y", "old\n");
  stage_.git("repo", {"add", "x", "y"});
  stage_.git("repo", {"commit", "-q", "-m", "files"});
  write_plan({
      {"a", {"x"}, "echo work >x; touch m1; " + until("m2")},
      {"b",
       {"y"},
       until("m1") + "; echo mine >y; git stash; echo $?; git checkout -- x; echo $?; "
                     "git checkout -q -- y; echo $?; touch m2"},
  });
  EXPECT_EQ(run().status, 0) << log("b");
  EXPECT_EQ(read_text(stage_.repo() + "/x"), "work\n");
  EXPECT_EQ(read_text(stage_.repo() + "/y"), "old\n");
  EXPECT_THAT(log("b"), HasSubstr("\"git stash\" would put away uncommitted work of the "
                                  "subagent a of your session: x"));
  EXPECT_THAT(log("b"), HasSubstr("\n75\nlockkeeper: \"git checkout -- x\""));
  EXPECT_THAT(log("b"), testing::EndsWith("\n75\n0\n"));
}

TEST_F(CrewRun, ManyWordsAreNoShellLine) {
  write_text(plan(),
             "agents:\n  - agent: a\n    files: [x]\n    command: [printf, '%s.', '{agent}',"
             " '$HOME', \"{scope_file}\", '{unknown}']\n");
  EXPECT_EQ(run().status, 0);
  EXPECT_EQ(log("a"), "a.$HOME." + out() + "/agents/a/1/scope.txt.{unknown}.");
}

TEST_F(CrewRun, C10_AListOfOneWordIsStartedWithoutAShell) {
  write_text(stage_.repo() + "/a;tool", "#!/bin/sh\necho started\n");
  std::filesystem::permissions(stage_.repo() + "/a;tool", std::filesystem::perms::owner_all);
  write_text(plan(), "agents: [{agent: a, files: [x], command: ['./a;tool']}]");
  EXPECT_EQ(run().status, 0) << log("a");
  EXPECT_EQ(log("a"), "started\n");
}

TEST_F(CrewRun, C10_AnAgentThatCouldNeverHoldALockIsRefusedAtOnce) {
  const std::string long_name(300, 'x');
  for (const std::string& name : {std::string("a\nb"), std::string(" a"), long_name}) {
    write_plan({{name, {"x"}, "echo never >> \"$RAN\""}, {"b", {"y"}, "echo never >> \"$RAN\""}});
    const Answer answer = run();
    EXPECT_EQ(answer.status, 65) << answer.all();
    EXPECT_EQ(stage_.as("", {"validate", plan()}).status, 65);
    EXPECT_EQ(stage_.as("", {"plan", plan()}).status, 65);
    EXPECT_FALSE(exists(out())) << "nothing was begun";
  }
  write_plan({{"..", {}, "echo up >> \"$RAN\""}, {".", {}, "echo here >> \"$RAN\""}});
  EXPECT_EQ(run().status, 0) << "an agent without locks holds a key made from its name";
  EXPECT_THAT(ran(), ElementsAre("here", "up"));
}

TEST_F(CrewRun, OneCommandForAll) {
  write_plan({{"a", {"x"}, ""}, {"b", {"y"}, "echo own"}});
  std::string yaml = read_text(plan());
  yaml.erase(yaml.find("    command: \"\"\n"), std::string("    command: \"\"\n").size());
  write_text(plan(), yaml);
  const Answer none = run();
  EXPECT_EQ(none.status, 65) << none.all();
  EXPECT_THAT(none.err, HasSubstr("\"a\" has no command"));
  EXPECT_EQ(run({"--", "echo {agent}"}).status, 0);
  EXPECT_EQ(log("a"), "a\n");
  EXPECT_EQ(log("b"), "own\n");
}

TEST_F(CrewRun, ACommandThatNobodyNeedsAndAnUnknownPlaceholderAreTold) {
  write_plan({{"a", {"x"}, "echo {scop}"}});
  const Answer answer = run({"--", "echo {agnt}"});
  EXPECT_EQ(answer.status, 0) << answer.all();
  EXPECT_THAT(answer.err, HasSubstr("in the command of a, {scop} is not a placeholder: the command "
                                    "gets it as it is; the placeholders are {scope}, "));
  EXPECT_THAT(answer.err, HasSubstr("after --, {agnt} is not a placeholder"));
  EXPECT_THAT(answer.err, HasSubstr("the command after -- is not used: every agent in"));
  EXPECT_EQ(log("a"), "{scop}\n");
  EXPECT_THAT(stage_.expect(0, "", {"validate", plan()}).out, HasSubstr("{scop} is not a "));
}

TEST_F(CrewRun, StatusTellsOfARunAtWorkAndOfEarlierOnes) {
  const std::string mark = stage_.path("mark");
  write_plan({{"a", {"x"}, until(mark)}});
  auto process = stage_.start("lead", {"workflow", "run", plan()});
  ASSERT_TRUE(tells(process, "a  started")) << process.err();
  const Answer at_work = stage_.as("", {"workflow", "status"});
  EXPECT_THAT(at_work.out, testing::ContainsRegex("a.lock +x +[^ ]+ +lockkeeper +-"));
  write_text(mark, "");
  EXPECT_EQ(process.wait(), 0) << process.err();
  EXPECT_THAT(stage_.as("", {"workflow", "status"}).out,
              HasSubstr("no workflow has locks in this realm now; the reports of earlier runs are "
                        "in .workflow/; "));
}

TEST_F(CrewRun, WhoFailedIsNamedAndAResumeIsRecalled) {
  write_plan({{"a", {"a"}, "exit 3"},
              {"b", {"b"}, "exit 4"},
              {"c", {"c"}, "true"},
              {"d", {"d"}, "true", {"a"}}});
  const Answer first = run();
  EXPECT_THAT(first.err, HasSubstr("2 of 4 agents failed: a (exit status 3), b (exit status 4); 1 "
                                   "skipped\n"));
  EXPECT_THAT(first.err, Not(HasSubstr("--resume would have")));
  EXPECT_THAT(run().err, HasSubstr("the last run failed and this one starts from the beginning; "
                                   "--resume would have repeated only a, b, d\n"));
  EXPECT_THAT(run({"--resume"}).err, Not(HasSubstr("--resume would have")));
}

TEST_F(CrewRun, JobsBoundsHowManyRun) {
  std::vector<Hand> hands;
  const std::string line =
      "mkdir slot1 2>/dev/null && s=slot1 || { mkdir slot2 && s=slot2; } || "
      "{ echo CROWD >> \"$RAN\"; exit 1; }; sleep 0.1; rmdir $s; echo ok >> \"$RAN\"";
  for (int i = 0; i < 6; ++i) {
    hands.push_back({"w" + std::to_string(i), {"f" + std::to_string(i)}, line});
  }
  write_plan(hands);
  EXPECT_EQ(run({"--jobs", "2"}).status, 0);
  EXPECT_THAT(ran(), ElementsAre("ok", "ok", "ok", "ok", "ok", "ok"));
}

TEST_F(CrewRun, AFailureIsTriedAgainThenSkipsWhatNeedsIt) {
  write_plan({{"flaky", {"x"}, "[ -e tried ] || { touch tried; exit 3; }", {}, {"retries: 1"}},
              {"bad", {"y"}, "exit 4", {}, {"retries: 2"}},
              {"next", {"z"}, "echo never >> \"$RAN\"", {"bad"}},
              {"last", {"z"}, "echo never >> \"$RAN\"", {"next"}},
              {"free", {"u"}, "true"}});
  const Answer answer = run();
  EXPECT_EQ(answer.status, 1) << answer.all();
  EXPECT_THAT(answer.err, HasSubstr("1 of 5 agents failed: bad (exit status 4); 2 "));
  EXPECT_THAT(answer.out, HasSubstr("  flaky  will be tried again\n"));
  EXPECT_THAT(answer.out, HasSubstr("  next  skipped: it needs bad, which failed\n"));
  EXPECT_EQ(agent("flaky")["standing"], "done");
  EXPECT_EQ(agent("flaky")["attempts"].size(), 2U);
  EXPECT_EQ(agent("bad")["attempts"].size(), 3U);
  EXPECT_EQ(agent("next")["standing"], "skipped");
  EXPECT_EQ(agent("last")["why"], "it needs next, which was skipped");
  EXPECT_EQ(agent("free")["standing"], "done");
  EXPECT_THAT(ran(), IsEmpty());
  expect_nothing_left();
}

TEST_F(CrewRun, C7_TheSummaryShowsTheEndOfAFailedLog) {
  write_plan({{"good", {"x"}, "echo fine"},
              {"bad", {"y"}, "seq 1 20; printf 'no \\033[31mserver\\n'; exit 4"},
              {"mute", {"z"}, "exit 5"}});
  const Answer answer = run();
  EXPECT_EQ(answer.status, 1);
  EXPECT_THAT(answer.out, HasSubstr("the end of bad's log:\n  │ 12\n  │ 13\n"));
  EXPECT_THAT(answer.out, HasSubstr("  │ 20\n  │ no \\x1b[31mserver\n"));
  EXPECT_THAT(answer.out, Not(HasSubstr("  │ 11\n")));
  EXPECT_THAT(answer.out, Not(HasSubstr("fine")));
  const std::vector<Json> lines = stage_.json("lead", words({"--restart"})).lines();
  const Json failures = lines.back()["failures"];
  ASSERT_EQ(failures.size(), 2U) << failures.dump(1);
  EXPECT_EQ(failures[0]["agent"], "bad");
  EXPECT_EQ(failures[0]["tail"].size(), 10U);
  EXPECT_EQ(failures[0]["log"], out() + "/agents/bad/1/log");
  EXPECT_TRUE(failures[1]["tail"].empty());
}

TEST_F(CrewRun, AfterARepairOnlyWhatFailedRunsAgain) {
  write_plan({{"good", {"x"}, "echo good >> \"$RAN\""},
              {"bad", {"y"}, "[ -e repaired ] && echo bad >> \"$RAN\""},
              {"next", {"z"}, "echo next >> \"$RAN\"", {"bad"}}});
  EXPECT_EQ(run().status, 1);
  write_text(stage_.repo() + "/repaired", "");
  EXPECT_EQ(run({"--resume"}).status, 0);
  EXPECT_THAT(ran(), ElementsAre("bad", "good", "next"));
}

TEST_F(CrewRun, WaitsInTheQueueForOutsiders) {
  stage_.expect(0, "ann", {"acquire", "x"});
  write_plan({{"a", {"x"}, says("a", "x")}, {"b", {"y"}, says("b", "y")}});
  auto process = start({"--json"});
  ASSERT_TRUE(stage_.queue_grows_to(1));
  ASSERT_TRUE(eventually([&] { return ran().size() == 1; })) << "b waits for nobody";
  stage_.expect(0, "ann", {"release", "x"});
  EXPECT_EQ(process.wait(), 0) << process.err();
  EXPECT_THAT(ran(), ElementsAre("a", "b"));
  EXPECT_EQ(agent("a")["waits"].back()["for"], "lock");
  EXPECT_EQ(agent("a")["waits"].back()["on"], "x is held by ann");
  expect_nothing_left();
}

// Rule 2 of crew/foreman.h: x is held for long, so a cannot start; b wants only y, which a wants,
// too, and starts all the same.
TEST_F(CrewRun, WhoWaitsForAnOutsiderLetsItsOwnPass) {
  stage_.expect(0, "ann", {"acquire", "x"});
  write_plan(
      {{"a", {"x", "y"}, says("a", "y"), {}, {"priority: 1"}}, {"b", {"y"}, says("b", "y")}});
  auto process = start();
  ASSERT_TRUE(eventually([&] { return ran().size() == 1; })) << "b does not pass a";
  EXPECT_THAT(ran(), ElementsAre("b"));
  ASSERT_TRUE(stage_.queue_grows_to(1)) << "a stands in the queue again";
  stage_.expect(0, "ann", {"release", "x"});
  EXPECT_EQ(process.wait(), 0) << process.err();
  EXPECT_THAT(ran(), ElementsAre("a", "b"));
}

TEST_F(CrewRun, APausedFeatureStartsAndFinalisesNothing) {
  write_text(plan(),
             "schema_version: 1\nfeature: {id: shop}\npackages:\n"
             "  - package_id: a\n    retry_budget: 0\n    command: 'touch m1; " +
                 until("m2") +
                 "'\n    locks: {files: [x], keys: []}\n    scope: {write_allow: [x, m1]}\n"
                 "  - package_id: b\n    depends_on: [a]\n    command: 'true'\n"
                 "    locks: {files: [y], keys: []}\n    scope: {write_allow: [y]}\n");
  stage_.expect(0, "boss", {"pause", "shop", "--reason", "stop"});
  auto process = start();
  ASSERT_TRUE(tells(process, "(\"stop\")")) << process.out();
  EXPECT_FALSE(exists(stage_.repo() + "/m1")) << "started while paused";
  stage_.expect(0, "boss", {"resume", "shop"});
  ASSERT_TRUE(eventually([&] { return exists(stage_.repo() + "/m1"); }));
  stage_.expect(0, "boss", {"pause", "shop", "--reason", "again"});
  write_text(stage_.repo() + "/m2", "");
  ASSERT_TRUE(eventually([&] { return exists(out() + "/agents/a/1/result.json"); }));
  ASSERT_TRUE(tells(process, "(\"again\")")) << process.out();
  EXPECT_EQ(stage_.list()["leases"].size(), 2U) << "a's lock is kept while paused";
  EXPECT_FALSE(exists(out() + "/agents/b/1/started"));
  stage_.expect(0, "boss", {"resume", "shop"});
  EXPECT_EQ(process.wait(), 0) << process.err();
  expect_nothing_left();
}

TEST_F(CrewRun, C8_APauseStopsAPlanOfAgentsToo) {
  const auto agents = [&](const std::string& above) {
    write_plan({{"a", {"x"}, "echo $LOCKKEEPER_FEATURE >> \"$RAN\""}});
    write_text(plan(), above + read_text(plan()));
  };
  const auto waits_for_shop = [&](const Words& more) {
    stage_.expect(0, "boss", {"pause", "shop", "--reason", "stop"});
    auto process = start(more);
    ASSERT_TRUE(eventually([&] { return process.out().contains("feature shop is paused"); }))
        << process.err();
    EXPECT_THAT(ran(), IsEmpty()) << "started while paused";
    stage_.expect(0, "boss", {"resume", "shop"});
    EXPECT_EQ(process.wait(), 0) << process.err();
    EXPECT_THAT(ran(), ElementsAre("shop"));
    std::filesystem::remove(stage_.path("ran"));
  };
  agents("feature: shop\n");
  waits_for_shop({});
  agents("feature: other\n");
  waits_for_shop({"--feature", "shop"});
  agents("");
  waits_for_shop({"--feature", "shop"});
  stage_.env["LOCKKEEPER_FEATURE"] = "shop";
  waits_for_shop({});
  EXPECT_EQ(run({"--feature", "a/b"}).status, 65);
  expect_nothing_left();
}

TEST_F(CrewRun, C8_AResumedRunObeysTheSamePause) {
  write_plan({{"a", {"x"}, "exit $([ -e m ] || echo 1)"}});
  EXPECT_EQ(run({"--feature", "shop"}).status, 1);
  EXPECT_EQ(report()["feature"], "shop");
  write_text(stage_.repo() + "/m", "");
  stage_.expect(0, "boss", {"pause", "shop", "--reason", "stop"});
  auto process = start({"--resume"});
  EXPECT_TRUE(eventually([&] { return process.out().contains("feature shop is paused"); }));
  stage_.expect(0, "boss", {"resume", "shop"});
  EXPECT_EQ(process.wait(), 0) << process.err();
}

TEST_F(CrewRun, C10_WhoExitsWithZeroAfterCtrlCMayBeUnfinishedAndRunsAgain) {
  write_plan({{"a",
               {"x"},
               "[ -e again ] && { echo whole >> \"$RAN\"; exit; }; "
               "trap 'touch again; exit 0' TERM; touch m; sleep 60 & wait"}});
  auto process = start();
  ASSERT_TRUE(eventually([&] { return exists(stage_.repo() + "/m"); }));
  process.signal(SIGINT);
  EXPECT_EQ(process.wait(), 130) << process.err();
  EXPECT_EQ(ending("a"), "stopped");
  EXPECT_THAT(process.out(), HasSubstr("it ended with 0, but may be unfinished"));
  EXPECT_THAT(process.err(), HasSubstr("the run was stopped before its agent was done\n"));
  EXPECT_EQ(run({"--resume"}).status, 0);
  EXPECT_THAT(ran(), ElementsAre("whole"));
}

TEST_F(CrewRun, C10_ForeignWordsCannotForgeALineOfTheSummary) {
  write_plan({{"a", {"x"}, "touch m; sleep 60"}});
  auto process = start();
  ASSERT_TRUE(eventually([&] { return exists(stage_.repo() + "/m"); }));
  stage_.expect(0, "eve", {"break", "x", "--reason", "no\nlockkeeper: 1 of 1 agents are done"});
  EXPECT_EQ(process.wait(), 1) << process.err();
  EXPECT_THAT(process.err(), Not(HasSubstr("\nlockkeeper: 1 of 1 agents are done")));
  EXPECT_THAT(process.out(), Not(HasSubstr("\nlockkeeper: 1 of 1 agents are done")));
}

TEST_F(CrewRun, CtrlCStopsInOrderAndTellsHowToGoOn) {
  write_plan({{"a",
               {"x"},
               "trap 'echo a stopped >> \"$RAN\"; exit 1' TERM; touch m1; "
               "sleep 60 & wait"},
              {"b", {"y"}, until("m3") + "; echo b >> \"$RAN\"", {"a"}}});
  auto process = start();
  ASSERT_TRUE(eventually([&] { return exists(stage_.repo() + "/m1"); }));
  process.signal(SIGINT);
  EXPECT_EQ(process.wait(), 130) << process.err();
  EXPECT_THAT(process.err(), HasSubstr("--resume"));
  EXPECT_THAT(ran(), ElementsAre("a stopped"));
  EXPECT_EQ(agent("a")["standing"], "stopped");
  expect_nothing_left();
  const Answer plain = run();
  EXPECT_EQ(plain.status, 1) << "an unfinished run is not begun again by accident";
  EXPECT_THAT(plain.err, HasSubstr("--resume"));
}

TEST_F(CrewRun, WhoWasStoppedHasAFreshBudget) {
  write_plan({{"a",
               {"x"},
               "case {attempt} in 2) touch m1; sleep 60;; 4) true;; *) exit 3;; esac",
               {},
               {"retries: 1"}}});
  auto process = start();
  ASSERT_TRUE(eventually([&] { return exists(stage_.repo() + "/m1"); }));
  process.signal(SIGINT);
  EXPECT_EQ(process.wait(), 130) << process.err();
  const Answer resumed = run({"--resume"});
  EXPECT_EQ(resumed.status, 0) << resumed.all();
  EXPECT_EQ(agent("a")["attempts"].size(), 4U) << "one failed before it was stopped, one after";
  expect_nothing_left();
}

TEST_F(CrewRun, WhatWasWaitedForBeforeAStopIsInTheReport) {
  write_plan(
      {{"a", {"x"}, "[ -e m1 ] || { touch m1; sleep 60 & wait; }"}, {"b", {"y"}, "true", {"a"}}});
  auto process = start();
  ASSERT_TRUE(eventually([&] { return exists(stage_.repo() + "/m1"); }));
  process.signal(SIGINT);
  EXPECT_EQ(process.wait(), 130) << process.err();
  EXPECT_EQ(run({"--resume"}).status, 0);
  EXPECT_EQ(agent("b")["waits"].size(), 2U) << "one before the stop, one after it";
}

TEST_F(CrewRun, ASecondSignalKills) {
  write_plan({{"a", {"x"}, "trap '' TERM; touch m1; sleep 60; sleep 60"}});
  auto process = start();
  ASSERT_TRUE(eventually([&] { return exists(stage_.repo() + "/m1"); }));
  process.signal(SIGTERM);
  ASSERT_TRUE(tells(process, "stopping")) << process.out();
  EXPECT_TRUE(process.running());
  process.signal(SIGTERM);
  EXPECT_EQ(process.wait(20'000), 143) << process.err();
  expect_nothing_left();
}

TEST_F(CrewRun, TwoRunsInOneFolderAreRefused) {
  write_plan({{"a", {"x"}, "touch m1; " + until("m2")}});
  auto first = start();
  ASSERT_TRUE(eventually([&] { return exists(stage_.repo() + "/m1"); }));
  const Answer second = run();
  EXPECT_EQ(second.status, 75) << second.all();
  EXPECT_THAT(second.err, HasSubstr("process " + std::to_string(first.pid())));
  EXPECT_EQ(run({"--resume"}).status, 75);
  EXPECT_EQ(run({"--restart"}).status, 75);
  write_text(stage_.repo() + "/m2", "");
  EXPECT_EQ(first.wait(), 0);
}

TEST_F(CrewRun, TwoRunsOfOnePlanNeverMeet) {
  const std::string line =
      "mkdir busy || echo MET >> \"$RAN\"; sleep 0.05; rmdir busy; echo ok >> "
      "\"$RAN\"";
  write_plan({{"a", {"x"}, line}, {"b", {"x"}, line}});
  auto other = stage_.start("lead", {"workflow", "run", plan(), "--output", stage_.path("out2")});
  EXPECT_EQ(run().status, 0);
  EXPECT_EQ(other.wait(), 0) << other.err();
  EXPECT_THAT(ran(), ElementsAre("ok", "ok", "ok", "ok"));
}

TEST_F(CrewRun, WhatIsChangedOutsideTheScopeIsListed) {
  stage_.file("x");
  stage_.file("y");
  write_plan({{"a", {"x"}, "echo 1 >> x; echo 2 >> y; echo 3 > new"}});
  const Answer answer = run();
  EXPECT_EQ(answer.status, 0) << answer.all();
  std::map<std::string, bool> changes;
  const Json record = agent("a");
  for (const Json& change : record["attempts"][0]["changes"]) {
    changes[change["path"]] = change["outside"];
  }
  EXPECT_EQ(changes, (std::map<std::string, bool>{{"new", true}, {"x", false}, {"y", true}}));
  EXPECT_THAT(read_text(out() + "/report.md"), HasSubstr("new"));
}

TEST_F(CrewRun, StrictScopeFailsWhoStrays) {
  stage_.file("y");
  write_plan({{"a", {"x"}, "echo 1 >> y"}, {"b", {"z"}, "echo 1 > z", {"a"}}});
  const Answer answer = run({"--strict-scope"});
  EXPECT_EQ(answer.status, 1);
  EXPECT_EQ(ending("a"), "strayed");
  const std::string told = "a  failed the scope check: \"y\" was changed outside every scope";
  EXPECT_THAT(answer.out, HasSubstr(told + " while it ran\n"));
  EXPECT_THAT(answer.out, Not(HasSubstr("a  1 change"))) << "it is told once";
  EXPECT_THAT(answer.err, HasSubstr("read " + out() + "/report.md")) << "its log is empty";
  EXPECT_EQ(agent("b")["standing"], "skipped");
  EXPECT_EQ(run({"--restart", "--no-scope-check"}).status, 0);
  EXPECT_TRUE(agent("a")["attempts"][0]["changes"].empty());
}

TEST_F(CrewRun, WhoHadEndedBeforeAChangeIsNotNamed) {
  const auto mark = [&](const std::string& name) { return stage_.path("mark-" + name); };
  write_plan({{"early", {"x"}, until(mark("early"))},
              {"stray", {"y"}, until(mark("stray")) + "; echo 1 > notes.txt"},
              {"late", {"z"}, until(mark("late"))}});
  auto process = start();
  for (const char* const each : {"early", "stray", "late"}) {
    ASSERT_TRUE(tells(process, std::string(each) + "  started")) << process.err();
  }
  for (const char* const each : {"early", "stray"}) {
    write_text(mark(each), "");
    ASSERT_TRUE(tells(process, std::string(each) + "  is done")) << process.err();
  }
  EXPECT_TRUE(tells(process,
                    "stray  1 change outside every scope while it ran: \"notes.txt\" "
                    "(by it or by late)\n"))
      << process.out();
  write_text(mark("late"), "");
  EXPECT_EQ(process.wait(), 0) << process.err();
}

TEST_F(CrewRun, WhatOthersOfThePlanDoIsNotHeldAgainstOne) {
  write_plan({{"a", {"x"}, "touch m1; " + until("m2") + "; echo 1 > x; sleep 0.1"},
              {"b", {"y", "m1", "m2"}, until("m1") + "; echo 1 > y; touch m2; " + until("x")}});
  EXPECT_EQ(run({"--strict-scope"}).status, 0) << report().dump(1);
}

TEST_F(CrewRun, EventsAreJsonLines) {
  write_plan({{"a", {"x"}, "true"}, {"b", {"x"}, "exit 5"}});
  const Answer answer = run({"--json"});
  EXPECT_EQ(answer.status, 1);
  std::vector<std::string> names;
  for (const Json& line : answer.lines()) names.push_back(line["event"].get<std::string>());
  EXPECT_THAT(names, testing::Contains("started"));
  EXPECT_THAT(names, testing::Contains("ended"));
  EXPECT_EQ(names.back(), "report");
  for (const Json& line : answer.lines()) {
    if (line["event"] != "ended") continue;
    EXPECT_EQ(line["attempt"], 1);
    EXPECT_EQ(line["ending"], line["agent"] == "a" ? "done" : "failed");
    EXPECT_EQ(line["exit_status"], line["agent"] == "a" ? 0 : 5);
  }
  EXPECT_EQ(answer.lines().back()["error"]["code"], "failed");
}

TEST_F(CrewRun, AnEarlierRunIsKept) {
  write_plan({{"a", {"x"}, "echo one"}});
  EXPECT_EQ(run().status, 0);
  EXPECT_EQ(run().status, 0);
  const std::filesystem::directory_iterator earlier(out() + "/earlier");
  const std::string kept = earlier->path();
  EXPECT_EQ(read_text(kept + "/agents/a/1/log"), "one\n");
  EXPECT_THAT(read_text(kept + "/report.md"), Not(IsEmpty()));
}

TEST_F(CrewRun, APlanThatChangedIsNotResumed) {
  write_plan({{"a", {"x"}, "exit 1"}});
  EXPECT_EQ(run().status, 1);
  write_plan({{"a", {"x"}, "exit 0"}});
  const Answer answer = run({"--resume"});
  EXPECT_EQ(answer.status, 65) << answer.all();
  EXPECT_THAT(answer.err, HasSubstr("--restart"));
  EXPECT_EQ(run({"--restart"}).status, 0);
}

TEST_F(CrewRun, NothingToResumeIsSaid) {
  write_plan({{"a", {"x"}, "true"}});
  EXPECT_EQ(run({"--resume"}).status, 66);
}

TEST_F(CrewRun, OutsideGitToo) {
  const Stage plain(Stage::Git::kNo);
  write_plan({{"a", {"x"}, "echo 1 > x; echo 2 > y"}});
  Stage other(Stage::Git::kNo);
  const Answer answer = other.as("lead", {"workflow", "run", plan(), "--output", out()});
  EXPECT_EQ(answer.status, 0) << answer.all();
  EXPECT_THAT(answer.out, HasSubstr("1 change outside every scope while it ran: \"y\""));
}

}  // namespace
}  // namespace lockkeeper::stage
