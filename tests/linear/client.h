// One of those whose calls are recorded: asks for locks at random, gives back, renews, checks,
// breaks, without a pause, until it is told to stop or killed.
#pragma once

#include <atomic>
#include <map>
#include <string>
#include <vector>

#include "linear/history.h"

namespace lockkeeper::linear {

// In memory that the clients share with the one who started them.
struct Campaign {
  std::atomic<std::uint64_t> calls{0};
  std::atomic<int> stop{0};
  std::uint64_t calls_per_place = 500;  // then everybody moves on to new names
};

struct ClientPlan {
  std::string repo;
  std::map<std::string, std::string> env;
  std::string program;  // empty: through the library
  std::string log;      // lines of the history are appended, each in one write
  std::string process;  // its name in the history, "p17"
  std::string agent;
  std::uint64_t seed = 0;
  std::uint64_t first_number = 0;  // of its calls
  std::vector<Call> heritage;      // what one that was killed left behind; the last one last
  Campaign* campaign = nullptr;
  std::int64_t told_late_ns = 0;  // the end of a process may be known so much later
};

// What a log tells of the last requests of one that was killed: granted, or without an answer.
std::vector<Call> left_behind(const std::string& log);

// Runs in a process of its own and never returns.
[[noreturn]] void be_client(const ClientPlan& plan);

}  // namespace lockkeeper::linear
