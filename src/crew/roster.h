// In which order a plan's agents are considered, and which of them want the same locks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "plan/plan_file.h"

namespace lockkeeper::crew {

class Roster {
 public:
  // limit_exceeded if the plan's patterns are too large to be compared.
  static Result<Roster> of(const plan::Plan& plan);

  // By priority, then by the time that the agent and all that depends on it take.
  const std::vector<std::size_t>& order() const { return order_; }
  // The agents that could run at the same time as `agent` and want some of the same locks.
  const std::vector<std::size_t>& rivals(std::size_t agent) const { return rivals_[agent]; }

 private:
  std::vector<std::size_t> order_;
  std::vector<std::vector<std::size_t>> rivals_;
};

}  // namespace lockkeeper::crew
