// For tests alone: a clock that stands where it is set.
#pragma once

#include "base/clock.h"

namespace lockkeeper {

class TestClock final : public Clock {
 public:
  explicit TestClock(Now at = {5'000, 1'768'663'800'000}) : at(at) {}
  Now now() const override { return at; }

  Now at;
};

}  // namespace lockkeeper
