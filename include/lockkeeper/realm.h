// The locks of one repository or folder, as one owner sees and takes them.
//
//   auto realm = lockkeeper::Realm::open({.agent = "indexer"});
//   if (!realm) return complain(realm.error());
//   auto lease = realm->acquire({"src/auth/", "db:migration-slot"}, {.wait = 10min});
//
// An owner never conflicts with itself. Two realms that name no session are two owners and exclude
// each other, even within one process. So give each worker that must be kept from the others a
// realm of its own. Deadlocks between owners are found and refused.
//
// Thread safety: all methods may be called from any thread. The first grant starts two threads, one
// that renews leases and one that watches them; they end with the last lease. They take none of the
// process's signals.
//
// Fork: a forked child opens realms of its own. The realms it inherited answer kLost, and may be
// destroyed.
//
// Signals: the first use of a store installs two handlers. One is for SIGBUS and SIGSEGV: it turns
// a damaged or truncated store file into an error instead of a crash, and passes on every fault
// that is not the store's; see disable_fault_handler(). The other does nothing; it is for the first
// realtime signal from SIGRTMIN + 3 on that has no handler yet.
//
// Output: nothing is written to stdout or stderr. Only if the library finds an error in itself, it
// says so on stderr and aborts.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lockkeeper/acquire.h"
#include "lockkeeper/answer.h"
#include "lockkeeper/query.h"

namespace lockkeeper {

namespace embed {
class Owner;
}

// An empty value is taken from the environment, as on the command line.
struct RealmOptions {
  // Any folder of the repository. Default: LOCKKEEPER_REALM, or the current folder. Where `run` has
  // set the variable, the current folder goes first if it lies in a realm.
  std::string path = {};
  // "lmdb:" is the realm's own store, "lmdb:/folder" one elsewhere. Default: LOCKKEEPER_STORE, or
  // the realm's own.
  std::string store = {};
  // The owner's name. Default: LOCKKEEPER_AGENT, the coding agent that started this process, or
  // $USER.
  std::string agent = {};
  // Tells two runs of one agent apart. Default: LOCKKEEPER_SESSION, that coding agent's session, or
  // a new one.
  std::string session = {};
};

class Realm {
 public:
  // Finds the realm, its settings (such as durability and the default ttl) and the owner's name.
  // Creates nothing: the first acquire() creates the store. In a command that `lockkeeper run` has
  // started, the lock of that `run` is not in its way.
  static Answer<Realm> open(const RealmOptions& options = {});

  Realm(Realm&&) noexcept;
  Realm& operator=(Realm&&) noexcept;
  Realm(const Realm&) = delete;
  Realm& operator=(const Realm&) = delete;
  // Ends the waits of other threads (kCancelled) and lets those calls return first. Leases stay
  // held.
  ~Realm();

  // Takes all of the resources or none of them. A resource is a path or pattern relative to the
  // realm's root, an absolute path below the root, or a logical key. A folder ends in '/'. Never
  // throws.
  // If this owner already holds a lease on exactly these resources, the answer is that lease,
  // renewed. It is released with its last Lease object. If it was taken elsewhere in this owner's
  // name (`lockkeeper acquire`), it is renewed while a Lease object exists and not released.
  Acquired acquire(const std::vector<std::string>& resources,
                   const AcquireOptions& options = {}) const;

  // May this owner take these, and does it hold them? Changes nothing.
  Answer<CheckResult> check(const std::vector<std::string>& resources,
                            const CheckOptions& options = {}) const;

  // What every owner holds and waits for. Changes nothing. A long list is read in several parts,
  // and others may change the table in between.
  Answer<Listing> list(const ListOptions& options = {}) const;

  // Renews this owner's leases on these resources, and those that the options name. Gives what was
  // renewed. Leases held as Lease objects renew themselves; this is for leases that were taken
  // elsewhere, and for a longer ttl. kUsage: nothing was named. kNotFound: no such lease. kLost: it
  // has ended. kNotOwner: another owner holds it. After an error, nothing was renewed.
  Answer<std::vector<LeaseInfo>> renew(const std::vector<std::string>& resources,
                                       const RenewOptions& options = {}) const;

  // Ends a lease of any owner. The reason goes on record and is shown to its holder. Gives the
  // lease as it was. kUsage: the reason is empty. kNotFound: no such lease. kOperationNotPermitted:
  // it is another tool's lock.
  Answer<LeaseInfo> break_lease(const std::string& lease_id, const std::string& reason) const;

  const std::string& root() const;     // absolute
  const std::string& store() const;    // the store's folder
  const std::string& agent() const;    // the owner's name
  const std::string& session() const;  // empty: none

 private:
  friend class MemoryRealm;
  explicit Realm(std::shared_ptr<embed::Owner> owner);
  void close() noexcept;
  std::shared_ptr<embed::Owner> owner_;  // null after a move
};

// Keeps the library from handling SIGBUS and SIGSEGV, for programs that must handle every fault
// themselves. Then a store file that is damaged or truncated while the library reads it ends the
// process; every other check of the store stays. Call it before the first use of a store. False:
// the handler is installed already, and stays.
bool disable_fault_handler();

}  // namespace lockkeeper
