#include "guard/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "guard/words.h"

namespace lockkeeper::guard {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Why = Finding::Why;

const core::Owner kMe{"claude-code", "me"};
const core::Owner kMySubagent{"claude-code", "me/sub"};
const core::Owner kOther{"codex", "other"};
constexpr const char* kHere = "/w";

// One path of a commit, and what the table says about it.
class Judge : public testing::Test {
 protected:
  static key::Resource resource(const std::string& path) {
    return key::parse(path, {}, key::Syntax::kLiteral)->resource;
  }
  static CommittedPath path(const std::string& name) {
    return {.path = name,
            .resource = resource(name),
            .name = name,
            .head_id = "head",
            .changed_wall_ms = 1'000};
  }
  void trace(const core::Owner& owner, const std::string& content = "new",
             const std::string& file = "a") {
    core::Trace one;
    one.worktree = kHere;
    one.change = {file, {.size = 100}, content};
    one.owner = owner;
    one.at_wall_ms = 500;
    around_.traces = {one};
  }
  core::Lease& lease(const core::Owner& owner, std::int64_t acquired_wall_ms) {
    core::Conflict conflict;
    conflict.requested.resource = resource("a");
    conflict.holder.owner = owner;
    conflict.holder.acquired_wall_ms = acquired_wall_ms;
    return around_.in_the_way.emplace_back(std::move(conflict)).holder;
  }
  void edit(const core::Owner& owner, bool confirmed, const std::string& worktree = kHere) {
    core::Lease& one = lease(owner, 500);
    core::Edit made;
    made.confirmed = confirmed;
    one.edit = made;
    one.terms.worktree = worktree;
  }
  std::vector<Why> found() {
    around_.worktree = kHere;
    std::vector<Why> reasons;
    for (const Finding& one : judge(party_, {path("a"), path("b")}, around_)) {
      EXPECT_EQ(one.path, "a");
      reasons.push_back(one.why);
    }
    return reasons;
  }

  Party party_{.owner = kMe};
  Around around_;
};

TEST_F(Judge, G1_AnotherOwnersUncommittedChangeIsRefused) {
  EXPECT_THAT(found(), IsEmpty());
  trace(kOther);
  EXPECT_THAT(found(), ElementsAre(Why::kChanged));
  EXPECT_TRUE(refuses({.why = Why::kChanged}));
}

TEST_F(Judge, G1_AnotherOwnersChangeByAnotherNameIsRefused) {
  CommittedPath copy = path("a");
  copy.new_id = "content";
  const auto copies = [&] { return judge(party_, {copy, path("b")}, around_); };
  trace(kOther, "content", "from");
  ASSERT_EQ(copies().size(), 1U);
  EXPECT_EQ(copies().front().why, Why::kChanged);
  EXPECT_EQ(copies().front().path, "a");
  EXPECT_THAT(finding_words(copies().front(), 1'500),
              HasSubstr("a: a copy of from, changed by codex (session other) 1s ago"));
  around_.traces.front().change.mark.size = 3;
  EXPECT_THAT(copies(), IsEmpty()) << "the same by chance";
  // It was moved, and nobody knows by whom.
  around_.traces.front().change = {"from", {}, ""};
  around_.traces.front().owner = {};
  around_.traces.front().earlier = {kOther};
  around_.traces.front().earlier_content = {"content"};
  EXPECT_EQ(copies().size(), 1U);
  trace(kMySubagent, "content", "from");
  EXPECT_THAT(copies(), IsEmpty());
  trace(kOther, "content", "from");
  around_.traces.push_back(around_.traces.front());
  around_.traces.back().change.path = "a";
  around_.traces.back().owner = kMe;
  EXPECT_THAT(copies(), IsEmpty()) << "the committer wrote the same";
}

TEST_F(Judge, WhoHoldsTheOriginalMayCommitTheCopy) {
  CommittedPath copy = path("a");
  copy.new_id = "content";
  trace(kOther, "content", "from");
  core::Lease own;
  own.owner = kMe;
  own.acquired_wall_ms = 600;
  own.claims = {{resource("a"), core::Mode::kExclusive}};
  around_.own = {own};
  EXPECT_EQ(judge(party_, {copy}, around_).front().why, Why::kChanged);
  around_.own.front().claims.front().resource = resource("from");
  EXPECT_EQ(judge(party_, {copy}, around_).front().why, Why::kTakenOver);
}

TEST_F(Judge, WhatTheLastCommitHasIsNobodysAnyMore) {
  trace(kOther, "head");
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(Judge, G1_WhoeverWroteTheFileBeforeHasItsLinesInIt) {
  trace(kMe);
  EXPECT_THAT(found(), IsEmpty());
  around_.traces.front().earlier = {kMe, kOther};
  EXPECT_THAT(found(), ElementsAre(Why::kChanged));
  around_.traces.front().owner = {};
  EXPECT_THAT(found(), ElementsAre(Why::kChanged));
  // Locked on purpose, then changed: taken over, though the change is later than the lock.
  around_.traces.front().owner = kMe;
  core::Lease own;
  own.owner = kMe;
  own.claims = {{resource("a"), core::Mode::kExclusive}};
  own.acquired_wall_ms = 400;
  around_.own = {own};
  EXPECT_THAT(found(), ElementsAre(Why::kTakenOver));
  around_.own.clear();
  around_.traces.front().change.content = "head";
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(Judge, G1_AnUncommittedDeletionIsAChange) {
  trace(kOther, "");
  around_.traces.front().change.mark = {};
  EXPECT_THAT(found(), ElementsAre(Why::kChanged));
  EXPECT_FALSE(is_uncommitted(around_.traces.front(), ""));
}

TEST_F(Judge, G1_AContentThatIsNotKnownCountsAsNotCommitted) {
  trace(kOther, "");
  EXPECT_THAT(found(), ElementsAre(Why::kChanged));
}

TEST_F(Judge, ASessionAndItsSubagentsAreOneParty) {
  trace(kMySubagent);
  EXPECT_THAT(found(), IsEmpty());
  edit(kMySubagent, true);
  EXPECT_THAT(found(), IsEmpty());
  party_.owner = {"backend", "run/backend.1"};
  EXPECT_THAT(found(), ElementsAre(Why::kChanged, Why::kEdited));
  party_.also = {kMe};
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(Judge, AgentsOfOneRunAreNotOneParty) {
  party_.owner = {"backend", "run/backend.1"};
  trace({"frontend", "run/frontend.1"});
  EXPECT_THAT(found(), ElementsAre(Why::kChanged));
}

TEST_F(Judge, G1_AConfirmedEditIsRefusedAndATentativeOneIsNot) {
  edit(kOther, false);
  EXPECT_THAT(found(), IsEmpty());
  edit(kOther, true);
  EXPECT_THAT(found(), ElementsAre(Why::kEdited));
}

TEST_F(Judge, AnEditInAnotherWorktreeIsAWarning) {
  edit(kOther, true, "/elsewhere");
  EXPECT_THAT(found(), ElementsAre(Why::kElsewhere));
  EXPECT_FALSE(refuses({.why = Why::kElsewhere}));
}

TEST_F(Judge, ALeaseOnPurposeCountsIfItIsOlderThanTheChange) {
  lease(kOther, 1'000);
  EXPECT_THAT(found(), IsEmpty());
  lease(kOther, 999);
  EXPECT_THAT(found(), ElementsAre(Why::kHeld));
  around_.in_the_way.clear();
  lease(kMe, 1);
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(Judge, AnotherToolsLockIsNeverTheCommitters) {
  lease(kMe, 1).foreign = true;
  EXPECT_THAT(found(), ElementsAre(Why::kHeld));
}

TEST_F(Judge, ARequestThatWaitsHoldsNothing) {
  lease(kOther, 1);
  around_.in_the_way.front().waiting = true;
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(Judge, WhoeverLockedTheFileSinceHasTakenItOver) {
  trace(kOther);
  core::Lease own;
  own.owner = kMe;
  own.claims = {{resource("a"), core::Mode::kExclusive}};
  own.acquired_wall_ms = 500;
  around_.own = {own};
  EXPECT_THAT(found(), ElementsAre(Why::kChanged));
  around_.own.front().acquired_wall_ms = 501;
  EXPECT_THAT(found(), ElementsAre(Why::kTakenOver));
  EXPECT_FALSE(refuses({.why = Why::kTakenOver}));
  around_.own.front().edit = core::Edit{};
  EXPECT_THAT(found(), ElementsAre(Why::kChanged));
  around_.own.front().edit.reset();
  around_.own.front().claims.front().mode = core::Mode::kShared;
  EXPECT_THAT(found(), ElementsAre(Why::kChanged));
}

TEST(GuardWords, TheWayOutIsACommandThatWorks) {
  const std::vector<Finding> findings = {
      {.path = "a b"}, {.path = "a b", .why = Why::kEdited}, {.path = "c"}};
  Asked asked{.root = "/w", .paths = {"a b", "c", "mine"}};
  EXPECT_EQ(way_out(findings, asked), "git restore --staged -- 'a b' c");
  asked.from_top = false;
  EXPECT_EQ(way_out(findings, asked), "git -C /w restore --staged -- 'a b' c");
  asked.from_top = true;
  asked.first = true;
  EXPECT_EQ(way_out(findings, asked), "git rm -r --cached -- 'a b' c");
  asked.own_index = false;
  EXPECT_EQ(way_out(findings, asked), "git commit -- mine");
  asked.paths = {"c"};
  EXPECT_EQ(way_out(findings, asked), "");
  asked = {.root = "/w", .paths = {"[x]"}};
  EXPECT_EQ(way_out({{.path = "[x]"}}, asked), "git --literal-pathspecs restore --staged -- '[x]'");
}

TEST(GuardWords, ARefusalNamesFilesHoldersAndTheNextStep) {
  const std::vector<Finding> findings = {
      {.path = "src/a.c", .holder = kOther, .at_wall_ms = 60'000},
      {.path = "src/b.c",
       .why = Why::kHeld,
       .holder = kOther,
       .at_wall_ms = 60'000,
       .text = "x\ny"},
  };
  const std::string text = refusal_words(findings, {.root = "/w"}, 120'000);
  EXPECT_THAT(text, HasSubstr("src/a.c: changed by codex (session other) 1m ago"));
  EXPECT_THAT(text, HasSubstr(R"(reason "x\x0ay")"));
  EXPECT_THAT(text, HasSubstr("git restore --staged -- src/a.c src/b.c"));
}

}  // namespace
}  // namespace lockkeeper::guard
