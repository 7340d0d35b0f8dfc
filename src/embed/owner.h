// A realm in one owner's name: what a Realm and its Leases share. It lives until the last of them
// is gone, and its slot with it, by which others see it alive.
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
#include "embed/keeper.h"
#include "realm/identity.h"
#include "service/locks.h"

namespace lockkeeper::embed {

class Owner : public std::enable_shared_from_this<Owner> {
 public:
  // The pieces that opening needs, and that stay.
  struct Machine {
    SystemClock clock;
    SystemRandom random;
    service::Runtime runtime;
  };
  static std::unique_ptr<Machine> make_machine();

  static Result<std::shared_ptr<Owner>> open(const RealmOptions& options);
  ~Owner();
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;

  Acquired acquire(const std::vector<std::string>& resources, const AcquireOptions& options);

  // Ends the waits in progress and lets those calls return.
  void close();

  // Whether this is a child of the process that opened it: nothing here is its own then.
  bool in_child() const;

  const realm::Realm& realm() const { return site_.realm(); }
  const core::Owner& who() const { return locks_.owner(); }
  service::Locks& locks() { return locks_; }
  Keeper& keeper() { return keeper_; }

 private:
  struct Opened {
    realm::Realm realm;
    realm::Settings settings;
    realm::Identity who;
    service::ParentLease under;
  };
  class Call;

  static Result<Opened> find(Machine& machine, const RealmOptions& options);
  Owner(std::unique_ptr<Machine> machine, Opened opened);

  Result<std::uint64_t> slot();
  Result<std::shared_ptr<Entry>> ask(const service::AcquireCommand& command,
                                     service::AcquireResult& result,
                                     const std::shared_ptr<Share>& share);

  const std::unique_ptr<Machine> machine_;
  const int pid_;
  service::Site site_;
  service::Locks locks_;

  std::mutex mutex_;
  std::condition_variable returned_;
  // State below is protected by mutex_.
  std::uint64_t slot_ = 0;  // 0: not taken yet
  std::list<std::stop_source> calls_;

  Keeper keeper_;  // last: its threads use the rest
};

// One Lease object's hold on a lease.
class Handle {
 public:
  Handle(std::shared_ptr<Owner> owner, std::shared_ptr<Entry> entry, std::shared_ptr<Share> share,
         std::vector<std::string> warnings)
      : owner_(std::move(owner)),
        entry_(std::move(entry)),
        share_(std::move(share)),
        warnings_(std::move(warnings)) {}

  const Entry& entry() const { return *entry_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

  bool lost() const;
  std::optional<Error> loss() const;
  Result<void> check() const;
  Result<void> release();

  // The end of a Lease object, in whatever process.
  static void let_go(std::shared_ptr<Handle> handle) noexcept;

 private:
  const std::shared_ptr<Owner> owner_;
  const std::shared_ptr<Entry> entry_;
  const std::shared_ptr<Share> share_;
  const std::vector<std::string> warnings_;
  std::atomic<bool> released_ = false;
};

// Keeps what a forked child must not take apart: its parent's threads and descriptors are not
// there.
void abandon(std::shared_ptr<void> what) noexcept;

}  // namespace lockkeeper::embed
