// I7: the holder knows. Losses on the disk, beside other processes; clock_test.cc has the rest.
#include <gmock/gmock.h>

#include <atomic>
#include <csignal>

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

TEST_F(Loss, F4_I3_I4_I7_StoppedPastItsTtlItIsToldAndItsGuardedActionRefused) {
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
  EXPECT_EQ(act(stopped, 3), "refused lost") << "it stays lost";
}

TEST_F(Loss, F5_I7_ToldInTimeAlsoWhileTheStoreIsStuck) {
  const Realm mine = realm();
  std::atomic<bool> told = false;
  const Lease lease =
      granted(mine, {"a"}, {.ttl = 3s, .on_lost = [&](const Error&) { told = true; }});
  Launch launch = stage_.launch("stuck", {"acquire", "b"});
  launch.env["LOCKKEEPER_TEST_FAULT"] = "stop@4";
  Process stuck(std::move(launch));
  ASSERT_TRUE(eventually([&] { return state_of(stuck.pid()) == 'T'; })) << stuck.err();
  EXPECT_TRUE(eventually([&] { return told.load(); }));
  EXPECT_EQ(state_of(stuck.pid()), 'T');
  EXPECT_THAT(lease.loss()->message, HasSubstr("two thirds"));
  stuck.signal(SIGCONT);
  EXPECT_EQ(stuck.wait(), 0) << stuck.err();
  EXPECT_FALSE(lease.is_current()) << "a lost lease stays lost, even if the store comes back";
}

}  // namespace
}  // namespace lockkeeper::stage
