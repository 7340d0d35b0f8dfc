// Whose the changes of an attempt are, whether the agent may try again, and the notes on it.
#include "crew/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockkeeper::crew {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

WriteScope scope(const std::string& agent, const std::string& file) {
  return {agent, {key::parse(file, {})->resource}, {}, false};
}

TEST(Attribute, WhatIsOthersGoesWhatIsNobodysIsMarked) {
  Attempt attempt;
  attempt.changes = {{"mine", Change::Kind::kModified, true, {"stale"}},
                     {"theirs", Change::Kind::kModified, false, {}},
                     {"nobodys", Change::Kind::kAdded, false, {}}};
  attribute(attempt, scope("a", "mine"), {scope("b", "theirs"), scope("c", "other")});
  ASSERT_EQ(attempt.changes.size(), 2U);
  EXPECT_EQ(attempt.changes[0].path, "mine");
  EXPECT_FALSE(attempt.changes[0].outside);
  EXPECT_THAT(attempt.changes[0].or_by, IsEmpty());
  EXPECT_EQ(attempt.changes[1].path, "nobodys");
  EXPECT_TRUE(attempt.changes[1].outside);
  EXPECT_THAT(attempt.changes[1].or_by, ElementsAre("b", "c"));
}

TEST(WorkedBetween, TouchingTimesCount) {
  Attempt attempt;
  attempt.started_ms = 100;
  attempt.ended_ms = 200;
  AgentRecord other;
  EXPECT_FALSE(worked_between(other, attempt));
  Attempt& theirs = other.attempts.emplace_back();
  EXPECT_FALSE(worked_between(other, attempt)) << "it has not begun";
  theirs.started_ms = 200;
  EXPECT_TRUE(worked_between(other, attempt)) << "it runs still";
  theirs.started_ms = 201;
  EXPECT_FALSE(worked_between(other, attempt));
  theirs.started_ms = 1;
  theirs.ended_ms = 99;
  EXPECT_FALSE(worked_between(other, attempt));
  theirs.ended_ms = 100;
  EXPECT_TRUE(worked_between(other, attempt));
}

TEST(InsistOnScope, OnlySuccessCanStray) {
  for (const Ending ending : {Ending::kDone, Ending::kFailed, Ending::kStopped}) {
    Attempt attempt;
    attempt.ending = ending;
    insist_on_scope(attempt);
    EXPECT_EQ(attempt.ending, ending);
    attempt.changes = {{"x", Change::Kind::kAdded, true, {}}};
    insist_on_scope(attempt);
    EXPECT_EQ(attempt.ending, ending == Ending::kDone ? Ending::kStrayed : ending);
  }
}

bool again(const std::vector<Ending>& endings, std::size_t from, std::int64_t retries) {
  AgentRecord agent;
  for (const Ending ending : endings) agent.attempts.emplace_back().ending = ending;
  agent.forgiven = from;
  return may_try_again(agent, retries);
}

TEST(MayTryAgain, CountsFailuresAfterTheForgiven) {
  using enum Ending;
  EXPECT_FALSE(again({kFailed}, 0, 0));
  EXPECT_TRUE(again({kFailed}, 0, 1));
  EXPECT_FALSE(again({kFailed, kTimedOut}, 0, 1));
  EXPECT_TRUE(again({kStopped, kStopped, kLost}, 0, 1)) << "who was stopped has not failed";
  EXPECT_TRUE(again({kFailed, kFailed, kDied}, 2, 1)) << "forgiven by a resume";
  EXPECT_FALSE(again({kFailed, kFailed, kDied}, 2, 0));
  EXPECT_TRUE(again({kFailed}, 9, 0)) << "more is forgiven than there is";
}

TEST(MayTryAgain, WhatIsNotThereWillNotBeThere) {
  AgentRecord agent;
  Attempt& attempt = agent.attempts.emplace_back();
  attempt.ending = Ending::kUnstarted;
  for (const int status : {126, 127}) {
    attempt.exit_status = status;
    EXPECT_FALSE(may_try_again(agent, 5));
  }
  attempt.exit_status = 0;
  EXPECT_TRUE(may_try_again(agent, 5)) << "its locks were refused, perhaps for now";
}

TEST(NotesOn, OnlyWhatAPersonShouldKnow) {
  Attempt attempt;
  attempt.ending = Ending::kDone;
  attempt.changes = {{"in", Change::Kind::kAdded, false, {}}};
  const Suspects nobody{RunRecord{}};
  EXPECT_THAT(notes_on(attempt, nobody), IsEmpty());
  attempt.processes_ended = 2;
  attempt.log_cut = true;
  attempt.log_bytes = 77;
  attempt.changes_unknown = "git is gone";
  EXPECT_THAT(notes_on(attempt, nobody),
              ElementsAre("left 2 processes behind, which were ended", HasSubstr("77 bytes"),
                          HasSubstr("git is gone")));
  attempt.processes_ended = 1;
  EXPECT_EQ(notes_on(attempt, nobody).front(), "left 1 process behind, which was ended");
  attempt.ending = Ending::kStopped;
  EXPECT_EQ(notes_on(attempt, nobody).size(), 2U) << "the run was stopped: that is no news";
}

// As the report does: an agent that ended before the file was written did not see it.
TEST(NotesOn, OnlyWhoMayHaveMadeAChangeIsNamed) {
  RunRecord run;
  run.agents.resize(4);
  const char* const ids[] = {"a", "ended", "runs", "saw"};
  for (std::size_t i = 0; i < run.agents.size(); ++i) {
    run.agents[i].id = ids[i];
    run.agents[i].attempts.emplace_back().ending = i == 2 ? Ending::kNone : Ending::kDone;
  }
  Attempt& attempt = run.agents[0].attempts[0];
  attempt.changes = {{"x", Change::Kind::kAdded, true, {"ended", "runs", "saw"}},
                     {"y", Change::Kind::kAdded, true, {"ended", "runs", "saw"}}};
  run.agents[3].attempts[0].changes = {{"x", Change::Kind::kAdded, true, {"a", "runs"}}};
  EXPECT_THAT(notes_on(attempt, Suspects(run)),
              ElementsAre("2 changes outside every scope while it ran: \"x\", … (by it or by runs, "
                          "saw)"));
  insist_on_scope(attempt);
  EXPECT_EQ(ending_text(attempt),
            "failed the scope check: \"x\" and 1 other file were changed outside every scope while "
            "it ran");
  EXPECT_THAT(notes_on(attempt, Suspects(run)),
              ElementsAre("\"x\" may have been changed by runs, saw instead"));
  run.agents.resize(1);
  EXPECT_THAT(notes_on(run.agents[0].attempts[0], Suspects(run)), IsEmpty())
      << "its end has told it already";
}

}  // namespace
}  // namespace lockkeeper::crew
