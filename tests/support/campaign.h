// A random run that can be repeated: its seed comes from LOCKKEEPER_CHAOS_SEED or by chance, and
// whoever reads a failure sees it first, with what to type.
#pragma once

#include <cstdint>
#include <string>

namespace lockkeeper::stage {

// A number of the environment, for the scale of a test.
std::uint64_t number_from(const char* name, std::uint64_t otherwise);

class Campaign {
 public:
  Campaign();

  unsigned seed() const { return seed_; }
  // A seed of its own for the n-th part, the same in every repetition.
  unsigned seed_of(std::uint64_t part) const;
  // "seed 17" and, on the next line, the command that repeats the running test; `more` are further
  // variables, as in "LOCKKEEPER_CHAOS_ROUND=3".
  std::string repeat(const std::string& more = "") const;

 private:
  unsigned seed_;
};

}  // namespace lockkeeper::stage
