// The tools over a real table and CoordMCP's real files.
#include "dialect/coordmcp/calls.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "layout/registry.h"
#include "service/local/test_site.h"

namespace lockkeeper::dialect::coordmcp {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::int64_t kHourMs = 3'600'000;

class CallsTest : public testing::Test {
 protected:
  CallsTest() {
    realm_.runtime.layout_kinds["coordmcp"] = make_layout;
    realm_.files.folder("data/agents/locks");
    config_.data_dir = realm_.files.at("data");
    site_ = realm_.site();
  }

  Calls calls() { return Calls(*site_, config_); }
  Json lock(const std::string& agent, const std::vector<std::string>& files,
            const std::string& reason = "JWT", int minutes = 60) {
    LockFiles call;
    call.agent_id = agent;
    call.project_id = "demo";
    call.files = files;
    call.reason = reason;
    call.expected_duration_minutes = minutes;
    return reply_of(calls().lock_files(call)).json;
  }
  Json unlock(const std::string& agent, const std::vector<std::string>& files) {
    return reply_of(calls().unlock_files({agent, "demo", files})).json;
  }
  Json locked() { return reply_of(calls().get_locked_files("demo")).json; }

  // An entry as the original writes it: in the project's file, or in the agent's.
  void original(const std::string& agent, const std::string& file, Shape shape,
                std::int64_t ago_ms = 0) {
    const std::string name = shape == Shape::kProject
                                 ? "data/agents/locks/demo.json"
                                 : "data/agents/" + agent + "/locked_files.json";
    Entry entry;
    entry.file_path = realm_.files.at("repo/" + file);
    entry.key = shape == Shape::kProject ? entry.file_path : file;
    entry.locked_by = agent;
    entry.reason = "by the original";
    entry.locked_at = LocalTime::from_wall_ms(realm_.clock.now().wall_ms - ago_ms);
    entry.locked_at->micros = 123'456;
    entry.expected = LocalTime{entry.locked_at->wall_s + 90 * 60, 0};
    LockFile written;
    written.put(entry, shape);
    realm_.files.write(name, written.text(shape, *entry.locked_at));
    last_ = entry;
  }
  Json file(const std::string& name) const {
    const std::string path = realm_.files.at("data/" + name);
    return Json::parse(read_file(path).value_or("{}"), nullptr, false)["locks"];
  }
  std::string in_repo(const std::string& name) const { return realm_.files.at("repo/" + name); }

  service::TestSite realm_;
  Config config_;
  std::unique_ptr<service::Site> site_;
  Entry last_;  // of original()
  const std::string kProjectFile = "agents/locks/demo.json";
};

TEST_F(CallsTest, D1_TheOriginalsEntryTellsItsOwnExpectedUnlock) {
  for (const Shape shape : {Shape::kProject, Shape::kAgent}) {
    original("bob", "a.py", shape);
    const std::string own = format_local(*last_.expected, 'T');
    const Json refused = lock("ann", {"a.py"});
    ASSERT_EQ(refused["error_type"], "FileLockConflict") << refused;
    EXPECT_EQ(refused["conflicts"][0]["expected_unlock"], own);
    EXPECT_EQ(refused["conflicts"][0]["expected_unlock_time"], own);
    EXPECT_EQ(locked()["by_agent"]["bob"][0]["expected_unlock"], own);
    const Json free = reply_of(calls().get_free_files({"ann", "demo", {"a.py"}})).json;
    EXPECT_EQ(free["conflicts"][0]["expected_unlock"], own);
    realm_.files.write("data/" + kProjectFile, R"({"locks":{}})");
  }
}

TEST_F(CallsTest, AQueryRegistersNothingAndSeesTheOriginalsLocks) {
  const auto ask = [&] { return reply_of(calls().get_free_files({"ann", "demo", {"a.py"}})).json; };
  const std::string data = config_.data_dir;
  config_.data_dir = realm_.files.at("nowhere");
  EXPECT_EQ(locked()["total_locked"], 0);
  EXPECT_EQ(ask()["free_files"], Json({"a.py"}));
  EXPECT_FALSE(std::filesystem::exists(config_.data_dir));
  config_.data_dir = data;
  original("bob", "a.py", Shape::kProject);
  const std::string unlock_at = format_local(*last_.expected, 'T');
  original("bob", "b.py", Shape::kAgent);
  original("old", "c.py", Shape::kAgent, 25 * kHourMs);
  const Json all = locked();
  EXPECT_EQ(all["total_locked"], 2) << all;
  EXPECT_EQ(all["by_agent"]["bob"][0]["file"], "a.py");
  EXPECT_EQ(all["by_agent"]["bob"][0]["expected_unlock"], unlock_at);
  EXPECT_THAT(ask()["free_files"], IsEmpty());
  EXPECT_EQ(ask()["conflicts"][0]["locked_by"], "bob");
  EXPECT_THAT(layout::load_layouts(site_->realm(), site_->settings()).value(), IsEmpty());
  EXPECT_EQ(lock("ann", {"d.py"})["success"], true);
  EXPECT_EQ(locked()["total_locked"], 3) << "now from the table";
}

TEST_F(CallsTest, D2_EveryCallCleansUpAndServersMayAtAnyTime) {
  original("bob", "old.py", Shape::kProject, 25 * kHourMs);
  EXPECT_EQ(lock("ann", {"a.py"})["success"], true);
  EXPECT_FALSE(file(kProjectFile).contains(in_repo("old.py")));
  original("bob", "old.py", Shape::kAgent, 25 * kHourMs);
  EXPECT_EQ(calls().cleanup_all().value(), 1);
  EXPECT_THAT(file("agents/bob/locked_files.json"), IsEmpty());
  EXPECT_EQ(calls().cleanup_all().value(), 0);
  EXPECT_EQ(locked()["by_agent"]["ann"].size(), 1) << "what is live stays";
}

TEST_F(CallsTest, D2_WithoutAutoCleanupNothingIsRemoved) {
  config_.auto_cleanup = false;
  original("bob", "old.py", Shape::kProject, 25 * kHourMs);
  EXPECT_EQ(lock("ann", {"a.py"})["success"], true);
  EXPECT_EQ(calls().cleanup_all().value(), 0);
  EXPECT_TRUE(file(kProjectFile).contains(in_repo("old.py")));
}

TEST_F(CallsTest, D3_ALockTakenAgainHasTheNewReasonAndTime) {
  const Json first = lock("ann", {"a.py", "b.py"}, "one", 30);
  const Json before = locked()["by_agent"]["ann"][0]["locked_at"];
  realm_.clock.ahead_ms += 10 * 60'000;
  const Json again = lock("ann", {"a.py", "b.py"}, "two", 45);
  EXPECT_EQ(again["success"], true) << again;
  EXPECT_NE(again["lease_id"], first["lease_id"]);
  const Json now = locked();
  EXPECT_EQ(now["total_locked"], 2) << now;
  for (const Json& each : now["by_agent"]["ann"]) {
    EXPECT_EQ(each["reason"], "two");
    EXPECT_NE(each["locked_at"], before);
  }
  EXPECT_EQ(file(kProjectFile)[in_repo("a.py")]["reason"], "two");
  EXPECT_EQ(file("agents/ann/locked_files.json")["a.py"]["expected_duration_minutes"], 45);
}

TEST_F(CallsTest, D3_APartTakenAgainLeavesTheRestAsItWas) {
  lock("ann", {"a.py", "b.py"}, "one");
  EXPECT_EQ(lock("ann", {"a.py", "c.py"}, "two")["success"], true);
  const Json files = file(kProjectFile);
  EXPECT_EQ(files[in_repo("a.py")]["reason"], "two");
  EXPECT_EQ(files[in_repo("b.py")]["reason"], "one");
  EXPECT_EQ(files[in_repo("c.py")]["reason"], "two");
  EXPECT_EQ(locked()["total_locked"], 3) << locked();
  EXPECT_THAT(unlock("ann", {"a.py", "b.py", "c.py"})["unlocked_files"], SizeIs(3));
  EXPECT_THAT(file(kProjectFile), IsEmpty());
}

// Refused, nothing is changed of what the agent holds.
TEST_F(CallsTest, D3_ARefusalKeepsTheOldLock) {
  lock("bob", {"held.py"});
  lock("ann", {"a.py"}, "one");
  EXPECT_EQ(lock("ann", {"a.py", "held.py"}, "two")["success"], false);
  EXPECT_EQ(file(kProjectFile)[in_repo("a.py")]["reason"], "one");
}

TEST_F(CallsTest, D3_AnAgentUnlocksItsOwnEntryOfTheOriginal) {
  for (const Shape shape : {Shape::kProject, Shape::kAgent}) {
    original("ann", "a.py", shape);
    const Json other = unlock("bob", {"a.py"});
    ASSERT_THAT(other["warnings"], SizeIs(1)) << other;
    EXPECT_EQ(other["warnings"][0]["warning"], "File locked by ann, not bob");
    const Json own = unlock("ann", {"a.py"});
    EXPECT_EQ(own["unlocked_files"], Json({"a.py"})) << own;
    EXPECT_EQ(locked()["total_locked"], 0);
    EXPECT_THAT(file(shape == Shape::kProject ? kProjectFile : "agents/ann/locked_files.json"),
                IsEmpty());
  }
}

TEST_F(CallsTest, D3_AnAgentTakesItsOwnEntryOfTheOriginalAgain) {
  original("ann", "a.py", Shape::kProject);
  original("ann", "a.py", Shape::kAgent);  // in both files
  EXPECT_EQ(lock("ann", {"a.py"}, "mine")["success"], true);
  EXPECT_EQ(locked()["total_locked"], 1) << locked();
  EXPECT_EQ(file(kProjectFile)[in_repo("a.py")]["reason"], "mine");
  EXPECT_EQ(file("agents/ann/locked_files.json")["a.py"]["reason"], "mine");
  EXPECT_EQ(lock("bob", {"a.py"})["success"], false);
  EXPECT_EQ(unlock("ann", {"a.py"})["unlocked_files"], Json({"a.py"}));
  EXPECT_EQ(lock("bob", {"a.py"})["success"], true);
}

TEST_F(CallsTest, D4_WithoutAProjectEverythingIsListed) {
  lock("ann", {"a.py"});
  const Json all = reply_of(calls().get_locked_files("")).json;
  EXPECT_EQ(all["success"], true) << all;
  EXPECT_EQ(all["total_locked"], 1);
  EXPECT_EQ(reply_of(calls().cleanup_stale_locks("")).json["success"], true);
  EXPECT_EQ(lock("ann", {"b.py"})["success"], true) << "the projects stay known";
  LockFiles nowhere;
  nowhere.agent_id = "ann";
  nowhere.files = {"c.py"};
  EXPECT_EQ(reply_of(calls().lock_files(nowhere)).json["error"], "project_id is missing");
  EXPECT_EQ(project_of("", "demo"), "demo");
  EXPECT_EQ(project_of("p", "demo"), "p");
  EXPECT_EQ(project_of("", "My App"), "");
}

TEST_F(CallsTest, D4_ATimeoutBeyondTheLongestLeaseEndsWithIt) {
  config_.timeout_hours = "200";
  config_.timeout_ms = 200 * kHourMs;
  const Json locked = lock("ann", {"a.py"});
  ASSERT_EQ(locked["success"], true) << locked;
  EXPECT_THAT(locked["warnings"][0].get<std::string>(), HasSubstr("not after 200 hours"));
  EXPECT_EQ(lock("bob", {"a.py"})["success"], false);
  realm_.clock.ahead_ms += 169 * kHourMs;  // lease.longest is seven days
  EXPECT_EQ(lock("bob", {"a.py"})["success"], true);
}

TEST_F(CallsTest, D4_AFolderThatTheFilesCannotShowIsTold) {
  realm_.files.folder("repo/src");
  const Json locked = lock("ann", {"src/", "a.py"});
  ASSERT_EQ(locked["success"], true) << locked;
  EXPECT_EQ(locked["unmirrored"], Json({"src/"}));
  EXPECT_THAT(locked["warnings"].dump(), HasSubstr("do not see the lock on src/"));
  EXPECT_FALSE(lock("ann", {"b.py"}).contains("warnings"));
}

TEST_F(CallsTest, MessagesOfAllProjectsComeWithoutAProject) {
  for (const char* const project : {"demo", "other"}) {
    SendMessage send;
    send.from_agent_id = "ann";
    send.to_agent_id = "bob";
    send.project_id = project;
    send.content = project;
    ASSERT_EQ(reply_of(calls().send_message(send)).json["success"], true);
  }
  EXPECT_EQ(reply_of(calls().get_messages({"bob", "", false, 50})).json["count"], 2);
  EXPECT_EQ(reply_of(calls().get_messages({"bob", "demo", false, 50})).json["count"], 1);
}

}  // namespace
}  // namespace lockkeeper::dialect::coordmcp
