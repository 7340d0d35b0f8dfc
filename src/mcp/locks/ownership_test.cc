#include "mcp/locks/ownership.h"

#include <gtest/gtest.h>

#include "mcp/locks/test_server.h"

namespace lockkeeper::mcp::locks {
namespace {

core::Owner owner_of(const Caller& caller, const Json& meta, const std::string& subagent = "") {
  const auto owner = Ownership(caller).of(*test_call(meta), subagent);
  EXPECT_TRUE(owner) << owner.error().message;
  return owner.value_or(core::Owner{});
}

std::shared_ptr<Call> call_from(const std::string& client, Visitor visitor = {}) {
  Client from;
  from.info = {{"name", client}};
  from.visitor = std::move(visitor);
  return std::make_shared<Call>(from, "tools/call", Json::object(), std::make_shared<Kept>());
}

Caller unknown_user() {
  Caller caller = named_caller("root", "tty/s-1");
  caller.agent_known = caller.session_known = false;
  return caller;
}

const Json kCodex{{"sessionId", "c1"}, {"threadId", "c1"}, {"callId", "x"}};

TEST(Ownership, M2_ASubagentIsAPartOfItsClientsSession) {
  EXPECT_EQ(owner_of(named_caller(), Json::object()), (core::Owner{"main", "S"}));
  EXPECT_EQ(owner_of(named_caller(), Json::object(), "sub"), (core::Owner{"sub", "S/sub"}));
  EXPECT_EQ(owner_of(named_caller(), Json::object(), "main"), (core::Owner{"main", "S"}))
      << "its own name";
  EXPECT_EQ(owner_of(named_caller(), Json::object(), "a/b"), (core::Owner{"a/b", "S/a%2Fb"}))
      << "not a part of a part";
  EXPECT_EQ(owner_of(named_caller(), kCodex), (core::Owner{"main", "S"})) << "it is known";
  const std::string longest(realm::kNameBytesMax, 'x');
  const core::Owner far = owner_of(named_caller("main", std::string(100, 's')), {}, longest);
  EXPECT_EQ(far.agent, longest);
  EXPECT_LE(far.session.size(), realm::kSessionBytesMax);
}

TEST(Ownership, CodexSaysItsSessionInEveryCall) {
  Caller caller = unknown_user();
  EXPECT_EQ(owner_of(caller, kCodex), (core::Owner{"codex", "c1"}));
  EXPECT_EQ(owner_of(caller, kCodex, "sub"), (core::Owner{"sub", "c1/sub"}));
  EXPECT_EQ(owner_of(caller, Json{{"sessionId", "c1"}, {"threadId", "t2"}}),
            (core::Owner{"codex", "c1/t2"}))
      << "a thread of its own is a subagent";
  EXPECT_EQ(owner_of(caller, Json{{"sessionId", 7}}), (core::Owner{"root", "tty/s-1"}));
  caller.agent_known = caller.agent_given = true;
  EXPECT_EQ(owner_of(caller, kCodex), (core::Owner{"root", "c1"}));
}

TEST(Ownership, M13_AnUnknownClientHasTheNameThatItGivesItself) {
  const auto name = [](const std::string& client) {
    return Ownership(unknown_user()).of(*call_from(client), "")->agent;
  };
  EXPECT_EQ(name("opencode"), "opencode");
  EXPECT_EQ(name("My  Client/2.0\n"), "My-Client-2.0");
  EXPECT_EQ(name("\u202eevil"), "evil");
  EXPECT_EQ(name(std::string(500, 'x')).size(), 60U);
  EXPECT_EQ(name(""), "root");
  EXPECT_EQ(name("///"), "root");
  EXPECT_EQ(Ownership(named_caller()).of(*call_from("opencode"), "")->agent, "main")
      << "the environment knows better";
}

TEST(Ownership, M4_EveryHttpClientIsAnOwnerOfItsOwn) {
  Caller caller = named_caller();
  caller.strangers = true;
  const Ownership ownership(caller);
  EXPECT_EQ(*ownership.of(*call_from("claude", {"http-1", true}), ""),
            (core::Owner{"claude", "http-1"}));
  EXPECT_EQ(*ownership.of(*call_from("claude", {"http-2", true}), "amy"),
            (core::Owner{"amy", "http-2/amy"}));
  const auto shared = ownership.of(*call_from("claude", {"http-3", false}), "");
  ASSERT_FALSE(shared) << "several clients may have this token";
  EXPECT_EQ(*ownership.of(*call_from("claude", {"http-3", false}), "amy"),
            (core::Owner{"amy", "http-3/amy"}));
}

TEST(Ownership, StrangersMustSayWhoTheyAre) {
  Caller caller = named_caller();
  caller.strangers = true;
  const auto nobody = Ownership(caller).of(*test_call(), "");
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code, Code::kInvalidInput);
  EXPECT_EQ(owner_of(caller, Json::object(), "amy"), (core::Owner{"amy", "S/amy"}));
  EXPECT_EQ(owner_of(caller, kCodex), (core::Owner{"codex", "c1"}))
      << "the server's environment says nothing about them";
  caller.agent_given = true;
  EXPECT_EQ(owner_of(caller, Json::object()), (core::Owner{"main", "S"}))
      << "the server was started for one agent";
}

// A session that was made for this run ends with it: a grace would serve nobody.
TEST(Ownership, M7_OnlyANamedSessionCanComeBack) {
  EXPECT_TRUE(Ownership(named_caller()).can_come_back({"main", "S"}));
  Caller caller = named_caller();
  caller.session_known = false;
  const Ownership made{caller};
  EXPECT_FALSE(made.can_come_back({"main", "S"}));
  EXPECT_FALSE(made.can_come_back({"sub", "S/sub"}));
  EXPECT_TRUE(made.can_come_back({"codex", "c1"})) << "the client named it";
}

TEST(Ownership, M3_NobodyNamesTheSessionOfAnother) {
  const Ownership ownership{named_caller()};
  const auto call = test_call();
  EXPECT_EQ(*ownership.named(*call, "bob", ""), (core::Owner{"bob", "S"}));
  EXPECT_EQ(*ownership.named(*call, "bob", "S"), (core::Owner{"bob", "S"}));
  EXPECT_EQ(*ownership.named(*call, "bob", "S/x"), (core::Owner{"bob", "S/x"}));
  for (const char* const other : {"T", "Sx", "S/", "T/S"}) {
    const auto refused = ownership.named(*call, "bob", other);
    ASSERT_FALSE(refused) << other;
    EXPECT_EQ(refused.error().code, Code::kInvalidInput);
  }
}

TEST(Ownership, ASessionThatOnlyAHookKnowsIsTheClientsOwn) {
  const auto call = test_call();
  Caller caller = named_caller();
  EXPECT_FALSE(Ownership(caller).may_be(*call, {"main", "T"})) << "its session has a name";
  caller.who.session = "proc-1";
  EXPECT_TRUE(Ownership(caller).may_be(*call, {"main", "T"}));
  EXPECT_TRUE(Ownership(caller).may_be(*call, {"main", "T/sub"}));
  EXPECT_FALSE(Ownership(caller).may_be(*call, {"other", "T"}));
}

TEST(Ownership, NamesAreChecked) {
  const Ownership ownership{named_caller()};
  EXPECT_FALSE(ownership.of(*test_call(), "a\nb"));
  EXPECT_FALSE(ownership.of(*test_call(), "a\u200bb"));
  Caller caller = named_caller();
  caller.session_known = false;
  EXPECT_FALSE(Ownership(caller).of(*test_call(Json{{"sessionId", "a\nb"}}), ""));
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
