// Which hub keeps the locks: addresses, tokens that only their user can read, and names of realms.
#include "realm/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <map>

#include "base/fd.h"
#include "base/test_folder.h"
#include "realm/config.h"

namespace lockkeeper::realm {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ServerSettings : public testing::Test {
 protected:
  Environment env() {
    return [this](const char* name) -> std::optional<std::string> {
      const auto found = variables_.find(name);
      if (found == variables_.end()) return std::nullopt;
      return found->second;
    };
  }
  Realm repository(const std::string& origin) {
    Realm realm;
    realm.root = folder_.file("repo");
    realm.store_folder = realm.root + "/.git/lockkeeper";
    realm.common_dir = realm.root + "/.git";
    EXPECT_TRUE(make_folders(realm.common_dir));
    std::ofstream(realm.common_dir + "/config")
        << "[core]\n\tbare = false\n[remote \"other\"]\n\turl = https://x.org/y\n[remote "
           "\"origin\"]\n\turl = "
        << origin << "\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n";
    return realm;
  }
  TestFolder folder_;
  std::map<std::string, std::string> variables_ = {{"HOME", folder_.file("home")},
                                                   {"XDG_RUNTIME_DIR", folder_.file("run")}};
};

TEST(RealmName, IsHostAndPathOfTheOrigin) {
  const std::pair<const char*, const char*> good[] = {
      {"https://github.com/Org/repo.git", "github.com/Org/repo"},
      {"https://me:token@GitHub.com:443/Org/repo", "github.com/Org/repo"},
      {"git@github.com:Org/repo.git", "github.com/Org/repo"},
      {"ssh://git@github.com:22/Org/repo.git/", "github.com/Org/repo"},
      {"git://git.kernel.org/pub/scm/git/git.git", "git.kernel.org/pub/scm/git/git"},
  };
  for (const auto& [url, name] : good) EXPECT_EQ(name_of_origin(url), name) << url;
  for (const char* const bad : {"", "/srv/git/repo.git", "../repo", "file:///srv/repo", "https://x",
                                "https://x/a b", "https://x/../y", "C:\\repo"}) {
    EXPECT_EQ(name_of_origin(bad), std::nullopt) << bad;
  }
}

TEST_F(ServerSettings, NobodyIsSentAnywhereWithoutAWordOfTheUser) {
  const Realm realm = repository("git@github.com:org/repo.git");
  const auto none = find_server(realm, Settings{}, env());
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
  std::ofstream(realm.root + "/lockkeeper.toml") << "[server]\nurl = \"https://evil.example\"\n";
  const auto settings = load_settings(realm, env());
  ASSERT_FALSE(settings);
  EXPECT_EQ(settings.error().code, Code::kInvalidConfig);
  EXPECT_THAT(settings.error().message, HasSubstr("lockkeeper.toml:2"));
}

TEST_F(ServerSettings, TheVariableThenTheFileThenTheLogin) {
  const Realm realm = repository("git@github.com:org/repo.git");
  ASSERT_TRUE(keep_login(env(), {"https://first.example", "t1", "ann"}));
  ASSERT_TRUE(keep_login(env(), {"https://last.example", "t2", "ann"}));
  auto server = find_server(realm, Settings{}, env());
  ASSERT_TRUE(server && *server);
  EXPECT_EQ((*server)->url, "https://last.example");
  EXPECT_EQ((*server)->person, "ann");
  EXPECT_EQ((*server)->name, "github.com/org/repo");
  EXPECT_TRUE((*server)->folder.starts_with(folder_.file("run") + "/lockkeeper/hub-"));
  ASSERT_TRUE(make_folders(folder_.file("home") + "/.config/lockkeeper"));
  std::ofstream(folder_.file("home") + "/.config/lockkeeper/config.toml")
      << "[server]\nurl = \"https://file.example\"\n";
  std::ofstream(realm.root + "/lockkeeper.toml") << "[realm]\nname = \"team/app\"\n";
  const auto settings = load_settings(realm, env());
  ASSERT_TRUE(settings) << settings.error().message;
  server = find_server(realm, *settings, env());
  ASSERT_TRUE(server && *server);
  EXPECT_EQ((*server)->url, "https://file.example");
  EXPECT_EQ((*server)->person, "");
  EXPECT_EQ((*server)->name, "team/app");
  variables_["LOCKKEEPER_SERVER"] = "https://first.example/";
  server = find_server(realm, *settings, env());
  ASSERT_TRUE(server && *server);
  EXPECT_EQ((*server)->url, "https://first.example");
  EXPECT_EQ((*server)->person, "ann");
  variables_["LOCKKEEPER_SERVER"] = "nonsense";
  EXPECT_FALSE(find_server(realm, *settings, env()));
  EXPECT_TRUE(*drop_login(env(), "https://first.example"));
  EXPECT_FALSE(*drop_login(env(), "https://first.example"));
}

// A mistake in the user's file must not make a table on this machine stand in for the server's.
TEST_F(ServerSettings, ABrokenFileThatNamesAServerIsNeverTolerated) {
  const Realm realm = repository("git@github.com:org/repo.git");
  ASSERT_TRUE(make_folders(folder_.file("home") + "/.config/lockkeeper"));
  const std::string file = folder_.file("home") + "/.config/lockkeeper/config.toml";
  std::ofstream(file) << "[lease]\nnonsense = 1\n";
  std::vector<Error> mistakes;
  EXPECT_TRUE(load_settings(realm, env(), &mistakes));
  EXPECT_EQ(mistakes.size(), 1U);
  std::ofstream(file) << "[server]\nurl = \"https://x\"\n[lease]\nnonsense = 1\n";
  EXPECT_FALSE(load_settings(realm, env(), &mistakes));
}

// By all their addresses in one form, wherever they are named.
TEST_F(ServerSettings, TheHubsOfOneTableAreOneServer) {
  const Realm realm = repository("git@github.com:org/repo.git");
  const std::string all = "https://a.example,https://b.example:7420";
  ASSERT_TRUE(keep_login(env(), {all, "t1", "ann"}));
  ASSERT_TRUE(keep_login(env(), {"https://a.example", "t2", "bob"}));
  const auto alone = find_server(realm, Settings{}, env());
  ASSERT_TRUE(alone && *alone);
  EXPECT_EQ((*alone)->person, "bob");
  variables_["LOCKKEEPER_SERVER"] = "https://A.example:443/, https://b.example:7420";
  const auto server = find_server(realm, Settings{}, env());
  ASSERT_TRUE(server && *server) << server.error().message;
  EXPECT_EQ((*server)->url, all);
  EXPECT_EQ((*server)->person, "ann");
  EXPECT_EQ((*server)->folder, *relay_folder(all, env()));
  EXPECT_NE((*server)->folder, (*alone)->folder);
  variables_["LOCKKEEPER_SERVER"] = "https://a.example,b.example";
  const auto wrong = find_server(realm, Settings{}, env());
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, Code::kInvalidConfig);
  EXPECT_THAT(wrong.error().message,
              AllOf(HasSubstr("LOCKKEEPER_SERVER"), HasSubstr("\"b.example\"")));
}

// Earlier versions read it, if there is one of each.
TEST_F(ServerSettings, WhatALoginTrustsIsKept) {
  ASSERT_TRUE(keep_login(env(), {"https://x.example", "t", "ann", {"/ca.pem"}, {"ab"}}));
  const std::string file = folder_.file("home") + "/.config/lockkeeper/servers.json";
  const std::string text = *read_file(file);
  EXPECT_THAT(text, HasSubstr("\"ca_file\": \"/ca.pem\""));
  EXPECT_THAT(text, HasSubstr("\"fingerprint\": \"ab\""));
  ASSERT_TRUE(keep_login(env(), {"https://y.example", "t", "ann", {"/a", "/b"}, {"ab", "cd"}}));
  ASSERT_TRUE(keep_login(env(), {"https://z.example", "t", "ann"}));
  const auto logins = read_logins(env());
  ASSERT_TRUE(logins);
  ASSERT_EQ(logins->size(), 3U);
  using Texts = std::vector<std::string>;
  EXPECT_EQ((*logins)[0].ca_files, Texts{});
  EXPECT_EQ((*logins)[0].fingerprints, Texts{});
  EXPECT_EQ((*logins)[1].ca_files, (Texts{"/a", "/b"}));
  EXPECT_EQ((*logins)[1].fingerprints, (Texts{"ab", "cd"}));
  EXPECT_EQ((*logins)[2].ca_files, Texts{"/ca.pem"});
  EXPECT_EQ((*logins)[2].fingerprints, Texts{"ab"});
}

TEST_F(ServerSettings, TokensThatOthersCanReadAreNotUsed) {
  ASSERT_TRUE(keep_login(env(), {"https://x.example", "secret", "ann"}));
  const std::string file = folder_.file("home") + "/.config/lockkeeper/servers.json";
  struct stat info{};
  ASSERT_EQ(::stat(file.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  ASSERT_EQ(::chmod(file.c_str(), 0640), 0);
  const auto logins = read_logins(env());
  ASSERT_FALSE(logins);
  EXPECT_EQ(logins.error().code, Code::kOperationNotPermitted);
  EXPECT_THAT(logins.error().message, Not(HasSubstr("secret")));
}

}  // namespace
}  // namespace lockkeeper::realm
