// Records as JSON: everything is read back, and anything else is refused.
#include "crew/record/record_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "crew/record/whole_number.h"

namespace lockkeeper::crew {
namespace {

AgentRecord full_record() {
  AgentRecord agent;
  agent.id = "a \"b\" \u00e9";
  agent.locks = {"src/", "api:GET /x"};
  agent.standing = Standing::kSkipped;
  agent.forgiven = 2;
  agent.why = "it needs c";
  agent.waits = {{Wait::For::kLock, "held by ann", 1'700'000'000'001, 1'700'000'000'002},
                 {Wait::For::kPause, "x", 1'700'000'000'003, 0}};
  Attempt& attempt = agent.attempts.emplace_back();
  attempt.number = 7;
  attempt.lease = "abc";
  attempt.fence = UINT64_MAX;
  attempt.started_ms = 1'700'000'000'004;
  attempt.ended_ms = 1'700'000'000'005;
  attempt.ending = Ending::kStrayed;
  attempt.exit_status = 139;
  attempt.why = "killed by SIGSEGV";
  attempt.processes_ended = 3;
  attempt.log_bytes = 1ULL << 40;
  attempt.log_cut = true;
  attempt.changes = {{"x", Change::Kind::kAdded, true, {"b", "c"}},
                     {"y/\u00e9", Change::Kind::kRemoved, false, {}}};
  attempt.changes_unknown = "git is gone";
  attempt.start = "0a";
  attempt.commit = "0b";
  agent.tree = {TreeRecord::State::kConflict,
                "/t",
                "lk/r/a",
                "0a",
                "0b",
                "0c",
                {"b"},
                {"f"},
                "conflict in f",
                true,
                "uncommitted: g"};
  agent.attempts.emplace_back();
  return agent;
}

TEST(RecordJson, EverythingComesBack) {
  const AgentRecord agent = full_record();
  const Json json = agent_json(agent);
  const auto read = agent_from(Json::parse(json.dump()));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(agent_json(*read), json);
  EXPECT_EQ(read->waits[0].end_ms, agent.waits[0].end_ms);
  EXPECT_EQ(read->waits[1].end_ms, 0);
  EXPECT_EQ(read->attempts[0].fence, UINT64_MAX);
  EXPECT_EQ(read->attempts[0].started_ms, agent.attempts[0].started_ms);
  EXPECT_EQ(read->attempts[0].changes[0].or_by, agent.attempts[0].changes[0].or_by);
  EXPECT_EQ(read->attempts[0].changes_unknown, "git is gone");
  EXPECT_EQ(read->attempts[1].ending, Ending::kNone);
  EXPECT_EQ(read->attempts[0].start + read->attempts[0].commit, "0a0b");
  EXPECT_EQ(read->tree.state, TreeRecord::State::kConflict);
  EXPECT_EQ(read->tree.folder + read->tree.branch + read->tree.merge, "/tlk/r/a0c");
  EXPECT_EQ(read->tree.builds_on, agent.tree.builds_on);
  EXPECT_EQ(read->tree.kept, "uncommitted: g");
  EXPECT_TRUE(read->tree.removed);
  EXPECT_FALSE(agent_json(AgentRecord{}).contains("worktree"));
}

TEST(RecordJson, EveryWordComesBack) {
  for (int i = 0; i <= static_cast<int>(Ending::kUncommitted); ++i) {
    Attempt attempt;
    attempt.ending = static_cast<Ending>(i);
    EXPECT_EQ(attempt_from(attempt_json(attempt))->ending, attempt.ending);
  }
  for (int i = 0; i <= static_cast<int>(Standing::kStopped); ++i) {
    AgentRecord agent;
    agent.standing = static_cast<Standing>(i);
    EXPECT_EQ(agent_from(agent_json(agent))->standing, agent.standing);
  }
  for (int i = 0; i <= static_cast<int>(TreeRecord::State::kGivenUp); ++i) {
    AgentRecord agent;
    agent.tree.branch = "lk/r/a";
    agent.tree.state = static_cast<TreeRecord::State>(i);
    EXPECT_EQ(agent_from(agent_json(agent))->tree.state, agent.tree.state);
  }
  for (int i = 0; i <= static_cast<int>(Wait::For::kPause); ++i) {
    AgentRecord agent;
    agent.waits.push_back({static_cast<Wait::For>(i), "", 1, 0});
    EXPECT_EQ(agent_from(agent_json(agent))->waits[0].what, static_cast<Wait::For>(i));
  }
}

// Each field removed, and each replaced by a wrong type.
TEST(RecordJson, NothingElseIsTaken) {
  const Json whole = attempt_json(full_record().attempts[0]);
  for (const auto& [name, value] : whole.items()) {
    Json less = whole;
    less.erase(name);
    const bool optional = name == "changes_unknown" || name == "start" || name == "commit";
    EXPECT_EQ(attempt_from(less).has_value(), optional) << name;
    Json other = whole;
    other[name] = Json::array({Json::array()});
    EXPECT_FALSE(attempt_from(other)) << name;
  }
  for (const char* const text : {"null", "[]", "3", "\"x\"", "{}", "{\"agent\":{}}"}) {
    EXPECT_FALSE(agent_from(Json::parse(text))) << text;
    EXPECT_FALSE(attempt_from(Json::parse(text))) << text;
  }
  Json unknown = whole;
  unknown["ending"] = "vanished";
  EXPECT_FALSE(attempt_from(unknown));
}

TEST(RecordJson, BytesThatAreNoTextCanBeCarried) {
  Attempt attempt;
  attempt.why = "\xff x";
  attempt.changes = {{"\xc3(", Change::Kind::kAdded, true, {}}};
  EXPECT_NO_THROW(static_cast<void>(attempt_json(attempt).dump()));
  EXPECT_EQ(json_text("\u00e9"), "\u00e9");
}

TEST(RecordJson, NumbersThatDoNotFitAreRefused) {
  for (const char* const number : {"118446744073709551616", "1.5", "-1", "\"7\"", "null"}) {
    EXPECT_THROW(whole_number<std::uint64_t>(Json::parse(number)), std::invalid_argument) << number;
  }
  EXPECT_THROW(whole_number<int>(Json::parse("2147483648")), std::invalid_argument);
  EXPECT_EQ(whole_number<int>(Json::parse("-7")), -7);
}

}  // namespace
}  // namespace lockkeeper::crew
