// Edits of coding agents through the lock service: called directly, over a wire, and over a wire
// that loses replies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service/local/test_site.h"
#include "service/locks.h"

namespace lockkeeper::service {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Then = core::ReportRequest::Then;

const core::Owner kClaude{"claude-code", "s1"};
const core::Owner kCodex{"codex", "s2"};

class EditCalls : public testing::TestWithParam<Over> {
 protected:
  AcquireResult edit(const core::Owner& owner, const std::string& path, const std::string& call,
                     const std::string& worktree = "/w") {
    AcquireCommand command;
    command.wanted.texts = {path};
    command.wanted.base.folder = fixture_.realm.root;
    command.wanted.syntax = key::Syntax::kLiteral;
    command.call = call;
    command.terms.worktree = worktree;
    auto result = locks(owner).acquire(command);
    EXPECT_TRUE(result) << result.error().message;
    return result ? std::move(*result) : AcquireResult{};
  }
  core::ReportReply report(const core::Owner& owner, core::ReportRequest request) {
    request.worktree = "/w";
    auto reply = locks(owner).report(request);
    EXPECT_TRUE(reply) << reply.error().message;
    return reply ? std::move(*reply) : core::ReportReply{};
  }
  static core::ReportRequest changed(const std::string& path) {
    core::ReportRequest request;
    request.changed = {{path, {3, 4, 5, 6}, "content"}};
    return request;
  }
  static core::ReportRequest done(const std::string& call) {
    core::ReportRequest request;
    request.done = {call};
    return request;
  }
  Locks locks(const core::Owner& owner) { return Locks(*site_, owner); }

  TestSite fixture_{GetParam()};
  std::unique_ptr<Site> site_ = fixture_.site();
};
INSTANTIATE_TEST_SUITE_P(Over, EditCalls,
                         testing::Values(Over::kCalls, Over::kWire, Over::kLossyWire));

TEST_P(EditCalls, AnEditIsHeldConfirmedAndEndsWithItsTurn) {
  const AcquireResult mine = edit(kClaude, "src/a.c", "c1");
  EXPECT_EQ(mine.outcome, core::Outcome::kGranted);
  ASSERT_TRUE(mine.lease.edit);
  EXPECT_THAT(mine.lease.edit->calls, ElementsAre("c1"));
  const AcquireResult refused = edit(kCodex, "src/a.c", "d1");
  EXPECT_EQ(refused.outcome, core::Outcome::kHeld);
  ASSERT_THAT(refused.conflicts, SizeIs(1));
  EXPECT_NE(refused.conflicts.front().yields_mono_ms, kNoEnd);
  EXPECT_FALSE(refused.conflicts.front().yields);
  report(kClaude, done("c1"));
  core::ReportRequest over;
  over.then = Then::kTurnOver;
  report(kClaude, over);
  EXPECT_EQ(edit(kCodex, "src/a.c", "d2").outcome, core::Outcome::kGranted);
}

TEST_P(EditCalls, TheSameInAnotherWorktreeIsToldAndGranted) {
  edit(kClaude, "src/a.c", "c1", "/w");
  const AcquireResult there = edit(kCodex, "src/a.c", "d1", "/v");
  EXPECT_EQ(there.outcome, core::Outcome::kGranted);
  ASSERT_THAT(there.elsewhere, SizeIs(1));
  EXPECT_EQ(there.elsewhere.front().holder.owner, kClaude);
  EXPECT_EQ(there.elsewhere.front().holder.terms.worktree, "/w");
}

TEST_P(EditCalls, I7AnUnseenChangeIsToldOnceAlsoIfTheReplyWasLost) {
  core::ReportRequest turn;
  turn.turn_begins = true;
  report(kCodex, turn);
  fixture_.clock.ahead_ms += 10;
  report(kClaude, changed("src/a.c"));
  const auto news = locks(kCodex).unseen("/w", {"src/a.c", "src/b.c"});
  ASSERT_TRUE(news);
  ASSERT_THAT(*news, SizeIs(1));
  EXPECT_EQ(news->front().owner, kClaude);
  EXPECT_EQ(news->front().change.path, "src/a.c");
  EXPECT_EQ(news->front().change.mark.size, 3U);
  EXPECT_THAT(*locks(kCodex).unseen("/w", {"src/a.c"}), IsEmpty());
  EXPECT_THAT(*locks(kClaude).unseen("/w", {"src/a.c"}), IsEmpty());
}

TEST_P(EditCalls, ALookShowsTracesEditsAndWhoIsBusy) {
  edit(kClaude, "src/a.c", "c1");
  report(kClaude, changed("src/old.c"));
  const auto seen = locks(kCodex).look("/w");
  ASSERT_TRUE(seen);
  ASSERT_THAT(seen->traces, SizeIs(1));
  EXPECT_EQ(seen->traces.front().change.path, "src/old.c");
  ASSERT_THAT(seen->edits, SizeIs(1));
  EXPECT_EQ(seen->edits.front().owner, kClaude);
  EXPECT_THAT(seen->busy, ElementsAre(kClaude));
  EXPECT_THAT(locks(kCodex).look("/v")->traces, IsEmpty());
  EXPECT_THAT(locks(kClaude).look("/w")->busy, IsEmpty());
}

TEST_P(EditCalls, WhatIsSafeIsForgotten) {
  report(kClaude, changed("src/a.c"));
  ASSERT_TRUE(locks(kCodex).forget("/w", {"src/a.c", "src/none.c"}));
  EXPECT_THAT(locks(kCodex).look("/w")->traces, IsEmpty());
}

TEST_P(EditCalls, BeforeThereIsAStoreNothingIsMade) {
  EXPECT_THAT(*locks(kCodex).unseen("/w", {"src/a.c"}), IsEmpty());
  EXPECT_THAT(locks(kCodex).look("/w")->traces, IsEmpty());
  ASSERT_TRUE(locks(kCodex).forget("/w", {"src/a.c"}));
}

TEST_P(EditCalls, F29BadPathsAreRefused) {
  EXPECT_EQ(locks(kCodex).unseen("/w", {""}).error().code, Code::kInvalidInput);
  EXPECT_EQ(locks(kCodex).report(changed("")).error().code, Code::kInvalidInput);
  const std::vector<std::string> many(10'001, "a");
  EXPECT_EQ(locks(kCodex).forget("/w", many).error().code, Code::kLimitExceeded);
}

TEST_P(EditCalls, WhoeverHasBegunACallIsFound) {
  core::ReportRequest begun;
  begun.begun = {"run 7"};
  report({"claude-code", "s1/sub"}, begun);
  const auto found = locks(kCodex).owner_of_call("run 7");
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->session, "s1/sub");
  EXPECT_FALSE(*locks(kCodex).owner_of_call("run 8"));
  const auto own = locks({"claude-code", "s1/sub"}).own_calls();
  ASSERT_TRUE(own);
  ASSERT_THAT(*own, SizeIs(1));
  EXPECT_EQ(own->front().id, "run 7");
  EXPECT_EQ(own->front().worktree, "/w");
  report(kCodex, begun);
  EXPECT_FALSE(*locks(kClaude).owner_of_call("run 7")) << "two of one id cannot be told apart";
}

TEST_P(EditCalls, ChangesThatNobodyOwnsAreTracesToo) {
  core::ReportRequest found;
  found.found = {{"src/a.c", {3, 4, 5, 6}, "content"}};
  report(kClaude, found);
  const auto seen = locks(kCodex).look("/w");
  ASSERT_TRUE(seen);
  ASSERT_THAT(seen->traces, SizeIs(1));
  EXPECT_EQ(seen->traces.front().owner.agent, "");
}

}  // namespace
}  // namespace lockkeeper::service
