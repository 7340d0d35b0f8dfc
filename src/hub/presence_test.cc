// Two hubs that serve one table: clients go from one to the other, and hubs end.
#include "hub/presence.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>

#include "base/test_folder.h"
#include "hub/door.h"
#include "hub/testing.h"
#include "kv/memory/memory_store.h"
#include "realm/server.h"
#include "service/commands.h"
#include "service/local/local_service.h"

namespace lockkeeper::hub {
namespace {

// One of them, on a machine of its own.
struct OneHub {
  OneHub(kv::MemoryStore& rows, std::uint64_t id, std::int64_t start_ms)
      : clock(start_ms), random(static_cast<std::uint32_t>(id)), id_(id) {
    runtime.clock = &clock;
    runtime.random = &random;
    runtime.env = [](const char*) -> std::optional<std::string> { return std::nullopt; };
    runtime.open_store = [&](const layout::StoreRequest&) -> Result<std::unique_ptr<kv::Store>> {
      return rows.open_another(clock.now().mono_ms);
    };
    runtime.sharing = [this](const realm::Realm&) {
      return layout::Sharing{id_ * 1'000 + lives_, id_};
    };
    runtime.make_service = service::local::make_service;
    runtime.remote_alive = [this](const core::Attachment& client) {
      return desk ? remote_alive(*desk, client) : core::Alive::kUnknown;
    };
    runtime.woken = [this](const auto& words) { desk->waits.woken(words); };
    std::filesystem::create_directories(folder.file(".lockkeeper"));
    start();
  }
  void start() {
    ++lives_;
    realm::Realm place;
    place.root = folder.path();
    place.store_folder = folder.file(".lockkeeper");
    realm = std::make_unique<HubRealm>("app", runtime, place, realm::Settings{});
    desk = std::make_unique<Desk>(clock);
    auto presence = std::make_unique<Presence>(realm->site, clock, random,
                                               KnownHub{id_, "m" + std::to_string(id_), ""});
    EXPECT_TRUE(presence->keep_up(""));
    realm->share(std::move(presence));
    desk->shared = realm.get();
  }
  void kill() {
    desk.reset();
    realm.reset();
  }
  void every_second() {
    static_cast<void>(realm->presence()->keep_up("http://m" + std::to_string(id_)));
    EXPECT_TRUE(realm->site.service().value()->purge({}));
  }

  Door door(const std::string& relay = "") {
    return {*desk, *realm, {"alice", kEveryRole, {"*"}}, Door::From::kNetwork, relay};
  }
  // Of a relay: what Rest does. False: its session has gone.
  bool beat(const std::string& relay, bool begins, std::vector<std::uint64_t> living,
            std::vector<std::uint64_t> gone = {}) {
    Sessions::Beat beat{"alice", relay, std::move(living), std::move(gone), ++beats_, false};
    beat.kept = realm->presence()->keep(Presence::row_of("alice", relay), begins).value();
    if (!beat.kept) desk->sessions.lose("alice", relay);
    EXPECT_TRUE(desk->sessions.beat(beat));
    return beat.kept;
  }
  service::AcquireCall call(const std::string& agent, std::uint64_t number = 0) {
    service::AcquireCall call;
    call.caller.owner = {agent, "s"};
    call.claims = {{key::parse("a", {})->resource, core::Mode::kExclusive, 0}};
    call.terms.ttl_ms = 24LL * 3600 * 1000;
    if (number != 0) call.attachment = core::Attachment::remote(number);
    return call;
  }
  Result<service::AcquireResult> acquire(const std::string& agent, bool wait = false,
                                         std::uint64_t number = 0, const std::string& relay = "") {
    service::AcquireCall wanted = call(agent, number);
    wanted.wait = wait;
    auto reply = door(relay).acquire(wanted, service::kWaitForever);
    if (!reply) return fail(reply.error());
    return std::move(reply->value);
  }
  void release(const std::string& agent) {
    service::ReleaseCall release;
    release.caller.owner = {agent, "s"};
    release.all = true;
    EXPECT_TRUE(door().release(release));
  }
  // Waits until it is decided.
  Waits::Outcome ask(const core::LeaseId& id) {
    std::promise<Waits::Outcome> got;
    const auto tell = [&](const Waits::Outcome& outcome) { got.set_value(outcome); };
    if (const auto asked = door().ask(id, 3'600'000, tell); !asked) return fail(asked.error());
    return got.get_future().get();
  }
  service::ListReply list() { return door().list({}).value().value; }
  std::size_t held() {
    const auto counts = [](const service::ListedLease& listed) { return !listed.condition.over; };
    const service::ListReply all = list();
    return static_cast<std::size_t>(std::ranges::count_if(all.leases, counts));
  }

  SteppedClock clock;
  SeededRandom random;
  TestFolder folder;
  service::Runtime runtime;
  std::unique_ptr<HubRealm> realm;
  std::unique_ptr<Desk> desk;

 private:
  const std::uint64_t id_;
  std::uint64_t lives_ = 0;
  std::int64_t beats_ = 0;
};

class PresenceTest : public testing::Test {
 protected:
  void pass(std::int64_t ms) {
    rows_.pass(ms);
    one_.clock.advance(ms);
    two_.clock.advance(ms);
  }
  // As long as a row outlives its hub, and longer.
  void pass_rows() {
    pass(kv::kAfterOpenMs + 1);
    rows_.vanish([](std::string_view) { return true; });
  }
  std::uint64_t process(std::uint64_t own) const {
    return Sessions::mark_of("alice") << Sessions::kOwnBits | own;
  }

  kv::MemoryStore rows_{kv::MemoryOptions{.flavour = kv::Flavour::kOptimistic}};
  OneHub one_{rows_, 1, 5'000};
  OneHub two_{rows_, 2, 90'000'000};
  const std::string relay_ = std::string(32, 'a');
  const std::string call_ = relay_ + "@1";
};

TEST_F(PresenceTest, I1_EachHubSeesWhatTheOtherHasGranted) {
  ASSERT_EQ(one_.acquire("ann")->outcome, core::Outcome::kGranted);
  EXPECT_EQ(two_.acquire("bob")->outcome, core::Outcome::kHeld);
  one_.release("ann");
  EXPECT_EQ(two_.acquire("bob")->outcome, core::Outcome::kGranted);
}

TEST_F(PresenceTest, I5_WhatIsAttachedMovesWithTheBeatOfItsRelay) {
  ASSERT_TRUE(one_.beat(relay_, true, {}));
  ASSERT_EQ(one_.acquire("ann", false, process(7), call_)->outcome, core::Outcome::kGranted);
  ASSERT_TRUE(two_.beat(relay_, false, {process(7)}));
  // The first hub hears nothing more of it, and ends nothing.
  for (int minute = 0; minute < 3; ++minute) {
    pass(realm::kSessionMs / 2);
    ASSERT_TRUE(two_.beat(relay_, false, {process(7)}));
    one_.every_second();
    two_.every_second();
  }
  EXPECT_EQ(one_.held(), 1U);
  EXPECT_EQ(two_.held(), 1U);
  ASSERT_TRUE(two_.beat(relay_, false, {}, {process(7)}));
  EXPECT_EQ(two_.acquire("bob")->outcome, core::Outcome::kGranted);
}

TEST_F(PresenceTest, I5_ACallThatReachesTheHubOfBeforeIsAnsweredForByTheNext) {
  ASSERT_TRUE(one_.beat(relay_, true, {}));
  ASSERT_TRUE(two_.beat(relay_, false, {}));
  pass(2 * realm::kSessionMs);
  ASSERT_TRUE(two_.beat(relay_, false, {process(7)}));
  one_.every_second();
  ASSERT_EQ(one_.acquire("ann", false, process(7), call_)->outcome, core::Outcome::kGranted);
  EXPECT_EQ(two_.held(), 1U);
  EXPECT_EQ(one_.held(), 1U);
  ASSERT_TRUE(two_.beat(relay_, false, {}, {process(7)}));
  EXPECT_EQ(two_.held(), 0U);
}

// A hub that stands still in a call has asked the store nothing yet, or the store does it late. Its
// relay has been answered by another one meanwhile.
TEST_F(PresenceTest, I9_ACallIsVoidOnceAnotherHubKeepsTheSession) {
  const std::string meets = call_ + realm::kMeetsFirst;
  ASSERT_TRUE(one_.beat(relay_, true, {}));
  service::AcquireCall late = one_.call("ann");
  late.through = one_.realm->presence()->seen(Presence::row_of("alice", relay_));
  const auto ask_late = [&] { return one_.realm->site.service().value()->acquire(late); };

  ASSERT_TRUE(two_.beat(relay_, false, {}));
  const auto refused = ask_late();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::kStoreUnavailable);
  const auto by_door = one_.acquire("ann", false, 0, meets);
  ASSERT_FALSE(by_door.has_value());
  EXPECT_EQ(by_door.error().code, Code::kStoreUnavailable);
  EXPECT_EQ(two_.held(), 0U);

  // The session has come back, and the call is as old as before.
  ASSERT_TRUE(one_.beat(relay_, false, {}));
  EXPECT_FALSE(ask_late().has_value());
  EXPECT_EQ(two_.held(), 0U);
  ASSERT_TRUE(one_.beat(relay_, false, {}));
  EXPECT_EQ(one_.acquire("ann", false, 0, meets)->outcome, core::Outcome::kGranted);
}

// A name of several hubs leads to any of them.
TEST_F(PresenceTest, ARelayThatDoesNotChooseItsHubIsServedByEach) {
  ASSERT_TRUE(one_.beat(relay_, true, {}));
  ASSERT_TRUE(two_.beat(relay_, false, {}));
  EXPECT_EQ(one_.acquire("ann", false, 0, call_)->outcome, core::Outcome::kGranted);
}

TEST_F(PresenceTest, L2_ARelayThatIsSilentEverywhereLosesWhatIsAttached) {
  ASSERT_TRUE(one_.beat(relay_, true, {}));
  ASSERT_EQ(one_.acquire("ann", false, process(7), call_)->outcome, core::Outcome::kGranted);
  pass(realm::kSessionMs - 1);
  one_.every_second();
  EXPECT_EQ(two_.acquire("bob")->outcome, core::Outcome::kHeld);
  pass(1);
  one_.every_second();
  EXPECT_EQ(two_.acquire("bob")->outcome, core::Outcome::kGranted);
  EXPECT_FALSE(two_.beat(relay_, false, {process(7)}));
}

TEST_F(PresenceTest, L3_WhatWasAttachedThroughAHubThatNobodyFollowsIsFree) {
  ASSERT_TRUE(one_.beat(relay_, true, {}));
  ASSERT_EQ(one_.acquire("ann", false, process(7), call_)->outcome, core::Outcome::kGranted);
  one_.kill();
  pass(kv::kAfterOpenMs);
  EXPECT_EQ(two_.acquire("bob")->outcome, core::Outcome::kHeld);
  pass_rows();
  EXPECT_FALSE(two_.beat(relay_, false, {process(7)}));  // too late
  EXPECT_EQ(two_.acquire("bob")->outcome, core::Outcome::kGranted);
}

TEST_F(PresenceTest, I7_AProcessOfASessionThatHasGoneIsTold) {
  const auto refused = one_.acquire("ann", false, process(7), call_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kLost);
}

TEST_F(PresenceTest, NobodyAttachesTheProcessOfAnother) {
  ASSERT_TRUE(one_.beat(relay_, true, {}));
  const auto refused = two_.acquire("ann", false, 7, call_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidInput);
}

TEST_F(PresenceTest, L3_L4_AWaitMovesToTheHubWhereItIsAskedFor) {
  ASSERT_EQ(two_.acquire("holder")->outcome, core::Outcome::kGranted);
  const auto queued = one_.acquire("ann", true);
  ASSERT_EQ(queued->outcome, core::Outcome::kQueued);
  ASSERT_EQ(two_.acquire("bob", true)->outcome, core::Outcome::kQueued);
  one_.kill();
  ASSERT_FALSE(two_.door().find_wait(queued->lease.id).value());
  const auto asker = two_.desk->waits.ask(queued->lease.id, 10 * kKeptMs, [](const auto&) {});
  EXPECT_NE(asker, 0U);
  pass_rows();
  two_.release("holder");
  const auto got = two_.ask(queued->lease.id);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->outcome, core::Outcome::kGranted);
}

// What one hub has granted and nobody has fetched there, the client may have had from the other.
TEST_F(PresenceTest, I5_AHubWhoseClientHasGoneToAnotherEndsNothingOfIt) {
  ASSERT_EQ(two_.acquire("holder")->outcome, core::Outcome::kGranted);
  const auto queued = one_.acquire("ann", true);
  ASSERT_EQ(queued->outcome, core::Outcome::kQueued);
  two_.release("holder");
  const auto got = two_.ask(queued->lease.id);
  ASSERT_TRUE(got) << got.error().message;
  ASSERT_EQ(got->outcome, core::Outcome::kGranted);
  pass(kKeptMs + 1);
  for (int i = 0; i < 60'000 && one_.desk->waits.count() > 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(one_.desk->waits.count(), 0U);
  one_.every_second();
  two_.every_second();
  EXPECT_EQ(two_.held(), 1U);
}

TEST_F(PresenceTest, L1_WhoeverIsNotAskedForAnywhereLosesItsPlace) {
  ASSERT_EQ(two_.acquire("holder")->outcome, core::Outcome::kGranted);
  ASSERT_EQ(one_.acquire("ann", true)->outcome, core::Outcome::kQueued);
  const auto bob = two_.acquire("bob", true);
  two_.desk->waits.ask(bob->lease.id, 10 * kKeptMs, [](const auto&) {});
  pass(2 * kKeptMs);
  for (int i = 0; i < 60'000 && one_.desk->waits.count() > 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  one_.every_second();
  two_.release("holder");
  EXPECT_EQ(two_.ask(bob->lease.id)->outcome, core::Outcome::kGranted);
}

TEST_F(PresenceTest, L3_AHubThatIsBackSoonGoesOnWithItsOwnSession) {
  const std::uint64_t before = one_.realm->presence()->own();
  one_.kill();
  one_.start();
  EXPECT_EQ(one_.realm->presence()->own(), before);
  one_.kill();
  pass_rows();
  one_.start();
  EXPECT_NE(one_.realm->presence()->own(), before);
}

// Another hub cannot tell, so without its own it would show them as waiting forever.
TEST_F(PresenceTest, L3_PlacesThatNobodyComesBackForEnd) {
  ASSERT_EQ(two_.acquire("holder")->outcome, core::Outcome::kGranted);
  ASSERT_EQ(one_.acquire("ann", true)->outcome, core::Outcome::kQueued);
  const auto bob = one_.acquire("bob", true);
  ASSERT_EQ(bob->outcome, core::Outcome::kQueued);
  one_.kill();
  one_.start();
  ASSERT_FALSE(one_.door().find_wait(bob->lease.id).value());  // bob has come back
  EXPECT_NE(one_.desk->waits.ask(bob->lease.id, 10 * kKeptMs, [](const auto&) {}), 0U);
  pass(realm::kSessionMs - 1);
  one_.every_second();
  EXPECT_EQ(two_.list().waiters.size(), 2U);
  pass(1);
  one_.every_second();
  const auto left = two_.list().waiters;
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left.front().request.owner.agent, "bob@alice");
}

TEST_F(PresenceTest, EachHubSeesTheOthersUntilTheyLeave) {
  one_.every_second();
  const auto seen = two_.realm->presence()->hubs();
  ASSERT_TRUE(seen);
  ASSERT_EQ(seen->size(), 2U);
  EXPECT_EQ(seen->front().machine, "m1");
  EXPECT_EQ(seen->front().address, "http://m1");
  one_.realm->presence()->leave();
  EXPECT_EQ(two_.realm->presence()->hubs()->size(), 1U);
}

}  // namespace
}  // namespace lockkeeper::hub
