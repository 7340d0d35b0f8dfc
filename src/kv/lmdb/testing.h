// For this room's tests: a clock that stands still, options for a fresh store, and children.
#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/test_folder.h"
#include "kv/lmdb/lmdb_store.h"

namespace lockkeeper::kv::testing {

class FixedClock final : public Clock {
 public:
  Now now() const override { return value; }
  Now value{.mono_ms = 5'000, .wall_ms = 1'700'000'000'000};
};

// While it lives, temporary folders are in memory, where a sync costs nothing. For tests that sync
// hundreds of times; those of the disk itself do without.
class InMemory {
 public:
  InMemory() {
    if (::access("/dev/shm", W_OK | X_OK) == 0) ::setenv("TMPDIR", "/dev/shm", 1);
  }
  ~InMemory() { ::unsetenv("TMPDIR"); }
  InMemory(const InMemory&) = delete;
  InMemory& operator=(const InMemory&) = delete;
};

// A folder with a store's options. `clock` and `folder` live as long as the fixture.
struct StoreFolder {
  TestFolder folder;
  FixedClock clock;

  LmdbOptions options(bool create = true) {
    LmdbOptions options;
    options.folder = folder.file("store");
    options.create = create;
    options.epoch_copy = folder.file("epoch-copy");
    options.boot_id = "boot-1";
    options.clock = &clock;
    return options;
  }
  std::string file(const std::string& name) const { return folder.file("store/" + name); }
};

// Fails the test with the error's words.
template <class T>
T must(Result<T> result) {
  if (!result) {
    ADD_FAILURE() << code_name(result.error().code) << ": " << result.error().message;
    std::fflush(stdout);
    std::abort();
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

inline std::unique_ptr<LmdbStore> open_store(const LmdbOptions& options) {
  return must(LmdbStore::open(options));
}

inline Version put_row(Store& store, const std::string& key, const std::string& value) {
  auto txn = must(store.begin(Access::kWrite));
  must(txn->put(key, value));
  return must(txn->commit()).version;
}

inline std::string get_row(Store& store, const std::string& key) {
  auto txn = must(store.begin(Access::kRead));
  const auto row = must(txn->get(key));
  return row ? std::string(row->value) : "(none)";
}

// Runs `body` in a forked child; its return value is the exit status. Never returns into the test.
inline pid_t spawn(const std::function<int()>& body) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);  // whatever goes wrong, nothing is left behind
    ::_exit(body());
  }
  return child;
}

// The exit status, or 1000 + the signal's number.
inline int join(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

inline void join_stopped(pid_t child) {
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
  ASSERT_TRUE(WIFSTOPPED(status));
}

// A one-way line between processes: one side says it, the other waits for it.
class Line {
 public:
  Line() { LOCKKEEPER_ASSERT(::pipe2(ends_, O_CLOEXEC) == 0); }
  ~Line() { ::close(ends_[0]), ::close(ends_[1]); }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  void say() { LOCKKEEPER_ASSERT(::write(ends_[1], "x", 1) == 1); }
  void hear() {
    char byte = 0;
    while (::read(ends_[0], &byte, 1) < 0 && errno == EINTR) {
    }
  }

 private:
  int ends_[2];
};

}  // namespace lockkeeper::kv::testing
