// Asking: what is granted, refused, queued and failed, and what the answers say.
#include <gmock/gmock.h>

#include <thread>

#include "embed/scene.h"

namespace lockkeeper::stage {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using namespace std::chrono_literals;

using Ask = EmbedTest;

TEST_F(Ask, AFreeResourceIsGrantedAndGivenBackAtTheEndOfItsScope) {
  const Realm mine = realm();
  EXPECT_FALSE(exists(stage_.store())) << "opening creates nothing";
  {
    const Lease lease =
        granted(mine, {"src/", "db:migration-slot"}, {.ttl = 1min, .reason = "why"});
    EXPECT_THAT(lease.resources(), UnorderedElementsAre("src/", "db:migration-slot"));
    EXPECT_EQ(lease.ttl(), 1min);
    EXPECT_TRUE(lease.is_current());
    EXPECT_FALSE(lease.lost());
    EXPECT_FALSE(lease.loss());
    const Json held = stage_.list()["leases"];
    ASSERT_EQ(held.size(), 1U);
    EXPECT_EQ(held[0]["id"], lease.id());
    EXPECT_EQ(held[0]["fence"], lease.fence());
    EXPECT_EQ(held[0]["agent"], "embedder");
    EXPECT_EQ(held[0]["session"], mine.session());
    stage_.expect(75, "other", {"check", "src/a.py"});
  }
  stage_.expect(0, "other", {"check", "src/a.py", "db:migration-slot"});
}

TEST_F(Ask, I9_ARefusalNamesWhoSinceUntilWhyAndItsFence) {
  const Realm first = realm("first");
  const Lease lease = granted(first, {"src/"}, {.ttl = 10min, .reason = "a rewrite"});
  const Acquired refused = realm("second").acquire({"src/a.py", "b"});
  ASSERT_NE(refused.refusal(), nullptr);
  EXPECT_EQ(refused.refusal()->why, Refusal::Why::kHeld);
  EXPECT_EQ(refused.error().code, Code::kHeld);
  EXPECT_THAT(refused.error().message, HasSubstr("a rewrite"));
  EXPECT_FALSE(refused.error().hint.empty());
  ASSERT_EQ(refused.refusal()->conflicts.size(), 1U);
  const Conflict& conflict = refused.refusal()->conflicts[0];
  EXPECT_EQ(conflict.requested, "src/a.py");
  EXPECT_EQ(conflict.held, "src/");
  EXPECT_EQ(conflict.common, "src/a.py");
  EXPECT_EQ(conflict.agent, "first");
  EXPECT_EQ(conflict.session, first.session());
  EXPECT_EQ(conflict.reason, "a rewrite");
  EXPECT_EQ(conflict.fence, lease.fence());
  EXPECT_EQ(conflict.lease_id, lease.id());
  EXPECT_EQ(conflict.alive, Alive::kYes);
  EXPECT_FALSE(conflict.waiting);
  ASSERT_TRUE(conflict.until);
  EXPECT_EQ(*conflict.until - conflict.since, 10min);
  stage_.expect(0, "other", {"check", "b"});
}

TEST_F(Ask, SharedLeasesGoTogetherAndExcludeExclusiveOnes) {
  const Realm one = realm(), two = realm();
  const Lease a = granted(one, {"docs/"}, {.mode = Mode::kShared});
  const Lease b = granted(two, {"docs/"}, {.mode = Mode::kShared});
  EXPECT_FALSE(one.acquire({"docs/x"}));
  EXPECT_NE(a.id(), b.id());
}

TEST_F(Ask, L4_AWaitIsGrantedWhenTheHolderReleases) {
  const Realm first = realm();
  std::optional<Lease> lease = granted(first, {"a"});
  std::optional<Acquired> waited;
  std::jthread waiter([&] { waited = realm().acquire({"a"}, {.wait = kForever}); });
  ASSERT_TRUE(stage_.queue_grows_to(1));
  const std::uint64_t fence = lease->fence();
  ASSERT_TRUE(lease->release());
  waiter.join();
  ASSERT_TRUE(*waited) << waited->error().message;
  EXPECT_GT((*waited)->fence(), fence) << "I3";
  EXPECT_TRUE((*waited)->is_current());
}

TEST_F(Ask, AWaitThatIsOverSaysSoAndLeavesTheQueue) {
  const Realm first = realm();
  const Lease lease = granted(first, {"a"});
  for (const auto wait : {0ms, 50ms}) {
    const Acquired refused = realm().acquire({"a"}, {.wait = wait});
    ASSERT_NE(refused.refusal(), nullptr);
    EXPECT_EQ(refused.refusal()->why, Refusal::Why::kTimeout);
    EXPECT_EQ(refused.error().code, Code::kTimeout);
    EXPECT_FALSE(refused.refusal()->conflicts.empty());
  }
  EXPECT_EQ(stage_.waiters(), 0U);
}

TEST_F(Ask, AWaitIsCancelledFromAnotherThreadAlsoBehindADetachedHolder) {
  stage_.expect(0, "other", {"acquire", "a"});
  std::stop_source stop;
  std::optional<Acquired> waited;
  std::jthread waiter(
      [&] { waited = realm().acquire({"a"}, {.wait = kForever, .cancel = stop.get_token()}); });
  ASSERT_TRUE(stage_.queue_grows_to(1));
  stop.request_stop();
  waiter.join();
  ASSERT_NE(waited->refusal(), nullptr);
  EXPECT_EQ(waited->refusal()->why, Refusal::Why::kCancelled);
  EXPECT_EQ(stage_.waiters(), 0U);
  // Requested before it asks: what is free is granted all the same.
  EXPECT_TRUE(realm().acquire({"b"}, {.wait = kForever, .cancel = stop.get_token()}));
}

TEST_F(Ask, L5_ADeadlockIsRefusedToWhoWouldCloseIt) {
  const Realm one = realm("one"), two = realm("two");
  std::optional<Lease> a = granted(one, {"a"});
  const Lease b = granted(two, {"b"});
  std::jthread waiter([&] { EXPECT_TRUE(two.acquire({"a"}, {.wait = kForever})); });
  ASSERT_TRUE(stage_.queue_grows_to(1));
  const Acquired refused = one.acquire({"b"}, {.wait = kForever});
  ASSERT_NE(refused.refusal(), nullptr);
  EXPECT_EQ(refused.refusal()->why, Refusal::Why::kDeadlock);
  EXPECT_EQ(refused.error().code, Code::kDeadlock);
  a.reset();
}

TEST_F(Ask, I8_TheSameRequestIdGivesTheSameLease) {
  const Realm mine = realm();
  const AcquireOptions options{.request_id = "r-1"};
  const Lease first = granted(mine, {"a"}, options);
  const Lease again = granted(mine, {"a"}, options);
  EXPECT_EQ(first.id(), again.id());
  EXPECT_EQ(first.fence(), again.fence());
  const Acquired other = mine.acquire({"b"}, options);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::kInvalidInput);
}

TEST_F(Ask, MistakesAreErrorsWithANextStep) {
  const Realm mine = realm();
  const auto code = [&](const std::vector<std::string>& resources,
                        const AcquireOptions& options = {}) {
    const Acquired failed = mine.acquire(resources, options);
    EXPECT_FALSE(failed);
    EXPECT_EQ(failed.refusal(), nullptr);
    EXPECT_FALSE(failed.error().message.empty());
    return failed.error().code;
  };
  EXPECT_EQ(code({}), Code::kUsage);
  EXPECT_EQ(code({""}), Code::kInvalidResource);
  EXPECT_EQ(code({std::string("a\0b", 3)}), Code::kInvalidResource);
  EXPECT_EQ(code({"/etc/passwd"}), Code::kInvalidResource);
  EXPECT_EQ(code({"nonsense:x"}), Code::kOperationNotPermitted);
  EXPECT_EQ(code({"a"}, {.wait = -1ms}), Code::kInvalidInput);
  EXPECT_EQ(code({"a"}, {.ttl = -5ms}), Code::kInvalidInput);
  EXPECT_EQ(code({"a"}, {.ttl = 0ms}), Code::kInvalidInput);
  EXPECT_EQ(code({"a"}, {.ttl = 24h * 365}), Code::kLimitExceeded);
  EXPECT_THAT(stage_.list()["leases"], IsEmpty());
}

TEST_F(Ask, OpeningSaysWhatIsWrong) {
  const auto nowhere = Realm::open({.path = stage_.path("nowhere")});
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code, Code::kInvalidInput);
  const auto strange = Realm::open({.path = stage_.repo(), .store = "redis://localhost"});
  ASSERT_FALSE(strange);
  EXPECT_EQ(strange.error().code, Code::kInvalidInput);
  for (const auto& [text, message] :
       {std::pair("[lease]\nlongest = 7\n", "7"),
        {"[[layout]]\nkind = \"mkdri\"\nroot = \".\"\n",
         "lockkeeper.toml:1: layout has the unknown kind \"mkdri\""}}) {
    stage_.file("lockkeeper.toml", text);
    const auto config = Realm::open({.path = stage_.repo()});
    ASSERT_FALSE(config) << text;
    EXPECT_EQ(config.error().code, Code::kInvalidConfig);
    EXPECT_THAT(config.error().message, HasSubstr(message));
  }
}

TEST_F(Ask, TheRealmsSettingsHoldAndAStoreMayLieElsewhere) {
  stage_.file("lockkeeper.toml", "[lease]\ndefault = \"7m\"\n[store]\ndurability = \"process\"\n");
  const std::string elsewhere = stage_.path("elsewhere");
  auto mine = Realm::open(
      {.path = stage_.repo(), .store = "lmdb:" + elsewhere, .agent = "a", .session = "s"});
  ASSERT_TRUE(mine) << mine.error().message;
  EXPECT_EQ(mine->store(), elsewhere);
  EXPECT_EQ(mine->agent(), "a");
  EXPECT_EQ(mine->session(), "s");
  EXPECT_EQ(granted(*mine, {"a"}).ttl(), 7min);
  EXPECT_EQ(granted(*mine, {"b"}, {.ttl = kForever}).ttl(), std::nullopt);
  EXPECT_TRUE(exists(elsewhere + "/data.mdb"));
  EXPECT_FALSE(exists(stage_.store()));
}

TEST_F(Ask, UnderRunItsOwnLockDoesNotStandInItsWay) {
  const Json lease = stage_.expect(0, "outer", {"acquire", "src/"}).json()["lease"];
  ASSERT_FALSE(realm("inner").acquire({"src/a.py"}));
  ::setenv("LOCKKEEPER_LEASE", lease["id"].get<std::string>().c_str(), 1);
  ::setenv("LOCKKEEPER_FENCE", std::to_string(lease["fence"].get<std::uint64_t>()).c_str(), 1);
  EXPECT_TRUE(realm("inner").acquire({"src/a.py"}));
  ::unsetenv("LOCKKEEPER_LEASE");
  ::unsetenv("LOCKKEEPER_FENCE");
}

}  // namespace
}  // namespace lockkeeper::stage
