// Which package waits for which, by number.
#pragma once

#include <cstdint>
#include <vector>

namespace lockkeeper::plan {

class Graph {
 public:
  explicit Graph(std::size_t count) : after_(count), before_(count) {}
  // What each needs.
  explicit Graph(const std::vector<std::vector<std::size_t>>& needs);

  std::size_t size() const { return after_.size(); }
  // `later` waits for `earlier`. Adding it twice changes nothing.
  void add(std::size_t later, std::size_t earlier);
  // In the order of numbers.
  const std::vector<std::size_t>& needs(std::size_t package) const { return before_[package]; }
  const std::vector<std::size_t>& needed_by(std::size_t package) const { return after_[package]; }

  // One cycle of each group that has any: its members, each needing the next, the smallest number
  // first.
  std::vector<std::vector<std::size_t>> cycles() const;
  // Each after all it needs; among those, the smallest number first. REQUIRES: no cycle.
  std::vector<std::size_t> order() const;
  // The time from the start of each to the end of all that depends on it. REQUIRES: no cycle.
  std::vector<std::int64_t> time_to_end(const std::vector<std::int64_t>& minutes) const;

 private:
  std::vector<std::vector<std::size_t>> after_;
  std::vector<std::vector<std::size_t>> before_;
};

// Which packages never run at the same time, because one waits for the other, directly or not.
class Closure {
 public:
  // Cycles are allowed: their members are all before one another.
  explicit Closure(const Graph& graph);
  bool before(std::size_t earlier, std::size_t later) const {
    return (bits_[later * words_ + earlier / 64] >> (earlier % 64) & 1) != 0;
  }
  bool ordered(std::size_t a, std::size_t b) const { return before(a, b) || before(b, a); }

 private:
  std::size_t words_ = 0;
  std::vector<std::uint64_t> bits_;
};

}  // namespace lockkeeper::plan
