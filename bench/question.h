// One question of the benchmark, one row of the published table. Each lives in its own file of
// questions/; the list of them is questions/all.cc.
#pragma once

#include <string>
#include <vector>

#include "bench/report.h"
#include "bench/setup.h"

namespace lockkeeper::bench {

struct Question {
  std::string id;     // for --only
  std::string title;  // for people
  // Adds rows, targets and what was skipped to the answer.
  void (*ask)(const Setup& setup, Answer& answer);
};

const std::vector<Question>& all_questions();

}  // namespace lockkeeper::bench
