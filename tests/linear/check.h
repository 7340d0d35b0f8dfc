// Is a history linearizable? The algorithm of Wing and Gong with Lowe's memory: a depth-first
// search for an order of the steps that respects real time and the specification; a configuration
// (set of steps done, state reached) is entered once. Parts of the history that have nothing to do
// with each other are searched one by one.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "linear/spec.h"

namespace lockkeeper::linear {

enum class Outcome {
  kLinearizable,
  kViolated,   // no order exists
  kUndecided,  // the limit was reached: not a pass
};

struct Limits {
  std::size_t configurations = 5'000'000;  // of one part
  double seconds = 120;                    // of the processor's time, for the whole
  // False: all of it at once. Slower; sees also where fences of unrelated grants contradict what
  // is known of their order from other answers than their own.
  bool split = true;
};

struct Verdict {
  Outcome outcome = Outcome::kLinearizable;
  std::string why;  // of what is not a pass: how far it got, and what cannot follow
  std::size_t parts = 0;
  std::size_t steps = 0;
  std::size_t configurations = 0;
  std::vector<const Call*> part;  // the calls of the part that failed
};

// The history must outlive the verdict.
Verdict check(const History& history, const Limits& limits = {});

// Groups that share no owner and no name that two resources cover; each in the history's order.
std::vector<std::vector<const Call*>> independent_parts(const History& history);

// I3 over all parts at once: who asks after a grant was answered gets a greater fence.
std::string fence_regression(const History& history);

}  // namespace lockkeeper::linear
