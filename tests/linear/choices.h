// Every way through the decisions that an answer leaves open, one after the other.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace lockkeeper::linear {

class Choices {
 public:
  std::size_t pick(std::size_t of) {
    if (at_ == taken_.size()) taken_.emplace_back(0, of);
    return taken_[at_++].first;
  }
  bool next() {
    for (at_ = 0; !taken_.empty(); taken_.pop_back()) {
      if (++taken_.back().first < taken_.back().second) return true;
    }
    return false;
  }

 private:
  std::vector<std::pair<std::size_t, std::size_t>> taken_;
  std::size_t at_ = 0;
};

}  // namespace lockkeeper::linear
