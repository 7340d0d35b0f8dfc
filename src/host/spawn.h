// Starts other programs.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "host/signals.h"

namespace lockkeeper::host {

inline constexpr int kInherited = -1;  // of a descriptor: as ours
inline constexpr int kNothing = -2;    // /dev/null

struct Program {
  std::vector<std::string> argv;  // REQUIRES: not empty. The first is looked for in PATH
  std::string folder;             // where it runs; empty: here

  // NAME=VALUE, all of it; nullopt: ours, with `variables` over it.
  std::optional<std::vector<std::string>> environment;
  std::map<std::string, std::string> variables;

  int in = kInherited;
  int out = kInherited;
  int err = kInherited;
  int third = -1;  // becomes its descriptor 3

  enum class Group {
    kOurs,
    kOwn,      // a process group: Ctrl-C at the terminal is not for it
    kSession,  // a session: it has no terminal at all
  };
  Group group = Group::kOurs;

  // The signal that it gets when this process ends; 0: none.
  int dies_with_us = 0;
  // Signals as they were before `held`; null: all as a fresh program has them.
  const HeldSignals* held = nullptr;
};

struct Started {
  pid_t pid = -1;
  int exec_errno = 0;  // not 0: why it could not become the program; it is reaped
};

// failed if there can be no new process. REQUIRES: nobody else reaps our children.
Result<Started> start(const Program& program);
// The same; failed also if it could not become the program.
Result<pid_t> start_program(const Program& program);

// An exit status as the shell has it: 128 + the signal for one that was killed.
int shell_status(int wait_status);
// Waits for its end; nullopt: somebody else has reaped it.
std::optional<int> wait_for(pid_t pid);

}  // namespace lockkeeper::host
