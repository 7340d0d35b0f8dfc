// Who may start: the plan's agents with what each must wait for. Pure bookkeeping over numbers.
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
  // limit_exceeded if patterns of the plan are too large to be compared.
  static Result<Roster> of(const plan::Plan& plan);

  // In the order in which they are to be considered: by priority, then the longest way to the end.
  const std::vector<std::size_t>& order() const { return order_; }
  // Who wants something of what `agent` wants, and may be at work at the same time.
  const std::vector<std::size_t>& rivals(std::size_t agent) const { return rivals_[agent]; }

 private:
  std::vector<std::size_t> order_;
  std::vector<std::vector<std::size_t>> rivals_;
};

}  // namespace lockkeeper::crew
