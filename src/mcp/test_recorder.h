// For tests only: records what was sent, and waits for it.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "mcp/call.h"

namespace lockkeeper::mcp {

inline constexpr auto kTestPatience = std::chrono::seconds(60);  // for a loaded machine

class Recorder final : public Outlet {
 public:
  void send(const Json& message) override {
    const std::lock_guard lock(mutex_);
    sent_.push_back(message);
    changed_.notify_all();
  }
  void end() override {
    const std::lock_guard lock(mutex_);
    ++ends_;
    changed_.notify_all();
  }

  std::vector<Json> sent() const {
    const std::lock_guard lock(mutex_);
    return sent_;
  }
  std::size_t ends() const {
    const std::lock_guard lock(mutex_);
    return ends_;
  }
  // Waits for that many messages.
  std::vector<Json> wait(std::size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kTestPatience, [&] { return sent_.size() >= count; }))
        << "only " << sent_.size() << " of " << count;
    return sent_;
  }
  bool wait_ends(std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kTestPatience, [&] { return ends_ >= count; });
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Json> sent_;
  std::size_t ends_ = 0;
};

// A gate that a test opens once.
class Latch {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  bool wait() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kTestPatience, [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

}  // namespace lockkeeper::mcp
