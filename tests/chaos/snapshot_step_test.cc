// F1 for snapshots: a hook is killed at each system call that may change something, while it keeps
// what an edit wrote. Whatever it left, nothing wrong is ever given out, and the next hook keeps
// it. Skipped where nobody may trace.
#include <filesystem>
#include <fstream>

#include "chaos/crash_point.h"

namespace lockkeeper::stage {
namespace {

class SnapshotStep : public CrashPoint {
 protected:
  void SetUp() override {
    CrashPoint::SetUp();
    if (!may_trace(stage_)) GTEST_SKIP() << "this process may not trace its children";
  }

  std::string file() const { return "f" + std::to_string(place_) + ".c"; }
  std::string content() const { return "content " + std::to_string(place_) + "\n"; }

  Launch hook(const std::string& event, const Json& call) {
    Json payload = {{"session_id", "s1"},
                    {"transcript_path", "/t"},
                    {"cwd", stage_.repo()},
                    {"hook_event_name", event}};
    payload.update(call);
    const std::string in = stage_.path("payload-" + std::to_string(++payloads_));
    std::ofstream(in) << payload.dump();
    Launch launch = stage_.launch("", {"hook", "claude"});
    launch.in = in;
    return launch;
  }
  Json call() const {
    return {{"tool_name", "Write"},
            {"tool_input", {{"file_path", stage_.repo() + "/" + file()}, {"content", "x"}}},
            {"tool_use_id", "t" + std::to_string(place_)}};
  }
  Launch before() { return hook("PreToolUse", call()); }
  Launch after_edit() {
    Json over = call();
    over["tool_response"] = "ok";
    return hook("PostToolBatch", {{"tool_calls", Json::array({over})}});
  }
  // True if it was killed there.
  bool killed(int place, Launch launch) {
    launch.traced = true;
    Process process(std::move(launch));
    const int status = process.step([&](const SystemCall& one) {
      const bool here = one.number == place && one.done == after();
      if (here) at_ = one.name;
      return !here;
    });
    EXPECT_THAT(status, testing::AnyOf(0, kKilled)) << process.out() << process.err();
    return status == kKilled;
  }
  // Either nothing, or exactly what was written.
  void nothing_wrong() {
    constexpr int kNotFound = 66;
    const Answer answer = stage_.json("", {"recover", "list", file()});
    if (answer.status == kNotFound) return;
    ASSERT_EQ(answer.status, 0) << answer.all();
    const Json kept = answer.json();
    for (const Json& version : kept["versions"]) {
      if (version["kind"] != "file") continue;
      const std::string id = version["version"];
      const Json shown = stage_.expect(0, "", {"recover", "show", file() + "@" + id}).json();
      EXPECT_EQ(shown["content"], content());
    }
  }
  void can_be_had() {
    std::filesystem::remove(stage_.repo() + "/" + file());
    const Json lost = stage_.expect(0, "", {"recover", "show", file()}).json();
    EXPECT_EQ(lost["content"], content());
  }

  std::string at_;
  int payloads_ = 0;
};

TEST_P(SnapshotStep, F1_G2_WhileItKeepsWhatWasWritten) {
  at_every_place(5, [&](int place) {
    EXPECT_EQ(stage_.finish(before()).status, 0);
    stage_.file(file(), content());
    const bool died = killed(place, after_edit());
    SCOPED_TRACE(at_);
    nothing_wrong();
    EXPECT_EQ(stage_.finish(after_edit()).status, 0);
    nothing_wrong();
    can_be_had();
    return died;
  });
  healthy();
}

TEST_P(SnapshotStep, F1_G2_WhileItKeepsWhatIsAboutToChange) {
  at_every_place(5, [&](int place) {
    stage_.file(file(), content());
    const bool died = killed(place, before());
    SCOPED_TRACE(at_);
    nothing_wrong();
    EXPECT_EQ(stage_.finish(before()).status, 0);
    can_be_had();
    return died;
  });
  healthy();
}

TEST_P(SnapshotStep, F1_G2_WhileAVersionIsPutBack) {
  at_every_place(5, [&](int place) {
    EXPECT_EQ(stage_.finish(before()).status, 0);
    stage_.file(file(), content());
    EXPECT_EQ(stage_.finish(after_edit()).status, 0);
    EXPECT_EQ(stage_.finish(hook("SessionEnd", Json::object())).status, 0);
    const std::string theirs = "another's\n";
    stage_.file(file(), theirs);
    const bool died = killed(place, stage_.launch("ann", {"recover", "restore", file()}));
    SCOPED_TRACE(at_);
    const std::string now = read_text(stage_.repo() + "/" + file());
    EXPECT_THAT(now, testing::AnyOf(content(), theirs)) << "neither one nor the other";
    if (now == theirs) stage_.expect(0, "ann", {"recover", "restore", file()});
    EXPECT_EQ(read_text(stage_.repo() + "/" + file()), content());
    return died;
  });
  healthy();
}

INSTANTIATE_TEST_SUITE_P(Each, SnapshotStep,
                         testing::Values(CrashParam{"full", false}, CrashParam{"process", true}),
                         crash_name);

}  // namespace
}  // namespace lockkeeper::stage
