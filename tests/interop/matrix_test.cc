// Six by six: whoever holds it, through whatever door, everybody else is refused at every door,
// told who it is, and given nothing; and gets it when it is free.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "base/clock.h"
#include "base/sha256.h"
#include "interop/doors.h"

namespace lockkeeper::interop {
namespace {

using stage::Answer;
using stage::Json;
using stage::Stage;

std::set<std::string> leases(Stage& stage) {
  std::set<std::string> ids;
  const Json list = stage.list();
  for (const Json& lease : list["leases"]) ids.insert(lease["id"].get<std::string>());
  return ids;
}

std::set<std::string> files_below(const std::string& folder) {
  std::set<std::string> files;
  if (!stage::exists(folder)) return files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    files.insert(entry.path());
  }
  return files;
}

// All that the tools' own users see.
std::set<std::string> artefacts(const Stage& stage) {
  std::set<std::string> all;
  for (const std::string& folder :
       {output_folder(stage), coordmcp_folder(stage), spec_folder(stage), temp_folder(stage)}) {
    all.merge(files_below(folder));
  }
  return all;
}

// Every door refuses, names that holder, and gives nothing.
void expect_refused_everywhere(Stage& stage, const std::string& holder, const std::string& held,
                               const std::string& through) {
  for (const auto& door : doors()) {
    const std::string cell = "held through " + through + ", asked for through " + door->name();
    const std::set<std::string> before = leases(stage);
    const std::set<std::string> shown = artefacts(stage);
    const Answer refusal = door->ask(stage, "asker-" + door->name());
    EXPECT_EQ(refusal.status, door->held_status()) << cell << "\n" << refusal.all();
    EXPECT_TRUE(door->names(refusal, holder, held))
        << cell << ": does not name " << holder << " and " << held << "\n"
        << refusal.all();
    EXPECT_EQ(leases(stage), before) << cell << ": something was granted";
    EXPECT_EQ(artefacts(stage), shown) << cell << ": something was left behind";
    if (refusal.status == 0) door->leave(stage, "asker-" + door->name());
  }
}

void expect_free_everywhere(Stage& stage, const std::string& after) {
  for (const auto& door : doors()) {
    const std::string agent = "asker-" + door->name();
    const Answer granted = door->ask(stage, agent);
    EXPECT_EQ(granted.status, 0) << "released by " << after << ", asked for through "
                                 << door->name() << "\n"
                                 << granted.all();
    if (granted.status == 0) door->leave(stage, agent);
  }
  EXPECT_EQ(leases(stage).size(), 0U) << "after " << after;
}

TEST(Matrix, I1_I2_who_holds_it_through_one_door_is_seen_by_every_other) {
  const auto stage = make_stage();
  for (const auto& door : doors()) {
    const std::string holder = "holder-" + door->name();
    const std::unique_ptr<Held> held = door->hold(*stage, holder);
    ASSERT_NE(held, nullptr) << door->name();
    expect_refused_everywhere(*stage, holder, door->takes(), door->name());
    held->give_back();
    expect_free_everywhere(*stage, door->name());
  }
}

// One name, two runs of it: another session is another owner, also where the dialect's own protocol
// knows of no sessions.
TEST(Matrix, I1_another_session_of_the_same_agent_is_refused_by_the_same_door) {
  const auto stage = make_stage();
  for (const auto& door : doors()) {
    stage->env["LOCKKEEPER_SESSION"] = "one";
    const std::unique_ptr<Held> held = door->hold(*stage, "twin");
    ASSERT_NE(held, nullptr) << door->name();
    stage->env["LOCKKEEPER_SESSION"] = "two";
    const Answer refusal = door->ask(*stage, "twin");
    EXPECT_EQ(refusal.status, door->held_status()) << door->name() << "\n" << refusal.all();
    EXPECT_NE(refusal.all().find("twin"), std::string::npos) << door->name() << refusal.all();
    stage->env["LOCKKEEPER_SESSION"] = "one";
    held->give_back();
  }
}

// --- what the protocols' own commands make -------------------------------------------------------

struct Foreign {
  std::string tool;
  std::string holder;  // as it is named to others
  std::string held;
  std::vector<std::pair<std::string, std::string>> files;  // path and content
  std::string remove;                                      // what its own tool would take away
};

std::vector<Foreign> foreign_locks(const Stage& stage) {
  const std::string lock_folder = spec_folder(stage) + "/.locks/files/src__a.py";
  const std::string workflow = output_folder(stage) + "/locks/outsider.lock";
  const std::string agent_file = coordmcp_folder(stage) + "/agents/outsider/locked_files.json";
  const std::string project_file =
      coordmcp_folder(stage) + "/agents/locks/" + std::string(kProject) + ".json";
  const std::string folder = std::filesystem::canonical(stage.repo() + "/src");
  const std::string guard = temp_folder(stage) + "/agent-dir-" + sha256_hex(folder) + ".lock";
  const std::int64_t now = SystemClock().now().wall_ms;
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  const std::string pid = std::to_string(::getpid());
  const auto entry = [](const std::string& key) {
    return R"({"locks": {")" + key + R"(": {"file_path": ")" + key +
           R"(", "locked_by": "outsider", "locked_at": "2126-01-20T10:30:00", "reason": "JWT",
           "expected_duration_minutes": 60, "expected_unlock_time": "2126-01-20T11:30:00"}}})";
  };
  return {
      {"mkdir",
       "outsider",
       kFile,
       {{lock_folder + "/owner",
         "agent: outsider\ntask: T-1\ntimestamp: 2026-01-17T15:30:00+00:00\n"}},
       lock_folder},
      {"workflow",
       "outsider",
       kFile,
       {{workflow, R"({"agent": "outsider", "locked_at": "2026-01-17T15:30:00Z",
                       "files": ["src/a.py"], "expires_at": "2126-01-17T16:30:00Z"})"}},
       workflow},
      {"coordmcp, the ADR's file", "outsider", kFile, {{agent_file, entry(kFile)}}, agent_file},
      {"coordmcp, the project's file",
       "outsider",
       kFile,
       {{project_file, entry(stage.repo() + "/" + kFile)}},
       project_file},
      {"guard",
       pid + "@" + host,
       kFolder,
       {{guard, R"({"pid": )" + pid + R"(, "cwd": ")" + folder + R"(", "startTime": ")" +
                    format_time(now) + R"(", "hostname": ")" + host +
                    R"(", "agents": ["outsider"]})"}},
       guard},
  };
}

TEST(Matrix, I1_what_the_documents_own_commands_made_is_refused_at_every_door) {
  const auto stage = make_stage();
  for (const Foreign& foreign : foreign_locks(*stage)) {
    SCOPED_TRACE(foreign.tool);
    for (const auto& [path, text] : foreign.files) {
      std::filesystem::create_directories(std::filesystem::path(path).parent_path());
      stage::write_text(path, text);
    }
    // Once it is known it is a row of the table, and stays one.
    EXPECT_EQ(stage->json("looker", {"check", kFile}).status, 75);
    EXPECT_EQ(stage->json("looker", {"acquire", kFile}).status, 75);
    expect_refused_everywhere(*stage, foreign.holder, foreign.held, foreign.tool + " by hand");
    for (const auto& [path, text] : foreign.files) {
      EXPECT_EQ(stage::read_text(path), text) << "another's lock was changed";
    }
    std::filesystem::remove_all(foreign.remove);
    expect_free_everywhere(*stage, foreign.tool + " by hand");
  }
}

// Tools that do not look, or call it by another name, take what ours holds: our holder is told
// while it runs, and it is on record.
TEST(Matrix, L10_what_another_tool_takes_although_ours_holds_it_is_recorded_and_told) {
  const auto stage = make_stage();
  for (Foreign foreign : foreign_locks(*stage)) {
    if (foreign.tool == "coordmcp, the project's file") continue;  // ours stands in it by that name
    if (foreign.tool == "mkdir") {
      foreign.remove = spec_folder(*stage) + "/.locks/files/.__src__a.py";  // ./src/a.py
      foreign.files = {{foreign.remove + "/owner", "agent: outsider\n"}};
    }
    SCOPED_TRACE(foreign.tool);
    const std::string stop = stage->path("stop"), began = stage->path("began");
    for (const std::string& file : {stop, began}) std::filesystem::remove(file);  // of the guard's
    const std::string wait =
        "echo > '" + began + "'; while [ ! -e '" + stop + "' ]; do sleep 0.05; done";
    stage::Process runs = stage->start("runner", {"run", kFile, "--", "sh", "-c", wait});
    ASSERT_TRUE(stage::eventually([&] { return stage::exists(began); })) << runs.err();
    for (const auto& [path, text] : foreign.files) {
      std::filesystem::create_directories(std::filesystem::path(path).parent_path());
      stage::write_text(path, text);
    }
    EXPECT_TRUE(stage::eventually([&] {
      for (const Json& event : stage->json("", {"log", "--agent", "runner"}).lines()) {
        const std::string reason = event.value("reason", Json()).dump();
        if (event["event"] == "foreign_conflict" &&
            reason.find(foreign.remove) != std::string::npos) {
          return true;
        }
      }
      return false;
    })) << "not on record";
    EXPECT_TRUE(stage::eventually([&] {
      return runs.err().find("foreign_conflict") != std::string::npos;
    })) << "not told: "
        << runs.err();
    stage::write_text(stop, "");
    EXPECT_EQ(runs.wait(), 0) << runs.err();
    std::filesystem::remove_all(foreign.remove);
    expect_free_everywhere(*stage, foreign.tool);
  }
}

// What is known of a lock file is spared a look before the grant, never the one after it.
TEST(Matrix, I1_a_lock_file_rewritten_in_place_is_seen_by_the_next_acquire) {
  Stage stage;
  stage.file(kFile);
  const std::string locks = stage.path("out/locks");
  std::filesystem::create_directories(locks);
  stage.expect(0, "ann", {"layout", "add", "workflow", stage.path("out")});
  const auto write = [&](const std::string& file) {
    stage::write_text(locks + "/outsider.lock",
                      R"({"agent": "outsider", "locked_at": "2026-01-17T15:30:00Z", "files": [")" +
                          file + R"("], "expires_at": "2126-01-17T16:30:00Z"})");
    const auto hour_ago = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
    std::filesystem::last_write_time(locks + "/outsider.lock", hour_ago);
  };
  write("src/b.py");
  stage.expect(0, "ann", {"acquire", kFile});  // reads it, and keeps what it looked like
  stage.expect(0, "ann", {"release", kFile});
  write("src/a.py.bak");
  stage.expect(0, "ann", {"acquire", kFile});
  stage.expect(0, "ann", {"release", kFile});
  write(kFile);
  const Json refusal = stage.expect(75, "ann", {"acquire", kFile}).json();
  EXPECT_EQ(refusal["conflicts"][0]["agent"], "outsider") << refusal;
  EXPECT_EQ(refusal["conflicts"][0]["held"], kFile) << refusal;
  EXPECT_EQ(files_below(locks).size(), 1U) << "something of ours is left";
  write("src/c.py");
  stage.expect(0, "ann", {"acquire", kFile});
}

}  // namespace
}  // namespace lockkeeper::interop
