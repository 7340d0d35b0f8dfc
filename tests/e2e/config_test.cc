// What lockkeeper.toml changes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/stage.h"

namespace lockkeeper::stage {
namespace {

using testing::HasSubstr;

class Config : public testing::Test {
 protected:
  void config(const std::string& text) { stage_.file("lockkeeper.toml", text); }
  Stage stage_;
};

TEST_F(Config, ProtectedPathsAreForNobodyOrForNamedAgents) {
  config(
      "[[protect]]\npaths = [\"migrations/\"]\nagents = [\"dba\"]\n"
      "[[protect]]\npaths = [\"LICENSE\"]\nreason = \"never changes\"\n");
  const Answer refused = stage_.expect(77, "ann", {"acquire", "migrations/1.sql"});
  EXPECT_EQ(refused.json()["error"]["code"], "operation_not_permitted");
  stage_.expect(0, "dba", {"acquire", "migrations/1.sql"});
  const Answer nobody = stage_.expect(77, "dba", {"acquire", "LICENSE"});
  EXPECT_THAT(nobody.out, HasSubstr("never changes"));
  stage_.expect(77, "ann", {"acquire", "./"});
  stage_.expect(77, "ann", {"run", "LICENSE", "--", "true"});
}

TEST_F(Config, TheLongestLeaseAndEndlessOnesAreLimited) {
  config("[lease]\ndefault = \"5m\"\nlongest = \"10m\"\nendless = false\n");
  EXPECT_NE(stage_.as("ann", {"acquire", "a", "--ttl", "1h"}).status, 0);
  EXPECT_NE(stage_.as("ann", {"acquire", "a", "--ttl", "none"}).status, 0);
  EXPECT_EQ(stage_.list()["leases"].size(), 0U);
  stage_.expect(0, "ann", {"acquire", "a", "--ttl", "10m"});
  EXPECT_NE(stage_.as("ann", {"renew", "a", "--ttl", "11m"}).status, 0);
  stage_.expect(0, "ann", {"acquire", "b"});
}

TEST_F(Config, AnEndlessLeaseIsAllowedUnlessForbidden) {
  const Answer answer = stage_.expect(0, "ann", {"acquire", "a", "--ttl", "none"});
  EXPECT_TRUE(answer.json()["lease"]["expires_at"].is_null());
}

TEST_F(Config, PrefixesAreAdded) {
  const Answer unknown = stage_.expect(77, "ann", {"acquire", "team:blue"});
  EXPECT_EQ(unknown.json()["error"]["code"], "operation_not_permitted");
  config("[keys]\nprefixes = [\"team\"]\n");
  stage_.expect(0, "ann", {"acquire", "team:blue"});
  stage_.expect(75, "bob", {"acquire", "team:blue"});
}

TEST_F(Config, TheQuotaOfAnAgentIsItsOwn) {
  config("[limits]\nresources_per_agent = 2\n");
  stage_.expect(0, "ann", {"acquire", "a", "b"});
  EXPECT_EQ(stage_.expect(73, "ann", {"acquire", "c"}).json()["error"]["code"], "limit_exceeded");
  stage_.expect(0, "bob", {"acquire", "c"});
}

TEST_F(Config, GarbageIsRefusedWithTheNearestKnownKeyAndNothingIsDone) {
  config("[lease]\ndefalt = \"1h\"\n");
  const Answer answer = stage_.expect(78, "ann", {"acquire", "a"});
  EXPECT_EQ(answer.json()["error"]["code"], "invalid_config");
  EXPECT_THAT(answer.json()["error"]["hint"].get<std::string>(), HasSubstr("lease.default"));
  config("[lease\n");
  stage_.expect(78, "ann", {"acquire", "a"});
  EXPECT_FALSE(exists(stage_.store() + "/data.mdb"));
}

TEST_F(Config, WhatEndsLeasesWorksWhileTheSettingsHaveAMistake) {
  stage_.expect(0, "ann", {"acquire", "a"});
  stage_.expect(0, "ann", {"acquire", "b"});
  config("[hook]\npolcy = \"warn\"\n");
  stage_.expect(0, "bob", {"break", "a", "--reason", "urgent"});
  stage_.expect(0, "ann", {"release", "b"});
  stage_.expect(0, "bob", {"purge"});
  if (!through_hub()) stage_.expect(0, "bob", {"purge", "--remove-store", "--yes"});
  stage_.expect(78, "bob", {"acquire", "a"});
}

TEST_F(Config, I5_LeasesSurviveAChangeOfDurability) {
  const Answer held = stage_.expect(0, "ann", {"acquire", "a"});
  config("[store]\ndurability = \"process\"\n");
  stage_.expect(75, "bob", {"acquire", "a"});
  const Answer next = stage_.expect(0, "bob", {"acquire", "b"});
  EXPECT_GT(next.fence(), held.fence()) << "I3";
  config("[store]\ndurability = \"full\"\n");
  stage_.expect(75, "bob", {"acquire", "a"});
  EXPECT_GT(stage_.expect(0, "bob", {"acquire", "c"}).fence(), next.fence()) << "I3";
  stage_.expect(0, "", {"doctor"});
}

TEST_F(Config, ShowSaysWhereAValueComesFrom) {
  config("[lease]\ndefault = \"5m\"\n");
  const Answer shown = stage_.as("", {"config", "show"});
  EXPECT_EQ(shown.status, 0);
  EXPECT_THAT(shown.out, HasSubstr("lockkeeper.toml"));
  EXPECT_THAT(shown.out, HasSubstr("5m"));
}

}  // namespace
}  // namespace lockkeeper::stage
