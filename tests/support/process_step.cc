// Process::step(): from system call to system call.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>

#include "support/process.h"

namespace lockkeeper::stage {
namespace {

// Null: it changes nothing outside the process. Not every call that could, but all that a program
// which keeps its state in files makes.
const char* changing(std::uint64_t number, const std::uint64_t* args) {
  switch (number) {
    case SYS_openat:
      return (args[2] & (O_CREAT | O_TRUNC)) != 0 ? "openat" : nullptr;
    case SYS_fcntl:
      return args[1] == F_OFD_SETLK || args[1] == F_OFD_SETLKW ? "fcntl lock" : nullptr;
    case SYS_mmap:
      return (args[3] & MAP_SHARED) != 0 ? "mmap" : nullptr;
    case SYS_write:
      return "write";
    case SYS_pwrite64:
      return "pwrite64";
    case SYS_writev:
      return "writev";
    case SYS_pwritev:
      return "pwritev";
    case SYS_ftruncate:
      return "ftruncate";
    case SYS_fallocate:
      return "fallocate";
    case SYS_fsync:
      return "fsync";
    case SYS_fdatasync:
      return "fdatasync";
    case SYS_msync:
      return "msync";
    case SYS_mkdirat:
      return "mkdirat";
    case SYS_unlinkat:
      return "unlinkat";
    case SYS_linkat:
      return "linkat";
    case SYS_renameat2:
      return "renameat2";
    case SYS_fchmod:
    case SYS_fchmodat:
      return "chmod";
    case SYS_fchown:
    case SYS_fchownat:
      return "chown";
    case SYS_flock:
      return "flock";
    case SYS_utimensat:
      return "utimensat";
#ifdef SYS_renameat
    case SYS_renameat:
      return "renameat";
#endif
#ifdef SYS_rename
    case SYS_rename:
      return "rename";
    case SYS_unlink:
      return "unlink";
    case SYS_mkdir:
      return "mkdir";
    case SYS_link:
      return "link";
    case SYS_rmdir:
      return "rmdir";
    case SYS_open:
      return (args[1] & (O_CREAT | O_TRUNC)) != 0 ? "open" : nullptr;
    case SYS_chmod:
      return "chmod";
    case SYS_chown:
      return "chown";
#endif
    default:
      return nullptr;
  }
}

}  // namespace

int Process::step(const std::function<bool(const SystemCall&)>& go_on) {
  SystemCall call;
  bool inside = false;  // of a call that counts
  bool first = true;
  for (;;) {
    int status = 0;
    pid_t got = 0;
    do {
      got = ::waitpid(pid_, &status, 0);
    } while (got < 0 && errno == EINTR);
    EXPECT_EQ(got, pid_) << "errno " << errno;
    if (got != pid_) return status_ = -1;
    if (!WIFSTOPPED(status)) {
      return status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    long deliver = 0;
    if (first) {
      first = false;  // stopped at exec
      ::ptrace(PTRACE_SETOPTIONS, pid_, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
    } else if (WSTOPSIG(status) != (SIGTRAP | 0x80)) {
      deliver = WSTOPSIG(status);
    } else {
      __ptrace_syscall_info info{};
      ::ptrace(static_cast<__ptrace_request>(PTRACE_GET_SYSCALL_INFO), pid_, sizeof info, &info);
      const bool entry = info.op == PTRACE_SYSCALL_INFO_ENTRY;
      const char* name =
          entry ? changing(info.entry.nr, reinterpret_cast<std::uint64_t*>(info.entry.args))
                : nullptr;
      if (name != nullptr) call = {call.number + 1, false, name};
      const bool told = name != nullptr || (!entry && inside);
      inside = name != nullptr;
      call.done = !entry;
      // It never enters the call: a fatal signal is looked at first.
      if (told && !go_on(call)) ::kill(pid_, SIGKILL);
    }
    ::ptrace(PTRACE_SYSCALL, pid_, 0, deliver);
  }
}

}  // namespace lockkeeper::stage
