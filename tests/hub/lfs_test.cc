// The real git-LFS against the hub: lock, locks, unlock, and the check before a push.
// LOCKKEEPER_GIT_LFS names a folder with another git-lfs than that of PATH.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "hub/hub_peer.h"

namespace lockkeeper::proof {
namespace {

using stage::Words;
using testing::HasSubstr;
using testing::Not;

class LfsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const char* const folder = std::getenv("LOCKKEEPER_GIT_LFS")) {
      stage_.env["PATH"] = std::string(folder) + ":" + stage_.env["PATH"];
    }
    if (stage_.finish(stage_.command({"git", "lfs", "version"})).status != 0) {
      GTEST_SKIP() << "git-lfs is not installed";
    }
    for (const char* const name : {"src/a.py", "src/b.py", "docs/c.md"}) stage_.file(name);
    stage_.git("repo", {"add", "-A"});
    stage_.git("repo", {"commit", "-qm", "first"});
    token_ = add_token(stage_, "alice");
    other_ = add_token(stage_, "bob");
    hub_ = std::make_unique<HubServer>(stage_);
    stage_.git(".", {"clone", "-q", "--bare", stage_.repo(), stage_.path("remote.git")});
    stage_.git(".", {"clone", "-q", stage_.path("remote.git"), work()});
    const std::string url = "http://127.0.0.1:" + std::to_string(hub_->port()) + "/lfs/app";
    configure("lfs.url", url);
    configure("lfs." + url + ".locksverify", "true");
    configure("user.name", "t");
    configure("user.email", "t@example.org");
    EXPECT_EQ(git({"lfs", "install", "--local"}).status, 0);
    act_as(token_, "");
  }
  std::string work() const { return stage_.path("work"); }
  void configure(const std::string& name, const std::string& value) {
    stage_.git("work", {"config", name, value});
  }
  // With every request, as an agent's settings would.
  void act_as(const std::string& token, const std::string& agent) {
    const std::string prefix = "http.http://127.0.0.1:" + std::to_string(hub_->port()) + "/";
    stage_.env["GIT_CONFIG_COUNT"] = agent.empty() ? "1" : "2";
    stage_.env["GIT_CONFIG_KEY_0"] = stage_.env["GIT_CONFIG_KEY_1"] = prefix + ".extraHeader";
    stage_.env["GIT_CONFIG_VALUE_0"] = "Authorization: Bearer " + token;
    stage_.env["GIT_CONFIG_VALUE_1"] = "X-Lockkeeper-Agent: " + agent;
  }
  stage::Answer git(const Words& words) {
    Words all = {"git", "-C", work()};
    all.insert(all.end(), words.begin(), words.end());
    return stage_.finish(stage_.command(all));
  }
  stage::Answer push(const std::string& file) {
    stage::write_text(work() + "/" + file, "changed " + std::to_string(++pushes_) + "\n");
    EXPECT_EQ(git({"add", "-A"}).status, 0);
    EXPECT_EQ(git({"commit", "-qm", "change"}).status, 0);
    return git({"push", "-q", "origin", "HEAD"});
  }

  stage::Stage stage_;
  std::unique_ptr<HubServer> hub_;
  std::string token_;
  std::string other_;
  int pushes_ = 0;
};

TEST_F(LfsTest, LocksListsAndUnlocks) {
  const auto locked = git({"lfs", "lock", "src/a.py"});
  EXPECT_EQ(locked.status, 0) << locked.all();
  EXPECT_EQ(stage_.list()["leases"][0]["agent"], "git-lfs@alice");
  const auto listed = git({"lfs", "locks"});
  EXPECT_THAT(listed.out, HasSubstr("src/a.py"));
  EXPECT_THAT(listed.out, HasSubstr("git-lfs@alice, until "));
  EXPECT_NE(git({"lfs", "lock", "src/a.py"}).status, 0);
  act_as(other_, "");
  const auto refused = git({"lfs", "lock", "src/a.py"});
  EXPECT_NE(refused.status, 0);
  EXPECT_THAT(refused.all(), HasSubstr("git-lfs@alice"));
  EXPECT_NE(git({"lfs", "unlock", "src/a.py"}).status, 0);
  EXPECT_NE(git({"lfs", "unlock", "--force", "src/a.py"}).status, 0);  // bob may not break
  act_as(token_, "");
  const auto unlocked = git({"lfs", "unlock", "src/a.py"});
  EXPECT_EQ(unlocked.status, 0) << unlocked.all();
  EXPECT_EQ(stage_.list()["leases"].size(), 0U);
}

TEST_F(LfsTest, APushOfWhatAnotherHoldsIsStopped) {
  stage_.expect(0, "local", {"acquire", "src/"});  // a folder, which git-LFS does not know
  EXPECT_EQ(push("docs/c.md").status, 0);
  const auto stopped = push("src/b.py");
  EXPECT_NE(stopped.status, 0);
  EXPECT_THAT(stopped.all(), HasSubstr("src/b.py - local"));
  EXPECT_THAT(stopped.all(), Not(HasSubstr("docs/c.md")));
  stage_.expect(0, "local", {"release", "src/"});
  EXPECT_EQ(git({"push", "-q", "origin", "HEAD"}).status, 0);
}

TEST_F(LfsTest, APatternCoversItsTrackedFiles) {
  stage_.expect(0, "local", {"acquire", "--glob", "**/*.md"});
  const auto listed = git({"lfs", "locks", "--json"});
  const Json locks = Json::parse(listed.out);
  ASSERT_EQ(locks.size(), 1U) << listed.out;
  EXPECT_EQ(locks[0]["path"], "docs/c.md");
  EXPECT_NE(git({"lfs", "unlock", "docs/c.md"}).status, 0);
}

TEST_F(LfsTest, OnesOwnLockDoesNotStopAPushAndEachAgentIsItsOwn) {
  act_as(token_, "backend");
  EXPECT_EQ(git({"lfs", "lock", "src/a.py"}).status, 0);
  EXPECT_EQ(push("src/a.py").status, 0);
  act_as(token_, "frontend");
  const auto stopped = push("src/a.py");
  EXPECT_NE(stopped.status, 0);
  EXPECT_THAT(stopped.all(), HasSubstr("backend@alice"));
  act_as(token_, "");  // the person: what its agents hold is its own
  EXPECT_EQ(git({"push", "-q", "origin", "HEAD"}).status, 0);
}

TEST_F(LfsTest, AHubThatCannotBeReachedStopsThePush) {
  hub_->process().signal(9);
  hub_->process().wait();
  EXPECT_NE(push("src/a.py").status, 0);
}

TEST_F(LfsTest, PagesAreReadToTheEnd) {
  for (int i = 0; i < 120; ++i) stage_.file("many/" + std::to_string(i));
  stage_.git("repo", {"add", "-A"});
  stage_.expect(0, "local", {"acquire", "many/"});
  EXPECT_EQ(Json::parse(git({"lfs", "locks", "--json"}).out).size(), 120U);
  HubPeer peer(hub_->port(), token_);
  const HubAnswer first = peer.get("/lfs/app/locks?limit=50");
  EXPECT_EQ(first.json["locks"].size(), 50U);
  const HubAnswer last = peer.get("/lfs/app/locks?cursor=100");
  EXPECT_EQ(last.json["locks"].size(), 20U);
  EXPECT_FALSE(last.json.contains("next_cursor"));
  EXPECT_EQ(peer.get("/lfs/app/locks?cursor=x").status, 400);
  EXPECT_EQ(peer.get("/lfs/app/objects").status, 404);
  EXPECT_EQ(peer.get("/lfs/other/locks").status, 404);
}

}  // namespace
}  // namespace lockkeeper::proof
