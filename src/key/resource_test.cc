#include "key/resource.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "key/key_testing.h"

namespace lockkeeper::key {

namespace {

struct Row {
  std::string given;
  std::string expected;  // outcome(): canonical text, or "code: message"
};

void expect_rows(const std::vector<Row>& rows, Syntax syntax = Syntax::kAuto) {
  for (const Row& row : rows) EXPECT_EQ(outcome(row.given, {}, syntax), row.expected);
}

using Strings = std::vector<std::string>;

}  // namespace

TEST(Path, OneIdentityWhateverTheSpelling) {
  expect_rows({
      {"a/./b//c", "a/b/c"},
      {"./src/a.py", "src/a.py"},
      {"src/x/../a.py", "src/a.py"},
      {"src/", "src/"},
      {"src//", "src/"},
      {"src/.", "src/"},
      {"src/x/..", "src/"},
      {".", "./"},
      {"./", "./"},
      {"a/..", "./"},
      {"...", "..."},
      {".git/config", ".git/config"},
      {" a", " a"},
      {"-rf", "-rf"},
      {"a/b:c", "a/b:c"},
      {"]x}", "]x}"},
      {"a,b", "a,b"},
      {"caf\u0065\u0301.md", "caf\u00E9.md"},
  });
}

TEST(Path, ColonInTheFirstNameIsWrittenWithDotSlash) {
  expect_rows({
      {"./notes:today.md", "./notes:today.md"},
      {"././notes:today.md", "./notes:today.md"},
      {"x/../notes:today.md", "./notes:today.md"},
      {"./notes:a/", "./notes:a/"},
      {"./a:*", "./a:*"},
      {"Notes:today.md",
       "invalid_resource: 'Notes:today.md': the first name holds a ':' and would read as a logical "
       "key; write './Notes:today.md'"},
      {"API:GET /v1/users",
       "invalid_resource: 'API:GET /v1/users': a prefix is lowercase; write 'api:GET /v1/users'"},
      {"C:\\src\\a.py",
       "invalid_resource: 'C:\\src\\a.py': a path is relative to the realm's root and has no "
       "drive"},
  });
  EXPECT_EQ(must_parse("./notes:today.md").kind(), Kind::kFile);
  EXPECT_EQ(must_parse("./notes:today.md").literal(), Strings{"notes:today.md"});
}

TEST(Path, EveryRefusalNamesValueRuleAndCorrectedForm) {
  expect_rows({
      {"", "invalid_resource: '' is empty: a resource needs a name"},
      {"/src/a.py",
       "invalid_resource: '/src/a.py': a path is relative to the realm's root and has no '/' in "
       "front; write 'src/a.py'"},
      {"/",
       "invalid_resource: '/': a path is relative to the realm's root and has no '/' in front; "
       "write './'"},
      {"src\\a.py",
       "invalid_resource: 'src\\a.py': a path is written with '/', not '\\'; write 'src/a.py'"},
      {"src\\\\a.py",
       "invalid_resource: 'src\\\\a.py': a path is written with '/', not '\\'; write 'src//a.py'"},
      {"src/a.py ",
       "invalid_resource: 'src/a.py ': a path does not end in a blank; write 'src/a.py'"},
      {"src /", "invalid_resource: 'src /': a path does not end in a blank; write 'src/'"},
      // Found by the property below: the blank came to the end by cleaning.
      {"a /.", "invalid_resource: 'a /': a path does not end in a blank; write 'a/'"},
      {"a /x/..", "invalid_resource: 'a /': a path does not end in a blank; write 'a/'"},
      {"src/a\u3000",
       "invalid_resource: 'src/a\u3000': a path does not end in a blank; write 'src/a'"},
      {"../a",
       "invalid_resource: '../a': '..' leaves the realm's root; only what is below it can be "
       "locked"},
      {"a/../../b",
       "invalid_resource: 'a/../../b': '..' leaves the realm's root; only what is below it can be "
       "locked"},
      // Without it the name would be another file's, so that is not offered.
      {"a\nb", "invalid_resource: 'a\\x0ab': a name cannot contain a control character"},
      {std::string("a\0b", 3),
       "invalid_resource: 'a\\x00b': a name cannot contain a control character"},
      {"a\xff", "invalid_resource: 'a\\xff' is not UTF-8 text"},
  });
  EXPECT_EQ(parse("src\\a.py", {}).error().hint, "use 'src/a.py'");
}

TEST(Path, LimitsAreNamed) {
  const auto code = [](const std::string& text) {
    const auto parsed = parse(text, {});
    return parsed ? std::string() : outcome(text).substr(0, 14) + parsed.error().message;
  };
  EXPECT_EQ(code(std::string(255, 'a')), "");
  EXPECT_NE(code(std::string(256, 'a')).find("at most 255 bytes"), std::string::npos);
  EXPECT_TRUE(code(std::string(256, 'a')).starts_with("limit_exceeded"));
  EXPECT_NE(parse(std::string(256, 'a'), {}).error().hint.find("a…'"), std::string::npos);
  EXPECT_NE(code(std::string(65536, 'a')).find("at most 4096 bytes"), std::string::npos);
  std::string deep;
  while (deep.size() + 4 <= kKeyTextBytesMax) deep += "abc/";
  EXPECT_EQ(code(deep), "");
  EXPECT_TRUE(code(deep + "a").starts_with("limit_exceeded"));
  // NFC may grow the text: U+0958 becomes two code points.
  std::string grows;
  while (grows.size() + 7 <= kKeyTextBytesMax) grows += "\u0958\u0958/";
  EXPECT_TRUE(code(grows).starts_with("limit_exceeded"));
}

TEST(Path, LiteralSyntaxTakesAnyCharacter) {
  const Resource file = must_parse("app/[slug]/page.tsx", {}, Syntax::kLiteral);
  EXPECT_EQ(file.kind(), Kind::kFile);
  EXPECT_EQ(file.text(), "app/[slug]/page.tsx");
  EXPECT_EQ(file.literal(), (Strings{"app", "[slug]", "page.tsx"}));
  expect_rows({{"db:migration-slot", "./db:migration-slot"},
               {"a*b", "a*b"},
               {"{x}/", "{x}/"},
               {"a\\b",
                "invalid_resource: 'a\\b': a path is written with '/', not '\\'; "
                "write 'a/b'"}},
              Syntax::kLiteral);
}

TEST(Path, GlobSyntaxWithoutPatternIsThePlainPath) {
  EXPECT_EQ(must_parse("src/a.py", {}, Syntax::kGlob).kind(), Kind::kFile);
  EXPECT_EQ(must_parse("src/", {}, Syntax::kGlob).kind(), Kind::kFolder);
}

TEST(Path, CaseIsFoldedWhereTheRealmSaysSo) {
  Rules rules;
  rules.fold_case = true;
  EXPECT_EQ(outcome("SRC/Main.PY", rules), "src/main.py");
  EXPECT_EQ(outcome("SRC/Main.PY"), "SRC/Main.PY");
  EXPECT_EQ(outcome("SRC/*.PY", rules), "src/*.py");
  EXPECT_EQ(outcome("[A-C]x", rules), "[a-c]x");
  EXPECT_EQ(outcome("[X-b]x", rules), "[\\[-bx-z]x");
  EXPECT_EQ(outcome("[!A]x", rules), "[!a]x");
  EXPECT_EQ(outcome("J\u030C*", rules), "\u01F0*");
  EXPECT_EQ(outcome("contract:API/V1.yaml", rules), "contract:api/v1.yaml");
  EXPECT_EQ(outcome("api:GET /Users", rules), "api:GET /Users");
}

TEST(Resource, WhereItIsFiled) {
  EXPECT_EQ(must_parse("a/b").space(), "/");
  EXPECT_EQ(must_parse("./").literal(), Strings{});
  EXPECT_EQ(must_parse("src/").literal(), Strings{"src"});
  EXPECT_EQ(must_parse("src/x/*.py").literal(), (Strings{"src", "x"}));
  EXPECT_EQ(must_parse("src/\\*x/{a,b}").literal(), (Strings{"src", "*x"}));
  EXPECT_EQ(must_parse("{a,b}/c").literal(), Strings{});
  EXPECT_EQ(must_parse("flag:billing/*").literal(), Strings{"billing"});
  EXPECT_EQ(must_parse("flag:billing/*").space(), "flag");
  EXPECT_EQ(must_parse("event:user.created").literal(), (Strings{"user", "created"}));
  EXPECT_EQ(must_parse("api:GET /v1/users").literal(), Strings{"GET /v1/users"});
}

TEST(Resource, LooksLogical) {
  for (const char* yes : {"api:GET /", "db:x", "a1_-b:x", "unknown:x", "api:"}) {
    EXPECT_TRUE(looks_logical(yes)) << yes;
  }
  for (const char* no : {"./a:b", "A:b", ":b", "1a:b", "a/b:c", "a.b:c", "", "plain"}) {
    EXPECT_FALSE(looks_logical(no)) << no;
  }
}

TEST(Restore, GivesBackWhatWasParsed) {
  for (const char* text : {"src/a.py", "src/", "./", "./a:b", "src/**/*.h", "{a,b}/[!x]?", "./a:*",
                           "api:GET /v1/users", "flag:billing/*", "event:user.**",
                           "contract:openapi/*.yaml", "feature:F-1:pause", "café/é*"}) {
    const Resource made = must_parse(text);
    const auto back = restore(made.text(), made.kind());
    ASSERT_TRUE(back.has_value()) << text;
    EXPECT_EQ(*back, made);
    EXPECT_EQ(back->literal(), made.literal());
    EXPECT_EQ(back->space(), made.space());
  }
}

TEST(Restore, RefusesWhatWeNeverWrite) {
  struct Bad {
    std::string text;
    Kind kind;
  };
  const std::vector<Bad> rows = {{"", Kind::kFile},
                                 {"/a", Kind::kFile},
                                 {"a//b", Kind::kFile},
                                 {"a/../b", Kind::kFile},
                                 {"a/.", Kind::kFile},
                                 {"a/", Kind::kFile},
                                 {"a", Kind::kFolder},
                                 {"a:b", Kind::kFile},
                                 {"./a", Kind::kFile},
                                 {"./", Kind::kFile},
                                 {"a\\b", Kind::kFile},
                                 {"a\nb", Kind::kFile},
                                 {"a\xff", Kind::kFile},
                                 {"e\u0301", Kind::kFile},
                                 {"a/b", Kind::kGlob},
                                 {"a/**/**", Kind::kGlob},
                                 {"{a", Kind::kGlob},
                                 {"noprefix", Kind::kLogical},
                                 {"api:", Kind::kLogical},
                                 {"api:x*", Kind::kLogicalGlob},
                                 {"flag:a", Kind::kLogicalGlob},
                                 {"flag:A/*", Kind::kLogicalGlob},
                                 {"api:a\nb", Kind::kLogical},
                                 {std::string(5000, 'a'), Kind::kFile}};
  for (const Bad& bad : rows) {
    const auto back = restore(bad.text, bad.kind);
    ASSERT_FALSE(back.has_value()) << bad.text;
    EXPECT_EQ(back.error().code, Code::kStoreCorrupt) << bad.text;
  }
}

namespace {

// What is freed from now on is overwritten: the cache that would spare it is filled first.
void spoil_what_is_freed() {
  mallopt(M_PERTURB, 0x5A);
  std::vector<void*> blocks;
  for (std::size_t size = 16; size <= 1024; size += 16) {
    for (int i = 0; i < 8; ++i) blocks.push_back(std::malloc(size));
  }
  for (void* block : blocks) std::free(block);
}

void use_after_statics() {
  const Resource empty;
  ::_exit(empty.text().empty() && empty.kind() == Kind::kFile ? 0 : 1);
}

}  // namespace

// A process may end while another of its threads renews a lease.
TEST(ResourceDeathTest, TheEmptyOneOutlivesStatics) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process in which there is none yet
  EXPECT_EXIT(
      {
        std::atexit(use_after_statics);  // runs after the end of statics made later
        const bool made = Resource().text().empty();
        spoil_what_is_freed();
        std::exit(made ? 0 : 2);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace lockkeeper::key
