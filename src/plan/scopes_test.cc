#include "plan/scopes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/test_folder.h"

namespace lockkeeper::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string why_not(std::string_view text) {
  const auto parsed = parse_scopes(text);
  EXPECT_FALSE(parsed) << text;
  if (parsed) return {};
  EXPECT_EQ(parsed.error().code, Code::kInvalidInput);
  return parsed.error().message;
}

TEST(Scopes, AllFieldsAreRead) {
  const auto scopes = parse_scopes(R"({"agents":[
    {"agent":"a","files":["x","y"],"directories":["d/"],"globs":["**/*.h"],"keys":["db:users"],
     "task_description":"do it","task":"T-1","after":"b","command":"make","ttl":"1h30m"},
    {"agent":"b","files":[],"after":[],"command":["make","-j"],"ttl":"none","task":null,
     "timeout":"90s","retries":2,"priority":1}]})");
  ASSERT_TRUE(scopes) << scopes.error().message;
  ASSERT_EQ(scopes->size(), 2U);
  const ScopeEntry& a = (*scopes)[0];
  EXPECT_EQ(a.agent.text, "a");
  EXPECT_THAT(texts_of(a.files), ElementsAre("x", "y"));
  EXPECT_THAT(texts_of(a.directories), ElementsAre("d/"));
  EXPECT_THAT(texts_of(a.globs), ElementsAre("**/*.h"));
  EXPECT_THAT(texts_of(a.keys), ElementsAre("db:users"));
  EXPECT_EQ(a.task_description, "do it");
  EXPECT_EQ(a.task, "T-1");
  EXPECT_THAT(texts_of(a.after), ElementsAre("b"));
  EXPECT_EQ(a.command, (Command{{"make"}, true}));
  EXPECT_EQ(a.ttl_ms, 5'400'000);
  EXPECT_EQ((*scopes)[1].ttl_ms, kNoEnd);
  EXPECT_EQ((*scopes)[1].command, (Command{{"make", "-j"}, false}));
  EXPECT_EQ(a.minutes, std::nullopt);
  EXPECT_EQ((*scopes)[1].minutes, std::nullopt);
  EXPECT_EQ((*scopes)[1].timeout_ms, 90'000);
  EXPECT_EQ((*scopes)[1].retries, 2);
  EXPECT_EQ((*scopes)[1].priority, 1);
}

TEST(Scopes, TheListMayBeWrittenInSeveralWays) {
  for (const char* const text :
       {R"([{"agent":"a","files":["x"]}])", R"({"scopes":[{"agent":"a","files":["x"]}]})",
        R"({"agents":{"a":{"files":["x"]}}})",
        R"({"version":1,"agents":[{"agent":"a","files":["x"]}]})",
        "agents:\n  - agent: a\n    files:\n      - x\n", "agents:\n  a: {files: [x]}\n"}) {
    const auto scopes = parse_scopes(text);
    ASSERT_TRUE(scopes) << text << scopes.error().message;
    EXPECT_EQ(scopes->at(0).agent.text, "a");
    EXPECT_THAT(texts_of(scopes->at(0).files), ElementsAre("x"));
  }
}

TEST(Scopes, EscapesOfJsonAreUnderstood) {
  const auto scopes = parse_scopes(
      R"([{"agent":"a","task":"\ud83d\ude00\/\u00e9 \\ud83d\\ude00 \" \uD83D\uDE00"}])");
  ASSERT_TRUE(scopes) << scopes.error().message;
  EXPECT_EQ(scopes->at(0).task, "😀/é \\ud83d\\ude00 \" 😀");
  EXPECT_FALSE(parse_scopes(R"([{"agent":"a","task":"\ud83d"}])"));  // half a character
}

TEST(Scopes, BadInputIsNamed) {
  EXPECT_EQ(why_not(""), "the scopes are neither a list nor an object");
  EXPECT_EQ(why_not("{\"agents\":[{\"agent\":\"\xff\"}]}"),
            "line 1: not UTF-8 text: this line has an invalid byte");
  EXPECT_THAT(why_not("{\"agents\":[{\"agent\":\"a\"]}"), HasSubstr("line 1: not YAML"));
  EXPECT_EQ(why_not("7"), "the scopes are neither a list nor an object");
  EXPECT_EQ(why_not("{}"), "the scopes have neither \"agents\" nor \"scopes\"");
  EXPECT_EQ(why_not(R"({"agents":7})"), "\"agents\" is neither a list nor an object");
  EXPECT_EQ(why_not("[]"), "the scopes list no agents");
  EXPECT_EQ(why_not("[7]"), "agent 1 of the scopes is not an object");
  EXPECT_EQ(why_not("[{}]"), "agent 1 of the scopes has no \"agent\"");
  EXPECT_EQ(why_not(R"([{"agent":7}])"), "agent 1: \"agent\" is not a string");
  EXPECT_EQ(why_not(R"([{"agent":"a"},{"agent":"a"}])"),
            "the agent \"a\" is listed twice, first in line 1");
  EXPECT_EQ(why_not(R"([{"agent":"a","files":"x"}])"), "\"a\": \"files\" is not a list of strings");
  EXPECT_EQ(why_not(R"([{"agent":"a","files":[7]}])"),
            "an entry of \"a\": \"files\" is not a string");
  EXPECT_EQ(why_not(R"([{"agent":"a","file":["x"]}])"),
            "\"a\": \"file\" is unknown; did you mean \"files\"?");
  EXPECT_EQ(why_not(R"([{"agent":"a","minutes":"9"}])"),
            "\"a\": \"minutes\" is not a whole number from 1 to 1000000");
  EXPECT_EQ(why_not(R"([{"agent":"a","timeout":"0"}])"), "\"a\": \"timeout\" is zero");
  EXPECT_EQ(why_not(R"([{"agent":"a","retries":-1}])"),
            "\"a\": \"retries\" is not a whole number from 0 to 100");
  EXPECT_THAT(why_not(R"([{"agent":"a","ttl":"soon"}])"), HasSubstr("\"a\": \"ttl\": duration"));
  EXPECT_THAT(why_not(R"({"agents":{"a":{"agent":"b"}}})"), HasSubstr("names another agent"));
}

TEST(Scopes, EveryMistakeIsFoundWithItsPlace) {
  const auto document =
      yaml::parse_document("- {agent: a, file: [x]}\n- {agent: b, files: y}\n- 7\n");
  ASSERT_TRUE(document);
  std::vector<Finding> findings;
  const std::vector<ScopeEntry> entries = read_scopes(*document, findings);
  EXPECT_EQ(entries.size(), 2U);
  ASSERT_EQ(findings.size(), 3U);
  EXPECT_EQ(findings[0].place.line, 1U);
  EXPECT_EQ(findings[0].place.column, 14U);
  EXPECT_EQ(findings[1].package, "b");
  EXPECT_EQ(findings[2].place.line, 3U);
}

TEST(Scopes, C5_FieldsOfOtherToolsAreRecognised) {
  for (const auto& [theirs, ours] : {std::pair("depends_on", "after"),
                                     {"dependencies", "after"},
                                     {"description", "task_description"},
                                     {"name", "agent"},
                                     {"folders", "directories"},
                                     {"retry_budget", "retries"}}) {
    EXPECT_EQ(why_not("[{\"agent\":\"a\",\"" + std::string(theirs) + "\":[\"x\"]}]"),
              "\"a\": \"" + std::string(theirs) + "\" is unknown; did you mean \"" + ours + "\"?");
  }
  EXPECT_THAT(why_not("[{\"name\":\"a\",\"files\":[\"x\"]}]"), HasSubstr("has no \"agent\""));
  EXPECT_THAT(why_not("[{\"name\":\"a\"}]"),
              HasSubstr("\"name\" is unknown; did you mean \"agent\""));
}

TEST(Scopes, C5_TheFirstMistakeHidesNoOther) {
  EXPECT_EQ(
      why_not("- {agent: a, fils: [x], depends_on: [b], ttl: soon}\n- {agent: b, priorty: null}\n"
              "- {agent: [7], priorty: 1}\n- {agent: a, flies: [z]}"),
      "\"a\": \"fils\" is unknown; did you mean \"files\"?\n"
      "\"a\": \"depends_on\" is unknown; did you mean \"after\"?\n"
      "\"a\": \"ttl\": duration \"soon\": is not a whole number with a unit\n"
      "\"b\": \"priorty\" is unknown; did you mean \"priority\"?\n"
      "agent 3: \"agent\" is not a string\n"
      "agent 3: \"priorty\" is unknown; did you mean \"priority\"?\n"
      "the agent \"a\" is listed twice, first in line 1\n"
      "\"a\": \"flies\" is unknown; did you mean \"files\"?");
}

TEST(Scopes, AFileIsNamedInItsErrors) {
  const TestFolder folder;
  EXPECT_EQ(read_scopes_file(folder.file("none.json")).error().code, Code::kInvalidInput);
  EXPECT_THAT(read_scopes_file(folder.file("none.json")).error().message, HasSubstr("none.json"));
}

}  // namespace
}  // namespace lockkeeper::plan
