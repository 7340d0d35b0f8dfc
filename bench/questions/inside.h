// Runs programs inside of a realm of ours: current folder and environment are as an agent has them,
// and nothing of the caller's reaches them.
#pragma once

#include <filesystem>
#include <string>

#include "bench/child.h"
#include "bench/setup.h"

namespace lockkeeper::bench {

class Inside {
 public:
  explicit Inside(const std::string& folder);
  ~Inside();
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  const std::filesystem::path before_;
};

// False, and the answer says so, if the program is not built.
bool has_program(const Setup& setup, struct Answer& answer);

// Must end well.
void run_well(const Words& argv);

// A server of ours on a free port of this machine.
struct OurServer {
  // `words`: of the program, before the address and after it.
  OurServer(const Setup& setup, const Words& before, const Words& after, const std::string& log);
  const int port;
  Server server;
  bool ready = false;
};
// A hub over that folder, as the realm "app". Everybody is welcome.
// `more`: further words.
OurServer hub_over(const Setup& setup, const std::string& folder, const Words& more = {});

}  // namespace lockkeeper::bench
