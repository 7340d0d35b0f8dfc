#include "git/state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

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
  git("format-patch -1 other --stdout > ../patch; git am ../patch || true");
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

}  // namespace
}  // namespace lockkeeper::git
