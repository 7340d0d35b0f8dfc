#include "dialect/coordmcp/lock_file.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <ctime>

namespace lockkeeper::dialect::coordmcp {
namespace {

using testing::HasSubstr;

const LocalTime kNow{1'705'746'600, 0};

// As the real system leaves it: json.dump(indent=2, default=str).
constexpr const char* kProjectText = R"({
  "locks": {
    "/repo/src/auth.py": {
      "file_path": "/repo/src/auth.py",
      "locked_at": "2024-01-20 10:30:00.123456",
      "locked_by": "agent-abc-123",
      "reason": "Implementing JWT",
      "expected_unlock_time": "2024-01-20 11:30:00",
      "lock_scope": "file",
      "priority": 0
    }
  },
  "updated_at": "2024-01-20T10:30:00.123456"
})";

// The ADR's own example.
constexpr const char* kAgentText = R"({
    "locks": {
        "src/auth.py": {
            "file_path": "src/auth.py",
            "locked_by": "agent-abc-123",
            "locked_at": "2024-01-20T10:30:00",
            "reason": "Implementing JWT authentication",
            "expected_duration_minutes": 60,
            "expected_unlock_time": "2024-01-20T11:30:00"
        }
    }
})";

LockFile parsed(std::string_view text) {
  auto file = LockFile::parse(text, "/data/x.json");
  EXPECT_TRUE(file) << (file ? "" : file.error().message);
  return file.value_or(LockFile());
}

Entry entry(const std::string& key, const std::string& agent, int mark = 7) {
  Entry entry;
  entry.key = key;
  entry.file_path = key;
  entry.locked_by = agent;
  entry.reason = "why";
  entry.locked_at = LocalTime{kNow.wall_s, mark};
  return entry;
}

TEST(LockFile, BothShapesAreRead) {
  const LockFile project = parsed(kProjectText);
  ASSERT_EQ(project.entries().size(), 1U);
  const Entry& one = project.entries()[0];
  EXPECT_EQ(one.key, "/repo/src/auth.py");
  EXPECT_EQ(one.locked_by, "agent-abc-123");
  EXPECT_EQ(one.reason, "Implementing JWT");
  EXPECT_EQ(one.scope, "file");
  EXPECT_EQ(one.locked_at->micros, 123'456);
  EXPECT_EQ(one.identity(), "agent-abc-123#123456");
  const LockFile agent = parsed(kAgentText);
  ASSERT_EQ(agent.entries().size(), 1U);
  EXPECT_EQ(agent.entries()[0].expected_minutes, 60);
  EXPECT_EQ(agent.entries()[0].identity(), "agent-abc-123#000000");
}

TEST(LockFile, IsWrittenAsEachReaderExpects) {
  LockFile project, agent;
  Entry one = entry("/repo/a.py", "ann");
  one.expected = LocalTime{kNow.wall_s + 3600, 0};
  project.put(one, Shape::kProject);
  one.key = "a.py";
  one.expected_minutes = 60;
  agent.put(one, Shape::kAgent);
  const std::string at = format_local({kNow.wall_s, 7}, ' ');
  const std::string until = format_local({kNow.wall_s + 3600, 0}, ' ');
  EXPECT_EQ(project.text(Shape::kProject, kNow), R"({
  "locks": {
    "/repo/a.py": {
      "file_path": "/repo/a.py",
      "locked_at": ")" + at + R"(",
      "locked_by": "ann",
      "reason": "why",
      "expected_unlock_time": ")" + until + R"(",
      "lock_scope": "file",
      "priority": 0
    }
  },
  "updated_at": ")" + format_local(kNow, 'T') + R"("
})");
  EXPECT_EQ(agent.text(Shape::kAgent, kNow), R"({
  "locks": {
    "a.py": {
      "file_path": "/repo/a.py",
      "locked_by": "ann",
      "locked_at": ")" + format_local({kNow.wall_s, 7}, 'T') +
                                                 R"(",
      "reason": "why",
      "expected_duration_minutes": 60,
      "expected_unlock_time": ")" + format_local({kNow.wall_s + 3600, 0}, 'T') +
                                                 R"("
    }
  }
})");
  EXPECT_EQ(LockFile().text(Shape::kAgent, kNow), "{\n  \"locks\": {}\n}");
}

TEST(LockFile, WhatIsNotUnderstoodIsKept) {
  LockFile file = parsed(R"({"version":3,"locks":{
    "a":{"locked_by":"bob","locked_at":"2024-01-20","colour":"red"},
    "b":{"locked_by":"ann","locked_at":"2024-01-20","colour":"blue"}},"more":[1,{"x":null}]})");
  file.put(entry("b", "ann"), Shape::kProject);
  file.put(entry("c", "ann"), Shape::kProject);
  const Json json = Json::parse(file.text(Shape::kProject, kNow));
  EXPECT_EQ(json["version"], 3);
  EXPECT_EQ(json["more"].dump(), R"([1,{"x":null}])");
  EXPECT_EQ(json["locks"]["a"].dump(),
            R"({"locked_by":"bob","locked_at":"2024-01-20","colour":"red"})");
  EXPECT_EQ(json["locks"]["b"]["colour"], "blue");
  EXPECT_EQ(json["locks"].size(), 3U);
  file.put(entry("a", "ann"), Shape::kProject);  // another's, expired: nothing of it stays
  EXPECT_FALSE(Json::parse(file.text(Shape::kProject, kNow))["locks"]["a"].contains("colour"));
}

TEST(LockFile, I10WhatIsBrokenIsAnErrorThatNamesTheFile) {
  for (const auto& [text, what] : std::vector<std::pair<std::string, std::string>>{
           {"", "it is empty"},
           {"{\"locks\":{", "cannot be read"},
           {"\xff\xfe{}", "cannot be read"},
           {"[]", "not a JSON object"},
           {"null", "not a JSON object"},
           {R"({"locks":[]})", "\"locks\" is not an object"},
           {R"({"locks":"none"})", "\"locks\" is not an object"},
           {R"({"locks":{"a":1}})", "entry \"a\" is not an object"},
           {R"({"locks":{"a":{"locked_by":7}}})", "locked_by that is not a string"},
           {R"({"locks":{"a":{"file_path":[]}}})", "file_path that is not a string"},
           {R"({"locks":{"a":{"locked_at":"soon"}}})", "locked_at that is not a time"},
           {R"({"locks":{"a":{"locked_at":""}}})", "locked_at that is not a time"},
           {R"({"locks":{"a":{"locked_at":1705746600}}})", "locked_at that is not a time"},
           {std::string(100'000, '['), "cannot be read"}}) {
    const auto file = LockFile::parse(text, "/data/a b.json");
    ASSERT_FALSE(file) << text.substr(0, 50);
    EXPECT_EQ(file.error().code, Code::kStoreUnavailable);
    EXPECT_THAT(file.error().message, HasSubstr("\"/data/a b.json\""));
    EXPECT_THAT(file.error().message, HasSubstr(what));
    EXPECT_THAT(file.error().hint, HasSubstr("lockkeeper layout ignore '/data/a b.json'"));
  }
}

TEST(LockFile, WhatIsMissingHasItsDefault) {
  for (const char* const text : {"{}", R"({"locks":{}})", R"({"locks":null,"updated_at":1})"}) {
    EXPECT_TRUE(parsed(text).entries().empty()) << text;
  }
  const LockFile file = parsed(R"({"locks":{"a":{},"b":{"locked_at":null,"locked_by":null,
    "expected_unlock_time":"whenever","expected_duration_minutes":"long"}}})");
  ASSERT_EQ(file.entries().size(), 2U);
  for (const Entry& each : file.entries()) {
    EXPECT_FALSE(each.locked_at);  // since ever: it never ends by itself
    EXPECT_FALSE(each.expected);
    EXPECT_EQ(each.locked_by, "");
  }
}

TEST(LockFile, ForeignChangesAreMerged) {
  const LockFile base = parsed(R"({"locks":{"gone":{},"kept":{},"changed":{"reason":"1"}}})");
  LockFile ours = base;
  ours.put(entry("ours", "ann"), Shape::kProject);
  const LockFile theirs = parsed(
      R"({"locks":{"kept":{},"changed":{"reason":"2"},"new":{"locked_by":"bob"}},"extra":1})");
  ours.merge(base, theirs);
  const Json json = Json::parse(ours.text(Shape::kProject, kNow));
  EXPECT_EQ(json["locks"].size(), 4U);
  EXPECT_TRUE(json["locks"].contains("ours"));
  EXPECT_EQ(json["locks"]["changed"]["reason"], "2");
  EXPECT_EQ(json["locks"]["new"]["locked_by"], "bob");
  EXPECT_FALSE(json["locks"].contains("gone"));
  EXPECT_EQ(json["extra"], 1);
  LockFile taken = base;
  taken.put(entry("k", "ann"), Shape::kProject);
  taken.merge(base, parsed(R"({"locks":{"gone":{},"kept":{},"changed":{"reason":"1"},
                               "k":{"locked_by":"bob"}}})"));
  EXPECT_EQ(taken.find("k")->locked_by, "bob");  // theirs stays
}

std::string document(int entries) {
  LockFile file;
  for (int i = 0; i < entries; ++i) {
    file.put(entry("/repo/src/file" + std::to_string(i) + ".py", "ann"), Shape::kProject);
  }
  return file.text(Shape::kProject, kNow);
}

// Everything that is done with a document: parsing, merging, removing, writing.
std::clock_t time_of(int entries) {
  const std::string text = document(entries);
  const std::clock_t begin = std::clock();
  LockFile file = parsed(text);
  LockFile theirs = file;
  LockFile::Keys some;
  for (const Entry& each : file.entries()) {
    if (each.key.ends_with("7.py")) some.insert(each.key);
  }
  theirs.erase_all(some);
  LockFile merged = file;
  merged.merge(file, theirs);
  EXPECT_EQ(merged.entries().size(), file.entries().size() - some.size());
  EXPECT_EQ(parsed(merged.text(Shape::kProject, kNow)).entries().size(), merged.entries().size());
  return std::clock() - begin;
}

TEST(LockFile, A19_ALargeDocumentCostsAsMuchPerEntryAsASmallOne) {
  time_of(100);
  const std::clock_t small = std::min(time_of(1'000), time_of(1'000));
  const std::clock_t large = time_of(16'000);
  EXPECT_LT(large, small * 16 * 4) << "16 times as many entries";
}

TEST(LockFile, A19_EntriesThatAreTakenApartAreReadAsBefore) {
  EXPECT_EQ(parsed(R"({"locks":null})").entries().size(), 0U);
  EXPECT_EQ(parsed(R"({"other":{"a":{"b":1}},"locks":{}})").entries().size(), 0U);
  // The last of two counts, as in Python.
  const LockFile twice = parsed(R"({"locks":{"a":{"locked_by":"x"}},
      "locks":{"b":{"locked_by":"x"},"c":{},"b":{"locked_by":"y"}}})");
  ASSERT_EQ(twice.entries().size(), 2U);
  EXPECT_EQ(twice.find("b")->locked_by, "y");
  for (const char* const text : {R"({"locks":{"a":{},"b":7,"c":8,"d":{}}})", R"({"locks":[{}]})",
                                 R"({"locks":{"b":[{}]}})", R"({"locks":"x"})"}) {
    const auto file = LockFile::parse(text, "/data/x.json");
    ASSERT_FALSE(file) << text;
    EXPECT_THAT(file.error().message, HasSubstr("not an object")) << text;
  }
}

}  // namespace
}  // namespace lockkeeper::dialect::coordmcp
