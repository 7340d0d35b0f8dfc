// CoordMCP's own steps, by a script written to its description, against the shipped program, over
// both shapes of its store. Its primitive is check-then-write, so two may hold one file for a
// moment; then it must be recorded. What must never happen: an entry of its own lost by us, our
// grant where its entry stood before, its refusal missing where ours stood.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include "base/clock.h"
#include "base/fd.h"
#include "support/campaign.h"
#include "support/stage.h"

namespace lockkeeper::stage {
namespace {

using testing::HasSubstr;

struct Step {
  std::string event, file, by;
  double begun = 0, at = 0;
};

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

class CoordMcp : public testing::TestWithParam<const char*> {
 protected:
  CoordMcp() {
    stage_.env["COORDMCP_DATA_DIR"] = data();
    stage_.file("a.py");
    // The first use of a tool that changes something registers the layout.
    const Answer first = call("cleanup_stale_locks", {"--project-id", "demo"});
    EXPECT_EQ(first.status, 0) << first.all();
  }
  std::string data() const { return stage_.path("data"); }

  Answer call(const std::string& tool, Words words) {
    words.insert(words.begin(), {"coordmcp", tool});
    return stage_.finish(stage_.launch("", words));
  }
  Launch foreign(const std::string& what, const Words& files, Words more = {}) {
    Words argv = {"/usr/bin/python3", LOCKKEEPER_INTEROP_SCRIPT, what};
    argv.insert(argv.end(), files.begin(), files.end());
    argv.insert(argv.end(),
                {"--shape", GetParam(), "--data", data(), "--workspace", stage_.repo()});
    argv.insert(argv.end(), more.begin(), more.end());
    return stage_.command(argv);
  }
  Answer run_foreign(const std::string& what, const Words& files, Words more = {}) {
    return stage_.finish(foreign(what, files, std::move(more)));
  }
  static std::vector<Step> steps(const std::string& text) {
    std::vector<Step> all;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const Json json = Json::parse(line, nullptr, false);
      if (!json.is_object()) continue;  // cut short by a kill
      all.push_back({json.value("event", ""), json.value("file", ""), "", json.value("begun", 0.0),
                     json.value("at", 0.0)});
      if (json.contains("by") && json["by"].is_string()) all.back().by = json["by"];
    }
    return all;
  }
  std::string go() const { return stage_.path("go"); }
  static bool soon(const std::function<bool()>& is_so) {
    const double end = now() + kPatienceMs / 1000.0;
    while (!is_so() && now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return is_so();
  }
  static bool said(const Launch& launch, const std::string& word) {
    return soon([&] {
      return read_file(launch.out, 64 << 20).value_or("").find(word) != std::string::npos;
    });
  }
  // When an overlap of this file was recorded.
  std::optional<double> recorded(const std::string& file) {
    for (const Json& event : stage_.as("", {"log", "--json"}).lines()) {
      const bool meant =
          event["event"] == "foreign_conflict" && event["resources"] == Json::array({file});
      if (!meant) continue;
      const auto at = parse_time(event["at"].get<std::string>());
      if (at) return static_cast<double>(*at) / 1000;
    }
    return std::nullopt;
  }

  Stage stage_;
};
INSTANTIATE_TEST_SUITE_P(Shapes, CoordMcp, testing::Values("project", "agent"),
                         [](const auto& shape) { return std::string(shape.param); });

TEST_P(CoordMcp, ForeignFirstIsRefusedByUsAndNamed) {
  ASSERT_EQ(run_foreign("lock", {"a.py"}).status, 0);
  const Answer native = stage_.expect(75, "ours", {"acquire", "a.py"});
  EXPECT_EQ(native.json()["conflicts"][0]["agent"], "foreign");
  EXPECT_EQ(native.json()["conflicts"][0]["foreign"]["kind"], "coordmcp");
  EXPECT_TRUE(native.json()["conflicts"][0]["fence"].is_null());
  const Answer tool = call("lock_files", {"--agent-id", "B", "--project-id", "demo", "--file",
                                          "a.py", "--reason", "too"});
  EXPECT_EQ(tool.status, 75);
  EXPECT_EQ(tool.json()["error_type"], "FileLockConflict");
  EXPECT_EQ(tool.json()["conflicts"][0]["locked_by"], "foreign");
  EXPECT_EQ(tool.json()["conflicts"][0]["reason"], "foreign work");
  ASSERT_EQ(run_foreign("unlock", {"a.py"}).status, 0);
  stage_.expect(0, "ours", {"acquire", "a.py"});
}

TEST_P(CoordMcp, OursFirstIsReadAndRefusedByItsOwnReader) {
  stage_.expect(0, "ours", {"acquire", "a.py", "--reason", "native"});
  Answer refused = run_foreign("lock", {"a.py"});
  EXPECT_EQ(refused.status, 75) << refused.all();
  EXPECT_EQ(steps(refused.out).at(0).by, "ours");
  stage_.expect(0, "ours", {"release", "a.py"});
  EXPECT_EQ(run_foreign("lock", {"a.py"}).status, 0);
  EXPECT_EQ(run_foreign("unlock", {"a.py"}).status, 0);
  ASSERT_EQ(call("lock_files",
                 {"--agent-id", "B", "--project-id", "demo", "--file", "a.py", "--reason", "tool"})
                .status,
            0);
  refused = run_foreign("lock", {"a.py"});
  EXPECT_EQ(refused.status, 75) << refused.all();
  EXPECT_EQ(steps(refused.out).at(0).by, "B");
}

// Refused, agent B waits, writes to A, or asks what is free instead.
// As docs/dialects/coordmcp.md says: the id is all that says who calls.
TEST_P(CoordMcp, AnotherAgentUnlocksNothingUnlessItPassesTheHoldersIdWithoutASession) {
  const auto words = [](const std::string& agent, const std::string& session) {
    Words all = {"--agent-id", agent, "--project-id", "demo", "--file", "a.py"};
    if (!session.empty()) all.insert(all.end(), {"--session", session});
    return all;
  };
  const auto unlocked = [&](const std::string& agent, const std::string& session = "") {
    const Json reply = call("unlock_files", words(agent, session)).json();
    EXPECT_NE(reply["unlocked_files"].empty(), reply["warnings"].empty()) << reply;
    return !reply["unlocked_files"].empty();
  };
  const Json plain = call("lock_files", words("A", "")).json();
  EXPECT_FALSE(unlocked("B"));
  EXPECT_FALSE(unlocked("A", "s1"));
  EXPECT_TRUE(unlocked("A"));
  const std::string fence = std::to_string(plain["fence"].get<std::uint64_t>());
  EXPECT_EQ(stage_.as("A", {"check", "a.py", "--fence", fence}).status, 79) << "A finds out";
  EXPECT_FALSE(call("unlock_files", words("A", "")).json()["not_found"].empty());
  call("lock_files", words("A", "s1"));
  EXPECT_FALSE(unlocked("A"));
  EXPECT_FALSE(unlocked("A", "s2"));
  EXPECT_TRUE(unlocked("A", "s1"));
}

TEST_P(CoordMcp, TheWorkflowOfTheAdrIsWhole) {
  const auto lock = [&](const std::string& agent, Words more) {
    Words words = {"--agent-id", agent, "--project-id", "demo", "--reason", "JWT"};
    words.insert(words.end(), more.begin(), more.end());
    return call("lock_files", words);
  };
  ASSERT_EQ(lock("A", {"--file", "a.py"}).status, 0);
  const Answer refused = lock("B", {"--file", "a.py", "--file", "b.py"});
  EXPECT_EQ(refused.status, 75);
  EXPECT_EQ(refused.json()["free_files"], Json::array({"b.py"}));
  Process waiting(stage_.launch("", {"coordmcp", "lock_files", "--wait", "--agent-id", "B",
                                     "--project-id", "demo", "--reason", "too", "--file", "a.py"}));
  ASSERT_TRUE(stage_.queue_grows_to(1));
  ASSERT_EQ(call("send_message", {"--from-agent-id", "B", "--to-agent-id", "A", "--project-id",
                                  "demo", "--content", "done soon?"})
                .status,
            0);
  const Answer seen = stage_.json("A", {"check", "b.py"});
  EXPECT_EQ(seen.json()["messages"][0]["text"], "done soon?");
  EXPECT_FALSE(stage_.json("A", {"check", "b.py"}).json().contains("messages"));
  const Answer done =
      call("unlock_files", {"--agent-id", "A", "--project-id", "demo", "--file", "a.py"});
  EXPECT_EQ(done.json()["unlocked_files"], Json::array({"a.py"}));
  EXPECT_EQ(waiting.wait(), 0);
  EXPECT_EQ(lock("A", {"--file", "a.py"}).json()["conflicts"][0]["locked_by"], "B");
}

TEST_P(CoordMcp, WhoWaitsForAForeignLockGetsItWhenItIsGone) {
  ASSERT_EQ(run_foreign("lock", {"a.py"}).status, 0);
  Process waiting(stage_.launch("ours", {"acquire", "a.py", "--wait"}));
  ASSERT_TRUE(stage_.queue_grows_to(1));
  ASSERT_EQ(run_foreign("unlock", {"a.py"}).status, 0);
  EXPECT_EQ(waiting.wait(), 0);
  EXPECT_EQ(run_foreign("lock", {"a.py"}).status, 75);
}

// It checks, we take, it writes: both have it, and that is detected each time.
TEST_P(CoordMcp, EveryOverlapProvokedIsRecorded) {
  constexpr std::size_t kFiles = 8;
  std::vector<std::string> files;
  std::vector<Launch> launches;
  std::vector<std::unique_ptr<Process>> foreigns, ours;
  for (std::size_t i = 0; i < kFiles; ++i) {
    files.push_back("f" + std::to_string(i));
    launches.push_back(
        foreign("lock", {files[i]}, {"--until", go() + files[i], "--agent", "o" + files[i]}));
    foreigns.push_back(std::make_unique<Process>(launches.back()));
  }
  for (const Launch& launch : launches) ASSERT_TRUE(said(launch, "checked"));
  for (std::size_t i = 0; i < kFiles; ++i) {
    ours.push_back(std::make_unique<Process>(
        stage_.start_holding("ours", files[i], {"--session", "s" + std::to_string(i)})));
  }
  std::size_t provoked = 0, detected = 0;
  double slowest = 0;
  for (std::size_t i = 0; i < kFiles; ++i) {
    // One after the other: two at once would erase each other's entries without our help.
    std::ofstream(go() + files[i]) << "go";
    EXPECT_EQ(foreigns[i]->wait(), 0);
    const std::vector<Step> told = steps(read_file(launches[i].out, 1 << 20).value_or(""));
    ASSERT_EQ(told.size(), 2U);
    EXPECT_EQ(told[1].event, "locked");
    // The foreign one took it, ours holds it: both at once.
    provoked += told[1].event == "locked" && ours[i]->running() ? 1U : 0U;
  }
  const auto give_up = now() + 30;
  for (std::size_t i = 0; i < kFiles; ++i) {
    std::optional<double> at = recorded(files[i]);
    while (!at && now() < give_up) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      at = recorded(files[i]);
    }
    if (!at) continue;
    ++detected;
    const double written = steps(read_file(launches[i].out, 1 << 20).value_or(""))[1].at;
    slowest = std::max(slowest, *at - written);
  }
  std::printf("overlaps provoked %zu, recorded %zu, slowest after %.0f ms\n", provoked, detected,
              slowest * 1000);
  EXPECT_EQ(provoked, kFiles);
  EXPECT_EQ(detected, kFiles);
  // Where the foreign entry took the place of ours nothing is shown again, at whatever look.
  for (const char* const more : {"m1", "m2", "m3"}) stage_.expect(0, "more", {"acquire", more});
  for (const Json& event : stage_.as("", {"log", "--json"}).lines()) {
    EXPECT_NE(event["event"], "shown_again") << event;
  }
  EXPECT_GE(
      stage_.expect(0, "ours", {"message", "list", "--session", "s0"}).json()["messages"].size(),
      1U);
}

// It writes at each place of our acquire: we are refused, or the overlap is recorded. Its entry
// stays in any case.
TEST_P(CoordMcp, A16_WhoeverComesAtAnyPlaceOfOurAcquireIsMetOrRecorded) {
  const int stride = static_cast<int>(number_from("LOCKKEEPER_INTEROP_STEP", 9));
  int refused = 0, overlaps = 0;
  for (int place = 1;; place += stride) {
    const std::string file = "f" + std::to_string(place);
    SCOPED_TRACE(file);
    const Launch theirs = foreign("lock", {file}, {"--until", go() + file});
    Process other(theirs);
    ASSERT_TRUE(said(theirs, "checked"));
    Launch launch = stage_.launch("ours", {"acquire", file});
    launch.traced = true;
    Process ours(std::move(launch));
    bool came = false;
    const int status = ours.step([&](const SystemCall& call) {
      if (came || call.number < (place + 1) / 2 || call.done != (place % 2 == 0)) return true;
      came = true;
      std::ofstream(go() + file) << "go";
      EXPECT_EQ(other.wait(), 0);
      return true;
    });
    if (status == 125) GTEST_SKIP() << "this process may not trace its children";
    if (!came) break;
    EXPECT_THAT(run_foreign("show", {file}, {"--agent", "reader"}).out, HasSubstr("\"foreign\""));
    stage_.expect(0, "looks", {"acquire", "other"});
    EXPECT_TRUE(status == 75 || (status == 0 && recorded(file))) << status << ours.err();
    ++(status == 75 ? refused : overlaps);
    ASSERT_EQ(run_foreign("unlock", {file}).status, 0);
    stage_.as("ours", {"release", "--all"});
    stage_.as("looks", {"release", "--all"});
  }
  std::printf("places where it was met: %d, recorded: %d\n", refused, overlaps);
  EXPECT_GT(refused, 0);
  EXPECT_GT(overlaps, 0);
}

// It writes what it read before ours was there: ours is gone from its file, and comes back.
TEST_P(CoordMcp, WhatAStaleWriteErasedIsShownAgain) {
  const Launch launch = foreign("lock", {"other.py"}, {"--until", go(), "--stale"});
  Process other(launch);
  ASSERT_TRUE(said(launch, "checked"));
  Process ours = stage_.start_holding("ours", "a.py");
  std::ofstream(go()) << "go";
  EXPECT_EQ(other.wait(), 0);
  Answer shown;
  soon([&] {
    shown = run_foreign("show", {"a.py", "other.py"}, {"--agent", "reader"});
    return shown.out.find("\"a.py\": \"ours") != std::string::npos;
  });
  EXPECT_THAT(shown.out, HasSubstr("\"a.py\": \"ours"));
  EXPECT_THAT(shown.out, HasSubstr("\"other.py\": \"foreign\""));
}

// It writes back what we took out meanwhile: a ghost, which keeps nobody out.
TEST_P(CoordMcp, WhatAStaleWriteBroughtBackCountsForNobody) {
  stage_.expect(0, "foreign", {"acquire", "a.py"});  // of the same name: in the same file
  const Launch launch = foreign("lock", {"other.py"}, {"--until", go(), "--stale"});
  Process other(launch);
  ASSERT_TRUE(said(launch, "checked"));
  stage_.expect(0, "foreign", {"release", "a.py"});
  std::ofstream(go()) << "go";
  EXPECT_EQ(other.wait(), 0);
  stage_.expect(0, "next", {"acquire", "a.py"});
  stage_.expect(75, "next", {"acquire", "other.py"});
}

// A tight loop on both sides. No entry of its own is lost by us, and where its entry stood before
// we asked and after we were answered, we were refused.
TEST_P(CoordMcp, InATightLoopNothingOfItsOwnIsLost) {
  const Words files = {"x", "y", "z"};
  const Launch launch = foreign("loop", files, {"--seconds", "3", "--seed", "7"});
  Process other(launch);
  struct Held {
    std::string file;
    double asked, answered;
  };
  std::vector<Held> held;
  std::mt19937 chance(7);
  int refused = 0;
  while (other.running()) {
    const std::string file = files[chance() % files.size()];
    const double asked = now();
    const Answer answer = stage_.json("ours", {"acquire", file});
    if (answer.status == 0) {
      held.push_back({file, asked, now()});
      EXPECT_EQ(stage_.as("ours", {"release", file}).status, 0);
    } else {
      ASSERT_EQ(answer.status, 75) << answer.all();
      ++refused;
    }
  }
  EXPECT_EQ(other.wait(), 0);
  const std::vector<Step> told = steps(read_file(launch.out, 64 << 20).value_or(""));
  int locked = 0, lost = 0, corrupt = 0, overlooked = 0;
  for (std::size_t i = 0; i < told.size(); ++i) {
    lost += told[i].event == "lost" ? 1 : 0;
    corrupt += told[i].event == "corrupt" ? 1 : 0;
    if (told[i].event != "locked") continue;
    ++locked;
    const double until = i + 1 < told.size() ? told[i + 1].begun : now();
    for (const Held& ours : held) {
      if (ours.file == told[i].file && ours.asked > told[i].at && ours.answered < until) {
        ++overlooked;
      }
    }
  }
  EXPECT_EQ(lost, 0);
  EXPECT_EQ(corrupt, 0);
  EXPECT_EQ(overlooked, 0);
  EXPECT_GT(locked, 0);
  EXPECT_GT(held.size(), 0U);
  std::printf("foreign locks %d, our grants %zu and refusals %d, foreign entries lost %d\n", locked,
              held.size(), refused, lost);
}

// Kills on both sides, at any moment: what stands afterwards is whole, what the foreign tool had is
// still there, what we had is freed or kept as the table says.
TEST_P(CoordMcp, F1KillsOnBothSidesLeaveTheStoreWhole) {
  std::mt19937 chance(11);
  ASSERT_EQ(run_foreign("lock", {"kept"}, {"--agent", "steady"}).status, 0);
  for (int round = 0; round < 8; ++round) {
    Process other(
        foreign("loop", {"x", "y"}, {"--seconds", "20", "--seed", std::to_string(round)}));
    Process ours(stage_.launch(
        "ours", {"run", "--wait=5s", "z" + std::to_string(round), "--", "sleep", "20"}));
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + chance() % 120));
    (round % 2 == 0 ? ours : other).signal_group(SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(chance() % 60));
    other.signal_group(SIGKILL);
    ours.signal_group(SIGKILL);
    other.wait();
    ours.wait();
    // The dead one's is free for whoever comes next, once the command it ran is dead, too: nobody
    // is locked out, nothing is corrupt.
    const Words words{"acquire", "z" + std::to_string(round)};
    EXPECT_TRUE(eventually([&] { return stage_.json("next", words).status == 0; }));
    stage_.expect(75, "next", {"acquire", "kept"});
  }
  stage_.expect(0, "next", {"release", "--all"});
  const Answer shown = run_foreign("show", {"kept", "z0", "z5"}, {"--agent", "reader"});
  EXPECT_THAT(shown.out, testing::Not(HasSubstr("corrupt")));
  EXPECT_THAT(shown.out, HasSubstr(R"("kept": "steady")"));
  EXPECT_THAT(shown.out, HasSubstr(R"("z0": null)"));
}

TEST_P(CoordMcp, CorruptJsonBlocksAndIsNeverOverwritten) {
  ASSERT_EQ(run_foreign("lock", {"a.py"}).status, 0);
  const std::string path =
      data() + (std::string(GetParam()) == "project" ? "/agents/locks/demo.json"
                                                     : "/agents/foreign/locked_files.json");
  std::ofstream(path) << "{\"locks\": {";
  const Answer refused = stage_.expect(69, "ours", {"acquire", "b.py"});
  EXPECT_EQ(refused.json()["error"]["code"], "store_unavailable");
  EXPECT_THAT(refused.json()["error"]["message"].get<std::string>(), HasSubstr(path));
  const std::string hint = refused.json()["error"]["hint"];
  EXPECT_THAT(hint, HasSubstr("lockkeeper layout ignore " + path));
  EXPECT_EQ(call("lock_files",
                 {"--agent-id", "B", "--project-id", "demo", "--file", "b.py", "--reason", "r"})
                .status,
            69);
  EXPECT_EQ(read_file(path).value_or(""), "{\"locks\": {");
  stage_.expect(0, "ours", {"layout", "ignore", path});
  stage_.expect(0, "ours", {"acquire", "b.py"});
  EXPECT_EQ(read_file(path).value_or(""), "{\"locks\": {");
}

}  // namespace
}  // namespace lockkeeper::stage
