// What a run of the benchmark is given, and the names it locks.
#pragma once

#include <string>

#include "bench/progress.h"

namespace lockkeeper::bench {

struct Setup {
  std::string folder;      // fresh, ours, removed at the end
  std::string lockkeeper;  // the program
  double seconds = 2;      // for each row
  int held = 100'000;      // leases held while others come and go
  int many = 1'000'000;    // the same for the two questions about very many
  int globs = 5'000;
  int foreign = 1'000;   // locks of other tools
  int packages = 2'000;  // of a plan
  int waiters = 1'000;   // the longest queue; a tenth and a hundredth of it are measured, too
  Progress* progress = nullptr;

  // A fresh folder for one peer of one question.
  std::string fresh(const std::string& name) const;
};

// The path that round `i` of worker `worker` takes, at depth 4; none of the held ones.
std::string path_at(int worker, int i);
std::string held_path(int i);

// "100,000", as people write it.
std::string grouped(long long number);

}  // namespace lockkeeper::bench
