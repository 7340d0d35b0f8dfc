// A realm for the tests of programs that embed the library: the same lock table, in memory and
// under a clock that the test moves. It needs no files, no other processes and no sleeping.
//
//   lockkeeper::ManualClock clock;
//   lockkeeper::MemoryRealm memory(clock);
//   auto first = memory.open({.agent = "first"});
//   auto second = memory.open({.agent = "second"});
//   auto lease = first->acquire({"src/"}, {.ttl = 10min});
//   clock.advance(11min);                        // as if this process had been stopped for so long
//   EXPECT_TRUE(lease->lost());
//   EXPECT_TRUE(second->acquire({"src/a.cc"}));
//
// Resources are names. No disk is looked at, so there are no symlinks, and a folder is what ends in
// '/'. The root is "/". Settings are the defaults, and the environment is not read. Forks are as
// for any realm.
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <chrono>
#include <memory>

#include "lockkeeper/answer.h"
#include "lockkeeper/realm.h"

namespace lockkeeper {

namespace embed {
class ManualTime;
class MemoryTable;
}  // namespace embed

// Stands still until it is moved.
class ManualClock {
 public:
  ManualClock();  // at the beginning of 2026
  explicit ManualClock(std::chrono::system_clock::time_point start);
  ~ManualClock();
  ManualClock(const ManualClock&) = delete;
  ManualClock& operator=(const ManualClock&) = delete;

  std::chrono::system_clock::time_point now() const;

  // Moves the clock in one step, and wakes everything that waits for a time. When it returns,
  // leases that are due for it are renewed, and every on_lost that is due has returned. So do not
  // hold what an on_lost needs. Waits that end in other threads return soon after.
  //
  // A step of two thirds of a lease's ttl or more is what a process sees that was stopped for so
  // long: the lease is lost. To let time pass while leases renew themselves, take smaller steps.
  // REQUIRES: not negative.
  void advance(std::chrono::milliseconds by);

 private:
  friend class MemoryRealm;
  std::shared_ptr<embed::ManualTime> time_;
};

// One lock table. It lives until this object and everything opened from it are gone.
class MemoryRealm {
 public:
  // The clock may be destroyed first; then it stands still.
  explicit MemoryRealm(const ManualClock& clock);
  ~MemoryRealm();
  MemoryRealm(const MemoryRealm&) = delete;
  MemoryRealm& operator=(const MemoryRealm&) = delete;

  // An owner in this realm. `agent` defaults to "embedder" and `session` to a new one.
  // kInvalidInput: `path` or `store` is given, or a name is not allowed.
  Answer<Realm> open(const RealmOptions& options = {}) const;

 private:
  std::shared_ptr<embed::MemoryTable> table_;
};

}  // namespace lockkeeper
