#include "git/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/fd.h"
#include "base/folder.h"
#include "git/reader.h"
#include "realm/test_repository.h"

namespace lockkeeper::git {
namespace {

using testing::HasSubstr;
using testing::Not;

class WriterTest : public testing::Test {
 protected:
  WriterTest() {
    repo.init("r");
    repo.git("r", "config user.name t");
    repo.git("r", "config user.email t@example.org");
  }

  void hook(const std::string& name, const std::string& lines) const {
    repo.write("r/.git/hooks/" + name, "#!/bin/sh\n" + lines);
    std::filesystem::permissions(repo.at("r/.git/hooks/" + name),
                                 std::filesystem::perms::owner_all);
  }

  Writer writer(WriterOptions options = {}) const {
    auto made = Writer::open(repo.at("r"), std::move(options));
    EXPECT_TRUE(made) << made.error().message;
    return std::move(*made);
  }

  realm::TestRepository repo;
};

TEST_F(WriterTest, HooksRunWithoutWhatOurOwnCallerToldGit) {
  hook("pre-commit", "echo \"$WHO ${GIT_PREFIX:-nobody}\" >&2\n");
  ::setenv("GIT_PREFIX", "eve", 1);
  ::setenv("WHO", "ours", 1);
  const auto text =
      writer({.variables = {{"WHO", "ann"}}}).run({"commit", "--allow-empty", "-m", "x"});
  ::unsetenv("GIT_PREFIX");
  ::unsetenv("WHO");
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_THAT(*text, HasSubstr("ann "));
  EXPECT_THAT(*text, Not(HasSubstr("eve")));
}

TEST_F(WriterTest, AsWhomToCommitIsPassedOn) {
  repo.git("r", "config --unset user.name");
  repo.git("r", "config --unset user.email");
  for (const char* const name : kIdentityVariables) ::setenv(name, "ann", 1);
  const auto text = writer().run({"commit", "--allow-empty", "-m", "x"});
  const auto reader = Reader::open(repo.at("r"));
  const auto author = reader->ask({"log", "-1", "--format=%an %ae %cn %ce"});
  const auto known = reader->ask({"var", "GIT_AUTHOR_IDENT"});
  for (const char* const name : kIdentityVariables) ::unsetenv(name);
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(author.value_or(""), "ann ann ann ann\n");
  EXPECT_THAT(known.value_or(""), HasSubstr("ann <ann>"));
}

TEST_F(WriterTest, AFailureHasGitsWordsOnOneLine) {
  hook("pre-commit", "echo first >&2; printf 'second\\033[31m\\n' >&2; exit 1\n");
  const auto text = writer().run({"commit", "--allow-empty", "-m", "x"});
  ASSERT_FALSE(text);
  EXPECT_THAT(text.error().message, HasSubstr("git commit failed in "));
  EXPECT_THAT(text.error().message, HasSubstr("first; second\\x1b[31m"));
  const auto answer = writer().try_to_run({"merge-base", "--is-ancestor", "HEAD", "HEAD"});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 0);
}

TEST_F(WriterTest, AFailureNamesTheFilesAndTheLockFile) {
  EXPECT_EQ(last_words("Updating 1..2\nerror: The following untracked working tree files would be "
                       "overwritten by merge:\n\tshared\n\ta b\n\tc\n\td\nPlease move or remove "
                       "them before you merge.\nAborting\n"),
            "The following untracked working tree files would be overwritten by merge: shared, "
            "\"a b\", c and 1 more");
  EXPECT_EQ(
      last_words("error: could not delete reference refs/heads/x: Unable to create "
                 "'/r/.git/packed-refs.lock': File exists.\n\nAnother git process seems to be "
                 "running in this repository, e.g.\nan editor.\nremove the file manually to "
                 "continue.\n"),
      "could not delete reference refs/heads/x: Unable to create '/r/.git/packed-refs.lock': "
      "File exists.");
  EXPECT_EQ(last_words("error: one\tfile\033[31m:\n\tx\033[2J\n"),
            "one\\x09file\\x1b[31m: \"x\\x1b[2J\"");
  EXPECT_EQ(last_words("1\n2\nhint: no\n3\n4\n"), "2; 3; 4");
  EXPECT_EQ(last_words(""), "");
}

TEST_F(WriterTest, TheLockLastsAsLongAsGit) {
  repo.folder("marks");
  const auto folder = Folder::open(repo.at("marks"));
  ASSERT_TRUE(folder);
  auto lock = folder->lock("git.lock", 0);
  ASSERT_TRUE(lock);
  // The hook asks whether the lock is free for others while nobody but git and itself may have it.
  hook("pre-commit", "flock -n " + repo.at("marks/git.lock") + " true && echo free || echo held\n");
  const Writer with_lock = writer({.lock = lock->get(), .go_on = [&] {
                                     lock->reset();  // as if we were killed
                                     return true;
                                   }});
  const auto text = with_lock.run({"commit", "--allow-empty", "-m", "x"});
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_THAT(*text, HasSubstr("held"));
  EXPECT_TRUE(folder->lock("git.lock", 10'000));
}

TEST_F(WriterTest, IsStoppedWithWhatItStarted) {
  hook("pre-commit", "echo $$ > " + repo.at("pid") + "; exec sleep 600\n");
  const auto text = writer({.go_on = [&] {
                      return !std::filesystem::exists(repo.at("pid"));
                    }}).run({"commit", "--allow-empty", "-m", "x"});
  ASSERT_FALSE(text);
  EXPECT_THAT(text.error().message, HasSubstr("stopped"));
  EXPECT_FALSE(std::filesystem::exists(repo.at("r/.git/index.lock")));
}

TEST_F(WriterTest, WhatAHookLeavesRunningIsNotWaitedFor) {
  hook("post-commit", "sleep 600 &\necho $! > " + repo.at("pid") + "\n");
  const auto text = writer().run({"commit", "--allow-empty", "-m", "x"});
  EXPECT_TRUE(text) << text.error().message;
  std::system(("kill $(cat " + repo.at("pid") + ")").c_str());
}

}  // namespace
}  // namespace lockkeeper::git
