#include "install/git_pieces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/fd.h"
#include "git/hooks_folder.h"
#include "install/plan.h"
#include "realm/test_repository.h"

namespace lockkeeper::install {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class GitPieces : public testing::Test {
 protected:
  GitPieces() {
    files_.init("repo");
    files_.folder("home");
    machine_ = look_at_machine(files_.env(), files_.at("repo")).value();
    EXPECT_TRUE(git::make_hooks_folders(files_.env(), "/bin/true"));
  }
  Request request() {
    Request request;
    request.scope = Scope::kProject;
    request.program = "/bin/true";
    auto pieces = git_pieces(machine_);
    EXPECT_TRUE(pieces) << pieces.error().message;
    if (pieces) request.more = *pieces;
    return request;
  }
  void install() {
    const auto plan = plan_install(machine_, request());
    ASSERT_TRUE(plan) << plan.error().message;
    ASSERT_TRUE(carry_out(machine_, *plan));
  }
  void uninstall() {
    Request request;
    request.scope = Scope::kProject;
    request.more = git_pieces_there(machine_);
    const auto plan = plan_uninstall(machine_, request);
    ASSERT_TRUE(plan) << plan.error().message;
    ASSERT_TRUE(carry_out(machine_, *plan));
  }
  std::string config() const { return read_file(files_.at("repo/.git/config")).value_or(""); }
  bool has_include() const {
    return std::filesystem::exists(files_.at("repo/.git/lockkeeper-hooks.config"));
  }

  realm::TestRepository files_;
  Machine machine_;
};

TEST_F(GitPieces, GoInAndOutAgainByteForByte) {
  files_.git("repo", "config core.hooksPath .husky/_");
  const std::string before = config();
  install();
  EXPECT_TRUE(is_git_guard_installed(machine_));
  EXPECT_EQ(git_guard_trouble(machine_), "");
  EXPECT_THAT(config(), HasSubstr(before));
  uninstall();
  EXPECT_EQ(config(), before);
  EXPECT_FALSE(has_include());
  EXPECT_FALSE(is_git_guard_installed(machine_));
}

TEST_F(GitPieces, WhatOthersChangeMeanwhileStays) {
  install();
  files_.git("repo", "config user.name somebody");
  files_.git("repo", "config core.hooksPath .husky/_");
  EXPECT_EQ(git_guard_trouble(machine_), "");
  uninstall();
  EXPECT_THAT(config(), HasSubstr("somebody"));
  EXPECT_THAT(config(), HasSubstr(".husky/_"));
  EXPECT_THAT(config(), testing::Not(HasSubstr("lockkeeper")));
}

TEST_F(GitPieces, WhileAGitWritesTheConfigNothingIsChanged) {
  files_.write("repo/.git/config.lock", "");
  const std::string before = config();
  const auto plan = plan_install(machine_, request());
  ASSERT_TRUE(plan);
  const auto done = carry_out(machine_, *plan);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("config.lock is there"));
  EXPECT_EQ(config(), before);
  EXPECT_FALSE(has_include());
  std::filesystem::remove(files_.at("repo/.git/config.lock"));
  install();
  EXPECT_FALSE(std::filesystem::exists(files_.at("repo/.git/config.lock")));
}

TEST_F(GitPieces, ATwiceInstalledGuardIsInstalledOnce) {
  install();
  const auto again = plan_install(machine_, request());
  ASSERT_TRUE(again);
  EXPECT_THAT(again->changes, IsEmpty());
}

TEST_F(GitPieces, ARareHookOfTheRepositoryStillRuns) {
  EXPECT_THAT(git_pieces_there(machine_).front().line, testing::EndsWith("/usual"));
  files_.write("repo/.git/hooks/reference-transaction", "#!/bin/sh\n");
  std::filesystem::permissions(files_.at("repo/.git/hooks/reference-transaction"),
                               std::filesystem::perms::owner_all);
  EXPECT_THAT(git_pieces_there(machine_).front().line, testing::EndsWith("/all"));
}

TEST_F(GitPieces, AnotherToolThatTookItsPlaceIsNoticed) {
  install();
  files_.write("repo/.git/config", config() + "[core]\n\thooksPath = /elsewhere\n");
  EXPECT_THAT(git_guard_trouble(machine_), HasSubstr("/elsewhere"));
  files_.write("repo/.git/config", "[core]\n\trepositoryformatversion = 0\n");
  EXPECT_THAT(git_guard_trouble(machine_), HasSubstr("not set any more"));
}

TEST_F(GitPieces, AHooksPathOfAllRepositoriesIsRefused) {
  files_.write("home/.gitconfig", "[core]\n\thooksPath = ~/hooks\n");
  const auto pieces = git_pieces(machine_);
  ASSERT_FALSE(pieces);
  EXPECT_EQ(pieces.error().code, Code::kOperationNotPermitted);
  EXPECT_THAT(pieces.error().message, HasSubstr("(global)"));
}

TEST_F(GitPieces, AHooksPathThatPrecedesTheRepositorysIsRefused) {
  files_.git("repo", "config extensions.worktreeConfig true");
  files_.git("repo", "config --worktree core.hooksPath .wh");
  const auto pieces = git_pieces(machine_);
  ASSERT_FALSE(pieces);
  EXPECT_THAT(pieces.error().hint, HasSubstr("git config --worktree --unset core.hooksPath"));
}

TEST_F(GitPieces, AHooksPathOfAnotherGlobalFileIsRefused) {
  files_.write("home/other", "[core]\n\thooksPath = /x\n");
  machine_.env = [before = machine_.env, file = files_.at("home/other")](const char* name) {
    return std::string_view(name) == "GIT_CONFIG_GLOBAL" ? std::optional(file) : before(name);
  };
  EXPECT_FALSE(git_pieces(machine_));
}

TEST_F(GitPieces, ARepositoryOfSeveralUsersIsRefused) {
  files_.git("repo", "config core.sharedRepository group");
  EXPECT_FALSE(git_pieces(machine_));
}

TEST_F(GitPieces, CodexSetsTheVariablesUnlessTheUserSetsHisOwn) {
  const auto piece =
      shell_environment_piece(machine_, Client::kCodex, Scope::kUser, "/home/config.toml");
  ASSERT_TRUE(piece);
  const std::string before = "model = \"x\"\n";
  const auto after = put_shell_environment(*piece, before);
  ASSERT_TRUE(after && *after);
  EXPECT_THAT(**after, HasSubstr("[shell_environment_policy.set]"));
  EXPECT_THAT(**after, HasSubstr("git-hooks/usual"));
  EXPECT_EQ(put_shell_environment(*piece, *after).value(), *after);
  const FileText original = before;
  EXPECT_EQ(take_out_shell_environment(*piece, **after, &original).value(), before);
  for (const char* const written : {"[shell_environment_policy.set]\nGIT_CONFIG_COUNT = \"0\"\n",
                                    "[shell_environment_policy]\nset = { A = \"b\" }\n"}) {
    const std::string own = written;
    EXPECT_EQ(put_shell_environment(*piece, own).value(), own);
    EXPECT_THAT(left_alone(*piece, own), HasSubstr("without the commit guard"));
    EXPECT_EQ(take_out_shell_environment(*piece, own, nullptr).value(), own);
  }
}

}  // namespace
}  // namespace lockkeeper::install
