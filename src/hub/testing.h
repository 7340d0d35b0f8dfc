// For tests of the hub.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"

namespace lockkeeper::hub {

// A hub's threads read it while a test sets it.
class SteppedClock final : public Clock {
 public:
  explicit SteppedClock(std::int64_t start_ms = 5'000) : start_ms_(start_ms) {}
  Now now() const override {
    const std::int64_t passed = passed_ms_;
    return {start_ms_ + passed, 1'768'663'800'000 + passed};
  }
  void advance(std::int64_t ms) { passed_ms_ += ms; }

 private:
  const std::int64_t start_ms_;
  std::atomic<std::int64_t> passed_ms_ = 0;
};

}  // namespace lockkeeper::hub
