// One of the crowd: takes locks through the shipped program, writes into the ledger while it holds
// them, gives them back, again and again, until it is told to stop or killed.
#pragma once

#include <map>
#include <string>

namespace lockkeeper::chaos {

struct WorkerPlan {
  std::string program;
  std::string repo;
  std::string ledger;
  std::map<std::string, std::string> env;
  std::string name;  // "w3.17": the third worker, in its seventeenth life
  unsigned seed = 0;
  const volatile int* stop = nullptr;  // shared with the one who started it
};

// Runs in a process of its own and never returns. SIGUSR1: kill -9 the command of the program that
// is under way, and it alone.
[[noreturn]] void work(const WorkerPlan& plan);

// Appends one line in one write, so that lines of all processes have one order.
void append_line(const std::string& ledger, const std::string& line);

}  // namespace lockkeeper::chaos
