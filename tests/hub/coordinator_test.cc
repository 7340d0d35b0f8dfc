// The coordinator's HTTP API, as its own clients use it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hub/hub_peer.h"

namespace lockkeeper::proof {
namespace {

class CoordinatorHttp : public testing::Test {
 protected:
  // As its clients identify themselves.
  HubPeer peer(const std::string& token) {
    HubPeer peer(hub_->port(), "");
    peer.headers["X-API-Key"] = token;
    return peer;
  }
  static Json lock(const char* path, const char* agent) {
    return {{"file_path", path},
            {"agent_id", agent},
            {"agent_type", "claude_code"},
            {"session_id", "s1"},
            {"reason", "fix"}};
  }

  stage::Stage stage_;
  const std::string alice_ = add_token(stage_, "alice");
  const std::string bob_ = add_token(stage_, "bob");
  const std::string ops_ = add_token(stage_, "ops", {"--role", "read", "--role", "break"});
  const std::unique_ptr<HubServer> hub_ = std::make_unique<HubServer>(stage_);
};

TEST_F(CoordinatorHttp, AConflictIsAnAnswerWithSuccessFalse) {
  HubPeer a = peer(alice_);
  HubPeer b = peer(bob_);
  const HubAnswer acquired = a.post("/locks/acquire", lock("src/a.py", "agent-1"));
  EXPECT_EQ(acquired.status, 200) << acquired.body;
  EXPECT_EQ(acquired.json["success"], true);
  EXPECT_EQ(acquired.json["action"], "acquired");
  EXPECT_EQ(a.post("/locks/acquire", lock("src/a.py", "agent-1")).json["action"], "refreshed");
  const HubAnswer refused = b.post("/locks/acquire", lock("src/a.py", "agent-1"));
  EXPECT_EQ(refused.status, 200);
  EXPECT_EQ(refused.json["success"], false);
  EXPECT_EQ(refused.json["reason"], "locked_by_other");
  EXPECT_EQ(refused.json["locked_by"], "agent-1@alice");
  const HubAnswer status = b.get("/locks/status/src/a.py");
  EXPECT_EQ(status.json["locked"], true);
  EXPECT_EQ(status.json["lock"]["locked_by"], "agent-1@alice");
  EXPECT_EQ(status.json["lock"]["agent_type"], "claude_code");
  EXPECT_EQ(b.get("/locks/status/src/other.py").json["locked"], false);
  const Json release = {{"file_path", "src/a.py"}, {"agent_id", "agent-1"}};
  EXPECT_EQ(b.post("/locks/release", release).json["success"], false);
  EXPECT_EQ(a.post("/locks/release", release).json["action"], "released");
}

TEST_F(CoordinatorHttp, WhoMayNotIsForbidden) {
  HubPeer a = peer(alice_);
  ASSERT_EQ(a.post("/locks/acquire", lock("src/a.py", "agent-1")).json["success"], true);
  EXPECT_EQ(a.post("/locks/acquire", lock("src/b.py", "agent-1@bob")).status, 400);
  EXPECT_EQ(a.remove("/locks/src/a.py").status, 403);
  HubPeer ops = peer(ops_);
  EXPECT_EQ(ops.post("/locks/acquire", lock("src/b.py", "x")).status, 403);
  const HubAnswer forced = ops.remove("/locks/src/a.py");
  EXPECT_EQ(forced.json["released"], true) << forced.body;
  EXPECT_EQ(forced.json["prior_holder_agent_id"], "agent-1@alice");
  EXPECT_EQ(ops.remove("/locks/src/a.py").json["released"], false);
  EXPECT_EQ(peer("wrong").get("/locks/status/src/a.py").status, 401);
}

TEST_F(CoordinatorHttp, PortsAreTheHubsMachines) {
  HubPeer a = peer(alice_);
  HubPeer b = peer(bob_);
  const HubAnswer first = a.post("/ports/allocate", {{"session_id", "s1"}});
  EXPECT_EQ(first.json["success"], true) << first.body;
  const HubAnswer other = b.post("/ports/allocate", {{"session_id", "s1"}});
  EXPECT_NE(other.json["allocation"]["db_port"], first.json["allocation"]["db_port"]);
  EXPECT_EQ(a.post("/ports/allocate", {{"session_id", "s1"}}).json["allocation"],
            first.json["allocation"]);
  EXPECT_EQ(a.get("/ports/status").json.size(), 2U);
  EXPECT_EQ(a.post("/ports/release", {{"session_id", "s1"}}).json["success"], true);
  EXPECT_EQ(a.get("/ports/status").json.size(), 1U);
}

}  // namespace
}  // namespace lockkeeper::proof
