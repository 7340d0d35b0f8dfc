// What must wait for what: packages by number, and everything that follows from their arrows.
#pragma once

#include <cstdint>
#include <vector>

namespace lockkeeper::plan {

class Graph {
 public:
  explicit Graph(std::size_t count) : after_(count), before_(count) {}

  std::size_t size() const { return after_.size(); }
  // `later` waits for `earlier`. Twice is once.
  void add(std::size_t later, std::size_t earlier);
  // In the order of numbers.
  const std::vector<std::size_t>& needs(std::size_t package) const { return before_[package]; }
  const std::vector<std::size_t>& needed_by(std::size_t package) const { return after_[package]; }

  // The rings, each by its members in the order of the arrows, beginning with the smallest number;
  // one ring for each group that hangs together. Empty: none.
  std::vector<std::vector<std::size_t>> rings() const;
  // Earlier ones first; of those that are free at the same time the smallest number. REQUIRES: no
  // ring.
  std::vector<std::size_t> order() const;

 private:
  std::vector<std::vector<std::size_t>> after_;
  std::vector<std::vector<std::size_t>> before_;
};

// Who can never run beside whom, because one must wait for the other, however far.
class Closure {
 public:
  // Rings do no harm: all of one are before one another.
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
