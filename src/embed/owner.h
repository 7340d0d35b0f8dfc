// A realm as one owner uses it: what a Realm and its Leases share. It lives until the last of them
// is gone. Its live slot, by which other processes see that it is alive, ends with it.
//
// Thread safety: all methods may be called from any thread. In a forked child only in_child() may.
#pragma once

#include <lockkeeper/realm.h>

#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "embed/lease_keeper.h"
#include "embed/memory_table.h"
#include "realm/identity.h"
#include "service/locks.h"

namespace lockkeeper::embed {

class Handle;

class Owner : public std::enable_shared_from_this<Owner> {
 public:
  // What the lock table gets from the machine.
  struct Machine {
    SystemClock clock;
    SystemRandom random;
    service::Runtime runtime;
    std::shared_ptr<MemoryTable> memory;  // null: a realm with files
  };
  static std::unique_ptr<Machine> make_machine();

  static Result<std::shared_ptr<Owner>> open(const RealmOptions& options);
  static Result<std::shared_ptr<Owner>> open_in_memory(std::shared_ptr<MemoryTable> memory,
                                                       const RealmOptions& options);
  ~Owner();
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;

  // The answers are the service's own, for every language that the library has a door for.
  struct Taken {
    service::AcquireResult result;
    std::shared_ptr<Handle> handle;  // null: refused
  };
  Result<Taken> take(const std::vector<std::string>& resources, const AcquireOptions& options);
  Acquired acquire(const std::vector<std::string>& resources, const AcquireOptions& options);
  Result<core::CheckReply> check(const std::vector<std::string>& resources,
                                 const CheckOptions& options);
  Result<service::ListReply> list(const ListOptions& options);
  Result<std::vector<core::Lease>> renew(const std::vector<std::string>& resources,
                                         const RenewOptions& options);
  Result<core::Lease> break_lease(const std::string& lease_id, const std::string& reason);

  // Ends the waits in progress and lets those calls return.
  void close();

  // Is this a forked child of the process that opened it? Then nothing here is its own.
  bool in_child() const;

  const realm::Realm& realm() const { return site_.realm(); }
  const core::Owner& who() const { return locks_.owner(); }
  service::Locks locks() const { return locks_; }  // for one thread
  LeaseKeeper& keeper() { return keeper_; }
  std::int64_t now_wall_ms() const { return machine_->runtime.clock->now().wall_ms; }

 private:
  struct Opened {
    realm::Realm realm;
    realm::Settings settings;
    realm::Identity who;
    service::ParentLease under;
  };
  class Call;

  static Result<Opened> find(Machine& machine, const RealmOptions& options);
  static Result<Opened> find_in_memory(Machine& machine, const RealmOptions& options);
  Owner(std::unique_ptr<Machine> machine, Opened opened);

  Result<std::uint64_t> slot();
  Result<std::shared_ptr<KeptLease>> ask(const service::AcquireCommand& command,
                                         service::AcquireResult& result,
                                         const std::shared_ptr<Share>& share);

  const std::unique_ptr<Machine> machine_;
  const int pid_;
  service::Site site_;
  const service::Locks locks_;  // to be copied

  std::mutex mutex_;
  std::condition_variable returned_;
  // State below is protected by mutex_.
  std::uint64_t slot_ = 0;  // 0: not taken yet
  std::list<std::stop_source> calls_;

  LeaseKeeper keeper_;  // last: its threads use the rest
};

// What one Lease object has of a lease.
class Handle {
 public:
  Handle(std::shared_ptr<Owner> owner, std::shared_ptr<KeptLease> entry,
         std::shared_ptr<Share> share)
      : owner_(std::move(owner)), entry_(std::move(entry)), share_(std::move(share)) {}

  const KeptLease& entry() const { return *entry_; }

  bool lost() const;
  std::optional<Error> loss() const;
  Result<void> check() const;
  Result<void> release();

  // The end of a Lease object, in this process or in a forked child.
  static void let_go(std::shared_ptr<Handle> handle) noexcept;

 private:
  const std::shared_ptr<Owner> owner_;
  const std::shared_ptr<KeptLease> entry_;
  const std::shared_ptr<Share> share_;
  std::atomic<bool> released_ = false;
};

// Keeps what a forked child must not destroy, because the parent's threads and descriptors are not
// there.
void abandon(std::shared_ptr<void> what) noexcept;

}  // namespace lockkeeper::embed
