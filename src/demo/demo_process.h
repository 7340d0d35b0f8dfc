// Commands that the demo starts: real processes of this program, with their output.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"

namespace lockkeeper::demo {

struct Finished {
  int exit_status = 0;  // as in the shell
  std::string output;   // stdout and stderr, in the order written
};

// One running command in its own process group. The destructor kills the group.
class DemoProcess {
 public:
  // `environment` is the complete environment as NAME=VALUE. failed if it cannot be started.
  static Result<DemoProcess> start(const std::vector<std::string>& argv, const std::string& folder,
                                   const std::vector<std::string>& environment);
  DemoProcess(DemoProcess&& other) noexcept;
  DemoProcess& operator=(DemoProcess&&) = delete;
  DemoProcess(const DemoProcess&) = delete;
  DemoProcess& operator=(const DemoProcess&) = delete;
  ~DemoProcess();

  // kill -9 for the command and everything it started.
  void kill();
  // Waits for its end and returns its output.
  Finished finish();

 private:
  DemoProcess(pid_t pid, Fd output) : pid_(pid), output_(std::move(output)) {}
  pid_t pid_;
  Fd output_;
};

}  // namespace lockkeeper::demo
