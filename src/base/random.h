// Randomness as a seam: code that draws a number is given a Random, so that a simulator can replay
// a run from one printed seed.
//
// Thread safety: none; use one Random per thread, or a lock. SystemRandom may be shared.
#pragma once

#include <cstdint>

namespace lockkeeper {

class Random {
 public:
  virtual ~Random() = default;

  // 64 bits, each equally likely. Never fails.
  virtual std::uint64_t next() = 0;
};

// The kernel's generator: numbers that no other process can guess or repeat, even right after a
// fork or in a restored virtual machine. Aborts if the kernel has none, which Linux rules out.
class SystemRandom final : public Random {
 public:
  std::uint64_t next() override;
};

// Equal seeds give equal sequences on every machine (SplitMix64). Not for anything secret.
class SeededRandom final : public Random {
 public:
  // What each number adds to the seed: SeededRandom(seed + n * kStep) continues after n numbers.
  static constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15U;
  explicit SeededRandom(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() override;

 private:
  std::uint64_t state_;
};

// A number below `bound`, each equally likely. REQUIRES: bound > 0
std::uint64_t random_below(Random& random, std::uint64_t bound);

}  // namespace lockkeeper
