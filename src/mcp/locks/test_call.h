// For tests only: a call without a session, which keeps what is sent to its client, and a clock
// that a test moves while others wait.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "base/clock.h"
#include "mcp/call.h"

namespace lockkeeper::mcp::locks {

class JumpingClock final : public Clock {
 public:
  Now now() const override {
    Now now = system_.now();
    now.mono_ms += ahead_ms.load();
    now.wall_ms += ahead_ms.load();
    return now;
  }
  std::atomic<std::int64_t> ahead_ms = 0;

 private:
  SystemClock system_;
};

// Keeps what is sent.
class Kept final : public Outlet {
 public:
  void send(const Json& message) override {
    const std::lock_guard lock(mutex_);
    messages_.push_back(message);
  }
  std::vector<Json> messages() const {
    const std::lock_guard lock(mutex_);
    return messages_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Json> messages_;
};

inline std::shared_ptr<Call> test_call(const Json& meta = Json::object(),
                                       std::shared_ptr<Outlet> outlet = std::make_shared<Kept>()) {
  return std::make_shared<Call>(Client{}, "tools/call", Json{{"_meta", meta}}, std::move(outlet));
}

}  // namespace lockkeeper::mcp::locks
