// MCP as an endpoint of the hub: the same tools, through the person's door.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hub/hub_peer.h"

namespace lockkeeper::proof {
namespace {

using testing::HasSubstr;

// A client of revision 2025-11-25.
class McpClient {
 public:
  McpClient(std::uint16_t port, const std::string& token, const std::string& realm = "")
      : peer_(port, token), path_("/mcp" + (realm.empty() ? "" : "?realm=" + realm)) {
    peer_.headers["Accept"] = "application/json, text/event-stream";
    peer_.send("POST", path_,
               Json{{"jsonrpc", "2.0"},
                    {"id", 1},
                    {"method", "initialize"},
                    {"params",
                     {{"protocolVersion", "2025-11-25"},
                      {"capabilities", Json::object()},
                      {"clientInfo", {{"name", "claude-code"}, {"version", "1"}}}}}}
                   .dump());
    const auto answer = peer_.connection().answer();
    status = answer.status;
    peer_.headers["Mcp-Session-Id"] = answer.header("Mcp-Session-Id");
    peer_.headers["MCP-Protocol-Version"] = "2025-11-25";
    if (status != 200) return;
    peer_.post(path_, {{"jsonrpc", "2.0"}, {"method", "notifications/initialized"}});
  }
  // What the tool says, in whatever form it comes.
  std::string tool(const std::string& name, const Json& arguments) {
    return peer_
        .post(path_, {{"jsonrpc", "2.0"},
                      {"id", ++id_},
                      {"method", "tools/call"},
                      {"params", {{"name", name}, {"arguments", arguments}}}})
        .body;
  }
  int status = 0;

 private:
  HubPeer peer_;
  const std::string path_;
  int id_ = 1;
};

TEST(HubMcp, AgentsOfPeopleMeetInOneTable) {
  stage::Stage stage;
  const std::string alice = add_token(stage, "alice");
  const std::string bob = add_token(stage, "bob");
  const std::string reader = add_token(stage, "reader", {"--role", "read"});
  HubServer hub(stage);
  McpClient a(hub.port(), alice);
  McpClient b(hub.port(), bob);
  ASSERT_EQ(a.status, 200);
  const Json file = {{"resources", {"src/a.py"}}};
  EXPECT_THAT(a.tool("lock_acquire", file), HasSubstr("granted"));
  EXPECT_EQ(stage.list()["leases"][0]["agent"], "claude-code@alice");
  EXPECT_THAT(b.tool("lock_acquire", {{"resources", {"src/"}}, {"wait_s", 0}}),
              HasSubstr("claude-code@alice"));
  // Its own lease is its own: asked again it is renewed, and it can be given back.
  EXPECT_THAT(a.tool("lock_status", file), HasSubstr("src/a.py"));
  EXPECT_THAT(a.tool("lock_acquire", file), HasSubstr("renewed"));
  HubPeer rest(hub.port(), alice, "claude-code");
  EXPECT_EQ(rest.post("/v1/acquire", file).status, 409);  // another session
  McpClient r(hub.port(), reader);
  EXPECT_THAT(r.tool("lock_acquire", {{"resources", {"docs/"}}}), HasSubstr("role lock"));
  EXPECT_THAT(a.tool("lock_release", file), HasSubstr("src/a.py"));
  EXPECT_EQ(stage.list()["leases"].size(), 0U);
  EXPECT_EQ(McpClient(hub.port(), "wrong").status, 401);
  EXPECT_EQ(McpClient(hub.port(), alice, "other").status, 404);
}

}  // namespace
}  // namespace lockkeeper::proof
