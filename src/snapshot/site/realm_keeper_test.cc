#include "snapshot/site/realm_keeper.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "realm/settings_testing.h"

namespace lockkeeper::snapshot {
namespace {

class RealmKeeper : public realm::SettingsFiles {
 protected:
  RealmKeeper() { std::filesystem::create_directories(realm.store_folder); }
  // What is said of the content of a file with this name.
  Content kept(const std::string& path) {
    repo.write("r/" + path, "text");
    const auto keeper = keeper_of(realm, loaded());
    EXPECT_TRUE(keeper);
    if (!keeper) return Content::kUnread;
    EXPECT_TRUE(keeper->keep(path, {}, 4'000'000'000'000));
    const auto newest = keeper->newest(path);
    EXPECT_TRUE(newest && *newest != nullptr);
    return newest && *newest != nullptr ? (*newest)->content_is : Content::kUnread;
  }
};

TEST_F(RealmKeeper, SecretsAndIgnoredFilesAreKeptByTheirHash) {
  repo.write("r/.gitignore", "*.log\n");
  EXPECT_EQ(kept("src/a.c"), Content::kKept);
  EXPECT_EQ(kept("app/.env.local"), Content::kSecret);
  EXPECT_EQ(kept("x.log"), Content::kIgnored);
}

TEST_F(RealmKeeper, TheSettingsCanAllowMore) {
  repo.write("r/.gitignore", "*.log\n");
  local("[snapshots]\nonly_hash = []\nignored = true\n");
  EXPECT_EQ(kept(".env"), Content::kKept);
  EXPECT_EQ(kept("x.log"), Content::kKept);
}

TEST_F(RealmKeeper, G2_AVersionBelongsToItsWorktreeWhereverThatIsNow) {
  EXPECT_EQ(tree_name(realm.root), kMainTree);
  repo.write("tree/.git", "gitdir: /elsewhere/.git/worktrees/side\n");
  EXPECT_EQ(tree_name(repo.at("tree")), "side");
  repo.write("sub/.git", "gitdir: ../.git/modules/sub\n");
  EXPECT_EQ(tree_name(repo.at("sub")), kMainTree);
  const Worktrees trees(realm);
  EXPECT_EQ(trees.root_of({.worktree = "/before", .tree = std::string(kMainTree)}), realm.root);
  EXPECT_EQ(trees.root_of({.worktree = "/before", .tree = "gone"}), "/before");
  EXPECT_EQ(trees.root_of({.worktree = "/before"}), "/before");
}

TEST_F(RealmKeeper, NothingIsKeptIfTheSettingsSaySo) {
  local("[snapshots]\nenabled = false\n");
  EXPECT_EQ(keeper_of(realm, loaded()), nullptr);
}

TEST_F(RealmKeeper, WithoutAStoreNothingIsMade) {
  std::filesystem::remove_all(realm.store_folder);
  EXPECT_EQ(keeper_of(realm, loaded()), nullptr);
  EXPECT_FALSE(std::filesystem::exists(realm.store_folder));
}

}  // namespace
}  // namespace lockkeeper::snapshot
