#include "guard/party.h"

#include <gtest/gtest.h>

#include "realm/test_repository.h"

namespace lockkeeper::guard {
namespace {

Party party_in(std::map<std::string, std::string> variables) {
  variables["USER"] = "ann";
  realm::IdentityRequest request;
  request.env = realm::environment_of(std::move(variables));
  request.terminal_session = []() -> Result<std::optional<std::string>> { return "7"; };
  request.client_process = []() -> Result<std::optional<std::string>> { return "8"; };
  const auto party = find_party(request);
  EXPECT_TRUE(party) << party.error().message;
  return party.value_or(Party{});
}

TEST(Party, WhoeverIsNotKnownAsAnAgentIsAPerson) {
  const Party ann = party_in({});
  EXPECT_TRUE(ann.person);
  EXPECT_TRUE(ann.has({"ann", "tty-7"}));
  EXPECT_FALSE(party_in({{"LOCKKEEPER_AGENT", "x"}}).person);
  EXPECT_FALSE(party_in({{"CLAUDECODE", "1"}}).person);
}

TEST(Party, AShellOfAClientIsItsSession) {
  const Party party = party_in({{"CLAUDE_CODE_SESSION_ID", "s1"}});
  EXPECT_EQ(party.owner, (core::Owner{"claude-code", "s1"}));
  EXPECT_TRUE(party.has({"claude-code", "s1/sub"}));
  EXPECT_FALSE(party.has({"claude-code", "s2"}));
  EXPECT_FALSE(party.has({"claude-code", "s10"}));
}

// Its hooks have the name that `run` gave, and the session of the client.
TEST(Party, AClientUnderRunIsKnownByBothSessions) {
  const Party party = party_in({{"LOCKKEEPER_AGENT", "backend"},
                                {"LOCKKEEPER_SESSION", "run/backend.1"},
                                {"CLAUDE_CODE_SESSION_ID", "s1"}});
  EXPECT_EQ(party.owner, (core::Owner{"backend", "run/backend.1"}));
  EXPECT_TRUE(party.has({"backend", "s1"}));
  EXPECT_TRUE(party.has({"backend", "s1/sub"}));
  EXPECT_TRUE(party.has({"claude-code", "s1"}));
  EXPECT_FALSE(party.has({"frontend", "run/frontend.1"}));
  EXPECT_FALSE(party.has({"backend", "s2"}));
}

}  // namespace
}  // namespace lockkeeper::guard
