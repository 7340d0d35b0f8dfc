#include <gtest/gtest.h>

#include <vector>

#include "key/key_testing.h"

namespace lockkeeper::key {

namespace {

struct Pair {
  const char* a;
  const char* b;
  const char* name;  // the witness, or nullptr
};

void expect_pairs(const std::vector<Pair>& pairs) {
  for (const Pair& pair : pairs) {
    const auto name = witness(pair.a, pair.b);
    if (pair.name == nullptr)
      EXPECT_FALSE(name.has_value()) << pair.a << " × " << pair.b << *name;
    else
      EXPECT_EQ(name, std::optional<std::string>(pair.name)) << pair.a << " × " << pair.b;
  }
}

bool covers_text(std::string_view outer, std::string_view inner) {
  return covers(must_parse(outer), must_parse(inner));
}

bool subsumes_text(std::string_view outer, std::string_view inner) {
  return subsumes(must_parse(outer), must_parse(inner));
}

}  // namespace

TEST(Overlap, FilesAndFolders) {
  expect_pairs({{"src/a.py", "src/a.py", "src/a.py"},
                {"src/a.py", "src/b.py", nullptr},
                {"src/", "src/a.py", "src/a.py"},
                {"src/", "src/x/y/", "src/x/y/"},
                {"src/", "srcx/a.py", nullptr},
                {"src", "src.py", nullptr},
                {"src/a", "src/ab", nullptr},
                {"./", "a", "a"},
                {"./", "./", "./"},
                {"./", "a/../x/", "x/"},
                {"./a:b/", "./a:b/c", "./a:b/c"}});
}

TEST(Overlap, NoPathIsBothFileAndFolder) {
  expect_pairs({{"foo", "foo/", "foo"},
                {"foo", "foo/a", "foo/a"},
                {"foo", "foo/a/b/", "foo/a/b/"},
                {"foo", "foo/*", "foo"},
                {"foo", "foo/a/*.h", "foo/a"},
                {"foo", "foo/**", "foo"},
                {"foo", "**/b.h", nullptr},
                {"foo", "*/b.h", nullptr},
                {"foo", "fo?/b", nullptr},
                {"foo/a/", "foo/*", nullptr},
                {"foo/", "foo/*", "foo/a"},
                {"foo/", "*", nullptr},
                {"foo/", "fo[ox]", nullptr},
                {"foo/", "fo[o]", "foo"},
                {"foo/", "**/foo", "foo/foo"}});
}

TEST(Overlap, Globs) {
  expect_pairs({{"*.py", "a*", "a.py"},
                {"*.py", "*.md", nullptr},
                {"**/*.py", "src/**", "src/a.py"},
                {"src/?.py", "src/??.py", nullptr},
                {"[a-f]*", "[f-z]*", "f"},
                {"[a-e]*", "[f-z]*", nullptr},
                {"{a,b}/x", "{b,c}/x", "b/x"},
                {"{a,b}/x", "{c,d}/x", nullptr},
                {"{a/b,c}/d", "a/*/d", "a/b/d"},
                {"a/**/z", "a/z", "a/z"},
                {"a/**", "a", "a"},
                {"**", ".", "a"},
                {"./x:*", "*y", "./x:y"},
                {"\\*a*", "?a*", "*a"},
                {"?", "[.]?", nullptr}});
}

// Where the only name in common is "." or "..", there is none.
TEST(Overlap, DotsAreNoNames) {
  expect_pairs({{"?", "{[.]*,x}", "x"},
                {"?", "[.a-][.-]", nullptr},
                {"[!a-z]", "[.x]", nullptr},
                {"[!a-z][!a-z]", "[.x][.y]", nullptr},
                {"a/[!a-z]/b", "a/[.x]/b", nullptr},
                {"[!a-z][!a-z][!a-z]", "[.x][.y][.z]", "..."}});
}

// Overlaps that other lock managers miss, or report where there is none (peers' defects 2, 3, 14).
TEST(Overlap, PeerDefects) {
  expect_pairs({{"src/*/a.py", "src/b/*", "src/b/a.py"},
                {"src/a*.py", "src/*b.py", "src/ab.py"},
                {"src/**/test_*.py", "src/api/**", "src/api/test_a.py"},
                {"src/app.py", "src/**", "src/app.py"},
                {"src/app.py", "src/*.py", "src/app.py"},
                {"src/auth/**", "src/*/token.py", "src/auth/token.py"},
                {"src/*.py", "src/a*", "src/a.py"},
                {"*/b.py", "a/*.py", "a/b.py"},
                {"src/**/x.py", "src/a/**", "src/a/x.py"},
                {"src/app.py", "src", "src/app.py"},
                // a literal folder against a wildcard in one of its ancestors
                {"src/api/", "*/api/x.py", "src/api/x.py"},
                {"src/api/", "s*/**/y", "src/api/y"},
                {"src/api/", "*/web/**", nullptr},
                // classes that were taken for plain text
                {"src/[ab].py", "src/a.py", "src/a.py"},
                {"src/[ab].py", "src/c.py", nullptr},
                {"src/[ab].py", "src/[bc].py", "src/b.py"},
                // a folder covers its children
                {"src/", "src/deep/er/x", "src/deep/er/x"},
                // only their static prefixes look alike
                {"src/*.py", "src/*.ts", nullptr},
                {"src/a/**/x.py", "src/a/**/y.py", nullptr}});
}

TEST(Overlap, LogicalKeys) {
  expect_pairs({{"api:GET /v1/users", "api:get /v1/users/", "api:GET /v1/users"},
                {"api:GET /v1", "api:GET /v1/users", nullptr},
                {"flag:billing", "flag:billing/x", nullptr},
                {"flag:billing/*", "flag:billing/x", "flag:billing/x"},
                {"flag:billing/*", "flag:billing", nullptr},
                {"flag:billing/*", "flag:billing/x/y", nullptr},
                {"flag:billing/**", "flag:billing/x/y", "flag:billing/x/y"},
                {"flag:a*", "flag:*b", "flag:ab"},
                {"flag:[!a]", "flag:[!b]", "flag:c"},
                {"event:user.*", "event:user.created", "event:user.created"},
                {"event:user.*", "event:user.created.v2", nullptr},
                {"event:user.**", "event:*.created.v2", "event:user.created.v2"},
                {"event:*", "event:a.b", nullptr},
                {"contract:openapi/*.yaml", "contract:openapi/v1.yaml", "contract:openapi/v1.yaml"},
                {"contract:openapi", "contract:openapi/v1.yaml", nullptr},
                {"contract:a", "a", nullptr},
                {"contract:x/*", "flag:x/*", nullptr},
                {"db:schema:users", "db:migration-slot", nullptr},
                {"./flag:a", "flag:a", nullptr}});
}

TEST(Overlap, CaseFoldedRealm) {
  Rules rules;
  rules.fold_case = true;
  const auto folded = [&](std::string_view a, std::string_view b) {
    return overlap(must_parse(a, rules), must_parse(b, rules))->has_value();
  };
  EXPECT_TRUE(folded("SRC/A.py", "src/a.PY"));
  EXPECT_TRUE(folded("src/[A-C].py", "SRC/b.PY"));
  EXPECT_FALSE(folded("src/[!A].py", "src/a.py"));
  EXPECT_TRUE(folded("STRA?E", "straße"));
  EXPECT_TRUE(folded("J\u030C*", "\u01F0x"));
}

TEST(Covers, FilesFoldersAndGlobs) {
  for (const auto& [outer, inner] :
       std::vector<std::pair<const char*, const char*>>{{"a", "a"},
                                                        {"a/", "a/b"},
                                                        {"a/", "a/b/"},
                                                        {"./", "a"},
                                                        {"./", "**"},
                                                        {"a/", "a/*"},
                                                        {"a/", "{a/b,a/c}/*"},
                                                        {"a/*", "a/b"},
                                                        {"a/**", "a/"},
                                                        {"a/**", "a/b/"},
                                                        {"**", "a/*"},
                                                        {"*", "[ab]"},
                                                        {"*.{c,h}", "a.[ch]"},
                                                        {"a/**/b", "a/*/b"},
                                                        {"**/*.py", "src/**/a*.py"},
                                                        {"[a-z]*", "{b,c}?"},
                                                        {"a*", "{a,ab}"},
                                                        {"flag:a/**", "flag:a/*"},
                                                        {"event:**", "event:a.b"},
                                                        {"api:GET /x", "api:GET /x"}}) {
    EXPECT_TRUE(covers_text(outer, inner)) << outer << " ⊇ " << inner;
  }
  for (const auto& [outer, inner] :
       std::vector<std::pair<const char*, const char*>>{{"a", "b"},
                                                        {"a/", "a"},
                                                        {"a", "a/"},
                                                        {"a", "a/b"},
                                                        {"a/b/", "a/"},
                                                        {"a/*", "a/"},
                                                        {"a/*", "a/b/"},
                                                        {"a/*", "a/**"},
                                                        {"*", "**"},
                                                        {"[ab]", "[abc]"},
                                                        {"a", "a*"},
                                                        {"a/", "{a,b}/*"},
                                                        {"a/", "ab/c"},
                                                        {"flag:a", "flag:a/*"},
                                                        {"flag:a/*", "flag:a"},
                                                        {"contract:**", "flag:x"}}) {
    EXPECT_FALSE(covers_text(outer, inner)) << outer << " ⊉ " << inner;
  }
}

TEST(Subsumes, IsStricterThanCoversBecauseOfTheAddition) {
  // Another may hold `a/b/c` beside `a/*`, so holding `a/*` does not answer for the file `a/b`.
  EXPECT_TRUE(covers_text("a/*", "a/b"));
  EXPECT_FALSE(subsumes_text("a/*", "a/b"));
  EXPECT_TRUE(witness("a/b", "a/b/c").has_value());
  EXPECT_FALSE(witness("a/*", "a/b/c").has_value());

  EXPECT_TRUE(subsumes_text("a/", "a/b"));
  EXPECT_TRUE(subsumes_text("a/", "a/*"));
  EXPECT_TRUE(subsumes_text("a/**", "a/b/c"));
  EXPECT_TRUE(subsumes_text("a/**", "a/"));
  EXPECT_TRUE(subsumes_text("**", "a"));
  EXPECT_TRUE(subsumes_text("flag:a/*", "flag:a/b"));
  EXPECT_FALSE(subsumes_text("a/", "a"));
  EXPECT_FALSE(subsumes_text("a/**", "a"));
  EXPECT_FALSE(subsumes_text("a/**/b", "a/x/b"));
  EXPECT_FALSE(subsumes_text("*/**", "a/b"));
}

}  // namespace lockkeeper::key
