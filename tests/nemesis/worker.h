// One of those whose calls are recorded while the nemesis is at work: takes locks through the relay
// of its machine, holds them for a moment, checks its fence, gives them back. What it is not
// answered it asks again, with the same request id, until it knows.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <string>

#include "linear/history.h"

namespace lockkeeper::nemesis {

enum class Kind : std::uint8_t {
  kCrowd,    // names that overlap those of others, often in the queue
  kProgram,  // the same through the shipped program, one process a call
  kTimed,    // leases of two seconds that nobody gives back
  kPulse,    // a name of its own: it is refused by nobody, so it shows whether all goes on
};

inline constexpr std::size_t kWorkersMax = 32;

// In memory that the workers share with the one who started them.
struct Campaign {
  std::atomic<int> stop{0};
  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::uint64_t> unknown{0};   // answers
  std::atomic<std::uint64_t> resolved{0};  // of those, by asking again
  // When the last grant was asked for that was told and given back, by worker.
  std::array<std::atomic<std::int64_t>, kWorkersMax> cycle_began_ns{};
  std::uint64_t round = 0;
};

struct WorkerPlan {
  Kind kind = Kind::kCrowd;
  std::size_t index = 0;  // in Campaign::cycle_began_ns
  std::string repo;
  std::map<std::string, std::string> env;
  std::string program;  // of kProgram
  std::string log;      // lines of the history are appended, each in one write
  std::string process;  // its name in the history
  std::string agent;
  std::uint64_t seed = 0;
  std::uint64_t first_number = 0;  // of its calls
  Campaign* campaign = nullptr;
};

// Runs in a process of its own and never returns.
[[noreturn]] void be_worker(const WorkerPlan& plan);

inline constexpr const char* kTimedFolder = "timed/";
inline constexpr std::int64_t kTimedMs = 2'000;

}  // namespace lockkeeper::nemesis
