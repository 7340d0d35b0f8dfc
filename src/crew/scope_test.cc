// Which files an agent may write, and whose a change is.
#include <gtest/gtest.h>

#include "crew/changes/changes.h"
#include "crew/changes/changes_testing.h"
#include "crew/verdict.h"

namespace lockkeeper::crew {
namespace {

std::vector<key::Resource> resources(const Words& names, const key::Rules& rules = {}) {
  std::vector<key::Resource> made;
  for (const std::string& name : names) {
    const auto parsed = key::parse(name, rules);
    EXPECT_TRUE(parsed) << name;
    made.push_back(parsed->resource);
  }
  return made;
}

WriteScope scope(const std::string& agent, const Words& writes, const Words& denies = {}) {
  return {agent, resources(writes), resources(denies), false};
}

TEST(Scope, FilesFoldersGlobsAndWhatIsDenied) {
  const WriteScope mine =
      scope("a", {"README.md", "src/api/", "docs/**/*.md", "lib"}, {"src/api/secret/", "**/x.md"});
  EXPECT_TRUE(may_write(mine, "README.md"));
  EXPECT_TRUE(may_write(mine, "src/api/v1/users.py"));
  EXPECT_TRUE(may_write(mine, "docs/a/b.md"));
  EXPECT_TRUE(may_write(mine, "lib/below")) << "a folder, written without its slash";
  EXPECT_FALSE(may_write(mine, "library"));
  EXPECT_FALSE(may_write(mine, "src/apis"));
  EXPECT_FALSE(may_write(mine, "src/api/secret/key"));
  EXPECT_FALSE(may_write(mine, "docs/x.md"));
  EXPECT_FALSE(may_write(mine, "docs/a.txt"));
  EXPECT_FALSE(may_write({}, "README.md"));
}

TEST(Scope, PatternCharactersInANameAreLetters) {
  EXPECT_FALSE(may_write(scope("a", {"app/x/page.tsx"}), "app/*/page.tsx"));
  EXPECT_TRUE(may_write(scope("a", {"app/"}), "app/[slug]/page.tsx"));
  EXPECT_TRUE(may_write(scope("a", {"./"}), "db:schema:users")) << "a file of that name";
}

TEST(Scope, KeysAreNoFiles) {
  EXPECT_FALSE(may_write(scope("a", {"api:GET /v1/users"}), "api:GET /v1/users"));
}

TEST(Scope, ANameThatIsNoResourceGoesWithItsFolder) {
  const std::string odd = "src/line\nbreak";
  EXPECT_TRUE(may_write(scope("a", {"src/"}), odd));
  EXPECT_TRUE(may_write(scope("a", {"./"}), "\xff"));
  EXPECT_FALSE(may_write(scope("a", {"lib/"}), odd));
  EXPECT_FALSE(may_write(scope("a", {"src/*.c"}), odd));
  EXPECT_FALSE(may_write(scope("a", {"src/"}, {"src/*break"}), odd)) << "nobody can tell";
}

TEST(Scope, CaseIsFoldedWhereTheRealmDoes) {
  key::Rules rules;
  rules.fold_case = true;
  const WriteScope folded{"a", resources({"Src/"}, rules), {}, true};
  EXPECT_TRUE(may_write(folded, "SRC/A.txt"));
  EXPECT_FALSE(may_write(scope("a", {"Src/"}), "SRC/A.txt"));
}

TEST(Scope, WhoseAChangeIs) {
  Attempt attempt;
  for (const char* name : {"both/d", "mine/a", "nobody/c", "theirs/b"}) {
    attempt.changes.push_back({name, Change::Kind::kAdded, false, {}});
  }
  attribute(attempt, scope("me", {"mine/", "both/"}),
            {scope("ann", {"theirs/", "both/"}), scope("bob", {})});
  ASSERT_EQ(words_of(attempt.changes), (Words{"added both/d", "added mine/a", "added nobody/c"}));
  EXPECT_FALSE(attempt.changes[0].outside);
  EXPECT_FALSE(attempt.changes[1].outside);
  EXPECT_EQ(attempt.changes[1].or_by, Words{});
  EXPECT_TRUE(attempt.changes[2].outside);
  EXPECT_EQ(attempt.changes[2].or_by, (Words{"ann", "bob"})) << "any of them may have done it";
}

}  // namespace
}  // namespace lockkeeper::crew
