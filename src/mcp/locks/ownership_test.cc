#include "mcp/locks/ownership.h"

#include <gtest/gtest.h>

#include "mcp/locks/test_server.h"

namespace lockkeeper::mcp::locks {
namespace {

core::Owner owner_of(const Caller& caller, const Json& meta, const std::string& agent = "",
                     const std::string& session = "") {
  const auto owner = Ownership(caller).of(*test_call(meta), agent, session);
  EXPECT_TRUE(owner) << owner.error().message;
  return owner.value_or(core::Owner{});
}

const Json kCodex{{"sessionId", "c1"}, {"threadId", "c1"}, {"callId", "x"}};

TEST(Ownership, ArgumentsComeFirstThenTheEnvironment) {
  EXPECT_EQ(owner_of(named_caller(), Json::object()), (core::Owner{"main", "S"}));
  EXPECT_EQ(owner_of(named_caller(), Json::object(), "sub"), (core::Owner{"sub", "S"}));
  EXPECT_EQ(owner_of(named_caller(), Json::object(), "sub", "T"), (core::Owner{"sub", "T"}));
  EXPECT_EQ(owner_of(named_caller(), kCodex), (core::Owner{"main", "S"})) << "it is known";
}

TEST(Ownership, CodexSaysItsSessionInEveryCall) {
  Caller caller = named_caller("user", "tty/s-1");
  caller.agent_known = caller.session_known = false;
  EXPECT_EQ(owner_of(caller, kCodex), (core::Owner{"codex", "c1"}));
  EXPECT_EQ(owner_of(caller, kCodex, "sub"), (core::Owner{"sub", "c1"}));
  EXPECT_EQ(owner_of(caller, Json{{"sessionId", "c1"}, {"threadId", "t2"}}),
            (core::Owner{"codex", "c1/t2"}))
      << "a thread of its own is a subagent";
  EXPECT_EQ(owner_of(caller, Json{{"sessionId", 7}}), (core::Owner{"user", "tty/s-1"}));
  caller.agent_known = caller.agent_given = true;
  EXPECT_EQ(owner_of(caller, kCodex), (core::Owner{"user", "c1"}));
}

TEST(Ownership, StrangersMustSayWhoTheyAre) {
  Caller caller = named_caller();
  caller.strangers = true;
  const auto nobody = Ownership(caller).of(*test_call(), "", "");
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code, Code::kInvalidInput);
  EXPECT_EQ(owner_of(caller, Json::object(), "amy"), (core::Owner{"amy", "S"}));
  caller.session_known = false;
  EXPECT_EQ(owner_of(caller, kCodex), (core::Owner{"codex", "c1"}));
  caller.agent_given = true;
  EXPECT_EQ(owner_of(caller, Json::object()), (core::Owner{"main", "S"}))
      << "the server was started for one agent";
}

TEST(Ownership, NamesAreChecked) {
  const Ownership ownership{named_caller()};
  EXPECT_FALSE(ownership.of(*test_call(), "a\nb", ""));
  EXPECT_FALSE(ownership.of(*test_call(), "a", "x//y"));
  Caller caller = named_caller();
  caller.session_known = false;
  EXPECT_FALSE(Ownership(caller).of(*test_call(Json{{"sessionId", "a\nb"}}), "", ""));
}

TEST(Ownership, LookingNeedsNoName) {
  service::TestSite world;
  Caller caller = named_caller();
  caller.strangers = true;
  TestServer tools(world, {caller, {}, {"coordinator"}, "0"});
  EXPECT_NE(tools.trouble("lock_acquire", {{"resources", {"a"}}})
                .find("Next: call again with "
                      "agent"),
            std::string::npos);
  EXPECT_EQ(tools.outcome_for("amy", "a"), "granted");
  EXPECT_EQ(tools.told("lock_status", {{"resources", {"a"}}})["held"], Json({"a"}));
  EXPECT_EQ(tools.told("check_locks", Json::object())["result"].size(), 1);
}

}  // namespace
}  // namespace lockkeeper::mcp::locks
