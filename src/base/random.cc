#include "base/random.h"

#include <unistd.h>

#include "base/assert.h"

namespace lockkeeper {

std::uint64_t SystemRandom::next() {
  std::uint64_t value = 0;
  const int status = ::getentropy(&value, sizeof value);
  LOCKKEEPER_ASSERT(status == 0);
  return value;
}

std::uint64_t SeededRandom::next() {
  state_ += kStep;
  std::uint64_t z = state_;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
  z = (z ^ z >> 27) * 0x94d049bb133111ebU;
  return z ^ z >> 31;
}

std::uint64_t random_below(Random& random, std::uint64_t bound) {
  LOCKKEEPER_ASSERT(bound > 0);
  // The lowest 2^64 mod bound values are drawn again: they would make small results more likely.
  const std::uint64_t uneven = (~bound + 1) % bound;
  for (;;) {
    const std::uint64_t value = random.next();
    if (value >= uneven) return value % bound;
  }
}

}  // namespace lockkeeper
