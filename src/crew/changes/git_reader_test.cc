#include "crew/changes/git_reader.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "crew/changes/changes_testing.h"

namespace lockkeeper::crew {
namespace {

namespace fs = std::filesystem;

class Git : public testing::Test {
 protected:
  Git() {
    repository_.init("r");
    repository_.write("r/a.txt", "a\n");
    repository_.git("r", "add -A");
    repository_.git("r", "commit -m a");
    root_ = repository_.at("r");
    evil_ = repository_.at("evil");
    ran_ = repository_.at("ran");
    repository_.write("evil", "#!/bin/sh\ntouch '" + ran_ + "'\ncat\n");
    ::chmod(evil_.c_str(), 0755);
  }
  realm::TestRepository repository_;
  std::string root_;
  std::string evil_;  // a program that leaves a trace
  std::string ran_;
};

TEST_F(Git, Answers) {
  const auto git = GitReader::open(root_);
  ASSERT_TRUE(git);
  EXPECT_EQ(git->ask({"ls-files", "-z"}).value_or(""), std::string("a.txt\0", 6));
  const auto wrong = git->ask({"no-such-verb"});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, Code::kFailed);
}

TEST_F(Git, NothingThatTheRepositoryNamesIsRun) {
  repository_.git("r", "config core.fsmonitor " + evil_);
  repository_.git("r", "config filter.evil.clean " + evil_);
  repository_.git("r", "config filter.evil.process " + evil_);
  repository_.git("r", "config filter.evil.required true");
  repository_.git("r", "config 'filter.a=b c.clean' " + evil_);
  repository_.git("r", "config core.hooksPath " + repository_.at("hooks"));
  repository_.git("r", "config alias.status '!" + evil_ + "'");
  repository_.write("hooks/post-index-change", "#!/bin/sh\ntouch '" + ran_ + "'\n");
  ::chmod(repository_.at("hooks/post-index-change").c_str(), 0755);
  repository_.write("r/.gitattributes", "*.txt filter=evil\n*.c filter=\"a=b c\"\n");
  repository_.write("r/a.txt", "b\n");
  repository_.write("r/b.c", "b\n");
  fs::remove(ran_);  // what git itself ran while this was set up
  EXPECT_TRUE(tree_of(root_).by_git);
  EXPECT_FALSE(fs::exists(ran_));
}

TEST_F(Git, TheEnvironmentDoesNotLeadAstray) {
  repository_.init("other");
  ::setenv("GIT_DIR", repository_.at("other/.git").c_str(), 1);
  ::setenv("GIT_INDEX_FILE", "/nowhere", 1);
  const Tree tree = tree_of(root_);
  ::unsetenv("GIT_DIR");
  ::unsetenv("GIT_INDEX_FILE");
  EXPECT_TRUE(tree.by_git);
  EXPECT_TRUE(tree.files.contains("a.txt"));
}

// PATH for the time of a test.
class PathOf {
 public:
  explicit PathOf(const std::string& path) : old_(std::getenv("PATH")) {
    ::setenv("PATH", path.c_str(), 1);
  }
  ~PathOf() { ::setenv("PATH", old_.c_str(), 1); }
  PathOf(const PathOf&) = delete;
  PathOf& operator=(const PathOf&) = delete;

 private:
  std::string old_;
};

TEST_F(Git, WithoutGitTheTreeIsWalked) {
  repository_.folder("empty");
  const PathOf path(repository_.at("empty") + "::.");
  EXPECT_FALSE(GitReader::open(root_));
  const Tree tree = tree_of(root_);
  EXPECT_FALSE(tree.by_git);
  EXPECT_TRUE(tree.files.contains("a.txt"));
}

TEST_F(Git, WhatDoesNotEndIsEnded) {
  repository_.write("bin/git", "#!/bin/sh\nexec sleep 1000\n");
  ::chmod(repository_.at("bin/git").c_str(), 0755);
  const PathOf path(repository_.at("bin") + ":/usr/bin:/bin");
  const auto git = GitReader::open(root_, {.patience_ms = 100});
  ASSERT_FALSE(git);
  EXPECT_EQ(git.error().code, Code::kTimeout);
}

TEST_F(Git, WhatPrintsWithoutEndIsEnded) {
  repository_.write("bin/git", "#!/bin/sh\nexec yes\n");
  ::chmod(repository_.at("bin/git").c_str(), 0755);
  const PathOf path(repository_.at("bin") + ":/usr/bin:/bin");
  const auto git = GitReader::open(root_, {.answer_bytes = 1 << 20});
  ASSERT_FALSE(git);
  EXPECT_EQ(git.error().code, Code::kLimitExceeded);
}

}  // namespace
}  // namespace lockkeeper::crew
