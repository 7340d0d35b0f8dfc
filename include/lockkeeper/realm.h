// The locks of one repository or folder, in one owner's name.
//
//   auto realm = lockkeeper::Realm::open({.agent = "indexer"});
//   if (!realm) return complain(realm.error());
//   auto lease = realm->acquire({"src/auth/", "db:migration-slot"}, {.wait = 10min});
//
// An owner is one party: it never stands in its own way. Two realms that name no session are two
// owners and exclude each other, also in one process; so give each worker that is to be kept from
// the others a realm of its own. Deadlocks between owners are found and refused.
//
// Thread safety: all methods may be called from any thread. Two threads, renewing and watching, are
// started with the first grant and joined with the last lease; they take none of the process's
// signals.
//
// Fork: a forked child opens realms of its own; those it inherited answer kLost. They may be
// destroyed there.
//
// What it does to the process: the first use of a store installs a handler for SIGBUS and SIGSEGV,
// which hands back what is not the store's (a damaged file is an error, not a crash), and one that
// does nothing for the first realtime signal from SIGRTMIN + 3 on that has none. Nothing is written
// to stdout or stderr, unless a promise is broken inside: then it says so and aborts.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lockkeeper/acquire.h"
#include "lockkeeper/answer.h"

namespace lockkeeper {

namespace embed {
class Owner;
}

// An empty value asks the environment, as the command line does (docs/reference/config.md).
struct RealmOptions {
  // Any folder of the repository; else LOCKKEEPER_REALM, else the current folder.
  std::string path = {};
  // "lmdb:" is the realm's own store, "lmdb:/folder" one elsewhere; else LOCKKEEPER_STORE, else the
  // realm's own.
  std::string store = {};
  // Who asks; else LOCKKEEPER_AGENT, the coding agent that started this process, $USER.
  std::string agent = {};
  // Tells two runs of one agent apart; else LOCKKEEPER_SESSION, that coding agent's session, or a
  // new one.
  std::string session = {};
};

class Realm {
 public:
  // Finds the realm, its settings (durability and default length among them) and who asks. Creates
  // nothing: a store is made with the first acquire. Under `lockkeeper run`, whose lock this
  // process works in, that lock does not stand in its way.
  static Answer<Realm> open(const RealmOptions& options = {});

  Realm(Realm&&) noexcept;
  Realm& operator=(Realm&&) noexcept;
  Realm(const Realm&) = delete;
  Realm& operator=(const Realm&) = delete;
  // Ends the waits that are in progress in other threads (kCancelled) and lets those calls return
  // first. Leases live on.
  ~Realm();

  // Takes all of the resources or none (I2): paths and patterns from the realm's root (or absolute
  // in it), logical keys. A folder ends in '/'. Never throws.
  // Asking for exactly what a lease of this owner covers gives that lease again, renewed: it is
  // released when the last Lease object of it is gone. If it was taken elsewhere in this owner's
  // name (`lockkeeper acquire`), it is renewed meanwhile and not released.
  Acquired acquire(const std::vector<std::string>& resources,
                   const AcquireOptions& options = {}) const;

  const std::string& root() const;     // absolute
  const std::string& store() const;    // the store's folder
  const std::string& agent() const;    // who asks
  const std::string& session() const;  // empty: none

 private:
  explicit Realm(std::shared_ptr<embed::Owner> owner);
  void close() noexcept;
  std::shared_ptr<embed::Owner> owner_;  // null after a move
};

}  // namespace lockkeeper
