#include "bench/peak.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace lockkeeper::bench {
namespace {

double high_water_mib(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::atof(line.c_str() + 6) / 1024;
  }
  return 0;
}

}  // namespace

double peak_mib(const Words& argv) {
  const pid_t pid = fork_child([&] {
    std::vector<char*> pointers;
    for (const std::string& word : argv) pointers.push_back(const_cast<char*>(word.c_str()));
    pointers.push_back(nullptr);
    const int null = ::open("/dev/null", O_WRONLY);
    ::dup2(null, STDOUT_FILENO);
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0) {
      ::execvp(pointers[0], pointers.data());
    }
    ::_exit(127);
  });
  int status = 0;
  double peak = 0;
  while (::waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
    if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXIT << 8)) {
      peak = high_water_mib(pid);
    } else if (WSTOPSIG(status) == SIGTRAP) {
      ::ptrace(PTRACE_SETOPTIONS, pid, nullptr, PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL);
    }
    ::ptrace(PTRACE_CONT, pid, nullptr, nullptr);
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? peak : 0;
}

}  // namespace lockkeeper::bench
