#include "realm/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "realm/settings_testing.h"

namespace lockkeeper::realm {
namespace {

using testing::HasSubstr;

class Policy : public SettingsFiles {
 protected:
  // "": allowed; else the message.
  std::string refusal(const std::string& agent, const std::string& text, std::string* hint = {}) {
    const Settings settings = loaded();
    Resolver resolver(realm, settings.key_rules(realm), {Base::kRoot, {}}, repo.env());
    const auto resource = resolver.resolve(text);
    EXPECT_TRUE(resource) << text;
    const auto allowed = check_allowed(settings, agent, resource->resource);
    if (allowed) return "";
    EXPECT_EQ(allowed.error().code, Code::kOperationNotPermitted);
    EXPECT_FALSE(allowed.error().hint.empty());
    if (hint != nullptr) *hint = allowed.error().hint;
    return allowed.error().message;
  }

  Error bad(const std::string& text) {
    shared(text);
    auto settings = load_settings(realm, repo.env());
    EXPECT_FALSE(settings.has_value()) << text;
    return settings ? Error{} : settings.error();
  }
};

TEST_F(Policy, WithoutRulesEverybodyMayLockEverything) {
  EXPECT_EQ(refusal("anybody", "src/a.py"), "");
  EXPECT_EQ(refusal("anybody", "./"), "");
}

TEST_F(Policy, AListIsAllThatItsAgentsMayLock) {
  shared(
      "[[policy]]\nagents = [\"backend-*\"]\nallow = [\"src/api/**\", \"db:schema:*\"]\n"
      "prefixes = [\"api\"]\nreason = \"its part\"\n");
  EXPECT_EQ(refusal("backend-1", "src/api/users.py"), "");
  EXPECT_EQ(refusal("backend-1", "src/api/"), "");
  EXPECT_EQ(refusal("backend-1", "src/api/**/*.py"), "");
  EXPECT_EQ(refusal("backend-1", "db:schema:users"), "");
  EXPECT_EQ(refusal("backend-1", "api:GET /v1/users"), "");
  EXPECT_EQ(refusal("frontend", "web/a.ts"), "") << "the rule is not for it";
  std::string hint;
  EXPECT_EQ(refusal("backend-1", "web/a.ts", &hint),
            "\"web/a.ts\" is not something that \"backend-1\" may lock (policy, " +
                repo.at("r/lockkeeper.toml:1") + "): \"its part\"");
  EXPECT_EQ(hint, "it may lock: src/api/**, db:schema:*, api:…");
  for (const char* const other :
       {"src/", "./", "**/*.py", "src/a*", "db:migration-slot", "flag:x", "feature:F:pause"}) {
    EXPECT_NE(refusal("backend-1", other), "") << other;
  }
}

TEST_F(Policy, AnEmptyListAllowsNothing) {
  shared("[[policy]]\nagents = [\"reviewer\"]\nallow = []\n");
  std::string hint;
  EXPECT_THAT(refusal("reviewer", "a", &hint), HasSubstr("is not something that"));
  EXPECT_THAT(hint, HasSubstr("nothing"));
  EXPECT_EQ(refusal("writer", "a"), "");
}

TEST_F(Policy, DenyMeansWhatOverlapsAndIsStrongerThanAnyList) {
  shared(
      "[[policy]]\nallow = [\"./\"]\nprefixes = [\"feature\", \"flag\"]\n"
      "[[policy]]\nagents = [\"w-?\"]\ndeny = [\"feature:*:pause\", \"src/bill/\", \"flag:b/*\"]\n"
      "reason = \"the lead does that\"\n");
  EXPECT_EQ(refusal("lead", "feature:F-1:pause"), "");
  EXPECT_EQ(refusal("w-10", "feature:F-1:pause"), "");
  EXPECT_EQ(refusal("w-1", "feature:F-1:pause"),
            "\"feature:F-1:pause\" may not be locked by \"w-1\": denied by \"feature:*:pause\" "
            "(policy, " +
                repo.at("r/lockkeeper.toml:4") + "): \"the lead does that\"");
  EXPECT_EQ(refusal("w-1", "feature:F-1:docs"), "");
  for (const char* const other :
       {"src/bill/a.py", "src/bill/", "src/", "./", "**/a.py", "flag:b/x", "flag:**"}) {
    EXPECT_THAT(refusal("w-1", other), HasSubstr("denied by")) << other;
  }
  EXPECT_EQ(refusal("w-1", "src/billing/a.py"), "");
}

TEST_F(Policy, RulesOfOneFileAddUpAndEveryFileMustAgree) {
  shared("[[policy]]\nallow = [\"src/\"]\n[[policy]]\nagents = [\"ann\"]\nallow = [\"docs/\"]\n");
  EXPECT_EQ(refusal("ann", "docs/a.md"), "");
  EXPECT_EQ(refusal("ann", "src/a.py"), "");
  EXPECT_NE(refusal("bob", "docs/a.md"), "");
  user("[[policy]]\nallow = [\"docs/\", \"web/\"]\n");
  EXPECT_EQ(refusal("ann", "docs/a.md"), "");
  EXPECT_THAT(refusal("ann", "src/a.py"), HasSubstr("config.toml:1"));
  EXPECT_THAT(refusal("ann", "web/a.ts"), HasSubstr("lockkeeper.toml:1")) << "no file lifts";
}

TEST_F(Policy, SymlinksAreReadAsARequestsAre) {
  repo.folder("r/real");
  repo.link("real", "r/link");
  shared("[[policy]]\ndeny = [\"link/\"]\n");
  EXPECT_NE(refusal("ann", "real/x"), "");
}

TEST_F(Policy, MistakesNameFileLineAndWhatIsExpected) {
  EXPECT_THAT(bad("[[policy]]\nreason = \"x\"\n").message,
              HasSubstr("lockkeeper.toml:1: policy is without a list, expected allow"));
  EXPECT_THAT(bad("[[policy]]\ndeny = [\"queue:*\"]\n").message,
              HasSubstr("lockkeeper.toml:2: policy.deny: 'queue:*': unknown prefix"));
  EXPECT_THAT(bad("[[policy]]\nallow = [\"../x\"]\n").message, HasSubstr("policy.allow: "));
  for (const char* const prefix : {"queue", "db:", "", "*", "Db", "./x"}) {
    const std::string text = "[[policy]]\nprefixes = [\"db\",\n\"" + std::string(prefix) + "\"]\n";
    EXPECT_THAT(bad(text).message, HasSubstr("lockkeeper.toml:3: policy.prefixes is \"")) << prefix;
  }
  EXPECT_THAT(bad("[[policy]]\nagents = []\ndeny = [\"a\"]\n").message,
              HasSubstr("policy.agents is an array, expected at least one name"));
  EXPECT_THAT(bad("[[policy]]\nagents = [\"\"]\ndeny = [\"a\"]\n").message,
              HasSubstr("policy.agents"));
  EXPECT_THAT(bad("[[policy]]\ndenied = [\"a\"]\n").hint, HasSubstr("policy.deny"));
  EXPECT_THAT(bad("[policy]\ndeny = [\"a\"]\n").message, HasSubstr("[[policy]]"));
  EXPECT_THAT(bad("[[policy]]\ndeny = \"a\"\n").message, HasSubstr("array of at most 256"));
  std::string many = "[[policy]]\ndeny = [";
  for (int i = 0; i < 200; ++i) many += "\"a" + std::to_string(i) + "\",";
  many += "]\n";
  EXPECT_THAT(bad(many + many).message, HasSubstr("400 patterns in this file"));
  std::string rules;
  for (int i = 0; i < 65; ++i) rules += "[[policy]]\ndeny = [\"a\"]\n";
  EXPECT_THAT(bad(rules).message, HasSubstr("at most 64 rules"));
}

TEST_F(Policy, ConfigShowHasOneRowForEach) {
  shared(
      "[[policy]]\nagents = [\"b-*\"]\nallow = [\"src/\"]\nprefixes = [\"db\"]\ndeny = [\"x\"]\n"
      "reason = \"r\"\n[[policy]]\nallow = []\n");
  const auto rows = settings_rows(loaded());
  ASSERT_GE(rows.size(), 2U);
  EXPECT_EQ(rows[rows.size() - 2].name, "policy");
  EXPECT_EQ(rows[rows.size() - 2].value,
            "agents = [\"b-*\"], allow = [\"src/\"], prefixes = [\"db\"], deny = [\"x\"], "
            "reason = \"r\"");
  EXPECT_EQ(rows.back().value, "allow = []");
  EXPECT_EQ(rows.back().origin, repo.at("r/lockkeeper.toml:7"));
}

}  // namespace
}  // namespace lockkeeper::realm
