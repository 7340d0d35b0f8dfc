// Edge cases of a run: foremen that are stopped or resume, short locks, unexpected folders and
// process numbers.
#include <unistd.h>

#include <filesystem>

#include "crew/crew_stage.h"

namespace lockkeeper::stage {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class CrewEdge : public CrewStage {
 protected:
  bool appears(const std::string& name) const {
    return eventually([&] { return exists(stage_.repo() + "/" + name); });
  }
  void make(const std::string& name) const { write_text(stage_.repo() + "/" + name, ""); }
  std::string outcome(const std::string& id) const {
    return agent(id)["standing"].get<std::string>();
  }
  // Starts it, waits until NAME exists, and kills it with -9; its agents go on.
  void killed_when(const std::string& name, const Words& more = {}) {
    auto process = start(more);
    ASSERT_TRUE(appears(name));
    process.signal(SIGKILL);
    process.wait();
  }
};

TEST_F(CrewEdge, JobsAreRememberedByAResume) {
  std::vector<Hand> hands;
  for (int i = 0; i < 4; ++i) {
    hands.push_back({"w" + std::to_string(i),
                     {"f" + std::to_string(i)},
                     "[ -e ok ] || exit 1; mkdir busy || echo CROWD >> \"$RAN\"; sleep 0.1; "
                     "rmdir busy; echo {attempt} >> \"$RAN\"",
                     {},
                     {"retries: 0"}});
  }
  write_plan(hands);
  EXPECT_EQ(run({"--jobs", "1"}).status, 1);
  make("ok");
  EXPECT_EQ(run({"--resume"}).status, 0);
  EXPECT_THAT(ran(), ElementsAre("2", "2", "2", "2"));
}

// Whoever wrote it: git does not have it yet, and the agent may change more than it should.
TEST_F(CrewEdge, G2_WhatIsNotCommittedIsKeptBeforeEachAttempt) {
  write_text(stage_.repo() + "/mine.txt", "not committed\n");
  write_plan({{"a", {"x"}, "rm mine.txt; echo x > x", {}, {}}});
  EXPECT_EQ(run().status, 0);
  const Json shown = stage_.expect(0, "", {"recover", "show", "mine.txt"}).json();
  EXPECT_EQ(shown["content"], "not committed\n");
  const Json versions = stage_.expect(0, "", {"recover", "list", "mine.txt"}).json()["versions"];
  EXPECT_EQ(versions[0]["why"], "attempt");
  EXPECT_EQ(stage_.expect(0, "", {"recover"}).json()["lost"][0]["file"], "mine.txt");
}

// Ctrl-Z while an agent waits for its lock: the lock comes, and must be there when it starts.
TEST_F(CrewEdge, AStoppedForemanStartsNobodyUnlocked) {
  stage_.expect(0, "ann", {"acquire", "x"});
  write_plan({{"a", {"x"}, says("a", "x"), {}, {"ttl: 1s"}}});
  auto process = start();
  ASSERT_TRUE(stage_.queue_grows_to(1));
  process.signal(SIGSTOP);
  stage_.expect(0, "ann", {"release", "x"});
  ASSERT_TRUE(eventually([&] { return stage_.list()["leases"].size() == 1; }));
  ASSERT_TRUE(stage_.renews("a"));
  EXPECT_EQ(stage_.as("ann", {"acquire", "x"}).status, 75) << "nobody kept it renewed";
  process.signal(SIGCONT);
  EXPECT_EQ(process.wait(), 0) << process.err();
  EXPECT_THAT(ran(), ElementsAre("a"));
}

TEST_F(CrewEdge, ALockLastsAsLongAsWhatWasLeftBehind) {
  write_plan({{"a",
               {"x"},
               "setsid sh -c 'trap : TERM; touch m1; while :; do sleep 0.1; done' & " + until("m1"),
               {},
               {"ttl: 3s"}}});  // a machine that stands still for longer than this loses it rightly
  auto process = start({"--grace", "7s"});
  ASSERT_TRUE(appears("m1"));
  ASSERT_TRUE(stage_.renews("a"));
  const bool still = !exists(out() + "/agents/a/1/result.json");
  const Answer answer = stage_.as("ann", {"acquire", "x"});
  if (still) {
    EXPECT_EQ(answer.status, 75) << answer.all();
  }
  EXPECT_EQ(process.wait(), 0) << process.err();
}

TEST_F(CrewEdge, WhoIsFoundAgainIsAtWorkToo) {
  write_plan({{"a", {"x", "m1"}, "touch m1; " + until("m2") + "; echo 1 > x; " + until("m3")},
              {"b", {"y", "m2", "m3"}, "[ -e m1 ] || exit 1; " + until("x") + "; touch y"}});
  stage_.expect(0, "ann", {"acquire", "y"});  // b has not begun when the foreman dies
  killed_when("m1", {"--strict-scope"});
  ASSERT_TRUE(eventually([&] { return stage_.waiters() == 0; }));
  stage_.expect(0, "ann", {"release", "y"});
  auto process = start({"--resume", "--strict-scope"});
  ASSERT_TRUE(eventually([&] {
    return exists(out() + "/agents/b/2/started") || exists(out() + "/agents/b/1/started");
  }));
  make("m2");
  ASSERT_TRUE(appears("y"));
  ASSERT_TRUE(eventually([&] {
    return exists(out() + "/agents/b/1/result.json") || exists(out() + "/agents/b/2/result.json");
  }));
  make("m3");
  process.wait();
  EXPECT_EQ(ending("b"), "done") << report().dump(1);
}

TEST_F(CrewEdge, AResultThatCannotBeReadIsADeath) {
  write_plan({{"a", {"x"}, "touch m1; " + until("m2") + "; echo a >> \"$RAN\"", {}, {"retries: 0"}},
              {"b", {"y"}, "echo b >> \"$RAN\"", {"a"}}});
  killed_when("m1");
  make("m2");
  const std::string result = out() + "/agents/a/1/result.json";
  ASSERT_TRUE(eventually([&] { return exists(result); }));
  ASSERT_TRUE(eventually([&] { return stage_.list()["leases"].empty(); }));
  write_text(result, "{}");
  const Answer answer = run({"--resume"});
  EXPECT_EQ(answer.status, 1) << answer.all();
  EXPECT_EQ(ending("a"), "died");
  EXPECT_EQ(outcome("b"), "skipped");
  expect_nothing_left();
}

// A process that becomes the foreman by exec may have children.
TEST_F(CrewEdge, ChildrenOfBeforeAreSpared) {
  write_plan({{"a", {"x"}, "kill -9 $PPID; sleep 60", {}, {"retries: 0"}}});
  Launch launch = stage_.launch("lead", words());
  std::string line = "sleep 61 & echo $! > child; exec";
  for (const std::string& word : launch.argv) line += " '" + word + "'";
  launch.argv = {"/bin/sh", "-c", line};
  EXPECT_EQ(stage_.finish(launch).status, 1);
  EXPECT_EQ(ending("a"), "died");
  const pid_t child = std::stoi("0" + read_text(stage_.repo() + "/child"));
  EXPECT_EQ(::kill(child, SIGKILL), 0) << "it was ended with the supervisor's";
}

TEST_F(CrewEdge, AnOutputThatHoldsTheRepositoryIsRefused) {
  write_plan({{"a", {"x"}, "echo a >> \"$RAN\""}});
  std::filesystem::create_symlink(stage_.repo(), stage_.path("link"));
  for (const std::string& output : {std::string("."), std::string(".."), stage_.path("link")}) {
    const Answer answer = stage_.as("lead", {"workflow", "run", plan(), "--output", output});
    EXPECT_EQ(answer.status, 65) << answer.all();
    EXPECT_THAT(answer.err, HasSubstr("contains all of"));
  }
  EXPECT_THAT(read_text(stage_.repo() + "/.git/info/exclude"), Not(HasSubstr("/*")));
  EXPECT_THAT(ran(), testing::IsEmpty());
}

TEST_F(CrewEdge, AFolderWhoseNameIsNoTextIsResumed) {
  const std::string repo = stage_.path("r\xff");
  std::filesystem::create_directory(repo);
  stage_.git("r\xff", {"init", "-q"});
  write_plan({{"a", {"x"}, "[ -e ok ]", {}, {"retries: 0"}}});
  Launch launch = stage_.launch("lead", words());
  launch.folder = repo;
  EXPECT_EQ(stage_.finish(launch).status, 1);
  write_text(repo + "/ok", "");
  launch.argv.push_back("--resume");
  const Answer answer = stage_.finish(launch);
  EXPECT_EQ(answer.status, 0) << answer.all();
}

// In two containers, two runs in the same second may have the same process number.
TEST_F(CrewEdge, RunsWithOneProcessNumberExcludeEachOther) {
  const std::string line =
      "mkdir busy || echo MET >> \"$RAN\"; sleep 0.5; rmdir busy; echo ok >> \"$RAN\"";
  write_plan({{"a", {"x"}, line}});
  const auto contained = [&](const std::string& output) {
    Launch launch = stage_.launch("lead", {"workflow", "run", plan(), "--output", output});
    launch.argv.insert(launch.argv.begin(),
                       {"/usr/bin/unshare", "--pid", "--fork", "--mount-proc"});
    return launch;
  };
  Launch probe = stage_.command({"/usr/bin/unshare", "--pid", "--fork", "--mount-proc", "true"});
  if (stage_.finish(probe).status != 0) GTEST_SKIP() << "no process namespace can be made here";
  Process one(contained(stage_.path("out1")));
  Process two(contained(stage_.path("out2")));
  EXPECT_EQ(one.wait(), 0) << one.err();
  EXPECT_EQ(two.wait(), 0) << two.err();
  EXPECT_THAT(ran(), ElementsAre("ok", "ok"));
}

// A supervisor that ends without a message is started again, but only a few times.
TEST_F(CrewEdge, SupervisorsThatCannotLiveAreGivenUp) {
  stage_.expect(0, "ann", {"acquire", "x"});
  write_plan({{"a", {"x"}, "true", {}, {"retries: 0"}}});
  auto process = start();
  const std::string pid = std::to_string(process.pid());
  const auto supervisor = [&] {
    return std::atoi(read_text("/proc/" + pid + "/task/" + pid + "/children").c_str());
  };
  for (int last = 0, killed = 0; killed < 3; ++killed) {
    ASSERT_TRUE(eventually([&] { return supervisor() != 0 && supervisor() != last; })) << killed;
    ASSERT_TRUE(stage_.queue_grows_to(1));
    last = supervisor();
    ::kill(last, SIGKILL);
  }
  EXPECT_EQ(process.wait(), 1) << process.err();
  EXPECT_EQ(ending("a"), "unstarted");
  EXPECT_THAT(process.err(), HasSubstr("its supervisor ended 3 times"));
}

// Agents that wait for locks held outside are bounded; they do not hold up those that could start.
TEST_F(CrewEdge, ACrowdThatWaitsHoldsNobodyUp) {
  stage_.expect(0, "ann", {"acquire", "d/"});
  std::vector<Hand> hands;
  for (int i = 0; i < 66; ++i) {
    hands.push_back({"w" + std::to_string(i), {"d/" + std::to_string(i)}, "true"});
  }
  hands.push_back({"free", {"x"}, says("free", "x")});
  write_plan(hands);
  auto process = start({"--no-scope-check"});
  EXPECT_TRUE(eventually([&] { return ran().size() == 1; }));
  process.signal(SIGINT);
  EXPECT_EQ(process.wait(), 130) << process.err();
}

TEST_F(CrewEdge, MoreAgentsThanDescriptors) {
  std::vector<Hand> hands;
  for (int i = 0; i < 300; ++i) {
    hands.push_back({"w" + std::to_string(i), {"f" + std::to_string(i)}, "true", {"w0"}});
  }
  hands[0] = {"w0", {"f0"}, "exit 3", {}, {"retries: 0"}};
  write_plan(hands);
  Launch launch = stage_.launch("lead", words({"--no-scope-check"}));
  launch.argv.insert(launch.argv.begin(), {"/bin/sh", "-c", "ulimit -n 200; exec \"$@\"", "sh"});
  const Answer answer = stage_.finish(launch);
  EXPECT_EQ(answer.status, 1) << answer.all();
  EXPECT_EQ(ending("w0"), "failed");
  EXPECT_EQ(outcome("w299"), "skipped");
}

TEST_F(CrewEdge, ASecondSignalKillsWhoWasFoundAgain) {
  write_plan({{"a", {"x"}, "trap '' TERM INT; touch m1; while :; do sleep 1; done"}});
  killed_when("m1", {"--grace", "10m"});
  auto process = start({"--resume"});
  ASSERT_TRUE(tells(process, "still working"));
  process.signal(SIGTERM);
  ASSERT_TRUE(tells(process, "stopping"));
  process.signal(SIGTERM);
  EXPECT_EQ(process.wait(), 143) << process.err();
  expect_nothing_left();
}

// What a terminal shows after these bytes: lines, without colours.
std::vector<std::string> screen_of(const std::string& bytes) {
  std::vector<std::string> lines(1);
  std::size_t row = 0;
  std::size_t column = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] == '\n') {
      if (++row == lines.size()) lines.emplace_back();
    } else if (bytes[i] == '\r') {
      column = 0;
    } else if (bytes[i] == '\x1b') {
      const std::size_t end = bytes.find_first_of("AJKmhl", i);
      if (end == std::string::npos) break;
      if (bytes[end] == 'A') row -= std::min<std::size_t>(row, std::stoul(bytes.substr(i + 2)));
      if (bytes[end] == 'J') {
        lines.resize(row + 1);
        lines[row].resize(std::min(column, lines[row].size()));
      }
      i = end;
    } else {
      lines[row].resize(std::max(lines[row].size(), column + 1), ' ');
      lines[row][column++] = bytes[i];
    }
  }
  return lines;
}

TEST_F(CrewEdge, C7_EnterInTheLiveViewLeavesNoStaleLines) {
  write_plan({{"a", {"x"}, until("m")}});
  const std::string typescript = stage_.path("typescript");
  Launch launch = stage_.command(
      {"sh", "-c", "exec script -qefc \"$0 workflow run $1 --output $2\" \"$3\" >/dev/null",
       Stage::program(), plan(), out(), typescript});
  launch.terminal = true;
  launch.env["TERM"] = "xterm";
  launch.env["NO_COLOR"] = "1";
  Process process(std::move(launch));
  const auto pictures = [&] {
    const std::string text = read_text(typescript);
    std::size_t count = 0;
    for (std::size_t at = 0; (at = text.find("0/1 done, 1 running", at)) != std::string::npos;
         ++at) {
      ++count;
    }
    return count;
  };
  for (int i = 0; i < 4; ++i) {
    const std::size_t before = pictures();
    ASSERT_TRUE(eventually([&] { return pictures() > before; })) << read_text(typescript);
    process.type(i % 2 == 0 ? "\r" : "word\r\r");
  }
  const std::size_t before = pictures();
  ASSERT_TRUE(eventually([&] { return pictures() > before + 1; }));
  write_text(stage_.repo() + "/m", "");
  EXPECT_EQ(process.wait(), 0);
  const std::vector<std::string> screen = screen_of(read_text(typescript));
  for (const std::string& line : screen) {
    EXPECT_THAT(line, testing::Not(HasSubstr("done, 1 running")));
  }
  EXPECT_THAT(screen, testing::Contains(HasSubstr("started"))) << "what was above stays";
}

TEST_F(CrewEdge, APauseIsToldOnce) {
  write_text(plan(),
             "schema_version: 1\nfeature: {id: shop}\npackages:\n"
             "  - {package_id: a, command: 'true', locks: {files: [x], keys: []},"
             " scope: {write_allow: [x]}}\n");
  stage_.expect(0, "boss", {"pause", "shop", "--reason", "enough"});
  auto process = start();
  ASSERT_TRUE(tells(process, "paused"));
  pause_ms(2'500);
  stage_.expect(0, "boss", {"resume", "shop"});
  EXPECT_EQ(process.wait(), 0) << process.err();
  EXPECT_THAT(process.out(), HasSubstr("feature shop is paused by boss (\"enough\")"));
  EXPECT_EQ(agent("a")["waits"].size(), 1U) << agent("a").dump(1);
}

}  // namespace
}  // namespace lockkeeper::stage
