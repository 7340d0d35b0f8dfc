#include "layout/make_store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "realm/realm.h"
#include "realm/test_repository.h"

namespace lockkeeper::layout {
namespace {

using realm::as_nobody;
using realm::check_store;
using realm::find_realm;
using realm::machine_realm;
using realm::Realm;
using realm::StoreState;
using realm::TestRepository;

mode_t mode_of(const std::string& path) {
  struct stat info{};
  EXPECT_EQ(::lstat(path.c_str(), &info), 0);
  return info.st_mode & 07777;
}

TEST(StoreFolder, is_absent_until_it_is_created_with_its_mode) {
  TestRepository repo;
  repo.init("r");
  const Realm realm = repo.realm("r");
  EXPECT_EQ(check_store(realm).value(), StoreState::kAbsent);
  ASSERT_TRUE(create_store_folder(realm).has_value());
  EXPECT_EQ(check_store(realm).value(), StoreState::kPresent);
  EXPECT_EQ(mode_of(realm.store_folder), 0700u);
  EXPECT_TRUE(create_store_folder(realm).has_value()) << "a second time is no error";
}

TEST(StoreFolder, WhereNoFolderCanBeMadeItSaysSoAndWhatToDo) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gets beyond the mode of /proc";
  Realm realm;
  realm.root = "/proc";
  realm.store_folder = "/proc/.lockkeeper";
  const auto made = create_store_folder(realm);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message, "cannot create /proc/.lockkeeper: /proc takes no new folders");
  EXPECT_EQ(made.error().hint, "work in another realm with --realm DIR");
  TestRepository repo;
  realm.store_folder = repo.at("gone/.lockkeeper");
  EXPECT_TRUE(create_store_folder(realm).error().message.ends_with("/gone is gone"));
}

TEST(StoreFolder, follows_shared_repository_whatever_the_umask) {
  TestRepository repo;
  repo.init("r");
  repo.git("r", "config core.sharedRepository group");
  const Realm realm = repo.realm("r");
  const mode_t before = ::umask(0077);
  ASSERT_TRUE(create_store_folder(realm).has_value());
  ::umask(before);
  EXPECT_EQ(mode_of(realm.store_folder), 02770u);
}

TEST(StoreFolder, many_may_create_it_at_once_and_leave_nothing_behind) {
  TestRepository repo;
  repo.folder("plain");
  const Realm realm = repo.realm("plain");
  std::vector<std::thread> threads;
  std::vector<int> good(8, 0);
  for (std::size_t i = 0; i < good.size(); ++i) {
    threads.emplace_back([&, i] { good[i] = create_store_folder(realm).has_value() ? 1 : 0; });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::count(good.begin(), good.end(), 1), 8);
  int entries = 0;
  for (const auto& entry : std::filesystem::directory_iterator(repo.at("plain"))) {
    EXPECT_EQ(entry.path().filename(), ".lockkeeper");
    ++entries;
  }
  EXPECT_EQ(entries, 1);
}

TEST(StoreFolder, the_machine_realm_makes_its_parents) {
  TestRepository repo;
  const auto realm = machine_realm(repo.env());
  ASSERT_TRUE(realm.has_value());
  ASSERT_TRUE(create_store_folder(*realm).has_value());
  EXPECT_EQ(check_store(*realm).value(), StoreState::kPresent);
}

TEST(StoreFolder, a_symlink_or_a_file_in_its_place_is_refused) {
  TestRepository repo;
  repo.init("r");
  repo.folder("elsewhere");
  const Realm realm = repo.realm("r");
  repo.link(repo.at("elsewhere"), "r/.git/lockkeeper");
  for (int round = 0; round < 2; ++round) {
    const auto looked = check_store(realm);
    ASSERT_FALSE(looked.has_value());
    EXPECT_EQ(looked.error().code, Code::kStoreUnavailable);
    EXPECT_FALSE(create_store_folder(realm).has_value());
    std::filesystem::remove(realm.store_folder);
    repo.write("r/.git/lockkeeper", "a file");
  }
  EXPECT_TRUE(std::filesystem::is_empty(repo.at("elsewhere")));
}

TEST(StoreFolder, root_creates_it_as_the_owner_of_the_repository) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  TestRepository repo;
  repo.init("r");
  ASSERT_EQ(::chown(repo.at("r/.git").c_str(), 65534, 65534), 0);
  const Realm realm = repo.realm("r");
  EXPECT_EQ(realm.owner_uid, 65534u);
  ASSERT_TRUE(create_store_folder(realm).has_value());
  struct stat info{};
  ASSERT_EQ(::stat(realm.store_folder.c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 65534u);
  EXPECT_EQ(info.st_gid, 65534u);
}

TEST(StoreFolder, another_users_store_is_a_clear_error) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  TestRepository repo;
  ASSERT_EQ(::chmod(repo.path().c_str(), 0755), 0);
  repo.init("r");
  const Realm realm = repo.realm("r");
  ASSERT_TRUE(create_store_folder(realm).has_value());
  EXPECT_TRUE(as_nobody([&] {
    const auto looked = check_store(realm);
    return !looked && looked.error().code == Code::kStoreUnavailable &&
           looked.error().message.find("belongs to root") != std::string::npos &&
           looked.error().hint.find("core.sharedRepository") != std::string::npos;
  }));
  // A mode that lets everybody in does not make it safe: the store might be a trap.
  ASSERT_EQ(::chmod(realm.store_folder.c_str(), 0777), 0);
  EXPECT_TRUE(as_nobody([&] { return !check_store(realm); }));
  Realm shared = realm;
  shared.shared = true;
  EXPECT_TRUE(as_nobody([&] { return check_store(shared).has_value(); }));
  ASSERT_EQ(::chmod(realm.store_folder.c_str(), 0700), 0);
  EXPECT_TRUE(as_nobody([&] { return !check_store(shared); }));
}

TEST(StoreFolder, a_read_only_repository_says_so_and_looks_empty) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to be somebody who may not write";
  TestRepository repo;
  ASSERT_EQ(::chmod(repo.path().c_str(), 0755), 0);
  repo.init("r");
  EXPECT_TRUE(as_nobody([&] {
    const auto realm = find_realm({{}, {}, {}, repo.at("r"), repo.env()});
    if (!realm || check_store(*realm).value() != StoreState::kAbsent) return false;
    const auto made = create_store_folder(*realm);
    return !made && made.error().code == Code::kStoreUnavailable &&
           made.error().message.find("not writable") != std::string::npos;
  }));
}

TEST(StoreFolder, what_cannot_be_seen_is_an_error_and_not_absent) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to be somebody who may not look";
  TestRepository repo;
  ASSERT_EQ(::chmod(repo.path().c_str(), 0755), 0);
  repo.init("r");
  const Realm realm = repo.realm("r");
  ASSERT_EQ(::chmod(repo.at("r/.git").c_str(), 0700), 0);
  EXPECT_TRUE(as_nobody([&] {
    const auto found = find_realm({{}, {}, {}, repo.at("r"), repo.env()});
    return !found && found.error().code == Code::kStoreUnavailable && !check_store(realm);
  }));
}

}  // namespace
}  // namespace lockkeeper::layout
