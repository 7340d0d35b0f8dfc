#include "snapshot/keeper.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/test_folder.h"

namespace lockkeeper::snapshot {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const Who kAnn{"claude-code", "s1"};
const Who kBob{"codex", "s2"};

class KeeperTest : public testing::Test {
 protected:
  KeeperTest() {
    fs::create_directories(folder_.file("store"));
    fs::create_directories(folder_.file("repo"));
  }
  std::string at(const std::string& name) const { return folder_.file("repo/" + name); }
  void write(const std::string& name, const std::string& text) {
    fs::create_directories(fs::path(at(name)).parent_path());
    std::ofstream(at(name), std::ios::trunc) << text;
  }
  // As if it had been written long ago.
  void age(const std::string& name) {
    const timespec times[2] = {{.tv_sec = 1, .tv_nsec = 0}, {.tv_sec = 1, .tv_nsec = 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, at(name).c_str(), times, AT_SYMLINK_NOFOLLOW), 0);
  }
  Keeper keeper(Limits limits = {}, Keeper::Secrecy secrecy = {}) {
    return {{.store = folder_.file("store")}, limits, folder_.file("repo"), std::move(secrecy)};
  }
  // Later than the files' times, so that their marks count.
  std::int64_t now() { return now_ += 1'000; }

  Seen keep(const std::string& path, const Keeping& how = {}) {
    Keeper one = keeper();
    const auto seen = one.keep(path, how, now());
    EXPECT_TRUE(seen) << seen.error().message;
    return seen ? *seen : Seen{};
  }
  std::vector<Version> all() {
    std::vector<Version> versions;
    const auto vault = Vault::find({.store = folder_.file("store")});
    if (!vault || !*vault) return versions;
    EXPECT_TRUE((*vault)->each([&](Version&& version) {
      versions.push_back(std::move(version));
      return true;
    }));
    return versions;
  }
  std::string content(const Version& version) {
    const auto vault = Vault::find({.store = folder_.file("store")});
    const auto bytes = (*vault)->content(version);
    return bytes ? *bytes : bytes.error().message;
  }

  TestFolder folder_;
  std::int64_t now_ = 4'000'000'000'000;
};

TEST_F(KeeperTest, G2_ContentModeTargetAndAbsenceAreKept) {
  write("src/a.c", "text");
  fs::permissions(at("src/a.c"), fs::perms(0751));
  fs::create_symlink("a.c", at("src/link"));
  for (const char* path : {"src/a.c", "src/link", "src/none"}) keep(path, {.by = kAnn});
  const auto versions = all();
  ASSERT_EQ(versions.size(), 3U);
  EXPECT_EQ(content(versions[0]), "text");
  EXPECT_EQ(versions[0].mode, 0751U);
  EXPECT_EQ(versions[0].by, kAnn);
  EXPECT_EQ(versions[1].kind, Kind::kSymlink);
  EXPECT_EQ(versions[1].target, "a.c");
  EXPECT_EQ(versions[2].kind, Kind::kGone);
}

TEST_F(KeeperTest, WhatHasNotChangedIsNotKeptAgain) {
  write("a.c", "one");
  EXPECT_TRUE(keep("a.c").added);
  EXPECT_FALSE(keep("a.c").added);
  age("a.c");
  EXPECT_FALSE(keep("a.c").added) << "another time, the same content";
  write("a.c", "two");
  EXPECT_TRUE(keep("a.c").added);
  fs::remove(at("a.c"));
  EXPECT_TRUE(keep("a.c").added);
  EXPECT_FALSE(keep("a.c").added);
}

TEST_F(KeeperTest, G2_AChangeWithinOneTickOfTheClockIsSeen) {
  const auto real_now = [] {
    timespec time{};
    ::clock_gettime(CLOCK_REALTIME, &time);
    return std::int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1'000'000;
  };
  write("a.c", "one");
  Keeper one = keeper();
  ASSERT_TRUE(one.keep("a.c", {}, real_now()));
  // The same size, and perhaps the same times.
  write("a.c", "two");
  Keeper two = keeper();
  const auto seen = two.keep("a.c", {}, real_now());
  ASSERT_TRUE(seen);
  EXPECT_TRUE(seen->added);
  EXPECT_EQ(content(all().back()), "two");
}

TEST_F(KeeperTest, TheWriterOfAContentThatIsKnownIsNoted) {
  write("a.c", "one");
  keep("a.c", {.why = Why::kBefore, .by = kAnn});
  keep("a.c", {.why = Why::kAfter, .writer = kAnn, .by = kAnn});
  keep("a.c", {.why = Why::kAfter, .writer = kAnn, .by = kAnn});
  keep("a.c", {.why = Why::kBefore, .by = kBob});
  const auto versions = all();
  ASSERT_EQ(versions.size(), 2U);
  EXPECT_EQ(versions[1].writer, kAnn);
}

TEST_F(KeeperTest, SecretsAndLargeFilesAreKeptByTheirHash) {
  write("key.pem", "secret");
  write("large", std::string(2'000, 'x'));
  Keeper one = keeper({.file_bytes = 1'000}, [](const std::string& path) {
    return path.ends_with(".pem") ? Content::kSecret : Content::kKept;
  });
  const std::vector<std::string> paths = {"key.pem", "large"};
  ASSERT_TRUE(one.keep_all(paths, {}, now()));
  const auto versions = all();
  ASSERT_EQ(versions.size(), 2U);
  EXPECT_EQ(versions[0].content_is, Content::kSecret);
  EXPECT_EQ(versions[0].content, content_id("secret"));
  EXPECT_EQ(versions[1].content_is, Content::kLarge);
  EXPECT_EQ(versions[1].content, content_id(std::string(2'000, 'x')));
  EXPECT_THAT(content(versions[0]), HasSubstr("only its hash"));
}

TEST_F(KeeperTest, G2_AFolderStandsForItsFiles) {
  write("src/a.c", "a");
  write("src/deep/b.c", "b");
  write("src/.git/config", "not ours");
  const std::vector<std::string> paths = {"src"};
  Keeper one = keeper();
  ASSERT_TRUE(one.keep_all(paths, {.why = Why::kDestroyed, .by = kBob}, now()));
  std::vector<std::string> kept;
  for (const Version& version : all()) kept.push_back(version.path);
  EXPECT_THAT(kept, ElementsAre("src/a.c", "src/deep/b.c"));
}

TEST_F(KeeperTest, NothingIsReadThroughASymlink) {
  std::ofstream(folder_.file("outside")) << "outside";
  fs::create_directories(folder_.file("folder"));
  std::ofstream(folder_.file("folder/file")) << "outside";
  fs::create_symlink(folder_.file("outside"), at("link"));
  fs::create_directory_symlink(folder_.file("folder"), at("way"));
  keep("link");
  keep("way/file");
  const auto versions = all();
  ASSERT_EQ(versions.size(), 2U);
  EXPECT_EQ(versions[0].kind, Kind::kSymlink);
  EXPECT_EQ(versions[1].kind, Kind::kGone);
}

TEST_F(KeeperTest, APipeDoesNotHangIt) {
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  EXPECT_FALSE(keep("pipe").added);
  EXPECT_THAT(all(), IsEmpty());
}

TEST_F(KeeperTest, G2_AContentThatAClientTellsOfIsKept) {
  write("a.c", "new");
  Keeper one = keeper();
  ASSERT_TRUE(one.keep_content("a.c", "old", {.by = kAnn}, now()));
  EXPECT_EQ(content(all().front()), "old");
}

TEST_F(KeeperTest, AStashIsKnownByItsCommit) {
  const std::string commit(40, 'c');
  Keeper one = keeper();
  EXPECT_FALSE(one.knows_stash(commit));
  ASSERT_TRUE(one.keep_stash(commit, "WIP on main", kAnn, now()));
  Keeper two = keeper();
  EXPECT_TRUE(two.knows_stash(commit));
  EXPECT_EQ(all().front().writer, kAnn);
  EXPECT_EQ(all().front().target, "WIP on main");
}

TEST_F(KeeperTest, G2_AWriterWhoIsOnlyPresumedIsNamedIfItChanged) {
  write("a.c", "one");
  keep("a.c", {.by = kAnn});
  EXPECT_FALSE(keep("a.c", {.writer = kAnn, .by = kBob, .if_changed = true}).added);
  write("a.c", "three");
  EXPECT_TRUE(keep("a.c", {.writer = kAnn, .by = kBob, .if_changed = true}).added);
  EXPECT_EQ(all().back().writer, kAnn);
}

TEST_F(KeeperTest, G2_WhatTheSettingsNowAllowIsKeptThoughItHasNotChanged) {
  write("a.c", std::string(2'000, 'x'));
  Keeper small = keeper({.file_bytes = 1'000});
  ASSERT_TRUE(small.keep("a.c", {.writer = kAnn, .by = kAnn}, now()));
  EXPECT_EQ(all().back().content_is, Content::kLarge);
  EXPECT_TRUE(keep("a.c").added);
  EXPECT_EQ(content(all().back()), std::string(2'000, 'x'));
  EXPECT_FALSE(keep("a.c").added);
}

TEST_F(KeeperTest, ACopyOfASecretIsOne) {
  write("key.pem", "secret");
  write("copy", "secret");
  const auto secrecy = [](const std::string& path) {
    return path.ends_with(".pem") ? Content::kSecret : Content::kKept;
  };
  for (const char* path : {"key.pem", "copy"}) {
    Keeper one = keeper({}, secrecy);
    ASSERT_TRUE(one.keep(path, {}, now()));
  }
  EXPECT_EQ(all().back().content_is, Content::kSecret);
  EXPECT_TRUE(keep("copy").added) << "nothing is a secret any more";
}

TEST_F(KeeperTest, G2_AFolderInAFilesPlaceIsItsDeletion) {
  write("a.c", "one");
  keep("a.c", {.writer = kAnn, .by = kAnn});
  fs::remove(at("a.c"));
  fs::create_directories(at("a.c"));
  EXPECT_TRUE(keep("a.c", {.why = Why::kAfter, .writer = kBob, .by = kBob}).added);
  EXPECT_EQ(all().back().kind, Kind::kGone);
  EXPECT_EQ(all().back().writer, kBob);
  EXPECT_FALSE(keep("a.c").added);
}

TEST_F(KeeperTest, AFileThatCannotBeSeenIsNotSaidToBeGone) {
  write("src/a.c", "one");
  Tree tree(folder_.file("repo"));
  rlimit usual{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = usual.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);  // its folder cannot be opened
  const Entry entry = tree.look("src/a.c");
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &usual), 0);
  EXPECT_EQ(entry.is, Entry::Is::kOther);
}

TEST_F(KeeperTest, TooManyAreNamedWithTheLimit) {
  for (int i = 0; i < 2'001; ++i) write("many/" + std::to_string(i), "");
  Keeper one = keeper();
  const std::vector<std::string> paths = {"many"};
  const auto kept = one.keep_all(paths, {}, now());
  ASSERT_FALSE(kept);
  EXPECT_EQ(kept.error().code, Code::kLimitExceeded);
  EXPECT_THAT(kept.error().message, HasSubstr("at most 2000 files"));
}

TEST_F(KeeperTest, KeepingEndsWhenThereIsNoTime) {
  for (const char* name : {"a", "b", "c"}) write(name, name);
  Keeper one = keeper();
  const std::vector<std::string> paths = {"a", "b", "c"};
  int asked = 0;
  const auto kept = one.keep_all(paths, {}, now(), [&] { return ++asked < 3; });
  ASSERT_FALSE(kept);
  EXPECT_THAT(kept.error().message, HasSubstr("too long"));
  EXPECT_EQ(all().size(), 2U);
}

TEST_F(KeeperTest, G2_WithoutAFileTheUsualModeIsKept) {
  Keeper one = keeper();
  ASSERT_TRUE(one.keep_content("gone.c", "old", {.by = kAnn}, now()));
  EXPECT_EQ(all().front().mode, 0644U);
}

TEST_F(KeeperTest, AnErrorIsSaidAndTheRestGoesOn) {
  fs::remove_all(folder_.file("store"));
  write("a.c", "a");
  Keeper one = keeper();
  const auto seen = one.keep("a.c", {}, now());
  ASSERT_FALSE(seen);
  EXPECT_FALSE(seen.error().hint.empty());
}

}  // namespace
}  // namespace lockkeeper::snapshot
