// Is locking worth its trouble for a plan? By the workflow protocol's rules on when to lock.
#pragma once

#include <string>
#include <vector>

#include "plan/analysis.h"

namespace lockkeeper::plan {

// One rule, and how this plan answers it.
struct WorthRule {
  const char* rule;  // "3+ agents running in parallel"
  bool for_locking;  // false: a reason not to lock
  bool applies;
  std::string value;  // "5 at once"
};

struct Worth {
  enum class Verdict { kYes, kNo, kEither };  // kEither: rules apply on both sides
  Verdict verdict = Verdict::kNo;
  std::string because;  // one sentence
  std::vector<WorthRule> rules;
};

Result<Worth> is_locking_worth_it(const Plan& plan, const Analysis& analysis);

}  // namespace lockkeeper::plan
