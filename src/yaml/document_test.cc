#include "yaml/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockkeeper::yaml {
namespace {

using testing::HasSubstr;

Node must_parse(std::string_view text) {
  auto parsed = parse_document(text);
  EXPECT_TRUE(parsed.has_value()) << text << ": " << (parsed ? "" : parsed.error().message);
  return parsed ? *std::move(parsed) : Node();
}

// "LINE:COLUMN message" of what is refused.
std::string why_not(std::string_view text, DocumentLimits limits = {}) {
  const auto parsed = parse_document(text, limits);
  if (parsed) return "accepted";
  const ParseError& error = parsed.error();
  return std::to_string(error.place.line) + ":" + std::to_string(error.place.column) + " " +
         error.message;
}

Node::Kind kind_of(std::string_view scalar) {
  return must_parse("a: " + std::string(scalar)).find("a")->kind;
}

std::string repeated(std::string_view text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

}  // namespace

TEST(Document, EverythingHasItsPlace) {
  const Node root = must_parse("a: 1\nlist:\n  - x\n  - {k: 'v'}\n");
  EXPECT_EQ(root.place.line, 1U);
  const Node& list = *root.find("list");
  EXPECT_EQ(list.list[0].place.line, 3U);
  EXPECT_EQ(list.list[0].place.column, 5U);
  EXPECT_EQ(list.list[1].entries[0].place.column, 6U);
  EXPECT_EQ(list.list[1].find("k")->place.column, 9U);
  EXPECT_EQ(root.find("nothing"), nullptr);
}

TEST(Document, ColumnsCountCharactersNotBytes) {
  EXPECT_EQ(must_parse("[ä€😀, x]").list[1].place.column, 7U);
}

TEST(Document, ScalarsAreThoseOfTheCoreSchema) {
  for (const char* const text : {"", "~", "null", "Null", "NULL"}) {
    EXPECT_EQ(kind_of(text), Node::Kind::kNull) << text;
  }
  for (const char* const text : {"true", "True", "FALSE"}) {
    EXPECT_EQ(kind_of(text), Node::Kind::kTruth) << text;
  }
  for (const char* const text : {"0", "-7", "+5", "1.5", ".5", "1e3", "2E-4", "007"}) {
    EXPECT_EQ(kind_of(text), Node::Kind::kNumber) << text;
  }
  for (const char* const text : {"yes", "no", "on", "1.2.3", "1e", "'7'", "\"true\"", "!!str 7",
                                 "2026-01-17", "1_000", "-", "+", "."}) {
    if (std::string_view(text) == "-") continue;  // the beginning of a list
    EXPECT_EQ(kind_of(text), Node::Kind::kText) << text;
  }
}

TEST(Document, WholeNumbers) {
  const auto whole = [](std::string_view text) {
    return must_parse("[" + std::string(text) + "]").list[0].whole();
  };
  EXPECT_EQ(whole("5"), 5);
  EXPECT_EQ(whole("+5"), 5);
  EXPECT_EQ(whole("-5"), -5);
  EXPECT_EQ(whole("5.0"), 5);
  EXPECT_EQ(whole("5e2"), 500);
  EXPECT_EQ(whole("9223372036854775807"), INT64_MAX);
  for (const char* const text : {"5.5", "1e400", "1e30", "99999999999999999999", "x", "'5'"}) {
    EXPECT_EQ(whole(text), std::nullopt) << text;
  }
}

TEST(Document, EmptyOnesAreNull) {
  for (const char* const text :
       {"", "\n\n", "# only words\n", "---\n", "---\n...\n", "\xEF\xBB\xBF"}) {
    EXPECT_EQ(must_parse(text).kind, Node::Kind::kNull) << text;
  }
}

TEST(Document, JsonAndAMarkOfByteOrderAreRead) {
  EXPECT_EQ(must_parse(R"({"a": [1, "b", null, true]})").find("a")->list.size(), 4U);
  EXPECT_EQ(must_parse("\xEF\xBB\xBF"
                       "a: b\n")
                .find("a")
                ->text,
            "b");
  EXPECT_EQ(must_parse("a: b\r\nc: d\r\n").find("c")->text, "d");
}

TEST(Document, AliasesStandForWhatTheyName) {
  const Node root = must_parse("a: &x [1, 2]\nb: *x\n");
  EXPECT_EQ(root.find("b")->list.size(), 2U);
  EXPECT_EQ(root.find("b")->place.line, 2U);
}

TEST(Document, WhatIsNoTextIsRefusedWithItsLine) {
  EXPECT_EQ(why_not("a: b\nc: \xff\n"), "2:1 not UTF-8 text: this line has an invalid byte");
  EXPECT_EQ(why_not("a: \xC3"), "1:1 not UTF-8 text: this line has an invalid byte");
  EXPECT_EQ(why_not(std::string_view("a\n\0", 3)), "2:1 not text: it contains a NUL byte");
  EXPECT_THAT(why_not(std::string_view("\xFF\xFE"
                                       "a\0",
                                       4)),
              HasSubstr("not text"));
  EXPECT_THAT(why_not("a: \x01\n"), HasSubstr("not UTF-8 text: control characters"));
  EXPECT_THAT(why_not("a: \"\\0\"\n"), HasSubstr("a NUL byte in a string"));
}

TEST(Document, SyntaxErrorsHaveTheirPlace) {
  EXPECT_THAT(why_not("a: b\n  c: d\n"), HasSubstr("2:4 not YAML"));
  EXPECT_THAT(why_not("a: [1, 2\n"), HasSubstr("not YAML"));
  EXPECT_THAT(why_not("a: 'b\n"), HasSubstr("not YAML"));
  EXPECT_THAT(why_not("\tb: c\n"), HasSubstr("1:1 not YAML"));
  EXPECT_THAT(why_not("? [a]\n: b\n"), HasSubstr("1:3 a key must be a plain string"));
  EXPECT_THAT(why_not("a: b\n---\nc: d\n"), HasSubstr("2:1 a second document begins here"));
}

TEST(Document, KeysGivenTwiceAreRefused) {
  EXPECT_EQ(why_not("a: 1\nb: 2\na: 3\n"), "3:1 the key \"a\" is given twice");
  EXPECT_EQ(why_not("x: {k: 1, 'k': 2}\n"), "1:11 the key \"k\" is given twice");
  EXPECT_EQ(why_not(R"({"a":1,"\u0061":2})"), "1:8 the key \"a\" is given twice");
}

TEST(Document, TagsThatMakeObjectsAreRefused) {
  for (const char* const text :
       {"a: !!python/object:os.system [x]", "a: !!python/object/apply:os.system ['id']",
        "!!python/object/new:x {}", "a: !ruby/object:X {}", "a: !!binary aGk=", "a: !!set {b}",
        "a: !<tag:example.org,2026:x> b", "a: !include b.yaml"}) {
    EXPECT_THAT(why_not(text), HasSubstr("is not allowed: a plan is plain data")) << text;
  }
  EXPECT_EQ(must_parse("a: !!str 7").find("a")->text, "7");
  EXPECT_EQ(must_parse("!!map {a: !!seq [b]}").find("a")->list.size(), 1U);
}

TEST(Document, ABillionLaughsEndEarly) {
  std::string text = "a0: &a0 [lol]\n";
  for (int i = 1; i < 40; ++i) {
    const std::string name = "a" + std::to_string(i);
    const std::string before = "*a" + std::to_string(i - 1);
    text += name + ": &" + name + " [" + repeated(before + ", ", 9) + before + "]\n";
  }
  EXPECT_THAT(why_not(text), HasSubstr("more than 2000000 values, including aliased ones"));
}

// One long value: counting only values would let it fill the memory.
TEST(Document, ALongTextBehindManyAliasesIsRefused) {
  const std::string text =
      "a: &a " + std::string(1U << 20, 'x') + "\nb: [" + repeated("*a, ", 1'000) + "]\n";
  EXPECT_THAT(why_not(text), HasSubstr("bytes of text, including aliased values"));
}

// Each anchor keeps a copy: uncounted, 100 nested anchors keep 100 copies.
TEST(Document, AnchorsWithinAnchorsCount) {
  std::string text;
  for (int i = 0; i < 90; ++i) text += "&n" + std::to_string(i) + " [";
  text += repeated("1,", 900) + std::string(90, ']');
  EXPECT_THAT(why_not(text, {.nodes = 50'000}), HasSubstr("more than 50000 values"));
  EXPECT_EQ(why_not(text, {.nodes = 100'000}), "accepted");
}

TEST(Document, AnchorsInLoopsAreRefused) {
  EXPECT_EQ(why_not("a: &a [*a]\n"),
            "1:8 the alias \"*a\" has no anchor, or is inside its own anchor");
  EXPECT_EQ(why_not("a: &a {b: &b {c: *a}}\n"),
            "1:18 the alias \"*a\" has no anchor, or is inside its own anchor");
  EXPECT_THAT(why_not("a: *nothing\n"), HasSubstr("has no anchor"));
}

TEST(Document, DepthIsLimitedAlsoThroughAliases) {
  EXPECT_EQ(why_not(std::string(100, '[') + std::string(100, ']')), "accepted");
  EXPECT_THAT(why_not(std::string(102, '[') + std::string(102, ']')),
              HasSubstr("nested more than 100 levels deep"));
  EXPECT_THAT(why_not(std::string(200'000, '[')), HasSubstr("nested more than 100 levels deep"));
  EXPECT_THAT(why_not(repeated("- ", 200)), HasSubstr("nested more than 100 levels deep"));
  const std::string sixty = std::string(60, '[') + "1" + std::string(60, ']');
  const std::string around = std::string(60, '[') + "*a" + std::string(60, ']');
  EXPECT_THAT(why_not("a: &a " + sixty + "\nb: " + around + "\n"),
              HasSubstr("nested more than 100 levels deep"));
}

TEST(Document, SizeIsLimited) {
  EXPECT_EQ(why_not("a: b", {.bytes = 3}), "0:0 the file has 4 bytes; the limit is 3");
  EXPECT_THAT(why_not("[" + repeated("1,", 100) + "]", {.nodes = 50}),
              HasSubstr("more than 50 values"));
}

}  // namespace lockkeeper::yaml
