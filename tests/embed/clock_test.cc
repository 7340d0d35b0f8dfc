// Renewals and losses under a clock that the test moves. The store is in memory; loss_test.cc does
// the same with files and other processes where that makes a difference.
#include <gmock/gmock.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "embed/realms.h"

namespace lockkeeper::stage {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::chrono_literals;

class KeptLease : public MemoryTest {
 protected:
  // Broken by somebody else, and noticed.
  void break_lease(const std::string& id) {
    const auto broken = realm("lead").break_lease(id, "taking over");
    EXPECT_TRUE(broken) << broken.error().message;
    clock_.advance(1s);
  }
};

TEST_F(KeptLease, I6_I7_RenewsItselfPastItsTtl) {
  const Realm mine = realm();
  const Lease lease = granted(mine, {"a"}, {.ttl = 5s});
  for (int i = 0; i < 35; ++i) {
    clock_.advance(200ms);
    ASSERT_FALSE(lease.lost()) << lease.loss()->message;
  }
  EXPECT_TRUE(lease.is_current());
  EXPECT_FALSE(realm("other").acquire({"a"}));
}

TEST_F(KeptLease, I7_IsLostAfterTwoThirdsOfItsTtlAndNotBefore) {
  const Realm mine = realm();
  std::atomic<int> told = 0;
  const Lease lease = granted(mine, {"a"}, {.ttl = 9s, .on_lost = [&](auto&) { ++told; }});
  clock_.advance(5999ms);  // then it is renewed
  EXPECT_FALSE(lease.lost());
  EXPECT_TRUE(lease.is_current());
  EXPECT_FALSE(lease.lost_token().stop_requested());
  clock_.advance(6s);
  EXPECT_TRUE(lease.lost());
  EXPECT_EQ(told, 1) << "advance() returns after it is told";
  EXPECT_TRUE(lease.lost_token().stop_requested());
  EXPECT_THAT(lease.loss()->message, HasSubstr("two thirds of its 9s"));
  EXPECT_FALSE(realm("other").acquire({"a"})) << "nobody else has it yet";
  clock_.advance(3s + 1ms);  // it is over after its end
  EXPECT_TRUE(realm("other").acquire({"a"}));
}

TEST_F(KeptLease, I6_WithoutAnEndIsNeverLostByTime) {
  const Realm mine = realm();
  const Lease lease = granted(mine, {"a"}, {.ttl = kForever});
  clock_.advance(24h * 365);
  EXPECT_FALSE(lease.lost());
  EXPECT_TRUE(lease.is_current());
}

TEST_F(KeptLease, LivesByTheTtlOfItsLastRenewal) {
  const Realm mine = realm();
  const Lease lease = granted(mine, {"a"}, {.ttl = 9s});
  ASSERT_TRUE(mine.renew({"a"}, {.ttl = 90s}));
  EXPECT_EQ(lease.ttl(), 90s);
  clock_.advance(59s);
  EXPECT_TRUE(lease.is_current());
  clock_.advance(59s);
  EXPECT_TRUE(lease.is_current()) << "it renews itself with the new ttl";
  clock_.advance(60s);
  EXPECT_TRUE(lease.lost());
}

TEST_F(KeptLease, IsNotLostByTimeOnceItWasRenewedWithoutAnEnd) {
  const Realm mine = realm();
  const Lease lease = granted(mine, {"a"}, {.ttl = 9s});
  ASSERT_TRUE(mine.renew({"a"}, {.ttl = kForever}));
  EXPECT_EQ(lease.ttl(), std::nullopt);
  clock_.advance(24h);
  EXPECT_FALSE(lease.lost());
  EXPECT_TRUE(lease.is_current());
}

TEST_F(KeptLease, OutlivesItsRealm) {
  std::optional<Lease> lease;
  {
    const Realm mine = realm();
    lease = granted(mine, {"a"}, {.ttl = 5s});
  }
  for (int i = 0; i < 6; ++i) clock_.advance(1s);
  EXPECT_TRUE(lease->is_current());
  const Realm other = realm("other");
  EXPECT_FALSE(other.check({"a"})->free);
  lease.reset();
  EXPECT_TRUE(other.check({"a"})->free);
}

TEST_F(KeptLease, F30_ManyOfOneProcessAreAllKept) {
  constexpr int kLeases = 500;
  const Realm mine = realm();
  std::vector<Lease> leases;
  for (int i = 0; i < kLeases; ++i) {
    leases.push_back(granted(mine, {"f" + std::to_string(i)}, {.ttl = 6s}));
  }
  for (int i = 0; i < 7; ++i) clock_.advance(1s);
  for (const Lease& lease : leases) {
    ASSERT_FALSE(lease.lost()) << lease.loss()->message;
    ASSERT_TRUE(lease.is_current());
  }
  leases.clear();
  EXPECT_TRUE(mine.list()->leases.empty());
}

TEST_F(KeptLease, I7_IsLostWhenItIsBrokenWithTheCause) {
  const Realm mine = realm();
  std::string message;
  const Lease lease =
      granted(mine, {"a"}, {.on_lost = [&](const Error& loss) { message = loss.message; }});
  break_lease(lease.id());
  EXPECT_THAT(message, HasSubstr("taking over"));
  EXPECT_THAT(message, HasSubstr("lead"));
  EXPECT_EQ(lease.loss()->message, message);
}

TEST_F(KeptLease, I7_WhenItIsToldItIsLostAndStopWasRequestedInThatOrder) {
  const Realm mine = realm();
  std::vector<std::string> order;
  const Lease* seen = nullptr;
  const Lease lease = granted(mine, {"a"}, {.on_lost = [&](const Error&) {
                                if (seen->lost()) order.emplace_back("lost");
                                if (seen->lost_token().stop_requested()) order.emplace_back("stop");
                                order.emplace_back("told");
                              }});
  seen = &lease;
  const std::stop_callback stopped(lease.lost_token(), [&] { order.emplace_back("token"); });
  break_lease(lease.id());
  EXPECT_THAT(order, ElementsAre("token", "lost", "stop", "told"));
}

TEST_F(KeptLease, I7_IsToldOnceAndNeverAfterTheLeaseIsGone) {
  const Realm mine = realm();
  std::atomic<int> told = 0;
  std::atomic<bool> gone = false;
  for (int i = 0; i < 200; ++i) {
    gone = false;
    std::optional<Lease> lease = granted(mine, {"a"}, {.on_lost = [&](const Error&) {
                                           ++told;
                                           EXPECT_FALSE(gone) << "called after its end";
                                           std::this_thread::yield();
                                           EXPECT_FALSE(gone) << "the end did not wait for it";
                                         }});
    const int before = told;
    std::jthread breaker([&, id = lease->id()] {
      static_cast<void>(realm("lead").break_lease(id, "taking over"));  // unless it has ended
      clock_.advance(1s);
    });
    // The end comes before, while or after it is told.
    while (i % 2 == 0 && !lease->lost()) std::this_thread::yield();
    while (i % 4 == 0 && told == before) std::this_thread::yield();
    if (i % 3 == 0) breaker.join();
    lease.reset();
    gone = true;
    if (breaker.joinable()) breaker.join();
    EXPECT_LE(told - before, 1);
  }
  EXPECT_GE(told, 50);
}

TEST_F(KeptLease, ItsCallbackMayDestroyItAndTheRealm) {
  for (int i = 0; i < 5; ++i) {
    auto mine = std::make_unique<Realm>(realm());
    std::unique_ptr<Lease> lease;
    bool over = false;
    Lease first = granted(*mine, {"a"}, {.on_lost = [&](const Error&) {
      lease.reset();
      mine.reset();
      over = true;
    }});
    const std::string id = first.id();
    lease = std::make_unique<Lease>(std::move(first));
    break_lease(id);
    EXPECT_TRUE(over);
  }
}

TEST_F(KeptLease, ItsCallbackMayMoveTheClock) {
  const Realm mine = realm();
  bool over = false;
  const Lease lease = granted(mine, {"a"}, {.ttl = 3s, .on_lost = [&](const Error&) {
                                              clock_.advance(1s);
                                              over = true;
                                            }});
  clock_.advance(3s);
  EXPECT_TRUE(over);
}

TEST_F(KeptLease, AWaitOnTheTokenEndsAndReleaseDoesNotRequestIt) {
  const Realm mine = realm();
  Lease kept = granted(mine, {"a"});
  const std::stop_token token = kept.lost_token();
  ASSERT_TRUE(kept.release());
  EXPECT_FALSE(kept.lost());
  EXPECT_FALSE(token.stop_requested());
  const Lease lease = granted(mine, {"b"});
  std::jthread breaker([&] { break_lease(lease.id()); });
  std::mutex mutex;
  std::condition_variable_any sleeper;
  std::unique_lock lock(mutex);
  EXPECT_FALSE(sleeper.wait_for(lock, lease.lost_token(), 60s, [] { return false; }));
  EXPECT_TRUE(lease.lost_token().stop_requested());
}

}  // namespace
}  // namespace lockkeeper::stage
