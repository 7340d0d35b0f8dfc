// Where a lock lies and who asks: worktrees, submodules, no git, folders, terminals; and that
// looking changes nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "support/stage.h"

namespace lockkeeper::stage {
namespace {

using testing::HasSubstr;

// Every name below a folder with what can be seen of it from outside.
std::map<std::string, std::string> tree(const std::string& root) {
  std::map<std::string, std::string> all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    struct stat found{};
    ::lstat(entry.path().c_str(), &found);
    all[entry.path()] = std::to_string(found.st_ino) + " " + std::to_string(found.st_mode) + " " +
                        (S_ISREG(found.st_mode) ? read_text(entry.path()) : "");
  }
  return all;
}

class Where : public testing::Test {
 protected:
  Answer in(const std::string& folder, const std::string& agent, const Words& words) {
    Launch launch = stage_.launch(agent, words);
    launch.folder = folder;
    return stage_.finish(std::move(launch));
  }
  int status_in(const std::string& folder, const std::string& agent, const Words& words) {
    const Answer answer = in(folder, agent, words);
    SCOPED_TRACE(answer.all());
    return answer.status;
  }

  Stage stage_;
};

TEST_F(Where, ANameThatNothingHasYetIsTold) {
  stage_.file("src/main.py");
  const auto unmatched = [](const Answer& answer) {
    const Json json = answer.json();
    return json.contains("unmatched") ? json["unmatched"].dump() : "none";
  };
  const auto asked = [&](const Words& words) {
    Words all = {"check"};
    all.insert(all.end(), words.begin(), words.end());
    return unmatched(stage_.expect(0, "ann", all));
  };
  EXPECT_EQ(asked({"src", "./", "src/*.c", "*.c", "api:GET /v1/users", stage_.repo() + "/src"}),
            "none");
  EXPECT_EQ(asked({"srcc/", "src", "srcc/*.c"}), R"(["srcc/","srcc/*.c"])");
  EXPECT_EQ(unmatched(stage_.expect(0, "ann", {"acquire", "new.py"})), R"(["new.py"])");
  EXPECT_EQ(unmatched(stage_.expect(0, "ann", {"acquire", "new.py"})), "none") << "once";
  const Answer text = stage_.as("ann", {"acquire", "srcc/"});
  EXPECT_EQ(text.status, 0);
  EXPECT_THAT(text.err, HasSubstr("not on disk yet: srcc/; did you mean src/?"));
  EXPECT_EQ(stage_.as("ann", {"acquire", "other/", "--quiet"}).err, "");
  EXPECT_THAT(stage_.as("ann", {"acquire", "src/mian.py"}).err,
              HasSubstr("not on disk yet: src/mian.py; did you mean src/main.py?"));
  EXPECT_EQ(stage_.as("ann", {"run", "src/new.py", "--", "true"}).err, "") << "the command's";
}

TEST_F(Where, ANameCopiedFromListMeansSomethingElseInAFolderAndThatIsSaid) {
  stage_.file("src/main.py");
  stage_.expect(0, "ann", {"acquire", "src/main.py"});
  Launch launch = stage_.launch("bob", {"check", "src/main.py"});
  launch.folder = stage_.repo() + "/src";
  const Answer told = stage_.finish(launch);
  EXPECT_EQ(told.status, 0) << told.all();
  EXPECT_THAT(told.err, HasSubstr("not on disk yet: src/main.py; from this folder that is "
                                  "src/src/main.py; did you mean " +
                                  stage_.repo() + "/src/main.py, which is held by ann?"));
  launch = stage_.launch("bob", {"check", "mian.py"});
  launch.folder = stage_.repo() + "/src";
  EXPECT_THAT(stage_.finish(launch).err,
              HasSubstr("did you mean " + stage_.repo() + "/src/main.py?"));
}

TEST_F(Where, ARepositoryInsideAnotherDoesNotExcludeItAndBothAreTold) {
  STAGE_IS_LOCAL("its hub knows one repository");
  const std::string inner = stage_.repo() + "/vendor/inner";
  std::filesystem::create_directories(inner + "/lib");
  stage_.git("repo/vendor/inner", {"init", "-q"});
  stage_.expect(0, "ann", {"acquire", "vendor/"});
  const auto told = [](const Answer& answer) {
    const Json json = answer.json();
    return json.contains("warnings") ? json["warnings"][0].get<std::string>() : "nothing";
  };
  const std::string around =
      "vendor/ is held by ann in " + stage_.repo() + ", the repository around";
  EXPECT_THAT(told(in(inner, "bob", {"check", "lib", "--json"})), HasSubstr(around));
  EXPECT_EQ(told(in(inner, "ann", {"check", "lib", "--json"})), "nothing") << "her own";
  EXPECT_EQ(told(in(inner, "bob", {"check", "api:GET /v1/users", "--json"})), "nothing");
  EXPECT_THAT(told(in(inner, "bob", {"acquire", "lib", "--json"})), HasSubstr(around));
  EXPECT_EQ(told(stage_.expect(0, "cat", {"check", "src/"})), "nothing");
  const std::string text = stage_.as("ann", {"acquire", "./"}).err;
  EXPECT_THAT(text, HasSubstr("vendor/inner/ is a repository with locks of its own, which ./ does "
                              "not cover; there, lib/ is held by bob"));
}

// The same name at the root would be something else.
TEST_F(Where, WhatIsHeldInAnotherRepositoryIsNamedFromHere) {
  const std::string inner = stage_.repo() + "/inner";
  std::filesystem::create_directories(inner);
  stage_.git("repo/inner", {"init", "-q"});
  EXPECT_THAT(stage_.as("bob", {"acquire", "inner/f"}).out, HasSubstr("granted inner/f to bob"));
  EXPECT_THAT(stage_.as("cat", {"acquire", "inner/f"}).err, HasSubstr(": inner/f is held by bob"));
  EXPECT_THAT(stage_.as("cat", {"acquire", "inner/"}).err,
              HasSubstr(": inner/ is held by bob, exclusive on inner/f, since"));
  const Answer refused = stage_.as("cat", {"release", "inner/f"});
  EXPECT_THAT(refused.err, HasSubstr(": inner/f is held by bob, who alone"));
  EXPECT_THAT(refused.err, HasSubstr("lockkeeper acquire inner/f"));
  EXPECT_THAT(stage_.as("bob", {"release", "inner/f"}).out, HasSubstr("released inner/f"));
  // There, it is the name itself.
  EXPECT_THAT(in(inner, "bob", {"acquire", "f"}).out, HasSubstr("granted f to bob"));
}

TEST_F(Where, TheCommandsOfHintsWorkInASubfolder) {
  stage_.file("src/a.py");
  stage_.expect(0, "ann", {"acquire", "src/a.py"});
  const std::string src = stage_.repo() + "/src";
  EXPECT_THAT(in(src, "bob", {"release", "a.py"}).err, HasSubstr("lockkeeper acquire a.py"));
  stage_.expect(0, "ann", {"acquire", "src/"});
  stage_.expect(0, "ann", {"release", "src/a.py"});
  EXPECT_THAT(in(src, "ann", {"release", "a.py"}).err, HasSubstr("lockkeeper release " + src));
}

TEST_F(Where, ALeaseFromBeforeItsRepositoryWasMadeIsStillFound) {
  std::filesystem::create_directories(stage_.repo() + "/sub");
  const Answer taken = stage_.expect(0, "ann", {"acquire", "sub/x"});
  stage_.git("repo/sub", {"init", "-q"});
  stage_.expect(0, "bob", {"acquire", "sub/x"});
  const Answer told = stage_.as("ann", {"release", "sub/x"});
  EXPECT_THAT(told.err, HasSubstr("sub/x is held by bob"));
  EXPECT_THAT(told.err, HasSubstr("your lease on sub/x is in " + stage_.repo()));
  EXPECT_THAT(told.err, HasSubstr("lockkeeper release --lease " + taken.lease()));
}

// The lock file is there all the time; only what it names is another repository's now.
TEST_F(Where, ALockFileOnWhatBecameARepositoryWasNotRemoved) {
  STAGE_IS_LOCAL("layouts");
  std::filesystem::create_directories(stage_.repo() + "/sub");
  stage_.expect(0, "ann", {"layout", "add", "workflow", "out"});
  stage_.expect(0, "ann", {"acquire", "sub/x"});
  stage_.git("repo/sub", {"init", "-q"});
  stage_.expect(0, "ann", {"list"});
  for (const Json& event : stage_.json("ann", {"log"}).lines()) {
    EXPECT_NE(event["event"], "shown_again") << event;
  }
}

TEST_F(Where, ANameWithBracketsIsShownOnceAndAsItWasWritten) {
  const std::string page = "app/[slug]/page.tsx";
  EXPECT_THAT(stage_.as("ann", {"acquire", page}).out, HasSubstr("granted " + page + " to ann"));
  EXPECT_EQ(stage_.list()["leases"][0]["resources"].size(), 2U) << "canonical";
  for (const Words& words : {Words{"list"}, {"list", "--tree"}, {"log"}}) {
    EXPECT_EQ(stage_.as("ann", words).out.find("[glsu]"), std::string::npos);
  }
  EXPECT_THAT(stage_.as("bob", {"acquire", page}).err,
              HasSubstr(": " + page + " is held by ann, exclusive, since"));
  EXPECT_THAT(stage_.as("bob", {"acquire", "app/s/page.tsx"}).err,
              HasSubstr("exclusive on " + page));
  EXPECT_THAT(stage_.as("bob", {"release", page}).err, HasSubstr(": " + page + " is held by ann"));
  EXPECT_EQ(stage_.as("ann", {"release", page}).out, "released " + page + "\n");
}

// What a word covers does not depend on what is on the disk.
TEST_F(Where, A3_I1_TheSameWordsBeforeAndAfterTheFileExists) {
  const std::string page = "app/[id]/page.tsx";
  stage_.expect(0, "ann", {"acquire", page});
  stage_.file(page);
  stage_.expect(75, "bob", {"acquire", page});
  stage_.expect(75, "bob", {"acquire", "--literal", page});
  stage_.expect(75, "bob", {"check", "app/d/page.tsx"});
  stage_.expect(0, "ann", {"check", "--held", page});
  stage_.expect(0, "ann", {"renew", page});
  stage_.expect(0, "ann", {"release", page});
  stage_.expect(0, "bob", {"acquire", page});
  std::filesystem::remove_all(stage_.repo() + "/app");
  stage_.expect(75, "ann", {"acquire", page});
  stage_.expect(0, "bob", {"release", page});
  EXPECT_EQ(stage_.list()["leases"].size(), 0U);
}

TEST_F(Where, A3_I1_TheSameWordsBeforeAndAfterASymlink) {
  stage_.file("real/b.c");
  stage_.expect(0, "ann", {"acquire", "link/a.c"});
  std::filesystem::create_symlink("real", stage_.repo() + "/link");
  stage_.expect(75, "bob", {"acquire", "link/a.c"});
  stage_.expect(0, "ann", {"release", "link/a.c"});
  stage_.expect(0, "bob", {"acquire", "link/a.c"});
  stage_.expect(75, "ann", {"acquire", "real/a.c"});
}

// Each holds one of the two names that the words have now: acquire refused them, check said "mine".
TEST_F(Where, A3_CheckAndAcquireJudgeTheSameWordsAlikeAfterASymlink) {
  stage_.file("real/b.c");
  stage_.expect(0, "ann", {"acquire", "link/a.c"});
  std::filesystem::create_symlink("real", stage_.repo() + "/link");
  stage_.expect(0, "ann", {"check", "--held", "link/a.c"});
  stage_.expect(0, "bob", {"acquire", "real/a.c"});
  for (const char* agent : {"ann", "bob", "cat"}) {
    stage_.expect(75, agent, {"acquire", "link/a.c"});
    stage_.expect(75, agent, {"check", "link/a.c"});
    stage_.expect(75, agent, {"check", "--held", "link/a.c"});
  }
  stage_.expect(0, "ann", {"renew", "link/a.c"});
  stage_.expect(0, "bob", {"release", "real/a.c"});
  stage_.expect(0, "ann", {"check", "--held", "link/a.c"});
}

// A word names a file until there is a folder of that name. Its owner finds its lease all the same.
TEST_F(Where, A3_I4_TheSameWordsBeforeAndAfterTheNameBecomesAFolder) {
  const std::string fence = std::to_string(stage_.expect(0, "ann", {"acquire", "build"}).fence());
  std::filesystem::create_directories(stage_.repo() + "/build");
  stage_.expect(75, "bob", {"acquire", "build/x"});
  stage_.expect(75, "bob", {"check", "build"});
  stage_.expect(77, "bob", {"release", "build"});
  stage_.expect(0, "ann", {"check", "--held", "build"});
  stage_.expect(0, "ann", {"check", "build", "--fence", fence});
  stage_.expect(0, "ann", {"renew", "build"});
  stage_.expect(0, "ann", {"acquire", "build"});
  EXPECT_EQ(stage_.list()["leases"].size(), 2U) << "the name, and the folder";
  stage_.expect(0, "ann", {"release", "build"});
  EXPECT_EQ(stage_.list()["leases"].size(), 0U) << "one word gives back both";
  stage_.expect(0, "ann", {"acquire", "build"});
  std::filesystem::remove_all(stage_.repo() + "/build");
  stage_.expect(0, "ann", {"check", "--held", "build"});
  stage_.expect(75, "bob", {"acquire", "build"});
  stage_.expect(0, "ann", {"release", "build"});
  stage_.expect(0, "bob", {"acquire", "docs"});
  stage_.expect(0, "cat", {"acquire", "**/b.h"});
  std::filesystem::create_directories(stage_.repo() + "/docs");
  stage_.expect(75, "bob", {"check", "--held", "docs"});
}

TEST_F(Where, A4_InsideARunThePathsOwnRepositoryDecides) {
  STAGE_IS_LOCAL("its hub knows one repository");
  const std::string other = stage_.path("other");
  stage_.git(".", {"init", "-q", "other"});
  stage_.env["LK"] = Stage::program();
  ASSERT_EQ(status_in(other, "bob", {"acquire", "src/a.c"}), 0);
  const auto inside = [&](const std::string& script) {
    const Answer answer = in(stage_.repo(), "ann", {"run", "src/", "--", "sh", "-c", script});
    SCOPED_TRACE(answer.all());
    return answer.status;
  };
  EXPECT_EQ(inside("cd " + other + " && \"$LK\" check src/a.c"), 75);
  EXPECT_EQ(inside("cd " + other + " && \"$LK\" run src/a.c -- true"), 75);
  EXPECT_EQ(inside("\"$LK\" check " + other + "/src/a.c"), 75);
  EXPECT_EQ(inside("cd " + other + " && \"$LK\" run src/b.c -- true"), 0);
  EXPECT_EQ(inside("\"$LK\" acquire --realm " + other + " src/b.c"), 0) << "not: has ended";
  EXPECT_EQ(inside("cd src 2>/dev/null; \"$LK\" acquire ./x.c"), 0);
}

// `acquire x` once went to the repository one stood in, and `release --all` to the outer one.
TEST_F(Where, A4_InsideARunAllWordsMeanTheRepositoryOneStandsIn) {
  const std::string other = stage_.path("other");
  stage_.git(".", {"init", "-q", "other"});
  stage_.env["LK"] = Stage::program();
  const auto inside = [&](const std::string& script) {
    return in(stage_.repo(), "ann", {"run", "src/", "--", "sh", "-c", "set -e; " + script});
  };
  const Answer there = inside("cd " + other +
                              "; \"$LK\" acquire x; \"$LK\" acquire flag:y; \"$LK\" whoami; "
                              "\"$LK\" release --all");
  EXPECT_EQ(there.status, 0) << there.all();
  EXPECT_THAT(there.out, HasSubstr("released x"));
  EXPECT_THAT(there.out, HasSubstr("released flag:y"));
  EXPECT_THAT(there.out, HasSubstr(other));
  const Answer nowhere = inside("cd " + stage_.path("") + "; \"$LK\" check --held src/a");
  EXPECT_EQ(nowhere.status, 65) << "not src/a of the outer one: " << nowhere.all();
  const Answer logical = inside("cd " + stage_.path("") + "; \"$LK\" acquire flag:z");
  EXPECT_EQ(logical.status, 0) << logical.all();
}

TEST_F(Where, A4_ARealmInTheEnvironmentIsNeverMixedWithTheCurrentFolders) {
  const std::string other = stage_.path("other");
  stage_.git(".", {"init", "-q", "other"});
  stage_.env["LOCKKEEPER_REALM"] = stage_.repo();
  const Answer refused = in(other, "ann", {"acquire", "x"});
  EXPECT_EQ(refused.status, 65) << refused.all();
  EXPECT_THAT(refused.err, HasSubstr("--realm " + other));
  EXPECT_EQ(status_in(other, "ann", {"acquire", "flag:y"}), 0);
  EXPECT_EQ(status_in(other, "ann", {"release", "flag:y"}), 0);
  EXPECT_EQ(status_in(stage_.path(""), "ann", {"acquire", "z"}), 0);
  EXPECT_EQ(stage_.list()["leases"][0]["resources"][0]["key"], "z");
}

TEST_F(Where, A4_ACommandInheritsTheStoreOfItsOwnRealmAlone) {
  STAGE_IS_LOCAL("a table is named");
  const std::string other = stage_.path("other");
  stage_.git(".", {"init", "-q", "other"});
  stage_.env["LK"] = Stage::program();
  ASSERT_EQ(status_in(other, "bob", {"acquire", "src/a.c"}), 0);
  const std::string store = "lmdb:" + stage_.path("store");
  const auto inside = [&](const std::string& script) {
    const Answer answer =
        in(stage_.repo(), "ann", {"run", "--store", store, "src/", "--", "sh", "-c", script});
    SCOPED_TRACE(answer.all());
    return answer.status;
  };
  EXPECT_EQ(inside("\"$LK\" check --held src/"), 0) << "the store was named by a flag";
  EXPECT_EQ(inside("cd " + other + " && \"$LK\" check src/a.c"), 75);
  // The store of a realm that is gone is not another's.
  const std::string gone = "env -u LOCKKEEPER_LEASE -u LOCKKEEPER_FENCE LOCKKEEPER_REALM=/gone ";
  EXPECT_EQ(inside("cd " + other + " && " + gone + "\"$LK\" check src/a.c --realm ."), 75);
}

// Whoever clones a repository must not write elsewhere because its author says so.
TEST_F(Where, A8_ALayoutOfTheRepositorysFileStaysInside) {
  const std::string outside = stage_.path("outside");
  std::filesystem::create_directories(outside);
  stage_.file("lockkeeper.toml", "[[layout]]\nkind = \"mkdir\"\nroot = \"" + outside + "\"\n");
  const Answer refused = stage_.as("ann", {"acquire", "src/a.c"});
  EXPECT_EQ(refused.status, 78) << refused.all();
  EXPECT_THAT(refused.err, HasSubstr("outside the repository"));
  EXPECT_TRUE(std::filesystem::is_empty(outside));
  std::filesystem::create_symlink(outside, stage_.repo() + "/link");
  stage_.file("lockkeeper.toml", "[[layout]]\nkind = \"mkdir\"\nroot = \"link\"\n");
  EXPECT_EQ(stage_.as("ann", {"acquire", "src/a.c"}).status, 78) << "through a symlink";
  EXPECT_TRUE(std::filesystem::is_empty(outside));
}

// A bare repository can be a part of a clone, and an archive can bring a plain store: both have the
// permissions of other files.
TEST_F(Where, A8_SettingsThatCameWithACloneStayInside) {
  STAGE_IS_LOCAL("layouts");
  const std::string outside = stage_.path("outside");
  std::filesystem::create_directories(outside);
  stage_.git("repo", {"init", "-q", "--bare", "inner"});
  const std::string inner = stage_.repo() + "/inner";
  const std::string store = inner + "/lockkeeper";
  std::filesystem::create_directories(store);
  std::filesystem::permissions(store, std::filesystem::perms(0755));
  write_text(store + "/config.toml", "[[layout]]\nkind = \"mkdir\"\nroot = \"" + outside + "\"\n");
  const auto refused = in(inner, "ann", {"acquire", "a"});
  EXPECT_EQ(refused.status, 78) << refused.all();
  EXPECT_THAT(refused.err, HasSubstr("outside the repository"));
  write_text(store + "/config.toml", "");
  write_text(store + "/layouts.json",
             R"([{"kind":"mkdir","mode":"both","root":")" + outside + R"("}])");
  const auto second = in(inner, "ann", {"acquire", "a"});
  EXPECT_EQ(second.status, 78) << second.all();
  EXPECT_THAT(second.err, HasSubstr("others may have written it"));
  EXPECT_TRUE(std::filesystem::is_empty(outside));
  std::filesystem::permissions(store, std::filesystem::perms(0700));
  EXPECT_EQ(in(inner, "ann", {"acquire", "a"}).status, 0) << "it is this user's own";
}

TEST_F(Where, B8_GivingBackWhereNothingIsHeldCreatesNothing) {
  const std::string plain = stage_.path("plain");
  std::filesystem::create_directories(plain);
  EXPECT_EQ(status_in(plain, "ann", {"release", "--all"}), 0);
  EXPECT_EQ(status_in(plain, "ann", {"renew", "--all"}), 0);
  EXPECT_EQ(status_in(plain, "ann", {"message", "list"}), 0);
  EXPECT_TRUE(std::filesystem::is_empty(plain));
}

TEST_F(Where, WorktreesShareTheirLocks) {
  stage_.git("repo", {"commit", "-q", "--allow-empty", "-m", "first"});
  stage_.git("repo", {"worktree", "add", "-q", "../tree"});
  stage_.git("repo", {"worktree", "add", "-q", "inner"});
  stage_.expect(0, "ann", {"acquire", "src/a"});
  EXPECT_EQ(status_in(stage_.path("tree"), "bob", {"acquire", "src/a"}), 75);
  EXPECT_EQ(status_in(stage_.repo() + "/inner", "bob", {"acquire", "src/"}), 75);
  EXPECT_EQ(status_in(stage_.path("tree"), "bob", {"acquire", "src/b"}), 0);
  stage_.expect(75, "cat", {"acquire", "src/b"});
  EXPECT_EQ(status_in(stage_.path("tree"), "ann", {"release", "src/a"}), 0);
  stage_.expect(0, "cat", {"acquire", "src/a"});
}

TEST_F(Where, ASubmoduleIsARealmOfItsOwn) {
  STAGE_IS_LOCAL("its hub knows one repository");
  std::filesystem::create_directories(stage_.path("lib"));
  stage_.git("lib", {"init", "-q", "."});
  stage_.git("lib", {"commit", "-q", "--allow-empty", "-m", "first"});
  stage_.git("repo", {"submodule", "--quiet", "add", stage_.path("lib"), "sub"});
  stage_.expect(0, "ann", {"acquire", "x"});
  const std::string sub = stage_.repo() + "/sub";
  EXPECT_EQ(status_in(sub, "bob", {"acquire", "x"}), 0);
  stage_.expect(75, "cat", {"acquire", "sub/x"});
  EXPECT_NE(stage_.as("cat", {"acquire", "y", "sub/y"}).status, 0) << "it crosses repositories";
  EXPECT_EQ(stage_.list()["leases"].size(), 1U);
}

// `check` once took the missing folder for "nothing is locked", while acquire knew better.
TEST_F(Where, I10_F15_ADeletedStoreIsNotFree) {
  STAGE_IS_LOCAL("the table is deleted and repaired");
  stage_.expect(0, "ann", {"acquire", "a"});
  std::filesystem::remove_all(stage_.repo() + "/.git/lockkeeper");
  stage_.expect(69, "bob", {"check", "a"});
  stage_.expect(69, "bob", {"list"});
  stage_.expect(69, "bob", {"doctor"});
  stage_.expect(0, "bob", {"doctor", "--repair"});
  stage_.expect(0, "bob", {"acquire", "a"});
}

// It was once read relative to the root of the realm that it led to, and both were granted.
TEST_F(Where, I1_APathNamedFromOutsideItsRepositoryIsTheSamePath) {
  stage_.file("src/a");
  stage_.expect(0, "ann", {"acquire", "src/a"});
  EXPECT_EQ(status_in(stage_.path(""), "bob", {"acquire", "repo/src/a"}), 75);
}

TEST_F(Where, PathsAreRelativeToTheCurrentFolderOrAbsolute) {
  stage_.file("src/deep/a");
  EXPECT_EQ(status_in(stage_.repo() + "/src/deep", "ann", {"acquire", "a"}), 0);
  EXPECT_EQ(stage_.list()["leases"][0]["resources"][0]["key"], "src/deep/a");
  stage_.expect(75, "bob", {"acquire", stage_.repo() + "/src/deep/a"});
  EXPECT_EQ(status_in(stage_.repo() + "/src", "bob", {"acquire", "./deep/../deep/a"}), 75);
  EXPECT_EQ(status_in(stage_.repo() + "/src", "bob", {"acquire", "../src/"}), 75);
  EXPECT_EQ(status_in("/", "bob", {"acquire", stage_.repo() + "/src/deep/a"}), 75);
  EXPECT_EQ(status_in("/", "bob", {"acquire", "src/deep/a", "--realm", stage_.repo()}), 75);
  stage_.expect(65, "bob", {"acquire", "../outside"});
  stage_.expect(65, "bob", {"acquire", "x", "/etc/passwd"});
}

TEST_F(Where, WithoutGitTheFolderItselfIsTheRealm) {
  Stage bare(Stage::Git::kNo);
  bare.expect(0, "ann", {"acquire", "a", "--realm", "."});
  EXPECT_TRUE(exists(bare.repo() + "/.lockkeeper"));
  bare.file("sub/x");
  Launch below = bare.launch("bob", {"acquire", "../a"});
  below.folder = bare.repo() + "/sub";
  EXPECT_EQ(bare.finish(std::move(below)).status, 75);
}

// The locks of a folder go on counting when it becomes a repository.
TEST_F(Where, I1_GitInitWhereSomethingIsHeld) {
  Stage plain(Stage::Git::kNo);
  plain.expect(0, "ann", {"acquire", "a", "--realm", "."});
  plain.git("repo", {"init", "-q"});
  plain.expect(75, "bob", {"acquire", "a"});
  plain.file("sub/x");
  Launch below = plain.launch("bob", {"acquire", "../a"});
  below.folder = plain.repo() + "/sub";
  EXPECT_EQ(plain.finish(std::move(below)).status, 75);
  plain.expect(0, "ann", {"release", "--all"});
  plain.expect(0, "bob", {"acquire", "a"});
  EXPECT_FALSE(exists(plain.repo() + "/.git/lockkeeper"));
}

// What came with a clone is not our store: it has other permissions.
TEST_F(Where, AStoreThatIsPartOfACloneIsNotUsed) {
  std::filesystem::create_directory(stage_.repo() + "/.lockkeeper");
  ::chmod((stage_.repo() + "/.lockkeeper").c_str(), 0755);
  stage_.expect(0, "ann", {"acquire", "a"});
  EXPECT_TRUE(exists(stage_.repo() + "/.git/lockkeeper"));
}

// Whoever works in a subfolder first makes a realm of it, and does not know.
TEST_F(Where, I1_FoldersWithoutGitInsideEachOther) {
  Stage plain(Stage::Git::kNo);
  const std::string sub = plain.repo() + "/sub";
  plain.file("sub/x");
  const auto status = [&](const std::string& folder, const std::string& agent, const Words& words) {
    Launch launch = plain.launch(agent, words);
    launch.folder = folder;
    return plain.finish(std::move(launch)).status;
  };
  EXPECT_EQ(status(sub, "ann", {"acquire", "x"}), 0);
  for (const Words& words : std::vector<Words>{
           {"acquire", "./", "--quiet"}, {"acquire", "**/x"}, {"run", "./", "--", "true"}}) {
    EXPECT_EQ(status(plain.repo(), "bob", words), 75) << words[0] << words[1];
  }
  EXPECT_EQ(status(plain.repo(), "bob", {"acquire", "other"}), 0);
  EXPECT_EQ(status(plain.repo(), "ann", {"acquire", "./", "--mode", "shared"}), 75) << "bob's";
  EXPECT_EQ(status(plain.repo(), "bob", {"release", "--all"}), 0);
  EXPECT_EQ(status(plain.repo(), "ann", {"acquire", "./"}), 0) << "what is inside is her own";
  EXPECT_EQ(status(sub, "bob", {"acquire", "y"}), 75) << "ann holds the folder around";
}

TEST_F(Where, ARemovedFolderDoesNotMatterWhereTheRealmIsNamed) {
  const std::string gone = stage_.path("gone");
  std::filesystem::create_directory(gone);
  Launch launch = stage_.command({"/bin/sh", "-c",
                                  "rmdir \"$PWD\"; \"$0\" list --realm \"$1\" && exec \"$0\" list",
                                  stage_.launch("ann", {}).argv[0], stage_.repo()});
  launch.folder = gone;
  const Answer answer = stage_.finish(std::move(launch));
  EXPECT_EQ(answer.status, 65) << answer.all();
  EXPECT_THAT(answer.err, HasSubstr("the current folder cannot be found"));
  EXPECT_THAT(answer.err, HasSubstr("--realm"));
}

TEST_F(Where, GitVariablesAreIgnored) {
  stage_.expect(0, "ann", {"acquire", "a"});
  std::filesystem::create_directories(stage_.path("other"));
  stage_.git("other", {"init", "-q", "."});
  Launch misled = stage_.launch("bob", {"acquire", "a"});
  misled.env["GIT_DIR"] = stage_.path("other/.git");
  misled.env["GIT_WORK_TREE"] = stage_.path("other");
  EXPECT_EQ(stage_.finish(std::move(misled)).status, 75);
}

TEST_F(Where, TwoTerminalsOfOneUserExcludeEachOther) {
  const auto terminal = [&](const Words& words) {
    Launch launch = stage_.launch("", words);
    launch.terminal = true;
    return stage_.finish(std::move(launch));
  };
  EXPECT_EQ(terminal({"acquire", "a"}).status, 0);
  EXPECT_EQ(terminal({"acquire", "a"}).status, 75);
  // Both commands of one terminal agree.
  Launch script = stage_.command(
      {"sh", "-c", "\"$LK\" acquire b -q && \"$LK\" acquire b -q && \"$LK\" release b -q"});
  script.env["LK"] = Stage::program();
  script.terminal = true;
  EXPECT_EQ(stage_.finish(std::move(script)).status, 0);
}

TEST_F(Where, TwoCommandsOfOneNamedAgentAgree) {
  const auto terminal = [&](const Words& words) {
    Launch launch = stage_.launch("", words);
    launch.own_session = true;
    return stage_.finish(std::move(launch)).status;
  };
  EXPECT_EQ(terminal({"acquire", "a", "--agent", "ann"}), 0);
  EXPECT_EQ(terminal({"acquire", "a", "--agent", "ann"}), 0);
  EXPECT_EQ(terminal({"acquire", "a", "--agent", "ann", "--session", "s"}), 75);
  EXPECT_EQ(terminal({"release", "a", "--agent", "ann"}), 0);
}

TEST_F(Where, CheckCreatesNothing) {
  STAGE_IS_LOCAL("the relay has a folder");
  stage_.file("src/a");
  const auto before = tree(stage_.path(""));
  const auto without_words = [](std::map<std::string, std::string> all) {
    std::erase_if(
        all, [](const auto& entry) { return entry.first.find("/words") != std::string::npos; });
    return all;
  };
  EXPECT_EQ(stage_.as("ann", {"check", "src/a"}).status, 0);
  EXPECT_EQ(stage_.as("ann", {"check", "src/", "--held"}).status, 66);
  EXPECT_EQ(stage_.as("ann", {"check", "src/a", "--fence", "5"}).status, 79);
  EXPECT_EQ(stage_.as("ann", {"list"}).status, 0);
  EXPECT_EQ(stage_.as("ann", {"log"}).status, 0);
  EXPECT_EQ(stage_.as("ann", {"doctor"}).status, 0);
  EXPECT_EQ(without_words(tree(stage_.path(""))), without_words(before));
}

TEST_F(Where, CheckWorksInAReadOnlyRepository) {
  STAGE_IS_LOCAL("the hub can write there");
  constexpr uid_t kNobody = 65534;
  const bool root = ::geteuid() == 0;  // who may write everywhere: nobody looks instead
  if (root) {
    const Words give{"chown", "-R", std::to_string(kNobody), stage_.path("")};
    ASSERT_EQ(stage_.finish(stage_.command(give)).status, 0);
  }
  const auto as_user = [&](const std::string& agent, const Words& words) {
    Launch launch = stage_.launch(agent, words);
    if (root) launch.uid = kNobody;
    return stage_.finish(std::move(launch));
  };
  const Answer held = as_user("ann", {"acquire", "a"});
  if (held.status == 125) GTEST_SKIP() << "nobody cannot start " << Stage::program();
  ASSERT_EQ(held.status, 0) << held.all();
  ASSERT_EQ(stage_.finish(stage_.command({"chmod", "-R", "a-w", stage_.repo()})).status, 0);
  EXPECT_EQ(as_user("ann", {"check", "a"}).status, 0);
  EXPECT_EQ(as_user("bob", {"check", "a"}).status, 75);
  EXPECT_EQ(as_user("bob", {"check", "b"}).status, 0);
  EXPECT_EQ(as_user("bob", {"list"}).status, 0);
  EXPECT_EQ(as_user("bob", {"acquire", "b"}).status, 69);
  const Answer doctor = as_user("bob", {"doctor"});
  EXPECT_EQ(doctor.status, 69) << doctor.all();
  EXPECT_THAT(doctor.out, HasSubstr("Permission denied: locks can be seen, but not taken"));
  EXPECT_EQ(stage_.finish(stage_.command({"chmod", "-R", "u+w", stage_.repo()})).status, 0);
}

}  // namespace
}  // namespace lockkeeper::stage
