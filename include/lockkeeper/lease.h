// What is held: a grant that renews itself, tells when it is lost, and gives itself back.
//
//   auto lease = realm->acquire({"src/auth/"}, {.reason = "JWT refresh"});
//   if (lease) {
//     if (auto current = lease->check()) write_with(lease->fence());
//   }                                           // released here
//
// A thread of its realm renews it each third of its length. If two thirds of the length pass
// without a renewal that the store has acknowledged (the process was stopped, the store is full,
// damaged or gone), it counts as lost, before anybody else can have it (I7). If another breaks it,
// that is seen within a second. Lost is for ever, also where the store comes back.
//
// A lock is advisory: what makes a late write harmless is the fence, if whoever is written to
// refuses a fence older than the newest it has seen (I4).
//
// Thread safety: all const methods may be called from any thread at any time; moving, release() and
// the destructor as for any object by one thread at a time. None of them throws.
//
// Fork: in a forked child every lease of the parent is lost and nothing is released; the parent's
// is untouched. Process end: whatever ends the process, its leases are free within a moment; a
// lease that is destroyed before frees them in order.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "lockkeeper/answer.h"

namespace lockkeeper {

namespace embed {
class Handle;
class Owner;
}  // namespace embed

class Lease {
 public:
  // What was held here before is released as by ~Lease(). What was moved from may only be destroyed
  // or assigned to.
  Lease(Lease&& other) noexcept;
  Lease& operator=(Lease&& other) noexcept;
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  // Releases, if release() has not. Blocks for one transaction, at most about two seconds where the
  // store is stuck; what cannot be released then is tried again by the realm's thread, and ends by
  // its length or with the process at the latest. Waits for an on_lost of this lease that is
  // running in another thread, and none begins afterwards.
  ~Lease();

  // 32 hexadecimal digits, as `lockkeeper list` shows them.
  const std::string& id() const;
  // Greater than that of every grant before it in this realm (I3).
  std::uint64_t fence() const;
  // In canonical form, from the realm's root.
  const std::vector<std::string>& resources() const;
  // What it is renewed to; nullopt: it never ends by time.
  std::optional<std::chrono::milliseconds> length() const;
  // Things to mend in how it was asked for; usually empty.
  const std::vector<std::string>& warnings() const;

  // Is it lost? Costs a look at the clock, and is right at once after the process was stopped:
  // false means that less than two thirds of its length have passed since the last acknowledged
  // renewal and that nobody is known to have ended it. False after release().
  bool lost() const noexcept;
  // Why it was lost; nullopt: it was not. The code is kLost, the message names the cause.
  std::optional<Error> loss() const;
  // Stop is requested when it is lost, by the realm's watching thread, before on_lost is called.
  // Not by release().
  std::stop_token lost_token() const;

  // Is it current at a moment inside this call, as the store has it (I4)? Ask right before what the
  // lock guards. kLost: no, stop. Any other error: it cannot be told, hence do not go on.
  Answer<void> check() const;
  bool is_current() const { return static_cast<bool>(check()); }

  // Gives it back now and says what came of it. kLost: it had ended before, by whatever cause.
  // Another error: it was not released, and no longer renewed; call again, or let it go. After
  // success nothing is held; calling again is harmless and kNotFound.
  Answer<void> release();

 private:
  friend class embed::Owner;
  explicit Lease(std::shared_ptr<embed::Handle> handle);
  std::shared_ptr<embed::Handle> handle_;  // null after a move
};

}  // namespace lockkeeper
