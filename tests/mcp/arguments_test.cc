// Every tool's arguments: missing, mistyped, hostile. Each call has one answer, which says what is
// wrong; nothing outside the repository is touched, and the server lives on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "mcp/client.h"

namespace lockkeeper::proof {
namespace {

const stage::Words kDialects = {"--dialect", "coordinator", "--dialect", "coordmcp"};

const std::vector<Json>& values() {
  static const std::vector<Json> kValues = {
      nullptr,
      true,
      0,
      -1,
      1.5,
      1e300,
      18446744073709551615ULL,
      "",
      " ",
      "x",
      "/etc/passwd",
      "../../../etc/passwd",
      "a/../../b",
      "~/x",
      std::string("a\0b", 3),
      "a\nb",
      "a\x1b[31mb",
      "\u202egnp.exe",
      "a\\b",
      "[",
      "{a,b",
      "**/**/**/**/**/**/**/*",
      "nope:x",
      "api:GET /x",
      "'; drop table leases; --",
      "$(touch /tmp/x)",
      "%s%n%x",
      std::string(5'000, 'a'),
      std::string(200'000, 'a'),
      Json::array(),
      Json::array({nullptr}),
      Json::array({1, "a"}),
      Json::array({Json::array({"a"})}),
      Json::array({"a", "a"}),
      Json::array({"../x"}),
      Json::array({""}),
      std::vector<std::string>(5'000, "b"),
      Json::object(),
      {{"a", 1}},
  };
  return kValues;
}

// What the tool must have, so that another argument is looked at at all.
Json needed(const Json& tool) {
  Json arguments = Json::object();
  for (const Json& name : tool["inputSchema"].value("required", Json::array())) {
    const Json& schema = tool["inputSchema"]["properties"][name.get<std::string>()];
    const Json type = schema.value("type", Json());
    arguments[name.get<std::string>()] = type == "array"     ? Json::array({"a"})
                                         : type == "integer" ? Json(1)
                                                             : Json("a");
  }
  return arguments;
}

class Arguments : public testing::TestWithParam<const char*> {};

TEST_P(Arguments, anything_is_answered) {
  stage::Stage stage;
  Client client(stage, {.revision = GetParam(), .agent = "alice", .words = kDialects});
  const Json list = client.ask("tools/list");
  for (const Json& tool : list["tools"]) {
    const std::string name = tool["name"].get<std::string>();
    for (const auto& [argument, schema] : tool["inputSchema"]["properties"].items()) {
      for (const Json& value : values()) {
        Json arguments = needed(tool);
        arguments[argument] = value;
        client.start_tool(name, arguments);
      }
    }
    client.settle();
    const Json unknown = client.call_tool(name, {{"no_such_argument", 1}});
    if (tool["inputSchema"].value("additionalProperties", true) == false) {
      EXPECT_TRUE(unknown.value("isError", false)) << name;
    }
  }
  client.expect_alive();
  stage.expect(0, "", {"doctor"});
}

TEST_P(Arguments, what_is_missing_is_named) {
  stage::Stage stage;
  Client client(stage, {.revision = GetParam(), .agent = "alice", .words = kDialects});
  const Json list = client.ask("tools/list");
  for (const Json& tool : list["tools"]) {
    for (const Json& name : tool["inputSchema"].value("required", Json::array())) {
      Json arguments = needed(tool);
      arguments.erase(name.get<std::string>());
      const Json answer = client.call_tool(tool["name"].get<std::string>(), arguments);
      EXPECT_TRUE(answer.value("isError", false)) << answer;
      EXPECT_THAT(answer["content"][0]["text"].get<std::string>(),
                  testing::HasSubstr(name.get<std::string>()));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Eras, Arguments, testing::Values("2025-06-18", kModern),
                         [](const auto& revision) {
                           return std::string(revision.param) == kModern ? "modern" : "legacy";
                         });

}  // namespace
}  // namespace lockkeeper::proof
