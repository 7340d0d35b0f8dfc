// Several processes at work at once, sides taking turns.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "bench/setup.h"

namespace lockkeeper::bench {

// One process. `join` is called in it, connects, and gives what is then done over and over while
// its side has its turn.
struct Member {
  std::size_t side;
  std::function<Once()> join;
};

struct CrewResult {
  std::vector<Samples> members;      // in the order given
  std::vector<double> side_seconds;  // how long each side had its turn
};

// All members of one side work at the same time; the sides, 0 to the highest named, take turns
// until each has had `setup.seconds`.
CrewResult run_crew(const Setup& setup, const std::vector<Member>& members);

// A shared anonymous mapping with one T in it, for children to be forked.
void* map_shared(std::size_t bytes);
template <class T>
T& shared() {
  return *new (map_shared(sizeof(T))) T;
}

// Sleeps until `ready`, looking every half millisecond.
void wait_until(const std::function<bool()>& ready);

}  // namespace lockkeeper::bench
