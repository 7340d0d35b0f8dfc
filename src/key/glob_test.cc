#include "key/glob.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/quote.h"
#include "key/key_testing.h"

namespace lockkeeper::key {

namespace {

bool matches(std::string_view pattern, std::string_view name) {
  const Resource glob = must_parse(pattern);
  EXPECT_TRUE(glob.is_glob()) << pattern;
  return covers(glob, must_parse(name, {}, Syntax::kLiteral));
}

struct Row {
  std::string given;
  std::string expected;
};

}  // namespace

TEST(Glob, OneSpelling) {
  const std::vector<Row> rows = {
      {"a/**/**/b", "a/**/b"},
      {"a/**/*", "a/**"},
      {"a/*/", "a/*/**"},
      {"a/**/", "a/**"},
      {"./a//*", "a/*"},
      {"a/../b*", "b*"},
      {"[^a]x", "[!a]x"},
      {"[bab]x", "[ab]x"},
      {"[a-cb-f]x", "[a-f]x"},
      {"[]a]x", "[\\]a]x"},
      {"[a-]x", "[\\-a]x"},
      {"[!-a]", "[!\\-a]"},
      {"[a]*", "a*"},
      {"[*]x?", "\\*x?"},
      {"\\}x*", "}x*"},
      {"{a,\\,}", "{a,\\,}"},
      {"{a,b\\}}", "{a,b\\}}"},
      {"a\\,b*", "a,b*"},
      {"{a,{b,c}}", "{a,{b,c}}"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(outcome(row.given, {}, Syntax::kGlob), row.expected);
    EXPECT_EQ(outcome(row.expected, {}, Syntax::kGlob), row.expected);
  }
}

TEST(Glob, OnlyEscapesGiveThePlainName) {
  const Resource file = must_parse("app/\\[slug]/page.tsx");
  EXPECT_EQ(file.kind(), Kind::kFile);
  EXPECT_EQ(file.text(), "app/[slug]/page.tsx");
  EXPECT_EQ(file, must_parse("app/[slug]/page.tsx", {}, Syntax::kLiteral));
  EXPECT_EQ(must_parse("\\{x}/").kind(), Kind::kFolder);
  EXPECT_EQ(must_parse("[a][b]").text(), "ab");
}

TEST(Glob, AnEscapeAfterANameMayBeAWindowsPathAndWarns) {
  const auto parsed = parse("src\\*.py", {});
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->resource.text(), "src*.py");
  ASSERT_EQ(parsed->warnings.size(), 1U);
  EXPECT_TRUE(parsed->warnings.front().ends_with("write 'src/*.py'"));
  EXPECT_TRUE(parse("src\\*.py", {}, Syntax::kGlob)->warnings.empty());
  EXPECT_TRUE(parse("src/\\*.py", {})->warnings.empty());
}

TEST(Glob, TheSpellingThatARefusalOffersIsNotWarnedAbout) {
  EXPECT_EQ(parse("a{b}.txt", {}).error().hint, "use 'a\\{b}.txt'");
  for (const char* const offered : {"a\\{b}.txt", "a\\[b.txt", "x/\\{\\{name}}/a"}) {
    EXPECT_TRUE(parse(offered, {})->warnings.empty()) << offered;
  }
  EXPECT_EQ(parse("src\\{a,b}.py", {})->warnings.size(), 1U) << "src/{a,b}.py may be meant";
}

TEST(Glob, EveryRefusalNamesTheRule) {
  const std::vector<Row> rows = {
      {"a**b", "'**' stands for whole segments and has nothing beside it; write 'a*b'"},
      {"a**/b", "'**' stands for whole segments and has nothing beside it; write 'a*/b'"},
      {"x{**,a}", "'**' stands for whole segments and has nothing beside it; write 'x{*,a}'"},
      {"***", "'*' and '**' are patterns, three stars are not; write '**'"},
      {"a[b", "'[' has no ']'; for the character itself put '\\' before it; write 'a\\[b'"},
      {"a[]", "'[' has no ']'; for the character itself put '\\' before it; write 'a\\[]'"},
      {"{a,b", "'{' has no '}'; for the character itself put '\\' before it; write '\\{a,b'"},
      {"{{name}}/a",
       "braces hold at least two alternatives, as in {a,b}; for the character itself put '\\' "
       "before it; write '\\{\\{name}}/a'"},
      {"a{}",
       "braces hold at least two alternatives, as in {a,b}; for the character itself put '\\' "
       "before it; write 'a\\{}'"},
      {"[z-a]", "the range z-a runs backwards and is empty"},
      {"x[/]", "a class never matches '/' and cannot hold one"},
      {"x[[:alpha:]]",
       "the first name holds a ':' and would read as a logical key; write './x[[:alpha:]]'"},
      {"./x[[:alpha:]]",
       "named classes such as [:alpha:] are not known; write the range, as in [a-z]"},
      {"src\\x*",
       "a path is written with '/', not '\\'; in a pattern '\\' stands before a pattern "
       "character; write 'src/x*'"},
      {"*/../a", "'..' after a pattern is ambiguous; name the folder itself"},
      {"../*", "'..' leaves the realm's root; only what is below it can be locked"},
      {"{a/,b}/c", "its braces give 'a//c', in which a name is empty"},
      {"{,a}", "its braces give '', in which a name is empty"},
      {"{../a,b}", "'.' and '..' inside braces are not cleaned away; write the names"},
      // Found by the property of idempotence: sorted, the two would read as one character.
      {"[\u030Cj]", "a class holds whole characters, no combining mark on its own"},
      {"a[\u0301]", "a class holds whole characters, no combining mark on its own"},
      {"[! -\U0010FFFF]", "no name can match this pattern"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(outcome(row.given),
              "invalid_resource: '" + escaped(row.given) + "': " + row.expected);
  }
  EXPECT_EQ(outcome("/a*").substr(0, 16), "invalid_resource");
  EXPECT_EQ(outcome("a* ").substr(0, 16), "invalid_resource");
}

TEST(Glob, Matching) {
  const std::vector<Row> yes = {
      {"*", "a"},          {"*", ".hidden"},      {"?", "é"},          {"a?c", "abc"},
      {"*.py", ".py"},     {"[a-c]", "b"},        {"[!a]", "b"},       {"{a,b}c", "bc"},
      {"**/x", "x"},       {"**/x", "a/b/x"},     {"a/**", "a/b"},     {"a/**", "a/b/.c/d"},
      {"a/**/b", "a/b"},   {"a/**/b", "a/x/y/b"}, {"**", "a/b/c"},     {"{a/b,c}/d", "a/b/d"},
      {"a{/b,}/c", "a/c"}, {"a{/b,}/c", "a/b/c"}, {"{a/,b}", "a/x/y"}, {"\\*?", "*a"},
      {"{*,x}*", "abc"},   {"[\\]]?", "]a"},      {"a/*/", "a/b/c"},   {"{a,**/b}/c", "x/y/b/c"},
  };
  for (const Row& row : yes) EXPECT_TRUE(matches(row.given, row.expected)) << row.given;
  const std::vector<Row> no = {
      {"*", "a/b"},      {"?", "ab"},    {"a?c", "a/c"},         {"[!a]", "a"},
      {"a/**", "a"},     {"a/**", "ab"}, {"**/x", "ax"},         {"a/**/b", "ab"},
      {"*.py", "a.pyc"}, {"[a-c]", "d"}, {"{a,b}c", "c"},        {"a/*/", "a/b"},
      {"a[!b]c", "a/c"}, {"\\*?", "aa"}, {"?", "e\u0301\u0301"},
  };
  for (const Row& row : no) EXPECT_FALSE(matches(row.given, row.expected)) << row.given;
}

// Whatever is thrown at it, a pattern is refused by a named limit before it costs anything.
TEST(Glob, PatternsThatWouldBlowUpHitANamedLimit) {
  std::vector<std::string> bombs;
  std::string nested;
  for (int i = 0; i < 5; ++i) nested = "{" + nested + ",a}";
  bombs.push_back(nested);
  std::string product;
  for (int i = 0; i < 800; ++i) product += "{a,b}";
  bombs.push_back(product);
  std::string many = "{a";
  for (int i = 0; i < 64; ++i) many += ",b";
  bombs.push_back(many + "}");
  bombs.push_back(std::string(65536, '{'));
  bombs.push_back(std::string(65536, '*'));
  std::string long_tail = "{";
  for (int i = 0; i < 63; ++i) long_tail += std::to_string(i) + ",";
  bombs.push_back(long_tail + "x}" + std::string(200, 'a') + "*");
  for (const std::string& bomb : bombs) {
    const auto parsed = parse(bomb, {});
    ASSERT_FALSE(parsed.has_value()) << bomb;
    EXPECT_EQ(parsed.error().code, Code::kLimitExceeded) << parsed.error().message;
    EXPECT_LT(parsed.error().message.size(), 400U);
  }
}

TEST(Glob, LongHonestPatternsAreFine) {
  std::string wide = "src/components/some/long/way/down/{";
  for (int i = 0; i < 64; ++i) wide += (i == 0 ? "name" : ",name") + std::to_string(i);
  EXPECT_TRUE(parse(wide + "}.tsx", {}).has_value());
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "a*/";
  EXPECT_TRUE(parse(deep + "x", {}).has_value());
}

TEST(Glob, PathologicalPairsEndInBoundedTime) {
  std::string a;
  std::string b;
  for (int i = 0; i < 1300; ++i) {
    a += "a*";
    b += "*a";
  }
  const Resource x = must_parse(a + "b");
  const Resource y = must_parse(b + "c");
  const auto result = overlap(x, y);
  if (!result)
    EXPECT_EQ(result.error().code, Code::kLimitExceeded);
  else
    EXPECT_FALSE(result->has_value());
  EXPECT_FALSE(covers(x, y));
  EXPECT_FALSE(covers(must_parse(a), must_parse(b + "?")));
  EXPECT_FALSE(matches(a, std::string(255, 'a')));
}

}  // namespace lockkeeper::key
