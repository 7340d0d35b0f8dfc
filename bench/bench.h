// The parts of the bench. Each adds its rows to the report; a peer that is not installed is skipped
// and named.
#pragma once

#include <cstdint>
#include <string>

#include "report.h"

namespace lockkeeper::bench {

struct Setup {
  std::string folder;      // fresh, ours
  std::string lockkeeper;  // the program
  double seconds = 2;      // for each row
  int held = 100'000;
};

// The path that round `i` of worker `worker` takes, at depth 4; none of the prefilled ones.
std::string path_at(int worker, int i);
std::string held_path(int i);

void bare_lmdb(const Setup& setup, Report& report);
void lock_table(const Setup& setup, Report& report);
void redis(const Setup& setup, Report& report);
void processes(const Setup& setup, Report& report);
void handoff(const Setup& setup, Report& report);

}  // namespace lockkeeper::bench
