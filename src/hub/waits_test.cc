#include "hub/waits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <utility>

#include "base/test_folder.h"
#include "hub/door.h"
#include "hub/testing.h"
#include "kv/memory/memory_store.h"
#include "service/commands.h"
#include "service/local/local_service.h"

namespace lockkeeper::hub {
namespace {

// A hub's table on a clock that a test sets, with one holder.
class WaitsTest : public testing::Test {
 protected:
  WaitsTest() {
    runtime_.clock = &clock_;
    runtime_.random = &random_;
    runtime_.env = [](const char*) -> std::optional<std::string> { return std::nullopt; };
    runtime_.open_store = [](const layout::StoreRequest&) -> Result<std::unique_ptr<kv::Store>> {
      return std::make_unique<kv::MemoryStore>();
    };
    runtime_.make_service = service::local::make_service;
    realm::Realm realm;
    realm.root = folder_.path();
    realm.store_folder = folder_.file(".lockkeeper");
    std::filesystem::create_directories(realm.store_folder);
    realm_ = std::make_unique<HubRealm>("app", runtime_, realm, realm::Settings{});
    start_hub();
    EXPECT_EQ(acquire("holder", false).outcome, core::Outcome::kGranted);
  }
  void start_hub() {
    desk_.reset();
    desk_ = std::make_unique<Desk>(clock_);
    runtime_.remote_alive = [this](const core::Attachment& client) {
      return desk_->waits.alive(client.start_ticks);
    };
    runtime_.woken = [this](const auto& words) { desk_->waits.woken(words); };
  }
  Door door(const std::string& relay = "") {
    return {*desk_, *realm_, {"alice", kEveryRole, {"*"}}, Door::From::kNetwork, relay};
  }
  service::AcquireCall call(const std::string& agent) {
    service::AcquireCall call;
    call.caller.owner = {agent, ""};
    call.claims = {{key::parse("a", {})->resource, core::Mode::kExclusive, 0}};
    return call;
  }
  service::AcquireResult acquire(const std::string& agent, bool wait,
                                 std::int64_t wait_ms = service::kWaitForever) {
    service::AcquireCall wanted = call(agent);
    wanted.wait = wait;
    return door().acquire(wanted, wait_ms).value().value;
  }
  void release(const std::string& agent) {
    service::ReleaseCall release;
    release.caller.owner = {agent, ""};
    release.all = true;
    EXPECT_TRUE(door().release(release));
  }
  Waits::Outcome ask(const core::LeaseId& id, bool looks = false) {
    std::promise<Waits::Outcome> got;
    const auto tell = [&](const Waits::Outcome& outcome) { got.set_value(outcome); };
    if (desk_->waits.ask(id, 3'600'000, tell, looks)) return got.get_future().get();
    return fail(Code::kNotFound, "it does not wait");
  }
  // What is told to whoever asks at the moment when the table wakes somebody.
  std::future<Waits::Outcome> ask_when_next_woken(const core::LeaseId& id) {
    auto told = std::make_shared<std::promise<Waits::Outcome>>();
    runtime_.woken = [this, id, told, asked = false](const auto& words) mutable {
      if (!std::exchange(asked, true)) {
        desk_->waits.ask(id, kKeptMs, [told](const auto& outcome) { told->set_value(outcome); });
      }
      desk_->waits.woken(words);
    };
    return told->get_future();
  }
  // Leases that are not over: confirmed, and handed over.
  std::size_t held() { return live(true); }
  std::size_t handed_over() { return live(false); }
  std::size_t live(bool confirmed) {
    const auto counts = [&](const service::ListedLease& listed) {
      return !listed.condition.over && (listed.lease.confirm_by_mono_ms == 0) == confirmed;
    };
    const service::ListReply all = list();
    return static_cast<std::size_t>(std::ranges::count_if(all.leases, counts));
  }
  service::ListReply list() { return door().list({}).value().value; }
  void eventually(const std::function<bool()>& holds) {
    for (int i = 0; i < 60'000 && !holds(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_TRUE(holds());
  }

  TestFolder folder_;
  SteppedClock clock_;
  SeededRandom random_{1};
  service::Runtime runtime_;
  std::unique_ptr<HubRealm> realm_;
  std::unique_ptr<Desk> desk_;
};

TEST_F(WaitsTest, WhoeverAsksForTheSameAgainKeepsThePlace) {
  clock_.advance(kKeptMs);  // the hub is not a new one: only numbers that it knows are alive
  service::AcquireCall wanted = call("waiter");
  wanted.wait = true;
  wanted.caller.request_id = wanted.terms.request_id = "r1";
  const auto first = door().acquire(wanted, service::kWaitForever).value().value;
  const auto again = door().acquire(wanted, service::kWaitForever).value().value;
  ASSERT_EQ(again.outcome, core::Outcome::kQueued);
  ASSERT_EQ(again.lease.id, first.lease.id);
  ASSERT_EQ(list().waiters.size(), 1U);
  EXPECT_EQ(desk_->waits.alive(list().waiters.front().wake), core::Alive::kAlive);
  release("holder");
  EXPECT_EQ(ask(first.lease.id)->outcome, core::Outcome::kGranted);
}

TEST_F(WaitsTest, WhoeverLeavesAgainHearsTheSameEvenFromANewHub) {
  const auto queued = acquire("waiter", true);
  Door far = door("relay");
  service::LeaveCall leave{call("waiter").caller, queued.lease.id, core::Outcome::kTimeout};
  leave.caller.request_id = "leave";
  EXPECT_EQ(far.leave(leave)->value.outcome, core::Outcome::kTimeout);
  start_hub();
  Door after = door("relay");
  EXPECT_EQ(after.leave(leave)->value.outcome, core::Outcome::kTimeout);
}

TEST_F(WaitsTest, WhatWasGrantedAndHasEndedIsLostForWhoeverLeavesLate) {
  const auto queued = acquire("waiter", true);
  release("holder");
  start_hub();
  release("waiter");
  Door far = door("relay");
  service::LeaveCall leave{call("waiter").caller, queued.lease.id, core::Outcome::kTimeout};
  leave.caller.request_id = "leave";
  const auto left = far.leave(leave);
  ASSERT_FALSE(left);
  EXPECT_EQ(left.error().code, Code::kLost);
}

TEST_F(WaitsTest, ADeadClientsPlaceIsFree) {
  const auto queued = acquire("waiter", true);
  const auto later = acquire("later", true);
  service::LeaveCall leave{call("waiter").caller, queued.lease.id};
  leave.gone = true;
  EXPECT_TRUE(door("relay").leave(leave));
  EXPECT_EQ(list().waiters.size(), 1U);
  EXPECT_EQ(desk_->waits.count(), 1U);
  release("holder");
  EXPECT_EQ(ask(later.lease.id)->outcome, core::Outcome::kGranted);
}

TEST_F(WaitsTest, WhatADeadClientHasNotTakenGoesToTheNext) {
  const auto queued = acquire("waiter", true);
  const auto later = acquire("later", true);
  start_hub();  // it knows of none of them until they come back
  release("holder");
  EXPECT_EQ(held(), 0U);
  service::LeaveCall leave{call("waiter").caller, queued.lease.id};
  leave.gone = true;
  EXPECT_TRUE(door("relay").leave(leave));
  ASSERT_TRUE(door().find_wait(later.lease.id));
  EXPECT_EQ(held(), 1U);
}

TEST_F(WaitsTest, WhatADeadClientHadTakenStays) {
  const auto queued = acquire("waiter", true);
  release("holder");
  EXPECT_EQ(ask(queued.lease.id)->outcome, core::Outcome::kGranted);
  service::LeaveCall leave{call("waiter").caller, queued.lease.id};
  leave.gone = true;
  EXPECT_TRUE(door("relay").leave(leave));
  EXPECT_EQ(held(), 1U) << "another process of its owner may count on it";
}

TEST_F(WaitsTest, NobodyLeavesForAnother) {
  const auto queued = acquire("waiter", true);
  Door other(*desk_, *realm_, {"bob", kEveryRole, {"*"}}, Door::From::kNetwork, "relay");
  service::LeaveCall leave{call("waiter").caller, queued.lease.id, core::Outcome::kTimeout};
  const auto refused = other.leave(leave);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kNotFound);
  EXPECT_EQ(list().waiters.size(), 1U);
}

TEST_F(WaitsTest, APlaceThatNobodyAsksForIsKeptForAMinute) {
  const auto queued = acquire("waiter", true);
  ASSERT_EQ(queued.outcome, core::Outcome::kQueued);
  clock_.advance(kKeptMs);
  eventually([&] { return desk_->waits.count() == 0; });
  EXPECT_EQ(list().waiters.size(), 0U);
}

TEST_F(WaitsTest, WithinThatMinuteItIsKept) {
  const auto queued = acquire("waiter", true);
  const auto later = acquire("later", true);
  clock_.advance(kKeptMs - 1);
  release("holder");
  EXPECT_EQ(ask(queued.lease.id)->outcome, core::Outcome::kGranted);
}

TEST_F(WaitsTest, WhoeverAsksKeepsItAsLongAsItTakes) {
  const auto queued = acquire("waiter", true);
  std::promise<Waits::Outcome> got;
  desk_->waits.ask(queued.lease.id, 10 * kKeptMs,
                   [&](const Waits::Outcome& outcome) { got.set_value(outcome); });
  clock_.advance(5 * kKeptMs);
  release("holder");
  EXPECT_EQ(got.get_future().get()->outcome, core::Outcome::kGranted);
}

// A connection is taken for lost, and the client asks through another one when the first is told.
TEST_F(WaitsTest, L4_WhoeverAsksAfterAnotherConnectionWasToldIsTold) {
  const auto queued = acquire("waiter", true);
  std::promise<void> first;
  desk_->waits.ask(queued.lease.id, kKeptMs, [&](const auto&) { first.set_value(); });
  release("holder");
  first.get_future().wait();
  const auto nobody = [](const auto&) { FAIL() << "there is nothing to tell"; };
  EXPECT_EQ(desk_->waits.ask(queued.lease.id, kKeptMs, nobody), std::nullopt);
  std::promise<Waits::Outcome> second;
  const auto tell = [&](const Waits::Outcome& outcome) { second.set_value(outcome); };
  EXPECT_EQ(door().ask(queued.lease.id, kKeptMs, tell), 0U);
  EXPECT_EQ(second.get_future().get()->outcome, core::Outcome::kGranted);
}

TEST_F(WaitsTest, AHandoffThatNobodyFetchesIsGivenBackAfterAMinute) {
  const auto queued = acquire("waiter", true);
  release("holder");
  EXPECT_EQ(handed_over(), 1U);
  clock_.advance(kKeptMs);
  eventually([&] { return desk_->waits.count() == 0; });
  EXPECT_EQ(handed_over() + held(), 0U);
  EXPECT_EQ(ask(queued.lease.id).error().code, Code::kNotFound);
}

TEST_F(WaitsTest, L6_F3_WhatOnlyALookHasSeenGoesToTheNextIfItsClientIsDead) {
  const auto queued = acquire("waiter", true);
  const auto later = acquire("later", true);
  release("holder");
  EXPECT_EQ(ask(queued.lease.id, true)->outcome, core::Outcome::kGranted);
  EXPECT_EQ(handed_over(), 1U);
  service::LeaveCall leave{call("waiter").caller, queued.lease.id};
  leave.gone = true;
  EXPECT_TRUE(door("relay").leave(leave));
  EXPECT_EQ(ask(later.lease.id)->outcome, core::Outcome::kGranted);
}

TEST_F(WaitsTest, WhoeverHasLookedAsksAgainAndHasIt) {
  clock_.advance(kKeptMs);  // only numbers that the hub knows are alive
  const auto queued = acquire("waiter", true);
  release("holder");
  EXPECT_EQ(ask(queued.lease.id, true)->outcome, core::Outcome::kGranted);
  EXPECT_EQ(ask(queued.lease.id, true)->outcome, core::Outcome::kGranted);
  EXPECT_EQ(held(), 0U);
  EXPECT_EQ(ask(queued.lease.id)->outcome, core::Outcome::kGranted);
  EXPECT_EQ(held(), 1U);
  EXPECT_EQ(desk_->waits.count(), 0U);
}

TEST_F(WaitsTest, NobodyIsToldOfAGrantThatAnotherOnlyLooksAt) {
  const auto queued = acquire("waiter", true);
  std::promise<bool> looked, took;
  const auto tell = [&](std::promise<bool>& told) {
    return [&](const Waits::Outcome& outcome) {
      told.set_value(outcome && core::is_confirmed(outcome->lease));
    };
  };
  desk_->waits.ask(queued.lease.id, kKeptMs, tell(looked), true);
  desk_->waits.ask(queued.lease.id, kKeptMs, tell(took));
  release("holder");
  EXPECT_TRUE(took.get_future().get());
  EXPECT_TRUE(looked.get_future().get());
}

// The hub wakes others in the middle of giving a wait up. Its client asks just then.
TEST_F(WaitsTest, L4_WhoeverAsksWhileItsHandoffIsGivenBackIsNotToldThatItHasIt) {
  const auto queued = acquire("waiter", true);
  release("holder");
  EXPECT_EQ(handed_over(), 1U);
  const auto later = acquire("later", true);
  desk_->waits.ask(later.lease.id, 10 * kKeptMs, [](const auto&) {});
  auto told = ask_when_next_woken(queued.lease.id);
  clock_.advance(kKeptMs);
  ASSERT_EQ(told.wait_for(std::chrono::minutes(1)), std::future_status::ready);
  const auto answer = told.get();
  ASSERT_FALSE(answer) << "granted, and given to another";
  EXPECT_EQ(answer.error().code, Code::kNotFound);
}

TEST_F(WaitsTest, L4_WhoeverAsksWhileItsPlaceIsGivenUpIsAnswered) {
  release("holder");
  const auto acquire_shared = [&](const std::string& agent) {
    service::AcquireCall wanted = call(agent);
    wanted.claims.front().mode = core::Mode::kShared;
    wanted.wait = true;
    return door().acquire(wanted, service::kWaitForever).value().value;
  };
  ASSERT_EQ(acquire_shared("reader").outcome, core::Outcome::kGranted);
  const auto queued = acquire("waiter", true);
  const auto later = acquire_shared("later");
  ASSERT_EQ(later.outcome, core::Outcome::kQueued);
  desk_->waits.ask(later.lease.id, 10 * kKeptMs, [](const auto&) {});
  auto told = ask_when_next_woken(queued.lease.id);
  clock_.advance(kKeptMs);
  ASSERT_EQ(told.wait_for(std::chrono::minutes(1)), std::future_status::ready);
  EXPECT_EQ(told.get().error().code, Code::kNotFound);
}

// Its relay says both: that it is dead, and that it leaves the queue.
TEST_F(WaitsTest, L1_WhatIsHandedToADeadProcessIsGivenOn) {
  runtime_.remote_alive = [this](const core::Attachment& client) {
    return remote_alive(*desk_, client);
  };
  const std::string relay(32, 'a');
  const std::uint64_t number = Sessions::mark_of("alice") << Sessions::kOwnBits | 7;
  Door killed(*desk_, *realm_, {"alice", kEveryRole, {"*"}}, Door::From::kNetwork, relay);
  service::AcquireCall wanted = call("waiter");
  wanted.wait = true;
  wanted.attachment = core::Attachment::remote(number);
  const auto queued = killed.acquire(wanted);
  ASSERT_TRUE(queued) << queued.error().message;
  const auto later = acquire("later", true);
  ASSERT_TRUE(desk_->sessions.beat({"alice", relay, {}, {number}, 1}));
  release("holder");
  // It may be told that it is lost. Nobody hears that.
  static_cast<void>(
      killed.leave({wanted.caller, queued->value.lease.id, core::Outcome::kInterrupted}));
  EXPECT_EQ(ask(later.lease.id)->outcome, core::Outcome::kGranted);
}

TEST_F(WaitsTest, AHandoffIsFetchedLater) {
  const auto queued = acquire("waiter", true);
  release("holder");
  clock_.advance(kKeptMs / 2);
  const auto got = ask(queued.lease.id);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->outcome, core::Outcome::kGranted);
  clock_.advance(kKeptMs);
  EXPECT_EQ(held(), 1U);
}

TEST_F(WaitsTest, AClientThatGoesAwayHasAMinuteFromThenOn) {
  const auto queued = acquire("waiter", true);
  const auto asker = desk_->waits.ask(queued.lease.id, 10 * kKeptMs, [](const auto&) {});
  clock_.advance(2 * kKeptMs);
  desk_->waits.gone(asker.value());
  EXPECT_EQ(list().waiters.size(), 1U);
  clock_.advance(kKeptMs);
  eventually([&] { return desk_->waits.count() == 0; });
}

TEST_F(WaitsTest, ItsTimeIsTheServers) {
  const auto queued = acquire("waiter", true, 5'000);
  clock_.advance(5'000);
  EXPECT_EQ(ask(queued.lease.id)->outcome, core::Outcome::kTimeout);
}

TEST_F(WaitsTest, AfterARestartThereIsAMinuteToComeBack) {
  const auto queued = acquire("waiter", true);
  start_hub();
  clock_.advance(kKeptMs - 1);
  EXPECT_EQ(acquire("other", true).position, 2U);  // behind the one that is not back yet
  EXPECT_FALSE(door().find_wait(queued.lease.id)->has_value());
  release("holder");
  EXPECT_EQ(ask(queued.lease.id)->outcome, core::Outcome::kGranted);
}

TEST_F(WaitsTest, WhoeverDoesNotComeBackLosesItsPlace) {
  acquire("waiter", true);
  start_hub();
  clock_.advance(kKeptMs);
  const auto other = acquire("other", true);
  release("holder");
  EXPECT_EQ(ask(other.lease.id)->outcome, core::Outcome::kGranted);
}

TEST_F(WaitsTest, ManyWaitersGetItOneAfterTheOther) {
  constexpr int kWaiters = 50;
  std::vector<core::LeaseId> ids;
  for (int i = 0; i < kWaiters; ++i) {
    ids.push_back(acquire("w" + std::to_string(i), true).lease.id);
  }
  release("holder");
  for (int i = 0; i < kWaiters; ++i) {
    const auto got = ask(ids[static_cast<std::size_t>(i)]);
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(got->lease.owner.agent, "w" + std::to_string(i) + "@alice");
    release("w" + std::to_string(i));
  }
}

}  // namespace
}  // namespace lockkeeper::hub
