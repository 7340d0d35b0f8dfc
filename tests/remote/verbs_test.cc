// The verbs through a hub: same outcomes, same exit statuses, and no table on this machine.
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "base/fd.h"
#include "host/local_socket.h"
#include "remote/machine.h"

namespace lockkeeper::proof {
namespace {

using stage::Answer;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr int kHeldStatus = 75;

class RemoteVerbs : public Remote {
 protected:
  void log_in() {
    const Answer first = here_.login(url(), alice_);
    ASSERT_EQ(first.status, 0) << first.all();
    EXPECT_EQ(first.json()["name"], "alice");
    ASSERT_EQ(there_.login(url(), bob_).status, 0);
  }
};

TEST_F(RemoteVerbs, TwoMachinesShareOneTable) {
  log_in();
  const Answer granted = here_.expect(0, "claude", {"acquire", "src/a.py", "--reason", "JWT"});
  EXPECT_EQ(granted.json()["outcome"], "granted");
  EXPECT_EQ(granted.json()["lease"]["agent"], "claude@alice");
  const Answer refused = there_.expect(kHeldStatus, "claude", {"acquire", "src/"});
  EXPECT_EQ(refused.json()["conflicts"][0]["agent"], "claude@alice");
  EXPECT_EQ(refused.json()["conflicts"][0]["reason"], "JWT");
  EXPECT_EQ(there_.as("claude", {"check", "src/a.py"}).status, kHeldStatus);
  EXPECT_EQ(here_.expect(0, "claude", {"check", "src/a.py"}).json()["mine"], true);
  EXPECT_EQ(here_.expect(0, "claude", {"acquire", "src/a.py"}).json()["outcome"], "renewed");
  here_.expect(0, "claude", {"renew", "--all", "--ttl", "2h"});
  EXPECT_EQ(there_.list()["leases"].size(), 1U);
  EXPECT_EQ(there_.expect(0, "claude", {"list", "--mine"}).json()["leases"].size(), 0U);
  EXPECT_EQ(here_.expect(0, "claude", {"list", "--mine"}).json()["leases"].size(), 1U);
  EXPECT_EQ(table()["leases"][0]["agent"], "claude@alice");
  there_.expect(0, "claude", {"message", "send", "claude@alice", "please hurry"});
  EXPECT_THAT(here_.as("claude", {"check", "docs/"}).all(), HasSubstr("please hurry"));
  EXPECT_NE(there_.as("claude", {"release", "src/a.py"}).status, 0);
  EXPECT_EQ(held(), 1U);
  here_.expect(0, "claude", {"release", "src/a.py"});
  there_.expect(0, "claude", {"acquire", "src/"});
  EXPECT_FALSE(here_.has_table());
  EXPECT_FALSE(there_.has_table());
}

// So that whoever runs `serve` in a repository need not know how its clones call it.
TEST(RemoteNames, ARepositoryIsServedUnderTheNameOfItsClones) {
  stage::Stage home;
  const std::string token = add_token(home, "alice");
  home.git("repo", {"remote", "add", "origin", "git@GitHub.com:Org/repo.git"});
  const HubServer hub(home, {}, nullptr);
  Machine here;
  here.file("lockkeeper.toml", "");
  here.git("repo", {"remote", "add", "origin", "https://github.com/Org/repo"});
  ASSERT_EQ(here.login("http://127.0.0.1:" + std::to_string(hub.port()), token).status, 0);
  here.expect(0, "claude", {"acquire", "a"});
  EXPECT_EQ(home.list()["leases"].size(), 1U);
}

TEST_F(RemoteVerbs, BreakNeedsTheRole) {
  log_in();
  here_.expect(0, "x", {"acquire", "a"});
  const Answer refused = there_.as("y", {"break", "a", "--reason", "hangs"});
  EXPECT_NE(refused.status, 0);
  EXPECT_THAT(refused.all(), HasSubstr("break"));
  const std::string ops =
      add_token(home_, "ops", {"--role", "read", "--role", "lock", "--role", "break"});
  // The hub takes it within a second; the same relay uses it.
  ASSERT_TRUE(stage::eventually([&] { return there_.login(url(), ops).status == 0; }));
  EXPECT_TRUE(stage::eventually(
      [&] { return there_.as("y", {"break", "a", "--reason", "hangs"}).status == 0; }));
  EXPECT_EQ(held(), 0U);
}

TEST_F(RemoteVerbs, LoginKeepsTheTokenForTheUserAlone) {
  const Answer wrong = here_.login(url(), "not-a-token-of-this-hub");
  EXPECT_NE(wrong.status, 0);
  EXPECT_THAT(wrong.all(), AllOf(HasSubstr("token"), Not(HasSubstr("not-a-token"))));
  const std::string file = here_.path("home") + "/.config/lockkeeper/servers.json";
  EXPECT_FALSE(stage::exists(file));
  log_in();
  struct stat info{};
  ASSERT_EQ(::stat(file.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  const Json who = here_.expect(0, "claude", {"whoami"}).json();
  EXPECT_EQ(who["server"], url());
  EXPECT_EQ(who["server_realm"], "app");
  EXPECT_EQ(who["server_person"], "alice");
  here_.expect(0, "claude", {"acquire", "a"});
  // Not in what everybody can read about the relay, and not in its environment.
  const std::string proc = "/proc/" + std::to_string(here_.relay()) + "/";
  EXPECT_THAT(stage::read_text(proc + "cmdline"), HasSubstr("relay"));
  for (const char* const name : {"cmdline", "environ"}) {
    EXPECT_THAT(stage::read_text(proc + name), Not(HasSubstr(alice_)));
  }
  ASSERT_EQ(::stat((here_.relay_folder() + "/relay.sock").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  ASSERT_EQ(::stat(here_.relay_folder().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700U);
  here_.expect(0, "", {"logout"});
  EXPECT_THAT(stage::read_text(file), Not(HasSubstr(alice_)));
  EXPECT_NE(here_.as("", {"logout"}).status, 0);
  EXPECT_EQ(here_.expect(0, "claude", {"list"}).json()["leases"].size(), 0U) << "its own table";
}

// The hub is away: nothing is granted, nothing is "free", and no table appears here.
TEST_F(RemoteVerbs, NothingFallsBackToATableHere) {
  log_in();
  here_.expect(0, "x", {"acquire", "a"});
  kill_hub();
  for (const stage::Words& words :
       {stage::Words{"acquire", "b"}, {"check", "b"}, {"release", "a"}, {"list"}}) {
    const Answer refused = here_.json("x", words);
    EXPECT_EQ(refused.json()["error"]["code"], "store_unavailable") << refused.all();
    EXPECT_THAT(refused.all(), HasSubstr("offline"));
  }
  EXPECT_FALSE(here_.has_table());
  restart_hub();
  EXPECT_EQ(here_.expect(0, "x", {"list", "--mine"}).json()["leases"].size(), 1U);
  here_.expect(0, "x", {"release", "a"});
}

TEST_F(RemoteVerbs, ARepositoryAloneSendsNobodyAnywhere) {
  here_.file("lockkeeper.toml", "[server]\nurl = \"" + url() + "\"\n");
  const Answer refused = here_.json("x", {"acquire", "a"});
  EXPECT_EQ(refused.json()["error"]["code"], "invalid_config");
  EXPECT_THAT(refused.all(), HasSubstr("your own settings"));
  EXPECT_EQ(here_.relay(), 0);
}

// It would lock other names.
TEST_F(RemoteVerbs, OtherKeyRulesAreRefused) {
  log_in();
  here_.file("lockkeeper.toml", "[realm]\nname = \"app\"\n[keys]\nprefixes = [\"team\"]\n");
  for (int i = 0; i < 2; ++i) {
    const Answer refused = here_.json("x", {"acquire", "a"});
    EXPECT_EQ(refused.json()["error"]["code"], "invalid_input");
    EXPECT_THAT(refused.all(), HasSubstr("key rules"));
  }
  EXPECT_EQ(held(), 0U);
}

TEST_F(RemoteVerbs, ARealmWithoutANameIsRefusedWithWhatToDo) {
  log_in();
  here_.file("lockkeeper.toml", "");
  const Answer refused = here_.json("x", {"acquire", "a"});
  EXPECT_EQ(refused.json()["error"]["code"], "invalid_config");
  EXPECT_THAT(refused.all(), HasSubstr("[realm]"));
  here_.git("repo", {"remote", "add", "origin", "git@example.com:team/app.git"});
  EXPECT_EQ(here_.expect(0, "x", {"whoami"}).json()["server_realm"], "example.com/team/app");
  EXPECT_EQ(here_.json("x", {"acquire", "a"}).json()["error"]["code"], "not_found");
}

TEST_F(RemoteVerbs, NonsenseDoesNotEndTheRelay) {
  log_in();
  here_.expect(0, "x", {"acquire", "a"});
  const pid_t relay = here_.relay();
  const char* const all[] = {
      "\n",
      "x",
      "\n\n",
      "nobody\n{}\n",
      "p app\nnull\n",
      "p app\n{\n",
      "p app\n{}\n",
      "p ../x\n{\"call\":\"list\"}\n",
      "p app\n{\"call\":1,\"with\":2}\n",
      "p app\n{\"call\":\"acquire\",\"with\":[1,{\"attachment\":{\"slot\":-1}}]}\n",
      "p app\n{\"call\":\"acquire\",\"with\":{\"wait\":true,\"caller\":7}}\n",
      "p app\n{\"call\":\"await\",\"with\":{\"at_most_ms\":\"x\",\"id\":[]}}\n",
      "p app\n{\"call\":\"release\",\"with\":{\"by\":{\"pid\":\"x\"}}}\n",
      "p app\n{\"call\":\"leave\",\"with\":{\"id\":\"\\ud800\"}}\n",
  };
  for (const char* const text : all) {
    const auto socket = host::connect_local(here_.relay_folder() + "/relay.sock");
    ASSERT_TRUE(socket) << text;
    ASSERT_TRUE(write_all(socket->get(), text));
    ::shutdown(socket->get(), SHUT_WR);
    char piece[4096];
    while (::read(socket->get(), piece, sizeof piece) > 0) {
    }
  }
  EXPECT_EQ(here_.expect(0, "x", {"list", "--mine"}).json()["leases"].size(), 1U);
  EXPECT_EQ(here_.relay(), relay);
}

// What is about this machine's table is refused with the reason; what needs none goes on.
TEST_F(RemoteVerbs, WhatStaysLocalIsRefusedWithTheReason) {
  log_in();
  const Answer refused = here_.json("x", {"layout", "add", "mkdir", here_.repo()});
  EXPECT_NE(refused.status, 0);
  EXPECT_THAT(refused.all(), HasSubstr(url()));
  EXPECT_EQ(here_.as("x", {"ports", "allocate", "session-1"}).status, 0);
  EXPECT_FALSE(here_.has_table());
}

}  // namespace
}  // namespace lockkeeper::proof
