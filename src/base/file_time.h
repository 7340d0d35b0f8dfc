// What the time of a file tells.
#pragma once

#include <cstdint>

namespace lockkeeper {

// By which it may lag behind the clock: the kernel takes it from its last tick.
inline constexpr std::int64_t kFileTimeLagMs = 10;

}  // namespace lockkeeper
