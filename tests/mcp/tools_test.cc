// The lock tools over the shipped program on stdio, in both eras: what agents see of each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "mcp/client.h"

namespace lockkeeper::proof {
namespace {

using testing::HasSubstr;

class ToolsTest : public testing::TestWithParam<const char*> {
 protected:
  // A client whose environment names its session, as Claude Code's does.
  ClientOptions claude(const std::string& session) const {
    return {.revision = GetParam(), .env = {{"CLAUDE_CODE_SESSION_ID", session}}};
  }
  static Json on(const std::string& resource, const std::string& agent = "") {
    Json arguments{{"resources", {resource}}};
    if (!agent.empty()) arguments["agent"] = agent;
    return arguments;
  }
  static Json with(Json arguments, const std::string& name, Json value) {
    arguments[name] = std::move(value);
    return arguments;
  }
  static std::string words(const Json& result) {
    return result["content"][0]["text"].get<std::string>();
  }
  // Of lock_acquire; by its text, which every revision has.
  static std::string outcome(const Json& result) {
    const std::string text = words(result);
    for (const char* const word : {"Locked", "You hold", "Not locked", "Queued"}) {
      if (text.find(word) != std::string::npos) return word;
    }
    return text;
  }
  void watch(Client& client, const std::string& uri) const {
    if (GetParam() == std::string(kModern)) {
      const std::size_t before = client.notifications().size();
      client.request("subscriptions/listen",
                     {{"notifications", {{"resourceSubscriptions", {uri}}}}});
      const auto acknowledged = [](const Json& each) {
        return each["method"] == "notifications/subscriptions/acknowledged";
      };
      client.wait_for_notification(acknowledged, before);  // not an earlier one
    } else {
      client.ask("resources/subscribe", {{"uri", uri}});
    }
  }

  stage::Stage stage_;
};

INSTANTIATE_TEST_SUITE_P(Revisions, ToolsTest,
                         testing::Values(kModern, "2025-11-25", "2025-06-18", "2024-11-05"),
                         [](const auto& of) {
                           std::string name = of.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST_P(ToolsTest, I1_two_agents_of_one_connection_exclude_each_other) {
  Client client(stage_, claude("s1"));
  EXPECT_EQ(outcome(client.call_tool("lock_acquire", on("src/a.py", "amy"))), "Locked");
  const Json held = client.call_tool("lock_acquire", on("src/a.py", "bob"));
  EXPECT_EQ(outcome(held), "Not locked");
  EXPECT_FALSE(held.value("isError", false));
  EXPECT_THAT(words(held), HasSubstr("amy holds src/a.py ("));
  EXPECT_EQ(outcome(client.call_tool("lock_acquire", on("src/a.py"))), "Not locked");
  const Json lease = stage_.list()["leases"][0];
  EXPECT_EQ(lease["agent"], "amy");
  EXPECT_EQ(lease["session"], "s1/amy");
  EXPECT_EQ(lease["attached"], true);
}

TEST_P(ToolsTest, I1_two_processes_and_the_command_line_exclude_each_other) {
  Client first(stage_, claude("s1"));
  Client second(stage_, claude("s2"));
  EXPECT_EQ(outcome(first.call_tool("lock_acquire", on("a"))), "Locked");
  EXPECT_EQ(outcome(second.call_tool("lock_acquire", on("a"))), "Not locked")
      << "the same agent in another session";
  EXPECT_EQ(stage_.as("carl", {"acquire", "a"}).status, 75);
  first.call_tool("lock_release", Json::object());
  EXPECT_EQ(stage_.as("carl", {"acquire", "a"}).status, 0);
  EXPECT_THAT(words(second.call_tool("lock_status", on("a"))), HasSubstr("carl holds a"));
}

TEST_P(ToolsTest, a_wait_keeps_nobody_waiting_and_is_told_of) {
  Client client(stage_, claude("s1"));
  client.call_tool("lock_acquire", on("a", "amy"));
  const int waiting =
      client.start_tool("lock_acquire", with(on("a", "bob"), "wait_s", 45), "token");
  EXPECT_TRUE(stage_.queue_grows_to(1));
  const Json progress = client.wait_for_notification("notifications/progress");
  EXPECT_EQ(progress["params"]["progressToken"], "token");
  client.call_tool("lock_release", {{"agent", "amy"}});  // on the same connection
  EXPECT_EQ(outcome(client.wait_for(waiting)["result"]), "Locked");
}

TEST_P(ToolsTest, after_its_time_it_is_queued_and_keeps_its_place) {
  Client client(stage_, claude("s1"));
  client.call_tool("lock_acquire", on("a", "amy"));
  const Json patient = with(on("a", "bob"), "wait_s", 1);
  const std::string queued = words(client.call_tool("lock_acquire", patient));
  EXPECT_THAT(queued, HasSubstr("Queued at position 1: amy holds a ("));
  EXPECT_THAT(queued, HasSubstr("Next: call lock_acquire again"));
  const int later = client.start_tool("lock_acquire", with(on("a", "carl"), "wait_s", 45));
  EXPECT_TRUE(stage_.queue_grows_to(2));
  client.call_tool("lock_release", {{"agent", "amy"}});
  EXPECT_EQ(outcome(client.call_tool("lock_acquire", with(on("a", "bob"), "wait_s", 45))),
            "Locked");
  client.call_tool("lock_release", {{"agent", "bob"}});
  EXPECT_EQ(outcome(client.wait_for(later)["result"]), "Locked");
}

TEST_P(ToolsTest, a_deadlock_is_a_normal_answer) {
  Client client(stage_, claude("s1"));
  client.call_tool("lock_acquire", on("a", "amy"));
  client.call_tool("lock_acquire", on("b", "bob"));
  const int waiting = client.start_tool("lock_acquire", with(on("a", "bob"), "wait_s", 45));
  EXPECT_TRUE(stage_.queue_grows_to(1));
  const Json told = client.call_tool("lock_acquire", with(on("b", "amy"), "wait_s", 45));
  EXPECT_FALSE(told.value("isError", false));
  EXPECT_THAT(words(told), HasSubstr("Waiting would never end"));
  EXPECT_THAT(words(told), HasSubstr("Next: lock_release what you hold"));
  client.call_tool("lock_release", {{"agent", "amy"}});
  EXPECT_EQ(outcome(client.wait_for(waiting)["result"]), "Locked");
}

TEST_P(ToolsTest, a_server_started_again_with_the_same_session_has_its_locks_back) {
  std::string id;
  {
    Client client(stage_, claude("s1"));
    client.call_tool("lock_acquire", on("a"));
    client.call_tool("lock_acquire", on("b", "sub"));
    const Json list = stage_.list();
    for (const Json& lease : list["leases"]) {
      if (lease["agent"] != "sub") id = lease["id"];
    }
    client.kill(SIGKILL);
    client.process().wait();
  }
  EXPECT_EQ(stage_.as("carl", {"acquire", "a"}).status, 75) << "the grace lasts";
  Client again(stage_, claude("s1"));
  EXPECT_TRUE(stage::eventually([&] {
    const Json leases = stage_.list()["leases"];
    return leases.size() == 2 && leases[0]["alive"] == true && leases[1]["alive"] == true;
  })) << "without a call of the agent's";
  EXPECT_THAT(words(again.call_tool("lock_status", on("a"))), HasSubstr("Yours: a"));
  EXPECT_THAT(words(again.call_tool("lock_renew", {{"lease", id}})), HasSubstr("Renewed a"));
  EXPECT_THAT(words(again.call_tool("lock_release", {{"agent", "sub"}})), HasSubstr("Released b"));
  EXPECT_THAT(words(again.call_tool("lock_release", Json::object())), HasSubstr("Released a"));
}

TEST_P(ToolsTest, another_session_does_not_have_them) {
  {
    Client client(stage_, claude("s1"));
    client.call_tool("lock_acquire", on("a"));
    client.kill(SIGKILL);
    client.process().wait();
  }
  Client other(stage_, claude("s2"));
  const std::string held = words(other.call_tool("lock_acquire", on("a")));
  EXPECT_THAT(held, HasSubstr("its process is gone"));
  EXPECT_THAT(words(other.call_tool("lock_release", on("a"))),
              HasSubstr("claude-code (another session) holds a"));
}

TEST_P(ToolsTest, resources_tell_of_their_changes) {
  Client client(stage_, claude("s1"));
  watch(client, "lock://leases");
  watch(client, "lock://leases/src/");
  const auto told = [&](const std::string& uri, std::size_t from) {
    return client.wait_for_notification(
        [&](const Json& each) {
          return each["method"] == "notifications/resources/updated" &&
                 each["params"]["uri"] == uri;
        },
        from);
  };
  ASSERT_EQ(stage_.as("carl", {"acquire", "src/x"}).status, 0);  // another process
  told("lock://leases/src/", 0);
  told("lock://leases", 0);
  const Json read = client.ask("resources/read", {{"uri", "lock://leases/src/"}});
  EXPECT_THAT(read["contents"][0]["text"].get<std::string>(), HasSubstr("carl"));
  const std::size_t before = client.notifications().size();
  ASSERT_EQ(stage_.as("carl", {"acquire", "docs/x"}).status, 0);
  told("lock://leases", before);
  for (std::size_t i = before; i < client.notifications().size(); ++i) {
    EXPECT_NE(client.notifications()[i]["params"].value("uri", ""), "lock://leases/src/");
  }
}

TEST_P(ToolsTest, prompts_and_completion) {
  stage_.file("src/main.c");
  Client client(stage_, claude("s1"));
  client.call_tool("lock_acquire", on("src/", "amy"));
  const Json plan = client.ask(
      "prompts/get",
      {{"name", "plan_my_edits"}, {"arguments", {{"task", "t"}, {"files", "src/main.c"}}}});
  EXPECT_THAT(plan["messages"][0]["content"]["text"].get<std::string>(),
              HasSubstr("src/main.c is locked: src/: held by amy"));
  const Json values = client.ask(
      "completion/complete", {{"ref", {{"type", "ref/resource"}, {"uri", "lock://leases/{path}"}}},
                              {"argument", {{"name", "path"}, {"value", "src/m"}}}});
  EXPECT_EQ(values["completion"]["values"], Json({"src/main.c"}));
}

TEST_P(ToolsTest, hostile_arguments_are_answered_and_the_server_lives_on) {
  Client client(stage_, claude("s1"));
  const std::string huge(1 << 20, 'x');
  Json many = Json::array();
  for (int i = 0; i <= 10'000; ++i) many.push_back("f" + std::to_string(i));
  const Json bad[] = {
      on("../../etc/passwd"),
      on(std::string("a\0b", 3)),
      on(huge),
      on(""),
      {{"resources", many}},
      {{"resources", "a"}},
      {{"resources", {1, 2}}},
      {{"resources", Json::array()}},
      {{"resources", {{{"key", "a"}}}}},
      with(on("a"), "wait_s", 46),
      with(on("a"), "wait_s", -1),
      with(on("a"), "wait_s", 1e300),
      with(on("a"), "wait_s", "5"),
      with(on("a"), "mode", "both"),
      with(on("a"), "ttl", "eternity"),
      with(on("a"), "ttl", 5),
      with(on("a"), "agent", huge),
      with(on("a"), "session", "/"),
      with(on("a"), "reason", huge),
      with(on("a"), "unknown", true),
      Json::object(),
  };
  for (const Json& arguments : bad) {
    const Json result = client.call_tool("lock_acquire", arguments);
    EXPECT_TRUE(result.value("isError", false)) << arguments.dump().substr(0, 200);
    EXPECT_LT(words(result).size(), 4'000U);
  }
  EXPECT_EQ(outcome(client.call_tool("lock_acquire", on("a"))), "Locked");
}

TEST_P(ToolsTest, the_seeds_tools_by_their_own_names) {
  STAGE_IS_LOCAL("layouts");
  ClientOptions options = claude("s1");
  options.words = {"--dialect", "coordmcp", "--dialect", "coordinator"};
  options.env["COORDMCP_DATA_DIR"] = stage_.path("coordmcp");
  options.env["AGENT_ID"] = "agent-1";
  Client client(stage_, options);
  const auto say = [&](const std::string& name, const Json& arguments) {
    return Json::parse(words(client.call_tool(name, arguments)));
  };
  const Json lock{{"agent_id", "A"}, {"project_id", "p"}, {"files", {"src/a"}}, {"reason", "JWT"}};
  EXPECT_EQ(say("lock_files", lock)["message"], "Locked 1 file(s)");
  const Json refused = say("lock_files", with(lock, "agent_id", "B"));
  EXPECT_EQ(refused["error_type"], "FileLockConflict");
  EXPECT_EQ(refused["conflicts"][0]["locked_by"], "A");
  const Json denied = say("acquire_lock", {{"file_path", "src/a"}});
  EXPECT_EQ(denied["reason"], "locked_by_other");
  EXPECT_EQ(denied["locked_by"], "A");
  EXPECT_EQ(say("acquire_lock", {{"file_path", "b"}})["action"], "acquired");
  EXPECT_EQ(say("check_locks", {{"file_paths", {"b"}}})[0]["locked_by"], "agent-1");
  EXPECT_EQ(say("release_lock", {{"file_path", "b"}})["action"], "released");
  EXPECT_EQ(say("get_locked_files", {{"project_id", "p"}})["total_locked"], 1);
  EXPECT_EQ(say("unlock_files",
                {{"agent_id", "A"}, {"project_id", "p"}, {"files", {"src/a"}}})["unlocked_files"],
            Json({"src/a"}));
  EXPECT_EQ(say("ports_status", Json::object())["success"], true);
}

// docs/mcp.md, "What it costs".
TEST_P(ToolsTest, the_list_of_tools_costs_less_than_1200_tokens) {
  Client client(stage_, claude("s1"));
  const std::string list = client.ask("tools/list").dump(-1, ' ', false);
  EXPECT_LT(static_cast<double>(list.size()) / 3.2, 1'200.0) << list.size() << " bytes";
}

TEST(ToolsUsage, an_unknown_dialect_is_named) {
  stage::Stage stage;
  const stage::Answer answer = stage.json("amy", {"mcp", "--dialect", "coordmpc"});
  EXPECT_EQ(answer.status, 64);
  EXPECT_THAT(answer.all(), HasSubstr("coordmpc"));
  EXPECT_THAT(answer.all(), HasSubstr("--dialect coordinator"));
}

}  // namespace
}  // namespace lockkeeper::proof
