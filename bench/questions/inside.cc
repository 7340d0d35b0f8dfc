#include "bench/questions/inside.h"

#include <cstdlib>

#include "base/assert.h"
#include "bench/peers/ours.h"
#include "bench/report.h"

namespace lockkeeper::bench {

Inside::Inside(const std::string& folder) : before_(std::filesystem::current_path()) {
  std::filesystem::current_path(folder);
  ::setenv("XDG_STATE_HOME", state_folder_for(folder).c_str(), 1);
  ::setenv("XDG_CONFIG_HOME", state_folder_for(folder).c_str(), 1);
  for (const char* name : {"LOCKKEEPER_REALM", "LOCKKEEPER_LEASE", "LOCKKEEPER_FENCE",
                           "LOCKKEEPER_AGENT", "LOCKKEEPER_SESSION", "LOCKKEEPER_TEST_FAULT"}) {
    ::unsetenv(name);
  }
}

Inside::~Inside() {
  std::filesystem::current_path(before_);
}

bool has_program(const Setup& setup, Answer& answer) {
  if (std::filesystem::exists(setup.lockkeeper)) return true;
  answer.skipped.push_back("lockkeeper: the program is not built beside the benchmark");
  return false;
}

void run_well(const Words& argv) {
  LOCKKEEPER_ASSERT(run_quietly(argv) == 0);
}

}  // namespace lockkeeper::bench
