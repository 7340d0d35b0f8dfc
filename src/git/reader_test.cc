#include "git/reader.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "git/paths.h"
#include "realm/test_repository.h"

namespace lockkeeper::git {
namespace {

namespace fs = std::filesystem;

class GitReader : public testing::Test {
 protected:
  GitReader() {
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

TEST_F(GitReader, Answers) {
  const auto git = Reader::open(root_);
  ASSERT_TRUE(git);
  EXPECT_EQ(git->ask({"ls-files", "-z"}).value_or(""), std::string("a.txt\0", 6));
  const auto wrong = git->ask({"no-such-verb"});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, Code::kFailed);
}

TEST_F(GitReader, NothingThatTheRepositoryNamesIsRun) {
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
  const auto git = Reader::open(root_);
  ASSERT_TRUE(git);
  const auto changed = all_changed_paths(*git);
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->size(), 3U);
  EXPECT_FALSE(fs::exists(ran_));
}

TEST_F(GitReader, TheEnvironmentDoesNotLeadAstray) {
  repository_.init("other");
  ::setenv("GIT_DIR", repository_.at("other/.git").c_str(), 1);
  ::setenv("GIT_INDEX_FILE", "/nowhere", 1);
  const auto git = Reader::open(root_);
  const auto listed = git ? git->ask({"ls-files"}) : "";
  ::unsetenv("GIT_DIR");
  ::unsetenv("GIT_INDEX_FILE");
  EXPECT_EQ(listed.value_or(""), "a.txt\n");
}

TEST_F(GitReader, WhatGitToldAHookIsPassedOn) {
  const std::string index = repository_.at("index");
  fs::copy(root_ + "/.git/index", index);
  repository_.write("r/b.txt", "b\n");
  repository_.git("r", "add b.txt");
  const auto git =
      Reader::open(root_, {.variables = {{"GIT_INDEX_FILE", index}}, .reads_files = false});
  ASSERT_TRUE(git);
  EXPECT_EQ(git->ask({"ls-files"}).value_or(""), "a.txt\n");
}

TEST_F(GitReader, AnExitStatusIsAnAnswer) {
  const auto git = Reader::open(root_, {.reads_files = false});
  ASSERT_TRUE(git);
  const auto no = git->try_to_ask({"merge-base", "--is-ancestor", "HEAD", "HEAD^"});
  ASSERT_TRUE(no);
  EXPECT_EQ(no->status, 1);
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

TEST_F(GitReader, OnlyAbsoluteFoldersOfPathHaveGit) {
  repository_.folder("empty");
  const PathOf path(repository_.at("empty") + "::.");
  EXPECT_FALSE(Reader::open(root_));
}

TEST_F(GitReader, ThisProgramIsNotGitUnderAnotherName) {
  repository_.folder("bin");
  fs::create_symlink("/proc/self/exe", repository_.at("bin/git"));
  const PathOf path(repository_.at("bin") + ":/usr/bin:/bin");
  EXPECT_EQ(find_git().value_or(""), "/usr/bin/git");
}

TEST_F(GitReader, WhatDoesNotEndIsEnded) {
  repository_.write("bin/git", "#!/bin/sh\nexec sleep 1000\n");
  ::chmod(repository_.at("bin/git").c_str(), 0755);
  const PathOf path(repository_.at("bin") + ":/usr/bin:/bin");
  const auto git = Reader::open(root_, {.limits = {.patience_ms = 100}});
  ASSERT_FALSE(git);
  EXPECT_EQ(git.error().code, Code::kTimeout);
}

TEST_F(GitReader, WhatPrintsWithoutEndIsEnded) {
  repository_.write("bin/git", "#!/bin/sh\nexec yes\n");
  ::chmod(repository_.at("bin/git").c_str(), 0755);
  const PathOf path(repository_.at("bin") + ":/usr/bin:/bin");
  const auto git = Reader::open(root_, {.limits = {.answer_bytes = 1 << 20}});
  ASSERT_FALSE(git);
  EXPECT_EQ(git.error().code, Code::kLimitExceeded);
}

}  // namespace
}  // namespace lockkeeper::git
