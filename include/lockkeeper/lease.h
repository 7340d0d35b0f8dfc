// A lock that you hold. It renews itself, tells you when it is lost, and is released with its
// scope.
//
//   auto lease = realm->acquire({"src/auth/"}, {.reason = "JWT refresh"});
//   if (lease) {
//     if (auto current = lease->check()) write_with(lease->fence());
//   }                                           // released here
//
// A thread of the realm renews the lease whenever a third of its ttl has passed. If two thirds of
// the ttl pass without a renewal that the store has acknowledged (the process was stopped; the
// store is full, damaged or gone), the lease counts as lost. At that moment nobody else can have
// the lock yet. If somebody breaks the lease, that is noticed within a second. A lost lease stays
// lost, even if the store comes back.
//
// Locks are advisory. Only the fence makes a late write harmless: whatever you write to must refuse
// a fence that is older than the newest it has seen.
//
// Thread safety: const methods may be called from any thread at any time. Only one thread at a time
// may move a lease, release it or destroy it. Nothing here throws.
//
// Fork: in a forked child every lease of the parent is lost. The child releases nothing, and the
// parent still holds its leases. Process end: however the process ends, its leases are free within
// a moment.
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
  // Assignment releases the lease that was here before, as ~Lease() does. A moved-from lease may
  // only be destroyed or assigned to.
  Lease(Lease&& other) noexcept;
  Lease& operator=(Lease&& other) noexcept;
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  // Releases the lease unless release() has. Takes one transaction, or about two seconds if the
  // store is stuck. If it cannot release the lease then, the realm's thread tries again; at the
  // latest the lease ends with its ttl or with the process. If on_lost of this lease is running in
  // another thread, the destructor waits for it. It does not start later.
  ~Lease();

  // 32 hexadecimal digits, as `lockkeeper list` shows them.
  const std::string& id() const;
  // Greater than the fence of every earlier grant in this realm.
  std::uint64_t fence() const;
  // In canonical form, relative to the realm's root.
  const std::vector<std::string>& resources() const;
  // How long it lasts after each renewal; nullopt: it never ends by time.
  std::optional<std::chrono::milliseconds> ttl() const;

  // Has it been lost? This only looks at the clock, and is right at once even after the process was
  // stopped. False means that less than two thirds of the ttl have passed since the last
  // acknowledged renewal, and that the lease is not known to have ended. False after release().
  bool lost() const noexcept;
  // Why it was lost; nullopt: it was not. The code is kLost, and the message names the cause.
  std::optional<Error> loss() const;
  // The realm's watching thread requests a stop when the lease is lost, before it calls on_lost.
  // release() does not request it.
  std::stop_token lost_token() const;

  // Asks the store whether the lease is current at some moment during this call. Call it right
  // before you change what the lock guards. kLost: it is not, so stop. Any other error: nobody can
  // tell, so do not go on.
  Answer<void> check() const;
  bool is_current() const { return static_cast<bool>(check()); }

  // Releases it now and reports the result. kLost: it had ended before, for whatever reason. Any
  // other error: it is neither released nor renewed anymore; call again, or destroy it. After
  // success nothing is held, and another call does nothing and gives kNotFound.
  Answer<void> release();

 private:
  friend class embed::Owner;
  explicit Lease(std::shared_ptr<embed::Handle> handle);
  std::shared_ptr<embed::Handle> handle_;  // null after a move
};

}  // namespace lockkeeper
