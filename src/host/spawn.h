// Starts other programs.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "host/signals.h"

namespace lockkeeper::host {

inline constexpr int kInherited = -1;  // the same descriptor as ours
inline constexpr int kNothing = -2;    // /dev/null

struct Program {
  std::vector<std::string> argv;  // REQUIRES: not empty. The first is searched in PATH
  std::string folder;             // where it runs; empty: here

  // The whole environment as NAME=VALUE; nullopt: ours, overridden by `variables`.
  std::optional<std::vector<std::string>> environment;
  std::map<std::string, std::string> variables;

  int in = kInherited;
  int out = kInherited;
  int err = kInherited;
  int third = -1;  // becomes its descriptor 3

  enum class Group {
    kOurs,
    kOwn,      // its own process group: Ctrl-C at the terminal does not reach it
    kSession,  // its own session: it has no terminal at all
  };
  Group group = Group::kOurs;

  // The signal that it gets when this process ends; 0: none.
  int dies_with_us = 0;
  // Its signals are as they were before `held`; null: the defaults.
  const HeldSignals* held = nullptr;
};

struct Started {
  pid_t pid = -1;
  int exec_errno = 0;  // not 0: why exec failed; the process is reaped
};

// failed: no process could be created. REQUIRES: nobody else reaps our children.
Result<Started> start(const Program& program);
// The same, but also failed if exec failed.
Result<pid_t> start_program(const Program& program);

// For a process that goes on by itself: closes every descriptor that it has inherited besides the
// three streams, and leaves its starter, which ends with the status that `ready` sends. REQUIRES:
// one thread. Returns in the new process alone. failed: no process could be made.
class Detached {
 public:
  static Result<Detached> leave();
  void ready(int status);

 private:
  explicit Detached(int fd) : fd_(fd) {}
  Fd fd_;
};

// The exit status as a shell reports it: 128 + the signal if it was killed.
int shell_status(int wait_status);
// Waits for its end; nullopt: somebody else has reaped it.
std::optional<int> wait_for(pid_t pid);

}  // namespace lockkeeper::host
