// For tests alone: a clock that stands where it is set.
#pragma once

#include "base/clock.h"

namespace lockkeeper {

class TestClock final : public Clock {
 public:
  explicit TestClock(Now start = {5'000, 1'768'663'800'000}) : at(start) {}
  Now now() const override { return at; }

  Now at;
};

}  // namespace lockkeeper
