#include "realm/realm.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "realm/store_url.h"
#include "realm/test_repository.h"
#include "realm/user.h"

namespace lockkeeper::realm {
namespace {

Result<Realm> find_from(const TestRepository& repo, const std::string& cwd,
                        std::vector<std::string> resources = {}, std::string explicit_dir = {}) {
  return find_realm({std::move(explicit_dir), {}, std::move(resources), repo.at(cwd), repo.env()});
}

Realm found(const Result<Realm>& realm) {
  EXPECT_TRUE(realm.has_value()) << (realm ? "" : realm.error().message);
  return realm.value_or(Realm{});
}

TEST(Realm, a_repository_is_found_from_its_root_and_from_below) {
  TestRepository repo;
  repo.init("r");
  repo.folder("r/a/b");
  for (const char* cwd : {"r", "r/a", "r/a/b", "r/.git", "r/.git/objects"}) {
    const Realm realm = found(find_from(repo, cwd));
    EXPECT_EQ(realm.root, repo.at("r")) << cwd;
    EXPECT_EQ(realm.store_folder, repo.at("r/.git/lockkeeper"));
    EXPECT_EQ(realm.common_dir, repo.at("r/.git"));
    EXPECT_EQ(realm.name, "r");
    EXPECT_TRUE(realm.in_git);
    EXPECT_FALSE(realm.bare);
    EXPECT_EQ(realm.folder_mode, 0700u);
    EXPECT_EQ(realm.file_mode, 0600u);
    EXPECT_FALSE(realm.shared);
  }
  EXPECT_FALSE(std::filesystem::exists(repo.at("r/.git/lockkeeper"))) << "nothing may be created";
}

TEST(Realm, all_worktrees_of_a_repository_are_one_realm) {
  TestRepository repo;
  repo.init("main");
  repo.git("main", "worktree add ../beside -b one");
  repo.git("main", "worktree add nested/wt -b two");
  const Realm main = found(find_from(repo, "main"));
  const Realm beside = found(find_from(repo, "beside"));
  const Realm nested = found(find_from(repo, "main/nested/wt"));
  EXPECT_EQ(beside.root, repo.at("beside"));
  EXPECT_EQ(nested.root, repo.at("main/nested/wt"));
  EXPECT_TRUE(main.same_table(beside));
  EXPECT_TRUE(main.same_table(nested));
  EXPECT_EQ(beside.name, "main");
  EXPECT_EQ(beside.epoch_copy, main.epoch_copy);
}

TEST(Realm, a_submodule_is_a_realm_of_its_own) {
  TestRepository repo;
  repo.init("library");
  repo.init("app");
  repo.git("app", "submodule add ../library vendor/lib");
  repo.git("app", "commit -m sub");
  const Realm app = found(find_from(repo, "app"));
  const Realm sub = found(find_from(repo, "app/vendor/lib"));
  EXPECT_FALSE(app.same_table(sub));
  EXPECT_EQ(sub.root, repo.at("app/vendor/lib"));
  EXPECT_EQ(sub.store_folder, repo.at("app/.git/modules/vendor/lib/lockkeeper"));
  EXPECT_EQ(sub.name, "lib");
  // What lies in `.git` belongs to the worktree that has it, the submodule's own files too.
  EXPECT_TRUE(found(find_from(repo, "app/.git/modules/vendor/lib")).same_table(app));
  repo.git("app/vendor/lib", "worktree add ../../../subwork -b w");
  EXPECT_TRUE(found(find_from(repo, "subwork")).same_table(sub));
}

// Git clones it once for each worktree. docs/concepts/realms.md says so, and what to do.
TEST(Realm, A12_a_submodule_of_a_linked_worktree_shares_a_table_only_by_its_store) {
  TestRepository repo;
  repo.init("library");
  repo.init("app");
  repo.git("app", "submodule add ../library vendor/lib");
  repo.git("app", "commit -m sub");
  repo.git("app", "worktree add ../second -b w");
  repo.git("second", "submodule update --init");
  Realm first = found(find_from(repo, "app/vendor/lib"));
  Realm second = found(find_from(repo, "second/vendor/lib"));
  EXPECT_FALSE(first.same_table(second));
  repo.folder("stores");
  const std::string url = "lmdb:" + repo.at("stores/lib");
  ASSERT_TRUE(choose_store(first, url, repo.env()));
  ASSERT_TRUE(choose_store(second, url, repo.env()));
  EXPECT_TRUE(first.same_table(second));
}

TEST(Realm, bare_repositories_and_their_worktrees) {
  TestRepository repo;
  repo.init("origin");
  repo.git("", "clone --bare origin shop.git");
  const Realm bare = found(find_from(repo, "shop.git/refs"));
  EXPECT_TRUE(bare.bare);
  EXPECT_EQ(bare.root, repo.at("shop.git"));
  EXPECT_EQ(bare.store_folder, repo.at("shop.git/lockkeeper"));
  EXPECT_EQ(bare.name, "shop.git");
  repo.git("shop.git", "worktree add ../work -b w");
  repo.git("shop.git", "worktree add inside -b i");
  for (const char* folder : {"work", "shop.git/inside"}) {
    const Realm realm = found(find_from(repo, folder));
    EXPECT_EQ(realm.root, repo.at(folder));
    EXPECT_FALSE(realm.bare);
    EXPECT_TRUE(realm.same_table(bare));
  }
}

TEST(Realm, a_bare_repository_in_a_hidden_folder_beside_its_worktrees) {
  TestRepository repo;
  repo.init("origin");
  repo.folder("shop");
  repo.git("", "clone --bare origin shop/.bare");
  repo.write("shop/.git", "gitdir: ./.bare\n");
  repo.git("shop", "worktree add trunk -b trunk");
  const Realm top = found(find_from(repo, "shop"));
  const Realm trunk = found(find_from(repo, "shop/trunk"));
  EXPECT_EQ(top.root, repo.at("shop"));
  EXPECT_TRUE(top.bare);
  EXPECT_TRUE(trunk.same_table(top));
  EXPECT_EQ(trunk.root, repo.at("shop/trunk"));
  EXPECT_EQ(trunk.name, "shop");
}

TEST(Realm, worktree_config_may_hold_core_bare) {
  TestRepository repo;
  repo.init("r");
  repo.git("r", "config extensions.worktreeConfig true");
  repo.git("r", "config --worktree core.bare true");
  EXPECT_TRUE(found(find_from(repo, "r")).bare);
}

TEST(Realm, core_worktree_moves_the_root) {
  TestRepository repo;
  repo.init("r");
  repo.folder("elsewhere");
  repo.git("r", "config core.worktree ../../elsewhere");
  EXPECT_EQ(found(find_from(repo, "r")).root, repo.at("elsewhere"));
  repo.git("r", "config core.worktree /nowhere/at/all");
  EXPECT_EQ(found(find_from(repo, "r")).root, repo.at("r"));
}

TEST(Realm, dot_git_may_be_a_symlink) {
  TestRepository repo;
  repo.init("r");
  repo.folder("s");
  repo.link(repo.at("r/.git"), "s/.git");
  const Realm realm = found(find_from(repo, "s"));
  EXPECT_EQ(realm.root, repo.at("s"));
  EXPECT_EQ(realm.store_folder, repo.at("r/.git/lockkeeper"));
}

TEST(Realm, without_git_the_nearest_dot_lockkeeper_else_the_folder_itself) {
  TestRepository repo;
  repo.folder("plain/a/b");
  Realm realm = found(find_from(repo, "plain/a/b"));
  EXPECT_EQ(realm.root, repo.at("plain/a/b"));
  EXPECT_EQ(realm.store_folder, repo.at("plain/a/b/.lockkeeper"));
  EXPECT_FALSE(realm.in_git);
  EXPECT_FALSE(std::filesystem::exists(realm.store_folder));
  repo.folder("plain/.lockkeeper");
  realm = found(find_from(repo, "plain/a/b"));
  EXPECT_EQ(realm.root, repo.at("plain"));
  repo.folder("plain/a/.lockkeeper");
  EXPECT_EQ(found(find_from(repo, "plain/a/b")).root, repo.at("plain/a"));
  EXPECT_EQ(found(find_from(repo, "plain/a/.lockkeeper")).root, repo.at("plain/a"));
  // A repository is one realm: a `.lockkeeper/` inside it splits nothing.
  repo.init("r");
  repo.folder("r/a/.lockkeeper");
  EXPECT_EQ(found(find_from(repo, "r/a")).root, repo.at("r"));
}

TEST(Realm, the_environment_of_git_is_ignored) {
  TestRepository repo;
  repo.init("r");
  repo.init("other");
  ::setenv("GIT_DIR", repo.at("other/.git").c_str(), 1);
  ::setenv("GIT_COMMON_DIR", repo.at("other/.git").c_str(), 1);
  const Realm realm = found(find_from(repo, "r"));
  ::unsetenv("GIT_DIR");
  ::unsetenv("GIT_COMMON_DIR");
  EXPECT_EQ(realm.root, repo.at("r"));
  EXPECT_EQ(realm.common_dir, repo.at("r/.git"));
}

TEST(Realm, a_named_path_decides_also_if_it_does_not_exist_yet) {
  TestRepository repo;
  repo.init("one");
  repo.init("two");
  repo.folder("nowhere");
  EXPECT_EQ(found(find_from(repo, "one", {"../two/new/dir/f.py"})).root, repo.at("two"));
  EXPECT_EQ(found(find_from(repo, "nowhere", {repo.at("two/**/*.py")})).root, repo.at("two"));
  EXPECT_EQ(found(find_from(repo, "one", {"api:GET /v1/x", "../two/f"})).root, repo.at("two"));
  EXPECT_EQ(found(find_from(repo, "one", {"api:GET /v1/x"})).root, repo.at("one"));
  // A path in no realm decides nothing; the resolver refuses it then.
  EXPECT_EQ(found(find_from(repo, "one", {repo.at("nowhere/f")})).root, repo.at("one"));
  EXPECT_EQ(found(find_from(repo, "one", {"", std::string(70'000, 'x')})).root, repo.at("one"));
  repo.link("loop", "one/loop");
  EXPECT_EQ(found(find_from(repo, "one", {"loop/x"})).root, repo.at("one"));
}

TEST(Realm, an_explicit_folder_wins_and_must_exist) {
  TestRepository repo;
  repo.init("one");
  repo.init("two");
  repo.write("two/file", "");
  EXPECT_EQ(found(find_from(repo, "one", {"f"}, repo.at("two"))).root, repo.at("two"));
  EXPECT_EQ(found(find_from(repo, "one", {"f"}, "../two/")).root, repo.at("two"));
  EXPECT_EQ(found(find_from(repo, "one", {}, repo.at("two/.git"))).root, repo.at("two"));
  for (const std::string& bad : {repo.at("missing"), repo.at("two/file"), std::string("a\0b", 3),
                                 std::string(70'000, 'x')}) {
    const auto refused = find_from(repo, "one", {}, bad);
    ASSERT_FALSE(refused.has_value()) << bad.substr(0, 80);
    EXPECT_EQ(refused.error().code, Code::kInvalidInput);
    EXPECT_NE(refused.error().hint.find("--realm"), std::string::npos);
  }
}

TEST(Realm, a_current_folder_that_is_gone_is_a_clear_error) {
  TestRepository repo;
  const auto gone = find_from(repo, "gone");
  ASSERT_FALSE(gone.has_value());
  EXPECT_EQ(gone.error().code, Code::kInvalidInput);
}

TEST(Realm, the_current_folder_may_be_a_symlinked_spelling) {
  TestRepository repo;
  repo.init("r");
  repo.folder("r/src");
  repo.link(repo.at("r/src"), "short");
  EXPECT_EQ(found(find_from(repo, "short")).root, repo.at("r"));
}

TEST(Realm, a_broken_git_file_is_an_error_and_not_another_realm) {
  TestRepository repo;
  repo.init("r");
  repo.write("r/wt/.git", "gitdir: /moved/away/.git/worktrees/wt\n");
  const auto realm = find_from(repo, "r/wt");
  ASSERT_FALSE(realm.has_value());
  EXPECT_EQ(realm.error().code, Code::kStoreUnavailable);
  EXPECT_NE(realm.error().hint.find("git worktree repair"), std::string::npos);
}

TEST(Realm, D9_without_home_the_machine_realm_is_the_users_all_the_same) {
  TestRepository repo;
  repo.init("r");
  const auto realm = find_realm({{}, {}, {}, repo.at("r"), environment_of({})});
  EXPECT_EQ(found(realm).epoch_copy, "");
  const auto machine = machine_realm(environment_of({{"HOME", ""}, {"XDG_STATE_HOME", "rel"}}));
  const std::optional<std::string> home = home_folder(environment_of({}));
  EXPECT_EQ(found(machine).store_folder,
            home ? *home + "/.local/state/lockkeeper"
                 : "/var/tmp/lockkeeper-" + std::to_string(::geteuid()));
}

TEST(Realm, state_home_says_where_the_machine_realm_is) {
  const auto by_home = machine_realm(environment_of({{"HOME", "/home/u"}}));
  EXPECT_EQ(found(by_home).store_folder, "/home/u/.local/state/lockkeeper");
  const Realm by_xdg = found(machine_realm(environment_of({{"XDG_STATE_HOME", "/s"}})));
  EXPECT_EQ(by_xdg.store_folder, "/s/lockkeeper");
  EXPECT_TRUE(by_xdg.machine);
  EXPECT_TRUE(by_xdg.epoch_copy.starts_with("/s/lockkeeper/epochs/"));
}

TEST(Realm, shared_repositories_open_the_store_to_the_same_people) {
  TestRepository repo;
  repo.init("r");
  const auto with = [&](const char* value) {
    repo.git("r", std::string("config core.sharedRepository ") + value);
    return found(find_from(repo, "r"));
  };
  EXPECT_EQ(with("group").folder_mode, 02770u);
  EXPECT_EQ(with("group").file_mode, 0660u);
  EXPECT_EQ(with("all").folder_mode, 02775u);
  EXPECT_EQ(with("0640").folder_mode, 02750u);
  EXPECT_EQ(with("0640").file_mode, 0640u);
  EXPECT_TRUE(with("group").shared);
  EXPECT_EQ(with("umask").folder_mode, 0700u);
  repo.git("r", "config core.sharedRepository nonsense");
  const auto bad = find_from(repo, "r");
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error().code, Code::kInvalidConfig);
}

TEST(Realm, contains_compares_whole_names) {
  Realm realm;
  realm.root = "/a/b";
  EXPECT_TRUE(realm.contains("/a/b"));
  EXPECT_TRUE(realm.contains("/a/b/c"));
  EXPECT_FALSE(realm.contains("/a/bc"));
  EXPECT_FALSE(realm.contains("/a"));
  realm.root = "/";
  EXPECT_TRUE(realm.contains("/x"));
}

TEST(Realm, realm_of_a_path_is_the_innermost_one) {
  TestRepository repo;
  repo.init("outer");
  repo.init("outer/inner");
  repo.folder("nowhere");
  EXPECT_EQ(found(realm_of(repo.at("outer/inner/x/y"), repo.env())).root, repo.at("outer/inner"));
  EXPECT_EQ(found(realm_of(repo.at("outer/innerx"), repo.env())).root, repo.at("outer"));
  const auto none = realm_of(repo.at("nowhere/x"), repo.env());
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().code, Code::kNotFound);
  EXPECT_EQ(realm_of("relative", repo.env()).error().code, Code::kInvalidInput);
}

}  // namespace
}  // namespace lockkeeper::realm
