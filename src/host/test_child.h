// For tests only: a child process that runs a function and talks to its parent through two pipes.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <functional>

#include "base/assert.h"
#include "base/fd.h"

namespace lockkeeper::host {

// The child's end: tell() gives the parent a number, await() blocks until the parent says go().
class ChildEnd {
 public:
  ChildEnd(int in, int out) : in_(in), out_(out) {}
  void tell(std::uint64_t value) const {
    LOCKKEEPER_ASSERT(::write(out_, &value, sizeof value) == sizeof value);
  }
  void await() const {
    char byte = 0;
    if (::read(in_, &byte, 1) != 1) ::_exit(99);  // the parent is gone
  }

 private:
  int in_;
  int out_;
};

class TestChild {
 public:
  // Forks; the child ends with the function's result as its exit status.
  explicit TestChild(const std::function<int(const ChildEnd&)>& body) {
    std::array<int, 2> down{};
    std::array<int, 2> up{};
    LOCKKEEPER_ASSERT(::pipe2(down.data(), O_CLOEXEC) == 0);
    LOCKKEEPER_ASSERT(::pipe2(up.data(), O_CLOEXEC) == 0);
    pid_ = ::fork();
    LOCKKEEPER_ASSERT(pid_ >= 0);
    if (pid_ == 0) {
      ::close(down[1]);
      ::close(up[0]);
      ::_exit(body(ChildEnd(down[0], up[1])));
    }
    ::close(down[0]);
    ::close(up[1]);
    to_child_ = Fd(down[1]);
    from_child_ = Fd(up[0]);
  }
  ~TestChild() {
    kill_only();
    reap();
  }
  TestChild(const TestChild&) = delete;
  TestChild& operator=(const TestChild&) = delete;

  int pid() const { return pid_; }

  // The next number the child tells; aborts if it ended without.
  std::uint64_t hear() const {
    std::uint64_t value = 0;
    LOCKKEEPER_ASSERT(::read(from_child_.get(), &value, sizeof value) == sizeof value);
    return value;
  }
  int from() const { return from_child_.get(); }
  void go() const { LOCKKEEPER_ASSERT(::write(to_child_.get(), "", 1) == 1); }

  // kill -9, and no wait: the child is a zombie afterwards.
  void kill_only() const {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
  }
  void kill() {
    kill_only();
    reap();
  }
  // Waits for the end; the exit status, or 128 + signal.
  int reap() {
    if (pid_ <= 0) return -1;
    int status = 0;
    LOCKKEEPER_ASSERT(::waitpid(pid_, &status, 0) == pid_);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  int pid_ = -1;
  Fd to_child_;
  Fd from_child_;
};

}  // namespace lockkeeper::host
