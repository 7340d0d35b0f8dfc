#include "base/strict_json.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace lockkeeper {
namespace {

using FaultKind = JsonFault::Kind;

JsonFault fault_of(std::string_view text, const JsonLimits& limits = {4, 3}) {
  const auto parsed = parse_strictly<nlohmann::json>(text, limits);
  EXPECT_FALSE(parsed.has_value()) << quote(text);
  const auto ordered = parse_strictly<Json>(text, limits);
  EXPECT_FALSE(ordered.has_value()) << quote(text);
  if (parsed || ordered) return {};
  EXPECT_EQ(parsed.error().kind, ordered.error().kind);
  EXPECT_EQ(parsed.error().why, ordered.error().why);
  EXPECT_TRUE(is_valid_utf8(parsed.error().why));
  return parsed.error();
}

TEST(StrictJson, ReadsEveryKindOfValue) {
  for (const char* text : {"1", "\"a\"", " null ", "[]", R"({"a":{"b":[{"c":1}]}})",
                           R"([{"a":1},{"a":1}])", R"({"a":1,"b":{"a":1},"c":0})"}) {
    const auto parsed = parse_strictly<Json>(text, {4, 3});
    ASSERT_TRUE(parsed.has_value()) << text << ": " << parsed.error().why;
    EXPECT_EQ(*parsed, Json::parse(text));
  }
  EXPECT_EQ(parse_strictly<Json>(R"({"b":1,"a":2})", {4})->dump(), R"({"b":1,"a":2})");
}

TEST(StrictJson, TextThatIsNotJsonSaysHowItBegins) {
  EXPECT_EQ(fault_of("\"\xff\"").kind, FaultKind::kNotUtf8);
  for (const char* text : {"", "{", "{} {}", "nul", R"("\ud800")", "1e999", "{'a':1}", "[1,]"}) {
    EXPECT_EQ(fault_of(text).kind, FaultKind::kNotJson) << text;
    EXPECT_EQ(fault_of(text).why, "it begins with " + quote(text)) << text;
  }
  EXPECT_EQ(fault_of("{" + std::string(1'000, 'x')).why,
            "it begins with " + quote("{" + std::string(1'000, 'x'), 40));
}

// The parser takes a NUL for the end of its text.
TEST(StrictJson, NothingHidesBehindANul) {
  const JsonFault fault = fault_of(std::string_view("{}\0 x", 5));
  EXPECT_EQ(fault.kind, FaultKind::kNotJson);
  EXPECT_EQ(fault.why, "it has a NUL byte");
}

TEST(StrictJson, NestingHasALimit) {
  EXPECT_TRUE(parse_strictly<Json>("[[{\"a\":[]}]]", {4}).has_value());
  for (const std::string& text :
       {std::string("[[[[[]]]]]"), std::string("[[[[{}]]]]"), std::string(1'000'000, '[')}) {
    const JsonFault fault = fault_of(text);
    EXPECT_EQ(fault.kind, FaultKind::kTooDeep);
    EXPECT_EQ(fault.why, "nested deeper than 4 levels");
  }
}

TEST(StrictJson, AKeyIsGivenOnce) {
  for (const char* text : {R"({"a":1,"a":1})", R"([{"b":{"a":1,"\u0061":2}}])"}) {
    const JsonFault fault = fault_of(text);
    EXPECT_EQ(fault.kind, FaultKind::kKeyTwice) << text;
    EXPECT_EQ(fault.key, "a") << text;
    EXPECT_EQ(fault.why, "the key \"a\" is given twice") << text;
  }
}

TEST(StrictJson, AnObjectHasSoManyKeys) {
  const JsonFault fault = fault_of(R"([{"a":1,"b":2,"c":3,"d":4}])");
  EXPECT_EQ(fault.kind, FaultKind::kTooManyKeys);
  EXPECT_EQ(fault.why, "an object has at most 3 keys");
  EXPECT_TRUE(parse_strictly<Json>(R"({"a":1,"b":2,"c":3,"d":4})", {4}).has_value()) << "no limit";
}

}  // namespace
}  // namespace lockkeeper
