// One of the crowd: takes locks through the shipped program, writes into the ledger while it holds
// them, gives them back, again and again, until it is told to stop or killed. It kills the programs
// that it starts itself, at random moments.
#pragma once

#include <atomic>
#include <map>
#include <string>

namespace lockkeeper::chaos {

// Shared by all processes of a crowd.
struct Board {
  std::atomic<int> stop = 0;
  std::atomic<unsigned> kills = 0;    // kill -9 from outside, at a random moment
  std::atomic<unsigned> planned = 0;  // SIGKILL at a store call, as LOCKKEEPER_TEST_FAULT has it
  std::atomic<unsigned> calls = 0;    // of the shipped program
  std::atomic<unsigned> busy = 0;     // answered with 69
};

struct WorkerPlan {
  std::string program;
  std::string repo;
  std::string ledger;
  std::map<std::string, std::string> env;
  std::string name;  // "w3.17": the third worker, in its seventeenth life
  unsigned seed = 0;
  // Nobody outside its PID namespace can see this worker die, so what is bound to its pid has a
  // length as well.
  bool own_namespace = false;
  Board* board = nullptr;
};

// Runs in a process of its own and never returns.
[[noreturn]] void work(const WorkerPlan& plan);

// Appends one line in one write, so that lines of all processes have one order.
void append_line(const std::string& ledger, const std::string& line);

}  // namespace lockkeeper::chaos
