// The tools of other protocols: their arguments, their results.
#include "mcp/locks/dialects.h"

#include "base/fd.h"
#include "mcp/locks/test_server.h"

namespace lockkeeper::mcp::locks {
namespace {

class DialectsTest : public LockServerTest {
 protected:
  DialectsTest() {
    variables_ = {{"HOME", world.files.at("home")},
                  {"COORDMCP_DATA_DIR", world.files.at("coordmcp")},
                  {"PORT_ALLOC_BASE", "31000"}};
    world.files.folder("home");
    open();
  }
  void open() {
    world.runtime.env = realm::environment_of(variables_);
    world.runtime.layout_kinds["coordmcp"] = dialect::coordmcp::make_layout;
    tools = std::make_unique<TestServer>(
        world, LockServerOptions{caller_, {}, {"coordmcp", "coordinator"}, "0"});
  }
  // The result, which must be the same JSON in both halves.
  Json say(const std::string& tool, const Json& arguments) {
    const Json result = tools->call(tool, arguments);
    EXPECT_FALSE(result.contains("isError")) << result;
    const Json text = Json::parse(result["content"][0]["text"].get<std::string>());
    const Json& structured = result["structuredContent"];
    EXPECT_EQ(text.is_array() ? structured["result"] : structured, text);
    return text;
  }

  Caller caller_ = named_caller();
  std::map<std::string, std::string> variables_;
};

Json lock(const std::string& agent, const std::string& file) {
  return {{"agent_id", agent}, {"project_id", "p1"}, {"files", {file}}, {"reason", "JWT"}};
}

TEST_F(DialectsTest, CoordMcpLocksFiles) {
  const Json locked = say("lock_files", lock("A", "src/auth.py"));
  EXPECT_EQ(locked["success"], true);
  EXPECT_EQ(locked["locked_files"], Json({"src/auth.py"}));
  EXPECT_EQ(locked["message"], "Locked 1 file(s)");
  const Json refused = say("lock_files", lock("B", "src/auth.py"));
  EXPECT_EQ(refused["success"], false);
  EXPECT_EQ(refused["error"], "Files locked by other agents");
  EXPECT_EQ(refused["error_type"], "FileLockConflict");
  EXPECT_EQ(refused["conflicts"][0]["file"], "src/auth.py");
  EXPECT_EQ(refused["conflicts"][0]["locked_by"], "A");
  EXPECT_EQ(refused["conflicts"][0]["reason"], "JWT");
  EXPECT_EQ(tools->outcome_for("C", "src/auth.py"), "held") << "one table";
  const Json list = say("get_locked_files", {{"project_id", "p1"}});
  EXPECT_EQ(list["total_locked"], 1);
  EXPECT_EQ(list["by_agent"]["A"][0]["file_path"], "src/auth.py");
  const Json unlocked = say(
      "unlock_files", {{"agent_id", "A"}, {"project_id", "p1"}, {"files", {"src/auth.py", "x"}}});
  EXPECT_EQ(unlocked["unlocked_files"], Json({"src/auth.py"}));
  EXPECT_EQ(unlocked["not_found"], Json({"x"}));
  EXPECT_EQ(say("cleanup_stale_locks", {{"project_id", "p1"}})["success"], true);
}

TEST_F(DialectsTest, CoordMcpWaitsWhereItIsAskedTo) {
  say("lock_files", lock("A", "f"));
  Json waiting = lock("B", "f");
  waiting["wait"] = "45s";
  Json result;
  std::thread waits([&] { result = say("lock_files", waiting); });
  ASSERT_TRUE(soon([&] { return tools->waiters() == 1; }));
  say("unlock_files", {{"agent_id", "A"}, {"project_id", "p1"}, {"files", {"f"}}});
  waits.join();
  EXPECT_EQ(result["success"], true) << result;
  waiting["wait"] = "soon";
  EXPECT_EQ(say("lock_files", waiting)["error_type"], "ValidationError");
}

TEST_F(DialectsTest, CoordMcpMessages) {
  const Json sent = say("send_message", {{"from_agent_id", "A"},
                                         {"to_agent_id", "B"},
                                         {"project_id", "p1"},
                                         {"content", "done soon?"},
                                         {"related_task_id", nullptr}});
  EXPECT_EQ(sent["success"], true);
  EXPECT_TRUE(sent["message_id"].is_string());
  const Json got = say("get_messages", {{"agent_id", "B"}, {"project_id", "p1"}});
  EXPECT_EQ(got["count"], 1);
  EXPECT_EQ(got["unread_count"], 1);
  EXPECT_EQ(got["messages"][0]["content"], "done soon?");
  EXPECT_EQ(got["messages"][0]["message_type"], "update");
  EXPECT_EQ(say("get_messages", {{"agent_id", "B"}, {"limit", -5}})["success"], false);
}

TEST_F(DialectsTest, D4_AProjectsNameAWorkspaceOrNothingIsEnoughToList) {
  say("lock_files", lock("A", "src/auth.py"));
  for (const Json& arguments :
       {Json::object(), Json{{"project_name", "My App"}}, Json{{"project_id", nullptr}},
        Json{{"workspace_path", world.files.at("repo")}}}) {
    EXPECT_EQ(say("get_locked_files", arguments)["total_locked"], 1) << arguments;
    EXPECT_EQ(say("cleanup_stale_locks", arguments)["success"], true) << arguments;
  }
  const Json elsewhere = say("get_locked_files", {{"workspace_path", "/nowhere"}});
  EXPECT_EQ(elsewhere["success"], false) << "it cannot tell";
  EXPECT_NE(elsewhere["error"].get<std::string>().find("/nowhere"), std::string::npos);
}

TEST_F(DialectsTest, D4_FreeFilesAndReadMessagesOverMcp) {
  say("lock_files", lock("A", "a"));
  const Json free =
      say("get_free_files", {{"agent_id", "B"}, {"project_id", "p1"}, {"files", {"a", "b"}}});
  EXPECT_EQ(free["free_files"], Json({"b"}));
  EXPECT_EQ(free["conflicts"][0]["locked_by"], "A");
  const Json sent = say(
      "send_message",
      {{"from_agent_id", "A"}, {"to_agent_id", "B"}, {"project_id", "p1"}, {"content", "done"}});
  const Json read =
      say("mark_message_read", {{"agent_id", "B"}, {"message_id", sent["message_id"]}});
  EXPECT_EQ(read["success"], true) << read;
  EXPECT_EQ(say("get_messages", {{"agent_id", "B"}})["unread_count"], 0);
  EXPECT_EQ(say("mark_message_read",
                {{"agent_id", "C"}, {"message_id", sent["message_id"]}})["error_type"],
            "MessageNotFound");
}

// On start, and every ten minutes.
TEST_F(DialectsTest, D2_TheServerRemovesExpiredLocks) {
  say("lock_files", lock("A", "a"));  // registers the layout
  const std::string name = "coordmcp/agents/old/locked_files.json";
  const auto put = [&] {
    world.files.write(name, R"({"locks":{"x":{"file_path":"x","locked_by":"old",)"
                            R"("locked_at":"2020-01-01T00:00:00"}}})");
  };
  const auto gone = [&] {
    return read_file(world.files.at(name)).value_or("").find("old\"") == std::string::npos;
  };
  put();
  open();  // another server
  EXPECT_TRUE(soon(gone)) << "when it starts";
  put();
  advance(601'000);
  EXPECT_TRUE(soon(gone)) << "from time to time";
}

TEST_F(DialectsTest, CoordMcpRefusesByItsOwnWords) {
  Json bad = lock("A", "../../etc/passwd");
  EXPECT_EQ(say("lock_files", bad)["error_type"], "ValidationError");
  bad = lock("A", "f");
  bad["project_id"] = "../p";
  EXPECT_EQ(say("lock_files", bad)["success"], false);
  bad = lock("A", "f");
  bad["expected_duration_minutes"] = -1;
  EXPECT_EQ(say("lock_files", bad)["error_type"], "ValidationError");
}

TEST_F(DialectsTest, TheCoordinatorsLocks) {
  const Json taken = say("acquire_lock", {{"file_path", "src/a.py"}, {"reason", "x"}});
  EXPECT_EQ(taken["success"], true);
  EXPECT_EQ(taken["action"], "acquired");
  EXPECT_EQ(taken["file_path"], "src/a.py");
  EXPECT_EQ(say("acquire_lock", {{"file_path", "src/a.py"}})["action"], "refreshed");
  const Json refused = say("acquire_lock", {{"file_path", "src/a.py"}, {"agent_id", "bob"}});
  EXPECT_EQ(refused["success"], false);
  EXPECT_EQ(refused["action"], nullptr);
  EXPECT_EQ(refused["reason"], "locked_by_other");
  EXPECT_EQ(refused["locked_by"], "main");
  EXPECT_EQ(refused["lock_reason"], "x");
  EXPECT_EQ(say("acquire_lock", {{"file_path", "f"}, {"ttl_minutes", 0}})["reason"],
            "ttl_out_of_range");
  EXPECT_EQ(say("acquire_lock", {{"file_path", "mcp:x"}})["reason"], "operation_not_permitted");
  const Json locks = say("check_locks", {{"file_paths", {"src/a.py"}}});
  ASSERT_EQ(locks.size(), 1);
  EXPECT_EQ(locks[0]["locked_by"], "main");
  EXPECT_EQ(say("check_locks", {{"file_paths", nullptr}}).size(), 1);
  EXPECT_EQ(say("check_locks", {{"file_paths", Json::array()}}).size(), 1) << "D10";
  EXPECT_EQ(say("release_lock", {{"file_path", "src/a.py"}, {"agent_id", "bob"}})["reason"],
            "lock_not_found_or_not_owner");
  EXPECT_EQ(say("release_lock", {{"file_path", "src/a.py"}})["action"], "released");
  EXPECT_EQ(say("check_locks", Json::object()).size(), 0);
}

TEST_F(DialectsTest, TheCoordinatorsVariablesNameTheCaller) {
  variables_["AGENT_ID"] = "agent-1";
  variables_["SESSION_ID"] = "run-7";
  variables_["AGENT_TYPE"] = "codex";
  open();
  say("acquire_lock", {{"file_path", "a"}});
  const Json locks = say("check_locks", Json::object());
  EXPECT_EQ(locks[0]["locked_by"], "agent-1");
  EXPECT_EQ(locks[0]["session_id"], "run-7");
  EXPECT_EQ(locks[0]["agent_type"], "codex");
  caller_.agent_given = caller_.session_given = true;
  open();
  EXPECT_EQ(say("acquire_lock", {{"file_path", "a"}})["locked_by"], "agent-1") << "main asks";
}

TEST_F(DialectsTest, Ports) {
  const Json taken = say("allocate_ports", {{"session_id", "s1"}});
  EXPECT_EQ(taken["success"], true) << taken;
  EXPECT_TRUE(taken["allocation"]["db_port"].is_number());
  EXPECT_NE(taken["env_snippet"].get<std::string>().find("export AGENT_COORDINATOR_DB_PORT="),
            std::string::npos);
  EXPECT_EQ(say("allocate_ports", {{"session_id", "s1"}})["allocation"], taken["allocation"]);
  const Json all = say("ports_status", Json::object());
  ASSERT_EQ(all["allocations"].size(), 1);
  EXPECT_TRUE(all["allocations"][0].contains("remaining_ttl_minutes"));
  EXPECT_EQ(say("release_ports", {{"session_id", "s1"}})["success"], true);
  EXPECT_EQ(say("ports_status", Json::object())["allocations"].size(), 0);
  EXPECT_EQ(say("allocate_ports", {{"session_id", ""}})["success"], false);
}

TEST(Dialects, AnUnknownNameIsUsageAndNamesTheKnown) {
  EXPECT_TRUE(check_dialects({"coordmcp", "coordinator", "coordmcp"}));
  const auto wrong = check_dialects({"coordmpc"});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, Code::kUsage);
  EXPECT_NE(wrong.error().message.find("\"coordmpc\""), std::string::npos);
  EXPECT_NE(wrong.error().hint.find("coordinator"), std::string::npos);
}

}  // namespace
}  // namespace lockkeeper::mcp::locks
