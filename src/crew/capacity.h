// How many agents may work at once, and how many lock checks a round may make.
#pragma once

#include <cstddef>

namespace lockkeeper::crew {

// `jobs` (0: no limit), but no more than this process has descriptors for.
std::size_t most_at_once(std::size_t jobs);

// Checking whether an agent's locks are free reads the table. Each round checks a bounded number of
// agents, and the next round those after them.
class CheckBudget {
 public:
  void begin();
  // May the next agent be checked? REQUIRES: each asks once in a round, always in one order.
  bool next();

 private:
  std::size_t asked_ = 0;  // in this round
  std::size_t from_ = 0;   // so many were checked in earlier rounds
  std::size_t left_ = 1;
};

}  // namespace lockkeeper::crew
