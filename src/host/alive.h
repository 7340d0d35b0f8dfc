// The answer to "is it still there?", for processes and for what they hold.
#pragma once

#include <cstdint>

namespace lockkeeper::host {

// kDead is certain: a lock may be given away because of it. If there is any doubt the answer is
// kUnknown, and callers treat that as alive (I5, I10).
enum class Alive : std::uint8_t { kAlive, kDead, kUnknown };

}  // namespace lockkeeper::host
