// How many agents may be at work at once, and whose turn it is to be looked at.
#pragma once

#include <cstddef>

namespace lockkeeper::crew {

// `jobs` (0: no limit), but no more than this process has descriptors for.
std::size_t most_at_once(std::size_t jobs);

// Looking whether locks are free costs a look into the table each time: a bounded number of agents
// in every round, and in the next round those behind them.
class CheckBudget {
 public:
  void begin();
  // May the next one be looked at now? REQUIRES: each asks once in a round, always in one order.
  bool next();

 private:
  std::size_t asked_ = 0;  // in this round
  std::size_t from_ = 0;   // so many had their turn before
  std::size_t left_ = 1;
};

}  // namespace lockkeeper::crew
