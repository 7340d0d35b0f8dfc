// A server that is started again, with the session that it had (rule 8).
#include "mcp/locks/reclaim.h"

#include <sys/wait.h>

#include "mcp/locks/test_server.h"

namespace lockkeeper::mcp::locks {
namespace {

constexpr std::int64_t kGraceMs = 30'000;

class ReclaimTest : public LockServerTest {
 protected:
  // Another process that locks and dies; the lease's process is gone afterwards.
  void server_that_dies(const Json& arguments, const Caller& caller = named_caller()) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      TestServer other(world, {caller, {}, {}, "0"});
      const Answer answer = other.catalogue.tool("lock_acquire")->call(*test_call(), arguments);
      const bool granted = answer.result["structuredContent"]["outcome"] == "granted";
      ::_exit(granted ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }
  // In a session of his own.
  std::string bob_asks(const std::string& resource) {
    TestServer bob(world, {named_caller("bob", "B"), {}, {}, "0"});
    return bob.outcome({{"resources", {resource}}});
  }
  // A server of strangers over HTTP, and one of its clients.
  struct OverHttp {
    explicit OverHttp(service::TestSite& world) : server(world, {strangers(), {}, {}, "0"}) {
      client.visitor = {"http-1", true};
      client.info = {{"name", "claude"}};
    }
    static Caller strangers() {
      Caller caller = named_caller();
      caller.strangers = true;
      caller.session_known = false;
      return caller;
    }
    std::shared_ptr<Call> call() const {
      return std::make_shared<Call>(client, "tools/call", Json::object(), std::make_shared<Kept>());
    }
    Client client;
    TestServer server;
  };
  std::string status_for(const std::string& agent, const char* what) {
    const Json told = tools->told("lock_status", {{"resources", {"a"}}, {"agent", agent}});
    return told[what].empty() ? "" : told[what][0].get<std::string>();
  }
};

TEST_F(ReclaimTest, TheSameSessionHasItsLocksBack) {
  server_that_dies({{"resources", {"a"}}});
  EXPECT_EQ(bob_asks("a"), "held") << "the grace lasts";
  EXPECT_EQ(tools->told("lock_status", {{"resources", {"a"}}})["mine"], Json({"a"}));
  advance(kGraceMs + 10'000);
  EXPECT_EQ(bob_asks("a"), "held") << "it is bound to this process now";
  const Json renewed = tools->told("lock_renew", Json::object());
  EXPECT_EQ(renewed["renewed"].size(), 1) << renewed;
  EXPECT_EQ(tools->told("lock_release", Json::object())["released"], Json({"a"}));
}

TEST_F(ReclaimTest, RenewTakesItBackByItsHandle) {
  server_that_dies({{"resources", {"a"}}});
  const std::string id = tools->server.reader().list({})->leases.at(0).lease.id.text();
  tools->told("lock_message", Json::object());  // before the process's end could be seen
  EXPECT_EQ(tools->told("lock_renew", {{"lease", id}})["renewed"][0]["id"], id);
}

TEST_F(ReclaimTest, TheStartOfAServerTakesBackWhatAllAgentsOfItsSessionHeld) {
  server_that_dies({{"resources", {"a"}}, {"agent", "sub"}});
  server_that_dies({{"resources", {"b"}}});
  tools->server.begin();
  EXPECT_EQ(bob_asks("a"), "held");
  advance(kGraceMs + 10'000);
  EXPECT_EQ(bob_asks("a"), "held");
  EXPECT_EQ(bob_asks("b"), "held");
  EXPECT_EQ(status_for("sub", "mine"), "a");
}

TEST_F(ReclaimTest, AnotherSessionDoesNotTakeIt) {
  server_that_dies({{"resources", {"a"}}}, named_caller("main", "T"));
  tools->server.begin();
  EXPECT_EQ(tools->outcome({{"resources", {"a"}}}), "held");
  advance(kGraceMs + 10'000);
  EXPECT_EQ(tools->outcome({{"resources", {"a"}}}), "granted") << "the grace is over";
}

TEST_F(ReclaimTest, AfterTheGraceItIsLostAndThatIsTold) {
  server_that_dies({{"resources", {"a"}}});
  EXPECT_EQ(bob_asks("a"), "held");  // records that its process is gone
  advance(kGraceMs + 10'000);
  const Json told = tools->told("lock_renew", Json::object());
  EXPECT_EQ(told["renewed"].size(), 0) << told;
  ASSERT_EQ(told["lost"].size(), 1) << told;
  EXPECT_EQ(bob_asks("a"), "granted");
}

// An HTTP client: its leases live as long as it is there.
TEST_F(ReclaimTest, M4_AClientThatIsGoneKeepsItsLocksForTheGraceOnly) {
  OverHttp http(world);
  ASSERT_EQ(http.server.outcome({{"resources", {"a"}}}, http.call()), "granted");
  http.server.server.gone("http-1", false);
  EXPECT_EQ(bob_asks("a"), "held") << "the grace has begun, though the server lives";
  http.server.server.arrived("http-1");
  advance(kGraceMs + 10'000);
  EXPECT_EQ(bob_asks("a"), "held") << "it was back in time";
  http.server.server.gone("http-1", false);
  EXPECT_EQ(bob_asks("a"), "held");
  advance(kGraceMs + 10'000);
  EXPECT_EQ(bob_asks("a"), "granted");
  const Json told = http.server.told("lock_status", Json::object(), http.call());
  EXPECT_EQ(told["lost"].size(), 1) << told;
}

TEST_F(ReclaimTest, M4_AClientThatSaysGoodbyeFreesItsLocksAtOnce) {
  OverHttp http(world);
  ASSERT_EQ(http.server.outcome({{"resources", {"a"}}}, http.call()), "granted");
  ASSERT_EQ(http.server.outcome({{"resources", {"b"}}, {"agent", "sub"}}, http.call()), "granted");
  http.client.visitor.name = "http-2";
  ASSERT_EQ(http.server.outcome({{"resources", {"c"}}}, http.call()), "granted");
  EXPECT_EQ(http.server.outcome({{"resources", {"a"}}}, http.call()), "held")
      << "the same name, another client";
  http.server.server.gone("http-1", true);
  EXPECT_EQ(bob_asks("a"), "granted");
  EXPECT_EQ(bob_asks("b"), "granted");
  EXPECT_EQ(bob_asks("c"), "held");
}

}  // namespace
}  // namespace lockkeeper::mcp::locks
