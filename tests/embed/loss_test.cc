// I7: the holder knows. Renewals, losses, and the order in which they are told.
#include <gmock/gmock.h>

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <thread>

#include "embed/scene.h"

namespace lockkeeper::stage {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

class Loss : public EmbedTest {
 protected:
  void break_lease(const std::string& id) {
    stage_.expect(0, "lead", {"break", "--lease", id, "--reason", "taking over"});
  }
};

TEST_F(Loss, I6_I7_ALeaseRenewsItselfPastItsLength) {
  const Realm mine = realm();
  const Lease lease = granted(mine, {"a"}, {.length = 5s});
  for (int i = 0; i < 35; ++i) {
    pause_ms(200);
    ASSERT_FALSE(lease.lost()) << lease.loss()->message;
  }
  EXPECT_TRUE(lease.is_current());
  stage_.expect(75, "other", {"acquire", "a"});
}

TEST_F(Loss, I4_I7_ABrokenLeaseIsToldWithCauseAndItsGuardedActionIsRefused) {
  const Realm mine = realm();
  std::atomic<int> told = 0;
  std::string message;
  Lease lease = granted(mine, {"a"}, {.on_lost = [&](const Error& loss) {
                          message = loss.message;
                          ++told;
                        }});
  break_lease(lease.id());
  EXPECT_TRUE(eventually([&] { return told == 1; }));
  EXPECT_THAT(message, HasSubstr("taking over"));
  EXPECT_THAT(message, HasSubstr("lead"));
  EXPECT_TRUE(lease.lost());
  EXPECT_TRUE(lease.lost_token().stop_requested());
  EXPECT_EQ(lease.loss()->code, Code::kLost);
  const auto current = lease.check();
  ASSERT_FALSE(current);
  EXPECT_EQ(current.error().code, Code::kLost);
  const auto released = lease.release();
  ASSERT_FALSE(released);
  EXPECT_EQ(released.error().code, Code::kLost);
}

TEST_F(Loss, I4_TheGuardSeesABreakAtOnce) {
  const Realm mine = realm();
  const Lease lease = granted(mine, {"a"});
  break_lease(lease.id());
  EXPECT_FALSE(lease.is_current());
  EXPECT_TRUE(lease.lost());
}

TEST_F(Loss, I7_WhenItIsToldItIsLostAndStopWasRequestedInThatOrder) {
  const Realm mine = realm();
  std::mutex mutex;
  std::vector<std::string> order;
  const auto note = [&](const std::string& what) {
    const std::lock_guard lock(mutex);
    order.push_back(what);
  };
  const Lease* seen = nullptr;
  std::atomic<bool> ready = false;
  const Lease lease = granted(mine, {"a"}, {.on_lost = [&](const Error&) {
                                while (!ready) std::this_thread::yield();
                                if (seen->lost()) note("lost");
                                if (seen->lost_token().stop_requested()) note("stop");
                                note("told");
                              }});
  seen = &lease;
  ready = true;
  const std::stop_callback stopped(lease.lost_token(), [&] { note("token"); });
  break_lease(lease.id());
  const auto noted = [&] {
    const std::lock_guard lock(mutex);
    return order;
  };
  EXPECT_TRUE(eventually([&] { return noted().size() == 4; }));
  EXPECT_THAT(noted(), testing::ElementsAre("token", "lost", "stop", "told"));
}

TEST_F(Loss, I7_ItIsToldOnceAndNeverAfterTheLeaseIsGone) {
  const Realm mine = realm();
  std::atomic<int> told = 0;
  std::atomic<bool> gone = false;
  for (int i = 0; i < 20; ++i) {
    gone = false;
    std::optional<Lease> lease = granted(mine, {"a"}, {.on_lost = [&](const Error&) {
                                           ++told;
                                           EXPECT_FALSE(gone)
                                               << "called after the end of the lease";
                                           pause_ms(5);
                                           EXPECT_FALSE(gone) << "the end did not wait for it";
                                         }});
    const int before = told;
    std::jthread breaker([&, id = lease->id()] { break_lease(id); });
    // Sometimes before, sometimes while, sometimes after it is told.
    if (i % 2 == 0) {
      ASSERT_TRUE(eventually([&] { return lease->lost(); }));
    }
    if (i % 4 == 0) {
      ASSERT_TRUE(eventually([&] { return told > before; }));
    }
    breaker.join();
    lease.reset();
    gone = true;
    EXPECT_LE(told - before, 1);
  }
}

TEST_F(Loss, TheCallbackMayDestroyTheLeaseAndTheRealm) {
  for (int i = 0; i < 5; ++i) {
    auto mine = std::make_unique<Realm>(realm());
    std::unique_ptr<Lease> lease;
    std::mutex mutex;
    std::condition_variable done;
    bool over = false;
    Lease first = granted(*mine, {"a"}, {.on_lost = [&](const Error&) {
      const std::lock_guard lock(mutex);
      lease.reset();
      mine.reset();
      over = true;
      done.notify_all();
    }});
    const std::string id = first.id();
    {
      const std::lock_guard lock(mutex);
      lease = std::make_unique<Lease>(std::move(first));
    }
    break_lease(id);
    std::unique_lock lock(mutex);
    EXPECT_TRUE(done.wait_for(lock, 60s, [&] { return over; }));
  }
}

TEST_F(Loss, AWaitOnTheTokenEndsAndReleaseDoesNotRequestIt) {
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

TEST_F(Loss, F4_I3_I4_I7_StoppedPastItsLengthItIsToldAndItsGuardedActionRefused) {
  Process stopped = holder("hold", "a", 4s);
  expect_says(stopped, "granted");
  EXPECT_EQ(act(stopped, 1), "ok");
  stopped.signal(SIGSTOP);
  const Realm mine = realm();
  const Lease next = granted(mine, {"a"}, {.wait = 60s});
  EXPECT_GT(next.fence(), fence_said(stopped.out())) << "I3";
  stage_.file("act-2");
  stopped.signal(SIGCONT);
  EXPECT_EQ(act(stopped, 2), "refused lost");
  expect_says(stopped, "told");
  EXPECT_TRUE(next.is_current());
  EXPECT_EQ(act(stopped, 3), "refused lost") << "lost is for ever";
}

TEST_F(Loss, F5_I7_ToldInTimeAlsoWhileTheStoreIsStuck) {
  const Realm mine = realm();
  std::atomic<bool> told = false;
  const Lease lease =
      granted(mine, {"a"}, {.length = 3s, .on_lost = [&](const Error&) { told = true; }});
  Launch launch = stage_.launch("stuck", {"acquire", "b"});
  launch.env["LOCKKEEPER_TEST_FAULT"] = "stop@4";
  Process stuck(std::move(launch));
  ASSERT_TRUE(eventually([&] { return state_of(stuck.pid()) == 'T'; })) << stuck.err();
  EXPECT_TRUE(eventually([&] { return told.load(); }));
  EXPECT_EQ(state_of(stuck.pid()), 'T');
  EXPECT_THAT(lease.loss()->message, HasSubstr("two thirds"));
  stuck.signal(SIGCONT);
  EXPECT_EQ(stuck.wait(), 0) << stuck.err();
  EXPECT_FALSE(lease.is_current()) << "lost is for ever, also where the store comes back";
}

}  // namespace
}  // namespace lockkeeper::stage
