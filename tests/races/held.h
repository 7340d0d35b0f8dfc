// A process of ours that is held at one of its system calls, while the test goes on.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "support/stage.h"

namespace lockkeeper::stage {

class Held {
 public:
  using Here = std::function<bool(const SystemCall&)>;

  // Starts it, and comes back when `here` has said yes to a call that is about to be made, or when
  // the process has ended. A tracer is a thread, so it has one of its own.
  Held(Launch launch, Here here) : here_(std::move(here)) {
    launch.traced = true;
    thread_ = std::thread([this, launch = std::move(launch)]() mutable { run(std::move(launch)); });
    wait();
  }
  ~Held() { go_on(); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

  // False: it has ended.
  bool stands() const { return stands_; }

  // On to the next place; false: it ended on the way.
  bool go_on_to(Here here) {
    go(std::move(here));
    wait();
    return stands_;
  }

  // To its end.
  const Answer& go_on() {
    go([](const SystemCall&) { return false; });
    if (thread_.joinable()) thread_.join();
    return answer_;
  }

 private:
  void go(Here here) {
    const std::lock_guard lock(mutex_);
    here_ = std::move(here);
    stands_ = false;
    changed_.notify_all();
  }

  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stands_ || ended_; });
  }

  void run(Launch launch) {
    Process process(std::move(launch));
    answer_.status = process.step([&](const SystemCall& call) {
      std::unique_lock lock(mutex_);
      if (call.done || !here_(call)) return true;
      stands_ = true;
      changed_.notify_all();
      changed_.wait(lock, [&] { return !stands_; });
      return true;
    });
    answer_.out = process.out();
    answer_.err = process.err();
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  Here here_;  // where to hold it next
  bool stands_ = false;
  bool ended_ = false;
  Answer answer_;
  std::thread thread_;
};

inline Held::Here nth(std::vector<std::string> names, int n) {
  return [names = std::move(names), n, count = 0](const SystemCall& call) mutable {
    return std::ranges::find(names, call.name) != names.end() && ++count == n;
  };
}

// The n-th time that it is about to do one of these, after it has taken the layouts' lock.
inline Held::Here nth_after_lock(std::vector<std::string> names, int n) {
  return [here = nth(std::move(names), n), locked = false](const SystemCall& call) mutable {
    if (call.name == "flock") locked = true;
    return locked && here(call);
  };
}

inline Held::Here at_lock() {
  return nth({"flock"}, 1);
}

}  // namespace lockkeeper::stage
