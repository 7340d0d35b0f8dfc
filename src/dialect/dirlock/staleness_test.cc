#include "dialect/dirlock/staleness.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "realm/test_repository.h"

namespace lockkeeper::dialect::dirlock {
namespace {

constexpr std::int64_t kMinute = 60'000;

class Staleness : public testing::Test {
 protected:
  Staleness() : here_(here(clock_)) {
    record_.pid = ::getpid();
    record_.cwd = "/a";
    record_.hostname = here_.hostname;
    started(0);
  }
  // A lock that was taken that long ago.
  void started(std::int64_t ago_ms) {
    record_.start_ms = here_.now_ms - ago_ms;
    record_.start_time = format_time(*record_.start_ms);
  }
  Verdict verdict(std::int64_t timeout_ms = kStaleTimeoutMs) const {
    return judge(record_, here_.now_ms, here_, timeout_ms).verdict;
  }

  SystemClock clock_;
  Here here_;
  LockRecord record_;
};

TEST_F(Staleness, TheBootLiesBehindUs) {
  EXPECT_FALSE(here_.hostname.empty());
  EXPECT_LT(here_.boot_ms, here_.now_ms);
}

TEST_F(Staleness, ADeadProcessFreesAtOnce) {
  EXPECT_EQ(verdict(), Verdict::kHeld);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  record_.pid = child;
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(verdict(), Verdict::kGone);  // a zombie
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(verdict(), Verdict::kGone);
  EXPECT_EQ(verdict(0), Verdict::kGone);  // it comes before the others
}

TEST_F(Staleness, AnOldLockIsStaleThoughItsProcessLives) {
  const pid_t init = ::getppid();  // older than any lock below
  record_.pid = init > 0 ? init : 1;
  record_.hostname = "another";  // so that the pid's age does not matter
  started(20 * kMinute);
  EXPECT_EQ(verdict(), Verdict::kHeld);  // not above yet
  started(20 * kMinute + 1);
  EXPECT_EQ(verdict(), Verdict::kStale);
  EXPECT_EQ(verdict(60 * kMinute), Verdict::kHeld);
  EXPECT_EQ(judge(record_, 0, here_, kStaleTimeoutMs).age_ms, 20 * kMinute + 1);
}

TEST_F(Staleness, ZeroForces) {
  EXPECT_EQ(verdict(0), Verdict::kForced);
}

TEST_F(Staleness, APidOnAnotherHostSaysNothing) {
  record_.hostname = "another";
  record_.pid = 2'000'000'000;  // dead here
  EXPECT_EQ(verdict(), Verdict::kHeld);
  record_.hostname = "";  // unknown host: cannot be judged either
  EXPECT_EQ(verdict(), Verdict::kHeld);
  started(21 * kMinute);
  EXPECT_EQ(verdict(), Verdict::kStale);
}

TEST_F(Staleness, AReusedPidIsDead) {
  started(24 * 60 * kMinute);  // a day before this process began
  EXPECT_EQ(verdict(48 * 60 * kMinute), Verdict::kReused);
  // Before this boot, too.
  record_.start_ms = here_.boot_ms - 10 * kMinute;
  EXPECT_EQ(verdict(1LL << 50), Verdict::kReused);
}

TEST_F(Staleness, AClockThatWasSetALittleMeansNothing) {
  started(0);
  *record_.start_ms -= kClockSlackMs / 2;
  EXPECT_EQ(verdict(), Verdict::kHeld);
}

TEST_F(Staleness, I10_AnotherUsersProcessIsAlive) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  EXPECT_TRUE(realm::as_nobody([&] { return ::kill(::getppid(), 0) != 0 && errno == EPERM; }));
  EXPECT_TRUE(realm::as_nobody([&] { return verdict() == Verdict::kHeld; }));
}

TEST_F(Staleness, AThreadsNumberIsNoProcess) {
  std::atomic<int> tid = 0;
  std::atomic<bool> stop = false;
  std::thread other([&] {
    tid = ::gettid();
    while (!stop) std::this_thread::yield();
  });
  while (tid == 0) std::this_thread::yield();
  record_.pid = tid;
  EXPECT_EQ(verdict(), Verdict::kGone);
  stop = true;
  other.join();
}

// Odd clocks: a start in the future, or none, is replaced by the file's own time.
TEST_F(Staleness, I6_AStartThatMakesNoSenseIsTheFilesTime) {
  record_.start_ms = here_.now_ms + 24 * 60 * kMinute;
  EXPECT_EQ(judge(record_, here_.now_ms - 5, here_, kStaleTimeoutMs).verdict, Verdict::kHeld);
  EXPECT_EQ(judge(record_, here_.now_ms - 30 * kMinute, here_, kStaleTimeoutMs).verdict,
            Verdict::kStale);
  record_.start_ms.reset();
  EXPECT_EQ(judge(record_, here_.now_ms - 30 * kMinute, here_, kStaleTimeoutMs).verdict,
            Verdict::kStale);
  EXPECT_EQ(judge(record_, here_.now_ms + 30 * kMinute, here_, kStaleTimeoutMs).age_ms, 0);
}

}  // namespace
}  // namespace lockkeeper::dialect::dirlock
