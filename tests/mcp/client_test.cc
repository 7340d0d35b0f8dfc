// The test client against the shipped program, in every revision.
#include "mcp/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace lockkeeper::proof {
namespace {

class ClientTest : public testing::TestWithParam<const char*> {
 protected:
  ClientOptions as(const std::string& agent) const {
    return {.revision = GetParam(), .agent = agent, .session = agent + "-1"};
  }
  static std::string words(const Json& result) {
    return result["content"][0]["text"].get<std::string>();
  }

  stage::Stage stage_;
};

TEST_P(ClientTest, two_agents_meet_over_one_file) {
  Client alice(stage_, as("alice"));
  Client bob(stage_, as("bob"));
  const Json wanted{{"resources", {"src/a.py"}}, {"reason", "the parser"}};
  EXPECT_THAT(words(alice.call_tool("lock_acquire", wanted)), testing::HasSubstr("src/a.py"));
  const Json refused = bob.call_tool("lock_acquire", wanted);
  EXPECT_THAT(words(refused), testing::HasSubstr("alice"));
  EXPECT_FALSE(refused.value("isError", false));
  Json patient = wanted;
  patient["wait_s"] = 45;
  const int waiting = bob.start_tool("lock_acquire", patient, "token");
  EXPECT_TRUE(stage_.queue_grows_to(1));
  alice.call_tool("lock_release", Json::object());
  EXPECT_THAT(words(bob.wait_for(waiting)["result"]), testing::HasSubstr("Locked"));
  EXPECT_EQ(stage_.list()["leases"].size(), 1U);
}

TEST_P(ClientTest, the_cancelled_leaves_the_queue) {
  Client alice(stage_, as("alice"));
  Client bob(stage_, as("bob"));
  alice.call_tool("lock_acquire", {{"resources", {"a"}}});
  const int waiting = bob.start_tool("lock_acquire", {{"resources", {"a"}}, {"wait_s", 45}});
  EXPECT_TRUE(stage_.queue_grows_to(1));
  bob.cancel(waiting);
  EXPECT_TRUE(stage::eventually([&] { return stage_.waiters() == 0; }));
  bob.expect_alive();
}

TEST_P(ClientTest, it_ends_with_its_client_and_at_a_signal) {
  {
    Client client(stage_, as("alice"));
    EXPECT_EQ(client.finish(), 0);
  }
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    Client client(stage_, as("alice"));
    client.kill(signal);
    EXPECT_EQ(client.finish(), 0) << signal;
  }
}

TEST_P(ClientTest, what_it_cannot_do_is_an_error) {
  Client client(stage_, as("alice"));
  EXPECT_EQ(client.ask_in_vain("tools/fly")["code"], -32601);
  EXPECT_EQ(client.ask_in_vain("tools/call", {{"name", "fly"}})["code"], -32602);
  const Json mistaken = client.call_tool("lock_acquire", {{"resources", 3}});
  EXPECT_TRUE(mistaken.value("isError", false));
  client.expect_alive();
}

INSTANTIATE_TEST_SUITE_P(Revisions, ClientTest, testing::ValuesIn(kRevisions),
                         [](const auto& revision) {
                           std::string name = revision.param;
                           std::ranges::replace(name, '-', '_');
                           return "of_" + name;
                         });

}  // namespace
}  // namespace lockkeeper::proof
