#include "snapshot/vault.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "base/test_folder.h"
#include "snapshot/tree.h"

namespace lockkeeper::snapshot {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr std::int64_t kNow = 1'768'663'800'000;
constexpr std::int64_t kDay = 24 * 3'600'000;

class VaultTest : public testing::Test {
 protected:
  Vault vault(Limits limits = {}) {
    auto opened = Vault::open({.store = folder_.path()}, limits);
    EXPECT_TRUE(opened) << opened.error().message;
    return std::move(*opened);
  }
  static Version version_of(const std::string& path, const std::string& content) {
    Version version;
    version.worktree = "/r";
    version.path = path;
    version.content = content_id(content);
    version.size = content.size();
    return version;
  }
  static Version add(Vault& vault, const std::string& path, const std::string& content,
                     std::int64_t now = kNow) {
    Version version = version_of(path, content);
    const auto added = vault.add(version, content, now);
    EXPECT_TRUE(added) << added.error().message;
    return version;
  }
  static std::vector<Version> all(const Vault& vault) {
    std::vector<Version> versions;
    EXPECT_TRUE(vault.each([&](Version&& version) {
      versions.push_back(std::move(version));
      return true;
    }));
    return versions;
  }
  // Bytes that do not get shorter.
  static std::string noise(std::size_t size, unsigned seed) {
    std::mt19937 random(seed);
    std::string bytes(size, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    return bytes;
  }
  std::vector<fs::path> contents() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
      if (entry.path().filename().string().size() == 40) found.push_back(entry.path());
    }
    return found;
  }

  TestFolder folder_;
};

TEST_F(VaultTest, G2_EveryByteComesBack) {
  Vault here = vault();
  for (const std::string& content :
       {std::string(), std::string("x"), std::string(100'000, 'a'), noise(300'000, 1)}) {
    const Version version = add(here, "a.c", content);
    const auto back = here.content(version);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(*back, content);
  }
  EXPECT_EQ(all(here).size(), 4U);
}

TEST_F(VaultTest, EverythingIsOurUsersAlone) {
  Vault here = vault();
  add(here, "a.c", "text");
  for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
    struct stat info{};
    ASSERT_EQ(::lstat(entry.path().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, entry.is_directory() ? 0700U : 0600U) << entry.path();
  }
}

TEST_F(VaultTest, OneContentIsKeptOnce) {
  Vault here = vault();
  add(here, "a.c", "text");
  add(here, "b.c", "text");
  EXPECT_EQ(contents().size(), 1U);
  EXPECT_EQ(all(here).size(), 2U);
}

TEST_F(VaultTest, G2_ADamagedContentIsNeverGivenOut) {
  Vault here = vault();
  const std::string content = noise(5'000, 2);
  const Version version = add(here, "a.c", content);
  const std::string file = contents().front();
  const auto size = fs::file_size(file);
  for (std::size_t at = 0; at < size; at += 97) {
    std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekg(static_cast<std::streamoff>(at));
    const char before = static_cast<char>(bytes.get());
    bytes.seekp(static_cast<std::streamoff>(at));
    bytes.put(static_cast<char>(before ^ 1));
    bytes.flush();
    const auto back = here.content(version);
    // A bit of the frame's header may mean nothing.
    if (back) {
      EXPECT_EQ(*back, content);
    } else {
      EXPECT_EQ(back.error().code, Code::kStoreCorrupt);
      EXPECT_THAT(back.error().message, HasSubstr("damaged"));
    }
    bytes.seekp(static_cast<std::streamoff>(at));
    bytes.put(before);
  }
  fs::resize_file(file, 10);
  EXPECT_EQ(here.content(version).error().code, Code::kStoreCorrupt);
  fs::remove(file);
  EXPECT_EQ(here.content(version).error().code, Code::kNotFound);
}

TEST_F(VaultTest, ADamagedContentIsWrittenAgain) {
  Vault here = vault();
  const Version version = add(here, "a.c", "some text");
  fs::resize_file(contents().front(), 3);
  add(here, "a.c", "some text");
  EXPECT_EQ(here.content(version).value_or("-"), "some text");
}

TEST_F(VaultTest, WhatWasKeptByItsHashHasNoContent) {
  Vault here = vault();
  Version version = version_of("key.pem", "secret");
  version.content_is = Content::kSecret;
  ASSERT_TRUE(here.add(version, std::nullopt, kNow));
  const auto back = here.content(version);
  EXPECT_EQ(back.error().code, Code::kNotFound);
  EXPECT_THAT(back.error().message, HasSubstr(version.content));
  EXPECT_TRUE(contents().empty());
}

TEST_F(VaultTest, TheOldestGoWhenItIsTooMuch) {
  const Limits limits{.bytes = 4U << 20};
  Vault here = vault(limits);
  std::vector<Version> versions;
  for (unsigned i = 0; i < 80; ++i) {
    // Another process each, as hooks are.
    Vault one = vault(limits);
    versions.push_back(add(one, "f" + std::to_string(i), noise(100'000, i), kNow + i));
  }
  EXPECT_LE(*here.bytes(), (4U << 20) + (1U << 20));
  EXPECT_FALSE(here.content(versions.front()));
  EXPECT_TRUE(here.content(versions.back()));
  for (const Version& version : all(here)) {
    EXPECT_TRUE(here.content(version)) << "what the index names is there: " << version.path;
  }
}

TEST_F(VaultTest, WhatIsOlderThanTheSettingsAllowGoes) {
  Vault here = vault();
  const Version old = add(here, "old", "old", kNow);
  // The index's own time is what counts.
  for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
    if (entry.path().filename() != "versions") continue;
    const timespec times[2] = {{.tv_sec = kNow / 1000, .tv_nsec = 0},
                               {.tv_sec = kNow / 1000, .tv_nsec = 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, entry.path().c_str(), times, 0), 0);
  }
  for (int day : {13, 16, 18}) {
    Vault later = vault();
    add(later, "new", "new " + std::to_string(day), kNow + day * kDay);
    EXPECT_EQ(later.content(old).has_value(), day < 14) << day;
  }
}

TEST_F(VaultTest, RemovingIsDoneLittleByLittle) {
  const Limits limits{.bytes = 1U << 20};
  for (unsigned i = 0; i < 3'000; ++i) {
    Vault one = vault(limits);
    add(one, "f", std::to_string(i), kNow + i);
  }
  std::size_t gone = 0;
  for (const auto& entry : fs::directory_iterator(folder_.file("snapshots"))) {
    if (entry.path().filename().string().starts_with("gone-")) ++gone;
  }
  EXPECT_LE(gone, 2U);
  EXPECT_LE(*vault(limits).bytes(), (1U << 20) + (1U << 18));
}

TEST_F(VaultTest, NoSymlinkIsFollowed) {
  fs::create_directories(folder_.file("elsewhere"));
  fs::create_directory_symlink(folder_.file("elsewhere"), folder_.file("snapshots"));
  const auto opened = Vault::open({.store = folder_.path()}, {});
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr("symlink"));
  EXPECT_TRUE(fs::is_empty(folder_.file("elsewhere")));
}

TEST_F(VaultTest, AFolderThatWasThereIsClosedToOthers) {
  fs::create_directories(folder_.file("snapshots"));
  fs::permissions(folder_.file("snapshots"), fs::perms(0777));
  vault();
  EXPECT_EQ(fs::status(folder_.file("snapshots")).permissions(), fs::perms(0700));
}

TEST_F(VaultTest, RecentVersionsReachBackOverGenerations) {
  const Limits limits{.keep_ms = 16 * kDay};
  for (int day : {0, 2, 4}) {
    Vault one = vault(limits);
    add(one, "f" + std::to_string(day), "text", kNow + day * kDay);
  }
  const Vault here = vault(limits);
  for (const Reach reach : {Reach::kLast, Reach::kNewest, Reach::kSafe}) {
    const auto recent = here.recent(reach);
    ASSERT_TRUE(recent);
    std::vector<std::string> paths;
    for (const std::string& records : *recent) {
      each_record(records, [&](const Record& record) {
        paths.emplace_back(record.path);
        return true;
      });
    }
    EXPECT_THAT(paths, testing::ElementsAre("f0", "f2", "f4"));
  }
  EXPECT_EQ(here.within_since_ms(Reach::kNewest).value_or(0), kNow + 2 * kDay + 1'000)
      << "a generation knows the second";
  EXPECT_EQ(here.within_since_ms(Reach::kSafe).value_or(-1), 0) << "none of them goes soon";
  Vault later = vault(limits);
  add(later, "f9", "other", kNow + 9 * kDay);
  EXPECT_EQ(later.within_since_ms(Reach::kSafe).value_or(0), kNow + 2 * kDay + 1'000);
}

TEST_F(VaultTest, G2_WhatIsKeptAgainTakesNoRoomFromAnythingElse) {
  const Limits limits{.bytes = 1U << 20};
  std::vector<Version> versions;
  const auto keep = [&](unsigned i) {
    Vault one = vault(limits);  // another process each, as a restore is
    return add(one, "f" + std::to_string(i), noise(150'000, i), kNow + i);
  };
  for (unsigned i = 0; i < 6; ++i) versions.push_back(keep(i));
  for (int round = 0; round < 30; ++round) {
    for (unsigned i = 0; i < 6; ++i) keep(i);
  }
  const Vault here = vault(limits);
  for (const Version& version : versions) EXPECT_TRUE(here.content(version)) << version.path;
  EXPECT_EQ(contents().size(), 6U) << "each is kept once";
  EXPECT_LE(*here.bytes(), limits.bytes);
  std::size_t generations = 0;
  for (const auto& entry : fs::directory_iterator(folder_.file("snapshots"))) {
    generations += static_cast<std::size_t>(entry.is_directory());
  }
  EXPECT_LE(generations, 66U) << "those whose contents have moved do not pile up";
}

TEST_F(VaultTest, G2_OneProcessThatKeepsMuchDoesNotCostTheNewest) {
  const Limits limits{.bytes = 1U << 20};
  std::vector<Version> versions;
  {
    Vault one = vault(limits);
    for (unsigned i = 0; i < 10; ++i) {
      versions.push_back(add(one, "f" + std::to_string(i), noise(150'000, i)));
    }
  }
  const auto on_disk = [&] {
    std::uint64_t bytes = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
      if (entry.is_regular_file()) bytes += entry.file_size();
    }
    return bytes;
  };
  for (int small = 0; small < 3; ++small) {
    Vault one = vault(limits);
    add(one, "small", std::to_string(small), kNow + small);
    EXPECT_LE(on_disk(), limits.bytes + limits.bytes / 16) << "with what is being removed";
  }
  const Vault here = vault(limits);
  EXPECT_FALSE(here.content(versions.front())) << "the oldest goes";
  for (std::size_t i = 5; i < versions.size(); ++i) {
    EXPECT_TRUE(here.content(versions[i])) << versions[i].path;
  }
  EXPECT_TRUE(*here.complete_since_ms());
}

TEST_F(VaultTest, WhatFitsIsKeptAlreadyOrHasRoom) {
  const Limits limits{.bytes = 1U << 20};
  Vault here = vault(limits);
  for (unsigned i = 0; i < 6; ++i) add(here, "f" + std::to_string(i), noise(150'000, i));
  EXPECT_TRUE(here.fits(content_id(noise(150'000, 0)), 150'000).value_or(false));
  EXPECT_FALSE(here.fits(content_id(noise(150'000, 9)), 150'000).value_or(true));
  EXPECT_TRUE(here.fits(content_id("small"), 5).value_or(false));
  EXPECT_EQ(here.complete_since_ms().value_or(1), std::nullopt);
}

TEST_F(VaultTest, AFolderThatCannotBeUsedIsNamedWithoutATrial) {
  const Place place{.store = folder_.path()};
  EXPECT_TRUE(Vault::check(place));
  EXPECT_FALSE(fs::exists(folder_.file("snapshots")));
  vault();
  EXPECT_TRUE(Vault::check(place));
  fs::remove_all(folder_.file("snapshots"));
  fs::create_directories(folder_.file("elsewhere"));
  fs::create_directory_symlink(folder_.file("elsewhere"), folder_.file("snapshots"));
  const auto checked = Vault::check(place);
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message, HasSubstr("symlink"));
}

TEST_F(VaultTest, ASymlinkInAContentsPlaceIsReplacedNotFollowed) {
  Vault here = vault();
  add(here, "a", "first");
  const fs::path generation = contents().front().parent_path();
  std::ofstream(folder_.file("victim")) << "untouched";
  fs::create_symlink(folder_.file("victim"), generation / content_id("second"));
  const Version version = add(here, "b", "second");
  EXPECT_EQ(here.content(version).value_or("-"), "second");
  EXPECT_EQ(fs::file_size(folder_.file("victim")), 9U);
}

TEST_F(VaultTest, ManyWriteTheSameAtOnce) {
  std::vector<std::thread> writers;
  for (int i = 0; i < 8; ++i) {
    writers.emplace_back([&, i] {
      Vault mine = vault({.bytes = 8U << 20});
      for (unsigned n = 0; n < 50; ++n) {
        add(mine, std::to_string(i), noise(2'000, n), kNow + n);
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  const Vault here = vault();
  const std::vector<Version> versions = all(here);
  EXPECT_EQ(versions.size(), 400U);
  for (const Version& version : versions) EXPECT_TRUE(here.content(version));
}

TEST_F(VaultTest, WhatWasNeverKeptIsNotThere) {
  const auto found = Vault::find({.store = folder_.path()});
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->has_value());
  EXPECT_FALSE(fs::exists(folder_.file("snapshots")));
}

}  // namespace
}  // namespace lockkeeper::snapshot
