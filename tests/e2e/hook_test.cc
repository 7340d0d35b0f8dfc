// Hooks of coding agents as real processes: many at once, killed, too late, without a home.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>

#include "support/stage.h"

namespace lockkeeper::stage {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class HookProcesses : public testing::Test {
 protected:
  Json edit(const std::string& session, const std::string& file, const std::string& id) const {
    return {{"session_id", session},
            {"transcript_path", "/t"},
            {"cwd", stage_.repo()},
            {"hook_event_name", "PreToolUse"},
            {"tool_name", "Edit"},
            {"tool_input",
             {{"file_path", stage_.repo() + "/" + file}, {"old_string", "a"}, {"new_string", "b"}}},
            {"tool_use_id", id}};
  }
  Json moment(const std::string& session, const std::string& name) const {
    return {{"session_id", session},
            {"transcript_path", "/t"},
            {"cwd", stage_.repo()},
            {"hook_event_name", name}};
  }
  // The client gives the payload on standard input.
  Launch hook(const Json& payload, const std::string& client = "claude") {
    const std::string file = stage_.path("payload-" + std::to_string(++payloads_));
    std::ofstream(file) << payload.dump();
    Launch launch = stage_.launch("", {"hook", client});
    launch.in = file;
    return launch;
  }
  Answer run(const Json& payload) { return stage_.finish(hook(payload)); }

  // Everything below the stage, with when it was changed.
  std::set<std::string> files() const {
    std::set<std::string> all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(stage_.path(""))) {
      const std::string name = entry.path().string();
      if (name.find("/payload-") != std::string::npos) continue;
      if (name.find("/lockkeeper") != std::string::npos) continue;  // the store, and its epoch
      all.insert(name);
    }
    return all;
  }

  Stage stage_;
  int payloads_ = 0;
};

TEST_F(HookProcesses, OfTwoHundredAtOnceOneGetsTheFile) {
  stage_.file("lockkeeper.toml", "[hook]\npolicy = \"block\"\n");
  constexpr int kHooks = kSanitized ? 40 : 200;
  std::vector<Process> running;
  for (int i = 0; i < kHooks; ++i) {
    running.emplace_back(hook(edit("s" + std::to_string(i), "a.c", "t")));
  }
  int passed = 0;
  for (Process& process : running) {
    EXPECT_EQ(process.wait(), 0) << process.err();
    if (process.out().empty()) {
      ++passed;
    } else {
      EXPECT_THAT(process.out(), HasSubstr("\"deny\""));
    }
  }
  EXPECT_EQ(passed, 1);
  EXPECT_EQ(stage_.list()["leases"].size(), 1U);
}

TEST_F(HookProcesses, WithoutAHomeItWorksTheSame) {
  STAGE_IS_LOCAL("the home says which realm of the hub it is");
  stage_.env.erase("HOME");
  EXPECT_EQ(run(edit("s1", "a.c", "t")).out, "");
  EXPECT_THAT(run(edit("s2", "b.c", "t")).all(), "");
}

// Its parent is then whoever has adopted it, as this process here, and may live for long.
TEST_F(HookProcesses, IfTheClientHasEndedNothingIsClaimed) {
  for (const bool gone : {true, false}) {
    Launch launch = hook(edit(gone ? "s1" : "s2", "a.c", "t"));
    launch.out = stage_.path(gone ? "pipe1" : "pipe2");
    launch.traced = true;
    ASSERT_EQ(::mkfifo(launch.out.c_str(), 0600), 0);
    Fd client(::open(launch.out.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    Process process(launch);
    if (gone) client.reset();
    process.step([](const SystemCall&) { return true; });
    EXPECT_EQ(stage_.list()["leases"].size(), gone ? 0U : 1U);
  }
}

TEST_F(HookProcesses, NothingIsWrittenBesideTheStore) {
  STAGE_IS_LOCAL("the relay has a folder");
  const std::set<std::string> before = files();
  EXPECT_EQ(run(edit("s1", "a.c", "t")).all(), "");
  run(moment("s1", "UserPromptSubmit"));
  run(moment("s1", "Stop"));
  run(moment("s1", "SessionEnd"));
  const std::set<std::string> after = files();
  for (const std::string& name : after) {
    const bool state = name.ends_with("/.local") || name.ends_with("/.local/state");
    EXPECT_TRUE(before.contains(name) || state) << name;
  }
}

TEST_F(HookProcesses, F1KilledAtEveryStepItLetsNothingPassAndLeavesNothingBroken) {
  STAGE_IS_LOCAL("the steps are those of a table");
  EXPECT_EQ(run(edit("s0", "other.c", "t")).all(), "");
  for (int n = 1;; n += kPlaceStep) {
    stage_.env["LOCKKEEPER_TEST_FAULT"] = "kill@" + std::to_string(n);
    const Answer answer = run(edit("s1", "a.c", "t" + std::to_string(n)));
    stage_.env.erase("LOCKKEEPER_TEST_FAULT");
    if (answer.status == 0) break;
    EXPECT_EQ(answer.status, 137);
    EXPECT_EQ(answer.out, "") << "a client that fails closed sees only the death";
    run(moment("s1", "UserPromptSubmit"));
    EXPECT_EQ(stage_.list()["leases"].size(), 1U) << "its next prompt ends what it left behind";
  }
}

TEST_F(HookProcesses, F2ATableThatDoesNotAnswerInTimeRefuses) {
  STAGE_IS_LOCAL("the table is kept busy");
  EXPECT_EQ(run(edit("s0", "other.c", "t")).all(), "");
  stage_.env["LOCKKEEPER_TEST_FAULT"] = "stop@4";
  Process stopped = stage_.start("ann", {"acquire", "x"});
  stage_.env.erase("LOCKKEEPER_TEST_FAULT");
  ASSERT_TRUE(eventually([&] { return state_of(stopped.pid()) == 'T'; }));
  const Answer answer = run(edit("s1", "a.c", "t"));
  EXPECT_THAT(answer.out, AllOf(HasSubstr("\"deny\""), HasSubstr("lockkeeper doctor")));
  stopped.signal(SIGKILL);
}

TEST_F(HookProcesses, TheReportTellsMeetingsFromChangesOfAPerson) {
  stage_.file("lockkeeper.toml", "[hook]\npolicy = \"block\"\n");
  EXPECT_EQ(stage_.as("", {"hook", "report"}).status, 0);
  stage_.file("a.c", "of the agent");
  run(edit("s1", "a.c", "t"));
  Json batch = moment("s1", "PostToolBatch");
  Json call = edit("s1", "a.c", "t");
  call["tool_response"] = "ok";
  batch["tool_calls"] = Json::array({call});
  run(batch);
  EXPECT_THAT(run(edit("s2", "a.c", "t")).out, HasSubstr("\"deny\""));
  EXPECT_THAT(stage_.as("", {"hook", "report"}).out,
              "a.c: calls by claude-code while another claude-code was working on it: 1 refused\n");
  run(moment("s1", "SessionEnd"));
  stage_.file("a.c", "of a person");
  run(moment("s2", "Stop"));
  EXPECT_THAT(stage_.as("", {"hook", "report"}).out,
              HasSubstr("a.c: written by claude-code, then changed by somebody unknown once\n"));
}

TEST_F(HookProcesses, NoAnswerSaysAllow) {
  for (const char* const client : {"claude", "codex", "gemini", "copilot", "opencode"}) {
    const Answer answer = stage_.finish(hook(edit("s1", "a.c", "t"), client));
    EXPECT_THAT(answer.out, Not(HasSubstr("allow"))) << client;
  }
}

// As in the sandbox of Codex, where git's folder cannot be written.
TEST_F(HookProcesses, ACommandInASandboxIsSentToTheMcpTools) {
  STAGE_IS_LOCAL("the hub can write there");
  if (::geteuid() != 0) GTEST_SKIP() << "only root can mount";
  Launch launch = stage_.command(
      {"unshare", "--mount", "sh", "-c",
       "mount --bind \"$1\" \"$1\" && mount -o remount,bind,ro \"$1\" && exec \"$0\" acquire a",
       Stage::program(), stage_.repo() + "/.git"});
  launch.env["CODEX_SESSION_ID"] = "c1";
  const Answer answer = stage_.finish(launch);
  const bool mounted = answer.err.find("mount") == std::string::npos &&
                       answer.err.find("unshare") == std::string::npos;
  if (!mounted) GTEST_SKIP() << answer.err;
  EXPECT_EQ(answer.status, 69);
  EXPECT_THAT(answer.err, AllOf(HasSubstr("sandbox of codex"), HasSubstr("lock_acquire")));
}

}  // namespace
}  // namespace lockkeeper::stage
