// Waiting is not working: however many calls of a connection wait for a lock, its other calls are
// answered, and its end waits for none of them.
#include <gtest/gtest.h>

#include "mcp/client.h"

namespace lockkeeper::proof {
namespace {

constexpr int kWaits = 64;  // twice as many as calls that may be at work

class ManyWaits : public ::testing::Test {
 protected:
  // Somebody holds the file; all the others wait for it, in the same server.
  void queue_up(Client& client) {
    client.tool("lock_acquire", {{"resources", {"a.py"}}, {"agent", "holder"}});
    for (int i = 0; i < kWaits; ++i) {
      const std::string agent = "agent-" + std::to_string(i);
      waiting_.insert(client.start_tool(
          "lock_acquire", {{"resources", {"a.py"}}, {"agent", agent}, {"wait_s", 45}}));
    }
    EXPECT_TRUE(stage_.queue_grows_to(kWaits));
  }
  // Who of them has it now; they came into the queue in any order.
  int next_granted(Client& client) const {
    for (;;) {
      const Json message = client.next();
      if (message.is_null()) return -1;
      const Json id = message.value("id", Json());
      if (!id.is_number() || !waiting_.contains(id.get<int>())) continue;
      EXPECT_EQ(message["result"]["structuredContent"]["outcome"], "granted");
      return id.get<int>();
    }
  }
  static bool anybody_gave_up(const Client& client) {
    return std::ranges::any_of(client.lines(), [](const std::string& line) {
      return line.find("\"queued\"") != std::string::npos;
    });
  }

  stage::Stage stage_;
  std::set<int> waiting_;
};

TEST_F(ManyWaits, KeepNobodyFromWorking) {
  Client client(stage_, {.agent = "main", .session = "s"});
  queue_up(client);
  client.expect_alive();
  client.tool("lock_status", Json::object());
  client.tool("lock_release", {{"agent", "holder"}});
  // Had these come after the waits, the waits would have had to end first.
  EXPECT_FALSE(anybody_gave_up(client));
  EXPECT_TRUE(waiting_.contains(next_granted(client)));
}

TEST_F(ManyWaits, AreNoReasonToStay) {
  Client client(stage_, {.agent = "main", .session = "s"});
  queue_up(client);
  client.close_stdin();
  EXPECT_EQ(client.finish(), 0);
  EXPECT_FALSE(anybody_gave_up(client));
  // A server ends within three seconds. Whoever has not left the queue by then is met as dead.
  if (!stage::kSanitized) {
    EXPECT_TRUE(stage_.list()["waiters"].empty());
  }
  stage_.expect(0, "next", {"acquire", "a.py", "--wait=60s"});
  EXPECT_TRUE(stage_.list()["waiters"].empty());
}

}  // namespace
}  // namespace lockkeeper::proof
