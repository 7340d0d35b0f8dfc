// The commit guard beside the tools that manage a repository's hooks: each as it is, from PATH or
// from the folders in LOCKKEEPER_GIT_TOOLS. `./dev test --long` installs them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "e2e/git_guard_testing.h"

namespace lockkeeper::stage {
namespace {

using testing::HasSubstr;
using testing::Not;

// Installed by a person, in a guarded shell, or by somebody under `run`.
enum class Where { kOutside, kShell, kRun };

class GitTools : public GitGuard, public testing::WithParamInterface<Where> {
 protected:
  GitTools() {
    if (const char* folder = std::getenv("LOCKKEEPER_GIT_TOOLS")) {
      stage_.env["PATH"] = std::string(folder) + ":" + stage_.env["PATH"];
    }
  }
  bool has(const std::string& tool) {
    return past_the_guard("command -v " + tool + " >/dev/null").status == 0;
  }
  void install(const std::string& line) {
    Answer installed;
    switch (GetParam()) {
      case Where::kOutside:
        installed = past_the_guard(line);
        break;
      case Where::kShell:
        installed = shell("s2", line);
        break;
      case Where::kRun:
        installed = stage_.as("builder", {"run", "x", "--", "sh", "-c", line});
        break;
    }
    EXPECT_EQ(installed.status, 0) << installed.all();
    EXPECT_THAT(stage_.as("", {"doctor"}).all(), Not(HasSubstr("our git hooks")));
  }
  std::string ran() const { return stage_.path("ran"); }
  // The tool's hook runs, for what is committed and only for that.
  void expect_both_at_work() {
    stage_.file("b", "mine\n");
    const Answer passed = shell("s2", "git commit -q -m mine -- b");
    EXPECT_EQ(passed.status, 0) << passed.all();
    EXPECT_EQ(text_of(ran()), "ran\n");
    edit("s1", "a", "of s1\n");
    stop("s1");
    const Answer refused = shell("s2", "git commit -m theirs -- a");
    EXPECT_EQ(refused.status, 1) << refused.all();
    EXPECT_THAT(refused.err, HasSubstr("a: changed by claude-code (session s1)"));
    EXPECT_EQ(text_of(ran()), "ran\n");
  }
};

TEST_P(GitTools, HuskysHooksRun) {
  if (!has("husky")) GTEST_SKIP() << "husky is not on the PATH: npm install husky";
  stage_.file("package.json", "{}\n");
  install("husky");
  stage_.file(".husky/pre-commit", "echo ran >>" + ran() + "\n");
  expect_both_at_work();
}

TEST_P(GitTools, LefthooksHooksRun) {
  if (!has("lefthook")) GTEST_SKIP() << "lefthook is not on the PATH: npm install lefthook";
  stage_.file("lefthook.yml",
              "pre-commit:\n  commands:\n    note:\n      run: echo ran >>" + ran() + "\n");
  install("lefthook install");
  expect_both_at_work();
}

TEST_P(GitTools, PreCommitsHooksRun) {
  if (!has("pre-commit")) GTEST_SKIP() << "pre-commit is not on the PATH: apt install pre-commit";
  stage_.file(
      ".pre-commit-config.yaml",
      "repos:\n- repo: local\n  hooks:\n  - id: note\n    name: note\n    language: system\n"
      "    pass_filenames: false\n    entry: sh -c 'echo ran >>" +
          ran() + "'\n");
  install("git add .pre-commit-config.yaml && pre-commit install");
  expect_both_at_work();
}

INSTANTIATE_TEST_SUITE_P(Installed, GitTools,
                         testing::Values(Where::kOutside, Where::kShell, Where::kRun));

}  // namespace
}  // namespace lockkeeper::stage
