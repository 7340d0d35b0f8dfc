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
  std::string status_for(const std::string& agent, const char* what) {
    const Json told = tools->told("lock_status", {{"resources", {"a"}}, {"agent", agent}});
    return told[what].empty() ? "" : told[what][0].get<std::string>();
  }
};

TEST_F(ReclaimTest, TheSameSessionHasItsLocksBack) {
  server_that_dies({{"resources", {"a"}}});
  EXPECT_EQ(tools->outcome_for("bob", "a"), "held") << "the grace lasts";
  EXPECT_EQ(tools->told("lock_status", {{"resources", {"a"}}})["mine"], Json({"a"}));
  advance(kGraceMs + 10'000);
  EXPECT_EQ(tools->outcome_for("bob", "a"), "held") << "it is bound to this process now";
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
  EXPECT_EQ(tools->outcome_for("bob", "a"), "held");
  advance(kGraceMs + 10'000);
  EXPECT_EQ(tools->outcome_for("bob", "a"), "held");
  EXPECT_EQ(tools->outcome_for("bob", "b"), "held");
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
  EXPECT_EQ(tools->outcome_for("bob", "a"), "held");  // records that its process is gone
  advance(kGraceMs + 10'000);
  const Json told = tools->told("lock_renew", Json::object());
  EXPECT_EQ(told["renewed"].size(), 0) << told;
  ASSERT_EQ(told["lost"].size(), 1) << told;
  EXPECT_EQ(tools->outcome_for("bob", "a"), "granted");
}

}  // namespace
}  // namespace lockkeeper::mcp::locks
