// Commands that misbehave, supervisors that are killed, an unusable OUTPUT: a clear message, no
// lock left behind, no process left running.
#include <sys/mount.h>
#include <sys/stat.h>

#include <filesystem>

#include "crew/crew_stage.h"

namespace lockkeeper::stage {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class CrewTrouble : public CrewStage {
 protected:
  bool appears(const std::string& name) const {
    return eventually([&] { return exists(stage_.repo() + "/" + name); });
  }
  // An agent has written a line into that file.
  bool is_written(const std::string& name) const {
    return eventually([&] { return read_text(stage_.repo() + "/" + name).ends_with('\n'); });
  }
  // The process whose number an agent wrote into that file is gone.
  bool is_gone(const std::string& file) const {
    const pid_t pid = std::stoi("0" + read_text(stage_.repo() + "/" + file));
    EXPECT_GT(pid, 1) << file;
    return eventually([&] { return state_of(pid) == 0 || state_of(pid) == 'Z'; });
  }
  pid_t supervisor_of(const std::string& id) const {
    const std::string text = read_text(out() + "/agents/" + id + "/1/started");
    return Json::parse(text, nullptr, false).value("pid", 0);
  }
};

TEST_F(CrewTrouble, ACommandThatIsNotThere) {
  write_text(plan(), "- {agent: a, files: [x], retries: 3, command: [/no/such/thing, now]}\n");
  const Answer answer = run();
  EXPECT_EQ(answer.status, 1) << answer.all();
  EXPECT_EQ(ending("a"), "unstarted");
  EXPECT_EQ(agent("a")["attempts"].size(), 1U) << "it would not be there the next time either";
  EXPECT_THAT(answer.err, HasSubstr("/no/such/thing: No such file"));
  expect_nothing_left();
}

TEST_F(CrewTrouble, ACommandThatIsNotExecutable) {
  stage_.file("tool", "#!/bin/sh\n");
  write_text(plan(), "- {agent: a, files: [x], command: [./tool, now]}\n");
  const Answer answer = run();
  EXPECT_EQ(answer.status, 1) << answer.all();
  EXPECT_THAT(answer.err, HasSubstr("./tool: Permission denied"));
  expect_nothing_left();
}

TEST_F(CrewTrouble, ACommandThatDoesNotEnd) {
  write_plan({{"a",
               {"x"},
               "trap '' TERM; echo $$ > pid; while :; do sleep 1; done",
               {},
               {"timeout: 1s"}}});
  EXPECT_EQ(run({"--grace", "200ms"}).status, 1);
  EXPECT_EQ(ending("a"), "timed_out");
  EXPECT_TRUE(is_gone("pid"));
  expect_nothing_left();
}

TEST_F(CrewTrouble, ACommandThatForksAway) {
  write_plan({{"a",
               {"x"},
               "setsid sh -c 'trap \"\" TERM; echo $$ > pid1; sleep 1000' & "
               "(setsid sleep 1001 & echo $! > pid2); " +
                   until("pid1")}});
  const Answer answer = run({"--grace", "200ms"});
  EXPECT_EQ(answer.status, 0) << answer.all();
  EXPECT_THAT(answer.out, HasSubstr("processes behind"));
  EXPECT_TRUE(is_gone("pid1"));
  EXPECT_TRUE(is_gone("pid2"));
  expect_nothing_left();
}

TEST_F(CrewTrouble, ACommandThatPrintsWithoutEnd) {
  write_plan({{"a", {"x"}, "yes | head -c 300000000; echo end >> \"$RAN\""}});
  const Answer answer = run();
  EXPECT_EQ(answer.status, 0) << answer.all();
  EXPECT_THAT(ran(), ElementsAre("end"));
  EXPECT_EQ(agent("a")["attempts"][0]["log_bytes"], 300'000'000);
  EXPECT_EQ(std::filesystem::file_size(out() + "/agents/a/1/log"), 64U << 20);
  EXPECT_THAT(answer.out, HasSubstr("its log is cut"));
}

TEST_F(CrewTrouble, ACommandThatClosesItsOutputs) {
  write_plan({{"a", {"x"}, "exec >&- 2>&- <&-; sleep 0.3; echo end >> \"$RAN\""}});
  EXPECT_EQ(run().status, 0);
  EXPECT_THAT(ran(), ElementsAre("end"));
}

TEST_F(CrewTrouble, ACommandReadsNothingAndHasNoTerminal) {
  write_plan({{"a", {"x"}, "cat; tty || true; : > /dev/tty"}});
  EXPECT_EQ(run().status, 1);
  EXPECT_THAT(log("a"), HasSubstr("not a tty"));
}

TEST_F(CrewTrouble, ALostLockStopsItsAgent) {
  write_plan({{"a", {"x"}, "echo $$ > pid; " + until("never")}});
  auto process = start();
  ASSERT_TRUE(is_written("pid"));
  stage_.expect(0, "boss", {"break", "x", "--reason", "enough"});
  EXPECT_EQ(process.wait(), 1) << process.err();
  EXPECT_EQ(ending("a"), "lost");
  EXPECT_TRUE(is_gone("pid"));
  expect_nothing_left();
}

TEST_F(CrewTrouble, AKilledSupervisorTakesItsAgentWithIt) {
  write_plan({{"a",
               {"x"},
               "[ -e again ] && { echo second >> \"$RAN\"; exit; }; touch again; "
               "setsid sleep 1000 & echo $! > child; echo $$ > pid; " +
                   until("never"),
               {},
               {"retries: 1"}}});
  auto process = start();
  ASSERT_TRUE(is_written("pid"));
  ::kill(supervisor_of("a"), SIGKILL);
  EXPECT_EQ(process.wait(), 0) << process.err();
  EXPECT_TRUE(is_gone("pid"));
  EXPECT_TRUE(is_gone("child"));
  EXPECT_EQ(agent("a")["attempts"][0]["ending"], "died");
  EXPECT_THAT(ran(), ElementsAre("second"));
  expect_nothing_left();
}

TEST_F(CrewTrouble, AnOutputThatVanishes) {
  write_plan({{"a", {"x"}, "touch m1; " + until("m2") + "; echo a >> \"$RAN\""},
              {"b", {"y"}, "echo b >> \"$RAN\"", {"a"}}});
  auto process = start();
  ASSERT_TRUE(appears("m1"));
  std::filesystem::remove_all(out());
  write_text(stage_.repo() + "/m2", "");
  EXPECT_EQ(process.wait(), 1) << process.err();
  EXPECT_THAT(ran(), ElementsAre("a")) << "what cannot be written down is not started";
  EXPECT_THAT(process.err() + process.out(), HasSubstr("no more agents are started"));
  const Json list = stage_.list();
  EXPECT_TRUE(list["leases"].empty()) << list.dump(1);
}

TEST_F(CrewTrouble, AnOutputThatIsFull) {
  std::filesystem::create_directory(out());
  if (::mount("none", out().c_str(), "tmpfs", 0, "size=256k") != 0) {
    GTEST_SKIP() << "no tmpfs can be mounted here";
  }
  write_plan({{"a", {"x"}, "head -c 1000000 /dev/zero; echo a >> \"$RAN\""},
              {"b", {"y"}, "echo b >> \"$RAN\"", {"a"}}});
  const Answer answer = run();
  EXPECT_EQ(answer.status, 1) << answer.all();
  EXPECT_THAT(answer.all(), HasSubstr("No space left"));
  EXPECT_THAT(ran(), ElementsAre("a"));
  const Json list = stage_.list();
  EXPECT_TRUE(list["leases"].empty()) << list.dump(1);
  ::umount2(out().c_str(), MNT_DETACH);
}

TEST_F(CrewTrouble, AnOutputThatIsReadOnly) {
  std::filesystem::create_directory(out());
  if (::mount("none", out().c_str(), "tmpfs", MS_RDONLY, "size=64k") != 0) {
    GTEST_SKIP() << "no tmpfs can be mounted here";
  }
  write_plan({{"a", {"x"}, "echo a >> \"$RAN\""}});
  const Answer answer = run();
  EXPECT_EQ(answer.status, 1) << answer.all();
  EXPECT_THAT(answer.err, HasSubstr("Read-only file system"));
  EXPECT_THAT(ran(), IsEmpty());
  ::umount2(out().c_str(), MNT_DETACH);
}

TEST_F(CrewTrouble, AnOutputThatIsAFile) {
  write_text(out(), "mine");
  write_plan({{"a", {"x"}, "true"}});
  EXPECT_NE(run().status, 0);
  EXPECT_EQ(read_text(out()), "mine");
}

// A symlink in OUTPUT does not lead the run's own files elsewhere.
TEST_F(CrewTrouble, ALinkInOutputIsNotFollowed) {
  std::filesystem::create_directory(out());
  std::filesystem::create_directory(stage_.path("elsewhere"));
  std::filesystem::create_symlink(stage_.path("elsewhere"), out() + "/agents");
  write_plan({{"a", {"x"}, "true"}});
  const Answer answer = run();
  EXPECT_EQ(answer.status, 1) << answer.all();
  EXPECT_THAT(answer.err, HasSubstr("is a symlink"));
  EXPECT_TRUE(std::filesystem::is_empty(stage_.path("elsewhere")));
}

TEST_F(CrewTrouble, NamesThatAreNoFileNames) {
  write_plan({{"../../evil", {"x"}, "echo one >> \"$RAN\""},
              {"a b/\u00e9;$(touch pwned)", {"y"}, "echo {agent} >> \"$RAN\""}});
  const Answer answer = run();
  EXPECT_EQ(answer.status, 0) << answer.all();
  EXPECT_THAT(ran(), ElementsAre("a b/\u00e9;$(touch pwned)", "one"));
  EXPECT_FALSE(exists(stage_.repo() + "/pwned"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(out() + "/agents"), {}), 2);
}

TEST_F(CrewTrouble, PlansThatAreNone) {
  const std::pair<const char*, const char*> kBad[] = {
      {"", "scopes"},
      {"[1, 2", "not YAML"},
      {"!!python/object:os.system [x]", "tag"},
      {"\xff\xfe", "UTF-8"},
      {"agents: [{agent: a, files: [x], command: c, after: [b]}]", "b"},
      {"agents: [{agent: a, files: [x], command: c, after: [a]}]", "a"},
      {"agents: [{agent: a, keys: ['nope:x'], command: c}]", "nope"},
  };
  for (const auto& [text, word] : kBad) {
    SCOPED_TRACE(text);
    write_text(plan(), text);
    const Answer answer = run();
    EXPECT_EQ(answer.status, 65) << answer.all();
    EXPECT_THAT(answer.err, HasSubstr(word));
    EXPECT_FALSE(exists(out())) << "nothing was begun";
  }
  EXPECT_EQ(stage_.as("", {"workflow", "run", stage_.path("none.yaml")}).status, 66);
}

TEST_F(CrewTrouble, C5_EveryMistakeOfAPlanIsNamed) {
  write_text(plan(),
             "agents:\n- {agent: a, depends_on: [b]}\n- {agent: b, fils: [x], after: [c]}\n");
  const Answer answer = run();
  EXPECT_EQ(answer.status, 65);
  for (const char* const part :
       {":2:14: \"a\": \"depends_on\" is unknown; did you mean \"after\"?\n",
        ":3:14: \"b\": \"fils\" is unknown", ":3:33: b depends on \"c\""}) {
    EXPECT_THAT(answer.err, HasSubstr(part));
  }
}

TEST_F(CrewTrouble, WordsThatMakeNoSense) {
  write_plan({{"a", {"x"}, "true"}});
  for (const Words& more : std::vector<Words>{{"--resume", "--restart"},
                                              {"--agent", "x"},
                                              {"--strict-scope", "--no-scope-check"},
                                              {"--scopes", "x"},
                                              {"another"}}) {
    EXPECT_EQ(run(more).status, 64);
  }
  for (const Words& more :
       std::vector<Words>{{"--jobs", "0"}, {"--jobs", "many"}, {"--grace", "x"}}) {
    EXPECT_EQ(run(more).status, 65);
  }
  EXPECT_EQ(stage_.as("", {"workflow", "run"}).status, 64);
  EXPECT_EQ(stage_.as("", {"workflow", "keep", stage_.path("x")}).status, 64);
  EXPECT_FALSE(exists(out()));
}

}  // namespace
}  // namespace lockkeeper::stage
