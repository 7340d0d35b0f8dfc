#include "snapshot/ignored.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/test_folder.h"
#include "base/text.h"

namespace lockkeeper::snapshot {
namespace {

namespace fs = std::filesystem;

class IgnoredTest : public testing::Test {
 protected:
  IgnoredTest() { run("git init -q"); }
  // The exit status.
  int run(const std::string& command) const {
    return std::system(("cd " + shell_quote(folder_.path()) + " && " + command).c_str());
  }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories(fs::path(folder_.file(name)).parent_path());
    std::ofstream(folder_.file(name)) << text;
  }
  // As we say it; git must say the same.
  bool ignores(const std::string& path, const std::string& exclude = {}) const {
    Tree tree(folder_.path());
    const bool ours = Ignored(tree, exclude).ignores(path);
    const int git = run("git -c core.excludesFile=/dev/null check-ignore -q --no-index -- " +
                        shell_quote(path));
    EXPECT_EQ(ours, git == 0) << path;
    return ours;
  }

  TestFolder folder_;
};

TEST_F(IgnoredTest, SaysWhatGitSays) {
  write(".gitignore",
        "# a comment\n"
        "*.log\n"
        "!keep.log\n"
        "build/\n"
        "/top\n"
        "docs/*.txt\n"
        "**/gen/**\n"
        "a/**/z\n"
        "[ab]?.tmp\n"
        "\\#odd\n"
        "blank \n"
        "x[!0-9]y\n");
  write("sub/.gitignore", "!special.log\nlocal\n/only\n");
  for (const char* path : {"x.log",         "keep.log",
                           "d/x.log",       "d/keep.log",
                           "build/x",       "d/build/y",
                           "build",         "top",
                           "d/top",         "docs/a.txt",
                           "docs/d/a.txt",  "d/docs/a.txt",
                           "gen/a",         "d/gen/e/a",
                           "gen",           "a/z",
                           "a/b/z",         "a/b/c/z",
                           "b/a/z",         "a1.tmp",
                           "c1.tmp",        "#odd",
                           "blank",         "xay",
                           "x1y",           "sub/special.log",
                           "sub/other.log", "sub/d/special.log",
                           "sub/local",     "sub/d/local",
                           "local",         "sub/only",
                           "sub/d/only",    "plain.c",
                           "sub/plain.c"}) {
    ignores(path);
  }
  EXPECT_TRUE(ignores("x.log"));
  EXPECT_FALSE(ignores("keep.log"));
  EXPECT_FALSE(ignores("plain.c"));
}

TEST_F(IgnoredTest, AByteOrderMarkAndEmptyNamesAreReadAsGitReadsThem) {
  write(".gitignore",
        "\xef\xbb\xbf"
        "first\na//b\nc//\n//d\n/e\n");
  for (const char* path : {"a/b", "c/x", "d", "c"}) EXPECT_FALSE(ignores(path)) << path;
  EXPECT_TRUE(ignores("first"));
  EXPECT_TRUE(ignores("e"));
}

TEST_F(IgnoredTest, TheRepositorysOwnListCounts) {
  write(".git/info/exclude", "mine\n");
  EXPECT_TRUE(ignores("mine", "mine\n"));
  EXPECT_FALSE(ignores("yours", "mine\n"));
}

TEST_F(IgnoredTest, AHostileFileCostsLittle) {
  std::string text;
  for (int i = 0; i < 5'000; ++i) text += "*[a]*a*a*a*a*a*a*a*a*a*b\n";
  write(".gitignore", text);
  Tree tree(folder_.path());
  EXPECT_FALSE(Ignored(tree, "").ignores(std::string(250, 'a')));
}

}  // namespace
}  // namespace lockkeeper::snapshot
