#include "git/state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "git/ref_log.h"
#include "realm/test_repository.h"

namespace lockkeeper::git {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

// A repository with two branches that change the same line.
class GitState : public testing::Test {
 protected:
  GitState() {
    repository_.init("r");
    commit("a", "first\n");
    git("checkout -b other");
    commit("a", "theirs\n");
    git("checkout main");
    commit("a", "ours\n");
  }
  void git(const std::string& arguments) const { repository_.git("r", arguments); }
  void commit(const std::string& name, const std::string& text) const {
    repository_.write("r/" + name, text);
    git("add -A");
    git("commit -m " + name);
  }
  Operation now() const {
    const auto folder = own_git_folder(repository_.at("r"));
    EXPECT_TRUE(folder) << folder.error().message;
    return current_operation(*folder);
  }
  realm::TestRepository repository_;
};

TEST_F(GitState, WhatGitIsInTheMiddleOf) {
  EXPECT_EQ(now(), Operation::kNone);
  git("merge other || true");
  EXPECT_EQ(now(), Operation::kMerge);
  EXPECT_THAT(merge_heads(repository_.at("r/.git")), SizeIs(1));
  git("merge --abort");
  EXPECT_THAT(merge_heads(repository_.at("r/.git")), IsEmpty());
  git("cherry-pick other || true");
  EXPECT_EQ(now(), Operation::kCherryPick);
  git("cherry-pick --abort");
  git("revert --no-edit HEAD~1 || true");
  EXPECT_EQ(now(), Operation::kRevert);
  git("revert --abort");
  EXPECT_EQ(now(), Operation::kNone);
  // A hook of a revert that goes well sees it, too.
  repository_.write("r/.git/hooks/prepare-commit-msg", "#!/bin/sh\ntest -f .git/MERGE_MSG\n");
  std::filesystem::permissions(repository_.at("r/.git/hooks/prepare-commit-msg"),
                               std::filesystem::perms::owner_all);
  git("revert --no-edit HEAD");
  git("reset --hard HEAD^");
  EXPECT_EQ(now(), Operation::kNone);
  git("rebase other || true");
  EXPECT_EQ(now(), Operation::kRebase);
  git("rebase --abort");
  git("rebase --apply other || true");
  EXPECT_EQ(now(), Operation::kRebase);
  git("rebase --abort");
  git("format-patch -1 other -o ..");
  git("am ../0001-*.patch || true");
  EXPECT_EQ(now(), Operation::kAm);
  git("am --abort");
  EXPECT_EQ(now(), Operation::kNone);
}

TEST_F(GitState, AWorktreeHasItsOwnFolder) {
  git("worktree add ../w other");
  const auto folder = own_git_folder(repository_.at("w"));
  ASSERT_TRUE(folder);
  EXPECT_EQ(*folder, repository_.at("r/.git/worktrees/w"));
  EXPECT_FALSE(own_git_folder(repository_.path()));
}

TEST_F(GitState, HeadIsReadWhereFilesTell) {
  git("worktree add --detach ../w other");
  const auto asked = [&](const std::string& in) {
    const auto reader = Reader::open(repository_.at(in), {.reads_files = false});
    const std::string answer = reader->ask({"rev-parse", "HEAD"}).value_or("");
    return std::optional(answer.substr(0, answer.find('\n')));
  };
  const std::string common = repository_.at("r/.git");
  EXPECT_EQ(head_in_files(common, common), asked("r"));
  EXPECT_EQ(head_in_files(common + "/worktrees/w", common), asked("w"));
  git("pack-refs --all");
  EXPECT_EQ(head_in_files(common, common), std::nullopt);
  git("checkout --orphan fresh");
  EXPECT_EQ(head_in_files(common, common), std::nullopt);
  EXPECT_EQ(head_in_files("/nowhere", "/nowhere"), std::nullopt);
}

TEST_F(GitState, WorktreesAreListed) {
  git("worktree add '../w x' other");
  git("worktree add --detach ../gone");
  std::filesystem::remove_all(repository_.at("gone"));
  const auto reader = Reader::open(repository_.at("r"), {.reads_files = false});
  ASSERT_TRUE(reader);
  const auto found = worktrees(*reader);
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_THAT(*found, SizeIs(3));
  EXPECT_EQ(found->at(0).path, repository_.at("r"));
  EXPECT_EQ(found->at(0).branch, "refs/heads/main");
  EXPECT_EQ(found->at(1).path, repository_.at("gone"));
  EXPECT_EQ(found->at(1).branch, "");
  EXPECT_TRUE(found->at(1).prunable);
  EXPECT_EQ(found->at(2).path, repository_.at("w x"));
  EXPECT_EQ(found->at(2).branch, "refs/heads/other");
  EXPECT_FALSE(found->at(2).head.empty());
  EXPECT_FALSE(found->at(2).prunable);
}

TEST_F(GitState, EveryWorktreeHasAHeadOfItsOwn) {
  git("worktree add -q ../w -b third");
  const auto found = head_folders(repository_.at("r/.git"));
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].worktree, repository_.at("r"));
  EXPECT_EQ(found[0].own_git_folder, repository_.at("r/.git"));
  EXPECT_EQ(found[1].worktree, repository_.at("w"));
  EXPECT_EQ(found[1].own_git_folder, *own_git_folder(repository_.at("w")));
}

TEST_F(GitState, ACommitsFileTellsItsTime) {
  const std::string objects = repository_.at("r/.git/objects");
  const std::string head = *head_in_files(repository_.at("r/.git"), repository_.at("r/.git"));
  EXPECT_FALSE(is_older(objects, head, 0));
  EXPECT_TRUE(is_older(objects, head, INT64_MAX));
  EXPECT_FALSE(is_older(objects, std::string(40, '1'), INT64_MAX)) << "in a pack, perhaps";
}

TEST(RefLog, EntriesAreReadAndTheRestIsLeftOut) {
  const std::string a(40, 'a'), b(40, 'b'), zero(40, '0');
  const auto entries =
      log_entries(zero + " " + a + " Ann B <a@b> 1768663800 +0100\tWIP on main: 1\n" + "garbage\n" +
                  a + " " + b + " Ann <a@b> 1768663900 +0000\tOn x: two");
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].commit, a);
  EXPECT_EQ(entries[0].at_s, 1'768'663'800);
  EXPECT_EQ(entries[0].words, "WIP on main: 1");
  EXPECT_EQ(entries[1].words, "On x: two");
}

TEST_F(GitState, TheStashHasALog) {
  const std::string log = stash_log(repository_.at("r/.git"));
  EXPECT_THAT(newest_log_entries(log), IsEmpty());
  repository_.write("r/a", "changed\n");
  git("stash");
  const auto entries = newest_log_entries(log);
  ASSERT_THAT(entries, SizeIs(1));
  EXPECT_THAT(entries[0].words, testing::StartsWith("WIP on main: "));
}

}  // namespace
}  // namespace lockkeeper::git
