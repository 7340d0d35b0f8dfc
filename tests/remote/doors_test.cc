// The other doors through a hub: hooks of coding agents, the MCP server, and TLS.
#include <gmock/gmock.h>

#include <csignal>
#include <fstream>

#include "mcp/client.h"
#include "remote/machine.h"
#include "remote/proxy.h"

namespace lockkeeper::proof {
namespace {

using stage::Answer;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class RemoteDoors : public Remote {
 protected:
  void log_in() {
    ASSERT_EQ(here_.login(url(), alice_).status, 0);
    ASSERT_EQ(there_.login(url(), bob_).status, 0);
  }
  // Claude Code is about to edit a file.
  Answer edit(Machine& machine, const std::string& session, const std::string& file) {
    Json payload = event(machine, session, "PreToolUse");
    payload["tool_name"] = "Edit";
    payload["tool_input"] = {
        {"file_path", machine.repo() + "/" + file}, {"old_string", "a"}, {"new_string", "b"}};
    payload["tool_use_id"] = session + "-1";
    return hook(machine, payload);
  }
  // It has edited the file.
  void edit_is_done(Machine& machine, const std::string& session, const std::string& file) {
    const Json call = {{"tool_name", "Edit"},
                       {"tool_input", {{"file_path", machine.repo() + "/" + file}}},
                       {"tool_use_id", session + "-1"},
                       {"tool_response", "ok"}};
    Json payload = event(machine, session, "PostToolBatch");
    payload["tool_calls"] = Json::array({call});
    EXPECT_EQ(hook(machine, payload).status, 0);
  }
  static Json event(Machine& machine, const std::string& session, const std::string& name) {
    return {{"session_id", session},
            {"transcript_path", "/t"},
            {"cwd", machine.repo()},
            {"hook_event_name", name}};
  }
  static Answer hook(Machine& machine, const Json& payload) {
    stage::Launch launch = machine.launch("", {"hook", "claude"});
    launch.in = machine.path("payload");
    stage::write_text(launch.in, payload.dump());
    return machine.finish(launch);
  }
};

TEST_F(RemoteDoors, AnEditOnOneMachineStopsThatOnAnother) {
  log_in();
  here_.file("a.c");
  there_.file("a.c");
  const std::string toml = "[realm]\nname = \"app\"\n[hook]\npolicy = \"block\"\n";
  there_.file("lockkeeper.toml", toml);
  const Answer first = edit(here_, "s1", "a.c");
  EXPECT_THAT(first.all(), Not(HasSubstr("\"deny\"")));
  EXPECT_EQ(held(), 1U);
  // Two machines have two checkouts, as two worktrees are.
  const Answer second = edit(there_, "s2", "a.c");
  EXPECT_THAT(second.out, AllOf(Not(HasSubstr("\"deny\"")), HasSubstr("claude-code@alice")));
  there_.file("lockkeeper.toml", toml + "worktrees = \"block\"\n");
  EXPECT_THAT(edit(there_, "s3", "a.c").out, HasSubstr("\"deny\""));
  EXPECT_THAT(edit(there_, "s2", "b.c").all(), Not(HasSubstr("\"deny\"")));
  EXPECT_FALSE(here_.has_table());
}

TEST_F(RemoteDoors, AnEditIsOneRoundTrip) {
  Proxy proxy(hub_->port());
  const std::string far = "http://127.0.0.1:" + std::to_string(proxy.port());
  ASSERT_EQ(here_.login(far, alice_).status, 0);
  here_.file("a.c");
  edit(here_, "s1", "a.c");  // starts the relay
  const int before = proxy.calls();
  EXPECT_THAT(edit(here_, "s1", "b.c").all(), Not(HasSubstr("\"deny\"")));
  EXPECT_EQ(held(), 2U);
  EXPECT_EQ(proxy.calls() - before, 1);
}

TEST_F(RemoteDoors, WithoutTheHubAnEditIsRefusedOrWarnedAbout) {
  log_in();
  here_.file("a.c");
  EXPECT_THAT(edit(here_, "s1", "b.c").all(), Not(HasSubstr("\"deny\"")));
  kill_hub();
  const Answer blocked = edit(here_, "s1", "a.c");
  EXPECT_THAT(blocked.out, HasSubstr("\"deny\"")) << blocked.all();
  here_.file("lockkeeper.toml", "[realm]\nname = \"app\"\n[hook]\noffline = \"warn\"\n");
  const Answer warned = edit(here_, "s1", "a.c");
  EXPECT_THAT(warned.all(), Not(HasSubstr("\"deny\"")));
  EXPECT_THAT(warned.all(), HasSubstr("cannot be reached"));
  EXPECT_FALSE(here_.has_table());
}

// What agents write is kept where they write it: there has never been a table here.
TEST_F(RemoteDoors, G2_WhatAnotherAgentReplacesComesBack) {
  log_in();
  here_.file("a.c", "a\n");
  EXPECT_THAT(edit(here_, "s1", "a.c").all(), Not(HasSubstr("\"deny\"")));
  here_.file("a.c", "b\n");
  edit_is_done(here_, "s1", "a.c");
  here_.file("a.c", "overwritten\n");  // by nobody who says so
  EXPECT_THAT(edit(here_, "s1", "a.c").all(), Not(HasSubstr("\"deny\"")));
  hook(here_, event(here_, "s1", "SessionEnd"));
  const Answer lost = here_.json("", {"recover"});
  EXPECT_EQ(lost.status, 0) << lost.all();
  EXPECT_THAT(lost.out, AllOf(HasSubstr("a.c"), HasSubstr("claude-code@alice")));
  const Answer restored = here_.json("x", {"recover", "restore", "a.c"});
  EXPECT_EQ(restored.status, 0) << restored.all();
  EXPECT_EQ(stage::read_text(here_.repo() + "/a.c"), "b\n");
  EXPECT_FALSE(here_.has_table());
}

// The hub's answer says how long ago the command began, and is slow to come.
TEST_F(RemoteDoors, G2_AStashIsItsMakersThoughTheHubsAnswersAreSlow) {
  Proxy proxy(hub_->port());
  ASSERT_EQ(here_.login("http://127.0.0.1:" + std::to_string(proxy.port()), alice_).status, 0);
  here_.file("mine.c", "m\n");
  here_.git("repo", {"add", "-A"});
  here_.git("repo", {"commit", "-q", "-m", "files"});
  EXPECT_THAT(edit(here_, "s2", "mine.c").all(), Not(HasSubstr("\"deny\"")));
  here_.file("mine.c", "work\n");
  edit_is_done(here_, "s2", "mine.c");
  const auto shell = [&](const char* session, const char* moment, const char* command) {
    Json payload = event(here_, session, moment);
    payload["tool_name"] = "Bash";
    payload["tool_input"] = {{"command", command}};
    payload["tool_use_id"] = "t";
    payload["tool_response"] = "ok";
    return hook(here_, payload).out;
  };
  EXPECT_THAT(shell("s2", "PreToolUse", "git stash push"), Not(HasSubstr("\"deny\"")));
  here_.git("repo", {"stash", "push", "-q"});
  proxy.delay(400);
  shell("s2", "PostToolUse", "git stash push");
  proxy.delay(0);
  EXPECT_THAT(shell("s1", "PreToolUse", "git stash drop"), HasSubstr("\"deny\""));
}

TEST_F(RemoteDoors, TheMcpServerLocksOnTheHub) {
  log_in();
  {
    Client client(here_, {.agent = "x"});
    const Json granted = client.tool("lock_acquire", {{"resources", {"a.py"}}});
    EXPECT_EQ(granted["outcome"], "granted");
    EXPECT_EQ(there_.as("y", {"check", "a.py"}).status, 75);
  }
  EXPECT_FALSE(here_.has_table());
}

TEST_F(RemoteDoors, AWorkflowRunsUnderLocksOfTheHub) {
  log_in();
  there_.expect(0, "y", {"acquire", "src/user.ts"});
  here_.file("plan.yaml",
             "agents:\n"
             "  - {agent: one, task_description: first, directories: [src/api/],"
             " files: [src/user.ts], command: \"true\"}\n"
             "  - {agent: two, task_description: second, directories: [src/ui/],"
             " files: [src/user.ts], command: \"true\"}\n");
  stage::Process run = here_.start("x", {"workflow", "run", "plan.yaml"});
  ASSERT_TRUE(stage::eventually([&] { return waiting() >= 1 || !run.running(); }));
  EXPECT_TRUE(run.running()) << run.out() << run.err();
  there_.expect(0, "y", {"release", "--all"});
  EXPECT_EQ(run.wait(), 0) << run.out() << run.err();
  EXPECT_EQ(held(), 0U);
  EXPECT_FALSE(here_.has_table());
}

TEST_F(RemoteDoors, TlsIsCheckedByAuthorityOrFingerprint) {
  const auto run = [&](const stage::Words& words) { return home_.finish(home_.command(words)); };
  const auto made =
      run({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
           "-nodes", "-keyout", home_.path("key.pem"), "-out", home_.path("cert.pem"), "-days", "2",
           "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"});
  if (made.status != 0) GTEST_SKIP() << "openssl is not installed";
  kill_hub();
  HubServer hub(home_, {"--tls-cert", home_.path("cert.pem"), "--tls-key", home_.path("key.pem")});
  const std::string address = "https://127.0.0.1:" + std::to_string(hub.port());
  const Answer stranger = here_.login(address, alice_);
  EXPECT_EQ(stranger.json()["error"]["code"], "operation_not_permitted") << stranger.all();
  EXPECT_NE(here_.login(address, alice_, {"--fingerprint", std::string(64, 'a')}).status, 0);
  const Answer known = here_.login(address, alice_, {"--ca-file", home_.path("cert.pem")});
  ASSERT_EQ(known.status, 0) << known.all();
  here_.expect(0, "x", {"acquire", "a"});
  const auto print =
      run({"openssl", "x509", "-in", home_.path("cert.pem"), "-noout", "-fingerprint", "-sha256"});
  std::string digits = print.out.substr(print.out.find('=') + 1);
  while (digits.ends_with('\n')) digits.pop_back();
  ASSERT_EQ(there_.login(address, bob_, {"--fingerprint", digits}).status, 0);
  EXPECT_EQ(there_.as("y", {"check", "a"}).status, 75);
}

}  // namespace
}  // namespace lockkeeper::proof
