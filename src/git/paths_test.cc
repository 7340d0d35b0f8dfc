#include "git/paths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "realm/test_repository.h"

namespace lockkeeper::git {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

class GitPaths : public testing::Test {
 protected:
  GitPaths() {
    repository_.init("r");
    for (const char* name : {"a", "b", "c", "dir/d"}) write(name, "first\n");
    commit("files");
  }
  void write(const std::string& name, const std::string& text) const {
    repository_.write("r/" + name, text);
  }
  void git(const std::string& arguments) const { repository_.git("r", arguments); }
  void commit(const std::string& message) const {
    git("add -A");
    git("commit -m '" + message + "'");
  }
  Reader reader() const {
    auto made = Reader::open(repository_.at("r"));
    EXPECT_TRUE(made) << made.error().message;
    return *made;
  }
  // "MM a", "?? new", …
  std::vector<std::string> changed(const std::vector<std::string>& paths) const {
    const auto found = changed_paths(reader(), paths);
    EXPECT_TRUE(found) << found.error().message;
    std::vector<std::string> lines;
    for (const ChangedPath& each : *found) {
      lines.push_back(std::string{each.staged, each.unstaged, ' '} + each.path);
    }
    return lines;
  }
  static std::vector<std::string> lines_of(const Result<std::vector<Difference>>& found) {
    EXPECT_TRUE(found) << found.error().message;
    std::vector<std::string> lines;
    for (const Difference& each : *found) lines.push_back(std::string{each.kind, ' '} + each.path);
    return lines;
  }
  std::string id_of(const std::string& name) const {
    const auto id = commit_named(reader(), name);
    EXPECT_TRUE(id && *id) << name;
    return **id;
  }

  realm::TestRepository repository_;
};

// The real git-lfs. Its filter does not run for us.
TEST_F(GitPaths, AFileThatLfsKeepsIsChangedOnlyIfItsContentIs) {
  git("lfs install --local");
  write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n");
  write("a.bin", "of a\n");
  write("b.bin", "of b\n");
  write("c.bin", "of c\n");
  commit("lfs");
  const auto touch = [&](const std::string& name) {
    std::filesystem::last_write_time(
        repository_.at("r/" + name),
        std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  };
  const std::vector<std::string> all{"a", "a.bin", "b.bin", "c.bin"};
  touch("a.bin");
  EXPECT_THAT(changed(all), IsEmpty());
  write("a.bin", "new of a\n");
  write("b.bin", "new of b\n");
  git("add b.bin");
  touch("b.bin");
  std::filesystem::permissions(repository_.at("r/c.bin"), std::filesystem::perms::owner_all);
  EXPECT_THAT(changed(all), ElementsAre(".M a.bin", "M. b.bin", ".M c.bin"));
  write("a", "changed\n");
  EXPECT_THAT(changed({"a"}), ElementsAre(".M a"));
}

TEST_F(GitPaths, ChangedPathsAreThoseThatWereAskedFor) {
  write("a", "second\n");
  git("add a");
  write("a", "third\n");
  write("b", "second\n");
  write("dir/new", "new\n");
  std::filesystem::remove(repository_.at("r/c"));
  EXPECT_THAT(changed({"a", "c", "dir"}), ElementsAre("MM a", ".D c", "?? dir/new"));
  EXPECT_THAT(changed({"dir/d"}), IsEmpty());
  EXPECT_THAT(changed({}), IsEmpty());
  EXPECT_THAT(changed({"no-such-file"}), IsEmpty());
}

TEST_F(GitPaths, APathIsNotAPattern) {
  for (const char* name : {"*", "a b", "tab\there", "ä", ":(top)x", "new\nline"}) {
    write(name, "new\n");
  }
  write("a", "second\n");
  EXPECT_THAT(
      changed({"*", ":(top)x", "tab\there", "ä", "new\nline", "a b"}),
      UnorderedElementsAre("?? *", "?? :(top)x", "?? tab\there", "?? ä", "?? new\nline", "?? a b"));
}

TEST_F(GitPaths, IgnoredFilesAreLeftOut) {
  write(".gitignore", "*.log\n");
  write("x.log", "new\n");
  EXPECT_THAT(changed({"x.log", ".gitignore"}), ElementsAre("?? .gitignore"));
}

TEST_F(GitPaths, ManyPathsAreAskedInSeveralQuestions) {
  std::vector<std::string> paths;
  for (int i = 0; i < 3'000; ++i) {
    paths.push_back("dir/" + std::string(80, 'x') + std::to_string(i));
  }
  write(paths.front(), "new\n");
  write(paths.back(), "new\n");
  EXPECT_EQ(changed(paths).size(), 2U);
}

TEST_F(GitPaths, TheWholeWorktree) {
  write("a", "second\n");
  write("new", "new\n");
  const auto found = all_changed_paths(reader());
  ASSERT_TRUE(found);
  EXPECT_THAT(*found, ElementsAre(ChangedPath{"a", '.', 'M'}, ChangedPath{"new", '?', '?'}));
  EXPECT_TRUE(found->back().untracked());
}

TEST_F(GitPaths, AConflictIsUnmerged) {
  git("checkout -b other");
  write("a", "theirs\n");
  commit("theirs");
  git("checkout main");
  write("a", "ours\n");
  commit("ours");
  git("merge other || true");
  const auto found = changed_paths(reader(), std::vector<std::string>{"a"});
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 1U);
  EXPECT_TRUE(found->front().unmerged());
}

TEST_F(GitPaths, TheIndexAgainstTheLastCommit) {
  write("a", "second\n");
  write("new", "new\n");
  git("rm --cached -q b");
  git("add a new");
  write("c", "not staged\n");
  EXPECT_THAT(lines_of(staged_against(reader(), "HEAD")), ElementsAre("M a", "D b", "A new"));
  const auto found = staged_against(reader(), "HEAD");
  const auto committed = contents_at(reader(), "HEAD", std::vector<std::string>{"a", "dir/d", "x"});
  ASSERT_TRUE(committed);
  EXPECT_THAT(*committed,
              ElementsAre(Pair("a", found->front().old_id), Pair("dir/d", found->front().old_id)));
  EXPECT_EQ(found->front().mode, "100644");
}

TEST_F(GitPaths, BeforeTheFirstCommitEverythingIsNew) {
  repository_.folder("fresh");
  repository_.git("fresh", "init .");
  repository_.write("fresh/a", "a\n");
  repository_.git("fresh", "add a");
  const auto fresh = Reader::open(repository_.at("fresh"));
  ASSERT_TRUE(fresh);
  EXPECT_EQ(commit_named(*fresh, "HEAD").value_or("?"), std::nullopt);
  EXPECT_THAT(lines_of(staged_against_all(*fresh, {})), ElementsAre("A a"));
  const auto nothing = contents_at(*fresh, "HEAD", std::vector<std::string>{"a"});
  ASSERT_TRUE(nothing);
  EXPECT_THAT(*nothing, IsEmpty());
}

TEST_F(GitPaths, OnlyWhatDiffersFromEveryParent) {
  git("checkout -b other");
  write("a", "theirs\n");
  commit("theirs");
  git("checkout main");
  write("b", "ours\n");
  commit("ours");
  git("merge --no-commit other");
  write("c", "slipped in\n");
  git("add c");
  const std::vector<std::string> parents = {id_of("HEAD"), id_of("other")};
  EXPECT_THAT(lines_of(staged_against_all(reader(), parents)), ElementsAre("M c"));
  git("commit -m merged");
  EXPECT_THAT(lines_of(made_by(reader(), "HEAD")), ElementsAre("M c"));
  const auto found = parents_of(reader(), "HEAD");
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, parents);
  EXPECT_THAT(lines_of(between(reader(), parents[0], "HEAD")), ElementsAre("M a", "M c"));
}

TEST_F(GitPaths, TheFirstCommitDiffersFromNothing) {
  repository_.folder("fresh");
  repository_.git("fresh", "init .");
  repository_.write("fresh/a", "a\n");
  repository_.git("fresh", "add a");
  repository_.git("fresh", "commit -m first");
  const auto fresh = Reader::open(repository_.at("fresh"));
  ASSERT_TRUE(fresh);
  EXPECT_THAT(lines_of(made_by(*fresh, "HEAD")), ElementsAre("A a"));
}

}  // namespace
}  // namespace lockkeeper::git
