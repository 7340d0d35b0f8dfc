#include "realm/registry.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "realm/store_url.h"
#include "realm/test_repository.h"

namespace lockkeeper::realm {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> roots(const TestRepository& files) {
  std::vector<std::string> all;
  for (const Realm& realm : known_realms(files.env())) all.push_back(realm.root);
  return all;
}

TEST(Registry, remembers_realms_that_have_a_store_and_forgets_what_is_gone) {
  const TestRepository files;
  for (const char* const name : {"b", "a"}) {
    files.init(name);
    const Realm realm = files.realm(name);
    ASSERT_TRUE(fs::create_directory(realm.store_folder));
    ASSERT_TRUE(remember_realm(realm, files.env()));
    ASSERT_TRUE(remember_realm(realm, files.env())) << "twice is once";
  }
  EXPECT_EQ(roots(files), (std::vector<std::string>{files.at("a"), files.at("b")}));
  fs::remove_all(files.at("a"));
  EXPECT_EQ(roots(files), (std::vector<std::string>{files.at("b")}));
  EXPECT_EQ(std::distance(fs::directory_iterator(files.at("home/.local/state/lockkeeper/realms")),
                          fs::directory_iterator{}),
            1);
}

TEST(Registry, entries_are_private) {
  const TestRepository files;
  files.init("a");
  ASSERT_TRUE(fs::create_directory(files.realm("a").store_folder));
  ASSERT_TRUE(remember_realm(files.realm("a"), files.env()));
  for (const auto& entry :
       fs::directory_iterator(files.at("home/.local/state/lockkeeper/realms"))) {
    struct stat info{};
    ASSERT_EQ(::stat(entry.path().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600U);
  }
}

TEST(Registry, a_store_outlives_its_worktree) {
  const TestRepository files;
  files.init("main");
  files.git("main", "worktree add ../tree");
  const Realm tree = files.realm("tree");
  ASSERT_TRUE(fs::create_directory(tree.store_folder));
  ASSERT_TRUE(remember_realm(tree, files.env()));
  fs::remove_all(files.at("tree"));
  const std::vector<Realm> known = known_realms(files.env());
  ASSERT_EQ(known.size(), 1U);
  EXPECT_EQ(known[0].store_folder, tree.store_folder);
}

TEST(Registry, garbage_is_passed_over_and_without_home_there_is_nothing) {
  const TestRepository files;
  const std::string folder = "home/.local/state/lockkeeper/realms/";
  files.write(folder + "garbage", "no");
  files.write(folder + "0123456789abcdef", std::string("/somewhere\0/else", 16));
  files.write(folder + "empty", "");
  EXPECT_TRUE(known_realms(files.env()).empty());
  EXPECT_TRUE(fs::exists(files.at(folder + "garbage"))) << "not ours to remove";
  EXPECT_TRUE(known_realms(environment_of({})).empty());
  EXPECT_TRUE(remember_realm(Realm{}, environment_of({})));
}

TEST(StoreUrl, the_realms_own_or_a_folder_elsewhere) {
  const TestRepository files;
  files.init("a");
  const Realm own = files.realm("a");
  Realm realm = own;
  ASSERT_TRUE(choose_store(realm, "", files.env()));
  ASSERT_TRUE(choose_store(realm, "lmdb:", files.env()));
  EXPECT_EQ(realm.store_folder, own.store_folder);
  ASSERT_TRUE(choose_store(realm, "lmdb:" + files.at("x") + "/", files.env()));
  EXPECT_EQ(realm.store_folder, files.at("x"));
  EXPECT_NE(realm.epoch_copy, own.epoch_copy);
  EXPECT_EQ(realm.root, own.root);
  files.link("a", "l");
  ASSERT_TRUE(choose_store(realm, "lmdb:" + files.at("l/y"), files.env()));
  EXPECT_EQ(realm.store_folder, files.at("a/y")) << "one store has one name";
}

TEST(StoreUrl, anything_else_is_refused_naming_what_there_is) {
  const TestRepository files;
  for (const char* const url : {"redis://x", "lmdb", "lmdb:relative", "lmdb:/", "/path",
                                "lmdb:/no/such/parent/x", "etcd:", "lmdb:/tmp/.."}) {
    Realm realm;
    const auto chosen = choose_store(realm, url, files.env());
    ASSERT_FALSE(chosen) << url;
    EXPECT_EQ(chosen.error().code, Code::kInvalidInput);
    EXPECT_NE(chosen.error().hint.find("lmdb:"), std::string::npos);
  }
}

}  // namespace
}  // namespace lockkeeper::realm
