#include "crew/trees/merger.h"

#include <cstdlib>

#include "crew/trees/trees_testing.h"

namespace lockkeeper::crew {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using What = MergeOutcome::What;

class Merger : public TreesTest {
 protected:
  MergeOrders merge_orders() const {
    MergeOrders made;
    made.checkout = repo.at("r");
    made.branch = "refs/heads/main";
    made.base = base;
    made.folder = repo.at("trees/%merge");
    return made;
  }

  static Result<std::optional<std::string>> allow(const std::vector<std::string>&) {
    return std::nullopt;
  }

  std::vector<MergeOutcome> merges(const std::vector<Piece>& pieces,
                                   const MayChange& may_change = allow) const {
    const Folder folder = marks("%run");
    auto outcomes = merge_all(merge_orders(), folder, pieces, may_change);
    EXPECT_TRUE(outcomes) << outcomes.error().message;
    EXPECT_FALSE(is_there("trees/%merge"));
    EXPECT_TRUE(outcomes && outcomes->size() == pieces.size());
    return outcomes.value_or(std::vector<MergeOutcome>(pieces.size()));
  }

  static Piece piece(const std::string& name, const std::string& commit,
                     std::vector<std::size_t> builds_on = {}) {
    return {name, "lk/run/" + name, commit, "Merge " + name, std::move(builds_on)};
  }

  // Nothing of the checkout has moved.
  void expect_untouched(const std::string& head) const {
    EXPECT_EQ(says("r", {"rev-parse", "HEAD"}), head);
    EXPECT_EQ(says("r", {"rev-parse", "main"}), base);
  }
};

TEST_F(Merger, MergesInTheGivenOrder) {
  const std::string a = works("a", "a", "a\n");
  const std::string b = works("b", "b", "b\n");
  const auto outcomes = merges({piece("b", b), piece("a", a)});
  EXPECT_EQ(outcomes[0].what, What::kMerged);
  EXPECT_EQ(outcomes[1].what, What::kMerged);
  EXPECT_EQ(says("r", {"log", "--first-parent", "--format=%s", "-2"}), "Merge a\nMerge b");
  EXPECT_EQ(says("r", {"rev-parse", "HEAD"}), outcomes[1].commit);
  EXPECT_EQ(says("r", {"rev-parse", "HEAD^"}), outcomes[0].commit);
  EXPECT_EQ(text_of("r/a") + text_of("r/b"), "a\nb\n");
  EXPECT_EQ(says("r", {"status", "--porcelain"}), "");
  // The one who made them was killed before it could write that down.
  const auto again = merges({piece("b", b), piece("a", a)});
  EXPECT_EQ(again[0].what, What::kMerged);
  EXPECT_EQ(again[0].commit, outcomes[0].commit);
  EXPECT_EQ(again[1].commit, outcomes[1].commit);
}

TEST_F(Merger, AConflictStopsNobodyElseAndNeverShowsInTheCheckout) {
  const std::string a = works("a", "f", "a\n");
  const std::string b = works("b", "f", "b\n");
  const std::string c = works("c", "c", "c\n", {b});
  const std::string d = works("d", "d", "d\n");
  const auto outcomes = merges({piece("a", a), piece("b", b), piece("c", c, {1}), piece("d", d)});
  EXPECT_EQ(outcomes[0].what, What::kMerged);
  EXPECT_EQ(outcomes[1].what, What::kConflict);
  EXPECT_THAT(outcomes[1].conflicts, ElementsAre("f"));
  EXPECT_EQ(outcomes[1].why, "conflict in f");
  EXPECT_EQ(outcomes[2].what, What::kBuildsOn);
  EXPECT_EQ(outcomes[2].why, "it builds on b");
  EXPECT_EQ(outcomes[3].what, What::kMerged);
  EXPECT_EQ(text_of("r/f") + text_of("r/d"), "a\nd\n");
  EXPECT_FALSE(is_there("r/.git/MERGE_HEAD"));
  EXPECT_EQ(says("r", {"status", "--porcelain"}), "");
  EXPECT_EQ(says("r", {"rev-parse", "lk/run/b"}), b) << "the branch stays";
  // Solved by hand.
  repo.git("r", "merge -s ours -m solved " + b);
  const auto again = merges({piece("a", a), piece("b", b), piece("c", c, {1}), piece("d", d)});
  for (const MergeOutcome& each : again) EXPECT_EQ(each.what, What::kMerged) << each.why;
  EXPECT_EQ(text_of("r/c"), "c\n");
}

TEST_F(Merger, ACheckoutThatIsNotReadyIsNotTouched) {
  const std::string a = works("a", "a", "a\n");
  const auto why = [&] {
    const auto outcomes = merges({piece("a", a)});
    EXPECT_EQ(outcomes[0].what, What::kNotTried);
    return outcomes[0].why;
  };
  repo.write("r/f", "dirty\n");
  EXPECT_THAT(why(), HasSubstr("has uncommitted changes in f"));
  EXPECT_EQ(text_of("r/f"), "dirty\n");
  repo.git("r", "add f");
  EXPECT_THAT(why(), HasSubstr("has uncommitted changes in f"));
  repo.git("r", "reset --hard");
  repo.write("r/a", "somebody's\n");
  EXPECT_EQ(why(), "in the way, and not in git: a");
  EXPECT_EQ(text_of("r/a"), "somebody's\n");
  expect_untouched(base);
  std::filesystem::remove(repo.at("r/a"));
  repo.git("r", "switch -c other");
  EXPECT_THAT(why(), HasSubstr("is on \"other\" now, but the run began on \"main\""));
  repo.git("r", "checkout --detach");
  EXPECT_THAT(why(), HasSubstr("is not on a branch any more"));
  repo.git("r", "switch main");
  const std::string b = works("b", "b", "b\n");
  repo.git("r", "merge --no-ff --no-commit " + b);
  EXPECT_THAT(why(), HasSubstr("in the middle of a merge"));
  EXPECT_TRUE(is_there("r/.git/MERGE_HEAD"));
  repo.git("r", "merge --abort");
  repo.git("r", "reset --hard HEAD^");
  EXPECT_THAT(why(), HasSubstr("\"main\" no longer contains "));
  repo.git("r", "reset --hard " + base);
  EXPECT_EQ(merges({piece("a", a)})[0].what, What::kMerged);
}

TEST_F(Merger, WhatWasCommittedMeanwhileStays) {
  const std::string a = works("a", "a", "a\n");
  repo.write("r/mine", "mine\n");
  repo.git("r", "add mine");
  repo.git("r", "commit -m mine");
  EXPECT_EQ(merges({piece("a", a)})[0].what, What::kMerged);
  EXPECT_EQ(text_of("r/mine") + text_of("r/a"), "mine\na\n");
}

TEST_F(Merger, WhoMayNotChangeTheFilesMovesNothing) {
  const std::string a = works("a", "a", "a\n");
  const std::string b = works("b", "f", "b\n");
  std::vector<std::string> asked;
  const auto outcomes =
      merges({piece("a", a), piece("b", b)}, [&](const std::vector<std::string>& paths) {
        asked = paths;
        return std::optional<std::string>("f is held by ann");
      });
  EXPECT_THAT(asked, ElementsAre("a", "f"));
  EXPECT_EQ(outcomes[0].what, What::kNotTried);
  EXPECT_EQ(outcomes[1].why, "f is held by ann");
  expect_untouched(base);
}

TEST_F(Merger, WhatAKilledMergerLeftIsClearedAway) {
  const std::string a = works("a", "f", "a\n");
  repo.git("r", "worktree add --detach " + repo.at("trees/%merge"));
  repo.write("trees/%merge/f", "half\n");
  EXPECT_EQ(merges({piece("a", a)})[0].what, What::kMerged);
  EXPECT_EQ(text_of("r/f"), "a\n");
  repo.git("r", "worktree add --detach " + repo.at("trees/%merge"));
  EXPECT_EQ(merges({piece("a", a)})[0].what, What::kMerged) << "killed after the last step";
}

TEST_F(Merger, AHookMayRefuseAMerge) {
  repo.write("r/.git/hooks/pre-merge-commit", "#!/bin/sh\necho not today\nexit 1\n");
  std::filesystem::permissions(repo.at("r/.git/hooks/pre-merge-commit"),
                               std::filesystem::perms::owner_all);
  const std::string a = works("a", "a", "a\n");
  const auto outcomes = merges({piece("a", a)});
  EXPECT_EQ(outcomes[0].what, What::kConflict);
  EXPECT_THAT(outcomes[0].why, HasSubstr("not today"));
  expect_untouched(base);
}

TEST_F(Merger, ARunBeginsOnlyWhereItCanEnd) {
  const auto start = start_point(repo.at("r"));
  ASSERT_TRUE(start) << start.error().message;
  EXPECT_EQ(start->branch, "refs/heads/main");
  EXPECT_EQ(start->commit, base);
  const auto refused = [&](const std::string& in = "r") {
    const auto point = start_point(repo.at(in));
    EXPECT_FALSE(point);
    EXPECT_FALSE(point || point.error().hint.empty());
    return point ? "" : point.error().message;
  };
  repo.write("r/new", "n\n");
  EXPECT_THAT(start_point(repo.at("r"))->untracked, ElementsAre("new"));
  repo.write("r/f", "dirty\n");
  EXPECT_THAT(refused(), HasSubstr("would not see: f"));
  repo.git("r", "checkout f");
  repo.git("r", "branch lk");
  EXPECT_THAT(refused(), HasSubstr("a branch is called \"lk\""));
  repo.git("r", "branch -D lk");
  repo.git("r", "checkout --detach");
  EXPECT_THAT(refused(), HasSubstr("is not on a branch"));
  repo.folder("empty");
  repo.git("empty", "init .");
  EXPECT_THAT(refused("empty"), HasSubstr("has no commit yet"));
}

TEST_F(Merger, AsWhomToCommitMayBeInTheEnvironment) {
  repo.git("r", "config user.name ''");
  EXPECT_FALSE(start_point(repo.at("r")));
  for (const char* const name : git::kIdentityVariables) ::setenv(name, "ann", 1);
  const auto start = start_point(repo.at("r"));
  for (const char* const name : git::kIdentityVariables) ::unsetenv(name);
  EXPECT_TRUE(start) << start.error().message;
}

}  // namespace
}  // namespace lockkeeper::crew
