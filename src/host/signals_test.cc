#include "host/signals.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

namespace lockkeeper::host {
namespace {

constexpr int kUsr[] = {SIGUSR1, SIGTERM};

bool is_blocked(int signal) {
  sigset_t now;
  ::sigprocmask(SIG_BLOCK, nullptr, &now);
  return ::sigismember(&now, signal) == 1;
}

TEST(SignalWatch, NotesTheFirstAndEndsASleep) {
  const SignalWatch watch;
  EXPECT_EQ(watch.signal(), 0);
  ::raise(SIGTERM);
  ::raise(SIGINT);
  EXPECT_EQ(watch.signal(), SIGTERM);
  EXPECT_EQ(watch.exit_status(), 128 + SIGTERM);
  watch.sleep_ms(3'600'000);  // returns at once
}

TEST(SignalWatch, WhatWasIgnoredStaysSoAndComesBack) {
  struct sigaction before{};
  struct sigaction ignore{};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGHUP, &ignore, &before);
  {
    const SignalWatch watch;
    ::raise(SIGHUP);
    EXPECT_EQ(watch.signal(), 0);
  }
  struct sigaction now{};
  ::sigaction(SIGHUP, &before, &now);
  EXPECT_EQ(now.sa_handler, SIG_IGN);
}

TEST(HeldSignals, AreTakenFromTheDescriptorAndGivenBack) {
  {
    const HeldSignals held(kUsr, HeldSignals::Ignored::kHeld);
    EXPECT_TRUE(is_blocked(SIGUSR1) && is_blocked(SIGCHLD));
    EXPECT_FALSE(held.take());
    ::kill(::getpid(), SIGUSR1);
    pollfd wanted{held.fd(), POLLIN, 0};
    EXPECT_EQ(::poll(&wanted, 1, 10'000), 1);
    const auto came = held.take();
    ASSERT_TRUE(came);
    EXPECT_EQ(came->signal, SIGUSR1);
    EXPECT_FALSE(came->by_kernel) << "a process sent it";
    EXPECT_FALSE(held.take());
  }
  EXPECT_FALSE(is_blocked(SIGUSR1));
  EXPECT_FALSE(is_blocked(SIGCHLD));
}

TEST(HeldSignals, WhatWasIgnoredStaysSoIfItShall) {
  struct sigaction before{};
  struct sigaction ignore{};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGUSR1, &ignore, &before);
  {
    const HeldSignals held(kUsr, HeldSignals::Ignored::kStays);
    EXPECT_FALSE(is_blocked(SIGUSR1));
    EXPECT_TRUE(is_blocked(SIGTERM));
  }
  {
    const HeldSignals held(kUsr, HeldSignals::Ignored::kHeld);
    EXPECT_TRUE(is_blocked(SIGUSR1));
  }
  ::sigaction(SIGUSR1, &before, nullptr);
}

TEST(HeldSignals, AChildsEndIsSeenEvenWhereItWasIgnored) {
  struct sigaction before{};
  struct sigaction ignore{};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGCHLD, &ignore, &before);
  {
    const HeldSignals held({}, HeldSignals::Ignored::kStays);
    struct sigaction now{};
    ::sigaction(SIGCHLD, nullptr, &now);
    EXPECT_EQ(now.sa_handler, SIG_DFL);
  }
  struct sigaction now{};
  ::sigaction(SIGCHLD, &before, &now);
  EXPECT_EQ(now.sa_handler, SIG_IGN) << "as it was";
}

TEST(Signals, HaveNames) {
  EXPECT_EQ(signal_name(SIGTERM), "SIGTERM");
  EXPECT_EQ(signal_name(0), "");
  EXPECT_EQ(signal_name(1000), "");
  EXPECT_TRUE(asks_to_end(SIGQUIT));
  EXPECT_FALSE(asks_to_end(SIGUSR1));
}

}  // namespace
}  // namespace lockkeeper::host
