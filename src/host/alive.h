// The answer to "is it still there?", for processes and for what they hold.
#pragma once

#include <cstdint>

namespace lockkeeper::host {

// kDead is a certainty: somebody's lock may be given away on it. Whatever cannot be told, for
// whatever reason, is kUnknown, and callers treat that as alive (I5, I10).
enum class Alive : std::uint8_t { kAlive, kDead, kUnknown };

}  // namespace lockkeeper::host
