// OUTPUT: started, resumed, restarted; nothing of an earlier run is lost.
#include "crew/run_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/test_folder.h"
#include "crew/orders.h"
#include "host/file_ops.h"

namespace lockkeeper::crew {
namespace {

using testing::HasSubstr;

class RunFolderTest : public testing::Test {
 protected:
  RunFolderTest() {
    fresh_.record.id = "r1";
    fresh_.record.plan = "p.yaml";
    fresh_.record.realm = "/repo";
    fresh_.head = {"digest", "session"};
  }
  Result<OpenRun> open(Beginning how) const { return open_run(output(), how, fresh_); }
  std::string output() const { return temporary_.path(); }
  bool has(const std::string& name) const { return std::filesystem::exists(temporary_.file(name)); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(temporary_.file(name)) << text;
  }
  void finish() const {
    auto run = open(Beginning::kResume);
    ASSERT_TRUE(run) << run.error().message;
    run->state.record.ended_ms = 1'700'000'000'000;
    ASSERT_TRUE(run->journal.run(run->state.record));
  }

  TestFolder temporary_;
  RunState fresh_;
};

TEST_F(RunFolderTest, AnUnfinishedRunIsNotBegunAgainByAccident) {
  EXPECT_EQ(open(Beginning::kResume).error().code, Code::kNotFound);
  ASSERT_TRUE(open(Beginning::kFresh));
  const auto again = open(Beginning::kFresh);
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().hint, HasSubstr("--resume"));
  fresh_.record.id = "r2";
  const auto resumed = open(Beginning::kResume);
  ASSERT_TRUE(resumed) << resumed.error().message;
  EXPECT_EQ(resumed->state.record.id, "r1") << "it is the same run";
}

TEST_F(RunFolderTest, AfterAFailureItIsKnownWhatAResumeWouldHaveRepeated) {
  const auto fail_once = [&] {
    auto run = open(Beginning::kRestart);
    ASSERT_TRUE(run) << run.error().message;
    RunRecord& record = run->state.record;
    for (const char* const id : {"good", "bad", "late"}) {
      record.agents.emplace_back().id = id;
      record.agents.back().standing = Standing::kSkipped;
    }
    record.agents[0].standing = Standing::kDone;
    record.ended_ms = 1'700'000'000'000;
    ASSERT_TRUE(run->journal.agents(record.agents));
    ASSERT_TRUE(run->journal.run(record));
  };
  fail_once();
  EXPECT_THAT(open(Beginning::kFresh)->not_resumed, testing::ElementsAre("bad", "late"));
  fail_once();
  EXPECT_THAT(open(Beginning::kRestart)->not_resumed, testing::IsEmpty()) << "asked for";
  fail_once();
  fresh_.head.plan_digest = "another";
  EXPECT_THAT(open(Beginning::kFresh)->not_resumed, testing::IsEmpty())
      << "the plan has changed: it could not be resumed";
}

TEST_F(RunFolderTest, WhatWasThereIsKept) {
  ASSERT_TRUE(open(Beginning::kFresh));
  write("report.md", "first");
  std::filesystem::create_directories(temporary_.file("agents/a/1"));
  finish();
  ASSERT_TRUE(open(Beginning::kFresh)) << "a finished run makes room";
  EXPECT_TRUE(has("earlier/r1/journal.jsonl"));
  EXPECT_TRUE(has("earlier/r1/report.md"));
  EXPECT_TRUE(has("earlier/r1/agents/a/1"));
  EXPECT_FALSE(has("report.md"));
  ASSERT_TRUE(open(Beginning::kRestart)) << "an unfinished one only if asked";
  EXPECT_TRUE(has("earlier/r1.2/journal.jsonl")) << "the same name twice";
}

TEST_F(RunFolderTest, TwoForemenAreOneTooMany) {
  const auto first = open(Beginning::kFresh);
  ASSERT_TRUE(first);
  for (const auto how : {Beginning::kFresh, Beginning::kResume, Beginning::kRestart}) {
    const auto second = open(how);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, Code::kHeld);
    EXPECT_THAT(second.error().message, HasSubstr("process " + std::to_string(::getpid())));
  }
}

TEST_F(RunFolderTest, AnotherPlanOrRealmIsNotResumed) {
  ASSERT_TRUE(open(Beginning::kFresh));
  fresh_.head.plan_digest = "other";
  EXPECT_EQ(open(Beginning::kResume).error().code, Code::kInvalidInput);
  fresh_.head.plan_digest = "digest";
  fresh_.record.realm = "/elsewhere";
  EXPECT_THAT(open(Beginning::kResume).error().hint, HasSubstr("--realm /repo"));
}

TEST_F(RunFolderTest, ARealmWhoseNameIsNoTextIsItself) {
  fresh_.record.realm = "/r\xff";
  ASSERT_TRUE(open(Beginning::kFresh));
  EXPECT_TRUE(open(Beginning::kResume));
}

TEST_F(RunFolderTest, AnEmptyJournalIsNoRun) {
  write("journal.jsonl", "");
  EXPECT_EQ(open(Beginning::kResume).error().code, Code::kNotFound);
  const auto run = open(Beginning::kFresh);
  EXPECT_TRUE(run) << run.error().message;
}

TEST_F(RunFolderTest, ABrokenJournalIsMovedOnlyIfAsked) {
  write("journal.jsonl", "nonsense\n");
  EXPECT_EQ(open(Beginning::kFresh).error().code, Code::kInvalidInput);
  EXPECT_EQ(open(Beginning::kResume).error().code, Code::kInvalidInput);
  EXPECT_TRUE(open(Beginning::kRestart));
  EXPECT_TRUE(has("earlier/unreadable/journal.jsonl"));
}

TEST_F(RunFolderTest, ARunWithALivingSupervisorIsNotMoved) {
  {
    auto run = open(Beginning::kFresh);
    ASSERT_TRUE(run);
    AgentRecord agent;
    agent.id = "a";
    agent.attempts.emplace_back();
    ASSERT_TRUE(run->journal.agent(agent));
  }
  std::filesystem::create_directories(temporary_.file("agents/a/1"));
  const auto attempt = open_run_files(temporary_.file("agents/a/1"));
  const auto alive = host::try_lock(*attempt, kAliveName);
  ASSERT_TRUE(alive && *alive);
  const auto restarted = open(Beginning::kRestart);
  ASSERT_FALSE(restarted);
  EXPECT_THAT(restarted.error().message, HasSubstr("still working"));
  EXPECT_TRUE(has("journal.jsonl"));
}

}  // namespace
}  // namespace lockkeeper::crew
