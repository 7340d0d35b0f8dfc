#include "mcp/catalogue.h"

#include <gtest/gtest.h>

namespace lockkeeper::mcp {
namespace {

const Json kSchema = Json::parse(R"({"type":"object","properties":{
  "names":{"type":"array","items":{"type":"string"},"minItems":1},
  "pair":{"type":"array","items":{"type":"integer"},"minItems":2},
  "mode":{"type":"string","enum":["a","b"]},
  "wait":{"type":"integer","minimum":0,"maximum":45},
  "flag":{"type":"boolean"}},"required":["names"],"additionalProperties":false})");

std::string wrong(const std::string& arguments) {
  return wrong_arguments(kSchema, Json::parse(arguments));
}

TEST(WrongArguments, GoodOnesPass) {
  EXPECT_EQ(wrong(R"({"names":["x"],"mode":"a","wait":45,"flag":true,"pair":[1,2]})"), "");
  EXPECT_EQ(wrong(R"({"names":["x"],"wait":45.0})"), "");
}

TEST(WrongArguments, EachRuleHasItsSentence) {
  EXPECT_EQ(wrong("{}"), "the argument \"names\" is missing");
  EXPECT_EQ(wrong(R"({"names":"x"})"), "\"names\" must be an array");
  EXPECT_EQ(wrong(R"({"names":[]})"), "\"names\" must not be empty");
  EXPECT_EQ(wrong(R"({"names":["x"],"pair":[1]})"), "\"pair\" must hold at least 2");
  EXPECT_EQ(wrong(R"({"names":["x",1]})"), "each of \"names\" must be a string");
  EXPECT_EQ(wrong(R"({"names":["x"],"mode":"c"})"), "\"mode\" must be one of [\"a\",\"b\"]");
  EXPECT_EQ(wrong(R"({"names":["x"],"wait":-1})"), "\"wait\" must be at least 0");
  EXPECT_EQ(wrong(R"({"names":["x"],"wait":46})"), "\"wait\" must be at most 45");
  EXPECT_EQ(wrong(R"({"names":["x"],"wait":1.5})"), "\"wait\" must be an integer");
  EXPECT_EQ(wrong(R"({"names":["x"],"flag":1})"), "\"flag\" must be a boolean");
  EXPECT_EQ(wrong(R"({"name":["x"],"names":["x"]})"),
            "there is no argument \"name\"; did you mean \"names\"?");
}

TEST(WrongArguments, OneOfSeveralTypes) {
  const Json schema = Json::parse(R"({"properties":{"n":{"type":["integer","null"]}}})");
  EXPECT_EQ(wrong_arguments(schema, Json::parse(R"({"n":null})")), "");
  EXPECT_EQ(wrong_arguments(schema, Json::parse(R"({"n":5})")), "");
  EXPECT_EQ(wrong_arguments(schema, Json::parse(R"({"n":"5"})")), "\"n\" must be an integer");
}

// A whole number beyond every integer type must be refused.
TEST(WrongArguments, HugeWholeNumbersAreNoIntegers) {
  const Json schema = Json::parse(R"({"properties":{"n":{"type":"integer"}}})");
  EXPECT_EQ(wrong_arguments(schema, Json::parse(R"({"n":1e300})")), "\"n\" must be an integer");
  EXPECT_EQ(wrong_arguments(schema, Json::parse(R"({"n":-1e16})")), "\"n\" must be an integer");
}

// In JSON Schema it may be a schema.
TEST(WrongArguments, AdditionalPropertiesMayBeASchema) {
  const Json schema = Json::parse(R"({"properties":{},"additionalProperties":{"type":"string"}})");
  EXPECT_EQ(wrong_arguments(schema, Json::parse(R"({"n":"x"})")), "");
}

}  // namespace
}  // namespace lockkeeper::mcp
