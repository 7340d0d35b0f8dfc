// What is written is read back; half a line is ignored, a broken line is named.
#include "crew/record/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/test_folder.h"

namespace lockkeeper::crew {
namespace {

using testing::HasSubstr;

class JournalTest : public testing::Test {
 protected:
  JournalTest() : folder_(*open_run_files(temporary_.path())) {
    record_.id = "r1";
    record_.plan = "p.yaml";
    record_.feature = "shop";
    record_.realm = "/repo";
    record_.jobs = 3;
    record_.started_ms = 1'700'000'000'123;
    agent_.id = "a";
    agent_.locks = {"src/"};
  }

  Journal begin() { return *Journal::begin(folder_, {record_, {"digest", "session"}}); }
  std::string text() const {
    std::ifstream file(temporary_.file(kJournalName));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void append(const std::string& text) const {
    std::ofstream(temporary_.file(kJournalName), std::ios::app) << text;
  }

  TestFolder temporary_;
  Folder folder_;
  RunRecord record_;
  AgentRecord agent_;
};

TEST_F(JournalTest, ThereAndBack) {
  Journal journal = begin();
  ASSERT_TRUE(journal.agent(agent_));
  agent_.standing = Standing::kFailed;
  agent_.attempts.emplace_back().ending = Ending::kTimedOut;
  ASSERT_TRUE(journal.agent(agent_));
  record_.ended_ms = 1'700'000'001'456;
  record_.resumed = 2;
  record_.jobs = 5;
  record_.problems = {"one", "two"};
  ASSERT_TRUE(journal.run(record_));
  const auto read = Journal::read(folder_);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->head.plan_digest, "digest");
  EXPECT_EQ(read->head.session, "session");
  EXPECT_EQ(read->record.id, "r1");
  EXPECT_EQ(read->record.feature, "shop");
  EXPECT_EQ(read->record.realm, "/repo");
  EXPECT_EQ(read->record.jobs, 5U);
  EXPECT_EQ(read->record.started_ms, record_.started_ms);
  EXPECT_EQ(read->record.ended_ms, record_.ended_ms);
  EXPECT_EQ(read->record.resumed, 2U);
  EXPECT_EQ(read->record.problems, record_.problems);
  ASSERT_EQ(read->record.agents.size(), 1U) << "the last line of each counts";
  EXPECT_EQ(read->record.agents[0].standing, Standing::kFailed);
  EXPECT_EQ(read->record.agents[0].attempts.at(0).ending, Ending::kTimedOut);
}

TEST_F(JournalTest, NothingIsBegunTwice) {
  begin();
  EXPECT_FALSE(Journal::begin(folder_, {record_, {}}));
}

TEST_F(JournalTest, HalfALineIsNoLine) {
  ASSERT_TRUE(begin().agent(agent_));
  const std::string whole = text();
  append(R"({"agent":"b","loc)");
  const auto read = Journal::read(folder_);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->record.agents.size(), 1U);
  ASSERT_TRUE(Journal::go_on(folder_));
  EXPECT_EQ(text(), whole) << "what follows begins a line of its own";
}

TEST_F(JournalTest, ABrokenLineIsNamed) {
  begin();
  append("{\"agent\": 7}\n");
  const auto read = Journal::read(folder_);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::kInvalidInput);
  EXPECT_THAT(read.error().message, HasSubstr("line 2"));
  EXPECT_THAT(read.error().hint, HasSubstr("--restart"));
}

TEST_F(JournalTest, ANumberThatDoesNotFitIsNamed) {
  begin();
  append(R"({"run":{"ended_ms":9223372036854775808,"resumed":-1,"jobs":1.5,"problems":[]}})"
         "\n");
  const auto read = Journal::read(folder_);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("not a whole number in range"));
}

TEST_F(JournalTest, NoHeadIsNoRun) {
  EXPECT_EQ(Journal::read(folder_).error().code, Code::kNotFound);
  append("");
  EXPECT_EQ(Journal::read(folder_).error().code, Code::kNotFound);
  append(R"({"lockkeeper_run":1)");
  EXPECT_EQ(Journal::read(folder_).error().code, Code::kNotFound) << "half a head";
  append("}\n");
  EXPECT_EQ(Journal::read(folder_).error().code, Code::kInvalidInput);
}

TEST_F(JournalTest, AnotherFormatIsNotGuessed) {
  append("{\"lockkeeper_run\":2}\n");
  EXPECT_THAT(Journal::read(folder_).error().message, HasSubstr("version"));
}

// A path in a problem may hold any bytes; the run must not end over it.
TEST_F(JournalTest, BytesThatAreNoTextAreWrittenDown) {
  Journal journal = begin();
  record_.problems = {"/tmp/\xff is full"};
  ASSERT_TRUE(journal.run(record_));
  agent_.why = "\xfe";
  ASSERT_TRUE(journal.agent(agent_));
  const auto read = Journal::read(folder_);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->record.problems.size(), 1U);
}

TEST_F(JournalTest, WhatWasRemovedIsNotWrittenTo) {
  Journal journal = begin();
  ASSERT_TRUE(folder_.remove(kJournalName));
  EXPECT_THAT(journal.agent(agent_).error().message, HasSubstr("was removed"));
}

}  // namespace
}  // namespace lockkeeper::crew
