// What the nemesis does: each fault begins, lasts for a while, and is taken back.
#pragma once

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "nemesis/world.h"

namespace lockkeeper::nemesis {

struct Fault {
  std::string name;
  int least_ms = 0;  // how long it lasts
  int most_ms = 0;
  std::function<void()> begin;
  std::function<void()> end;
};

// What they do is chosen by `random`. Both must outlive them.
std::vector<Fault> all_faults(World& world, std::mt19937_64& random);

}  // namespace lockkeeper::nemesis
