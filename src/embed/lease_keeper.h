// Keeps an owner's leases: one thread renews them and checks that they still exist, another one
// watches the clock and reports losses. There are two because the first may be stuck in the store
// just when a loss must be reported (I7).
//
//   renewing   after each third of a lease's ttl, and soon again if that failed; checks each second
//   watching   never touches the store; marks as lost what was not renewed for two thirds of its
//              ttl; then, for each loss, requests the stop and calls on_lost
//
// Thread safety: all methods may be called from any thread, from on_lost too.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "embed/kept_lease.h"
#include "service/locks.h"

namespace lockkeeper::embed {

class LeaseKeeper {
 public:
  // Both must outlive it.
  LeaseKeeper(const service::Locks& locks, const Clock& clock) : locks_(locks), clock_(clock) {}
  // Ends the threads. REQUIRES: no share is left. May run in the watching thread, at the end of the
  // last on_lost.
  ~LeaseKeeper();
  LeaseKeeper(const LeaseKeeper&) = delete;
  LeaseKeeper& operator=(const LeaseKeeper&) = delete;

  // Starts the threads, once; failed if the system has none left. `life` is held while on_lost
  // runs, so that a callback may destroy the realm and all leases. `hold` is what keeps the leases.
  Result<void> start(std::weak_ptr<void> life, const core::Attachment& hold);

  // How often a borrowed lease was given back; read it before the request that keep() is about.
  std::uint64_t borrowed_back();
  // Adds `share` to the entry of the granted lease; makes one if there is none. Null: the lease was
  // only renewed, and no entry here is known to keep it; or another thread may have borrowed it and
  // given it back since. See borrow().
  std::shared_ptr<KeptLease> keep(const service::AcquireResult& granted,
                                  const std::shared_ptr<Share>& share, std::uint64_t back_before);
  // As keep(), for a lease that was there already: taken elsewhere in this owner's name, or by
  // another thread here. Waits for a release of it that is in progress. So the lease may have
  // ended, but from now on no thread here gives it back: ask the store.
  std::shared_ptr<KeptLease> borrow(const service::AcquireResult& renewed,
                                    const std::shared_ptr<Share>& share);

  // Removes the share, and waits for its on_lost if that runs in another thread. The last share
  // gives the lease back: it ends, unless other processes of the owner keep it. `again`: if that
  // fails, it is tried again in the background.
  Result<void> drop(const std::shared_ptr<KeptLease>& entry, const std::shared_ptr<Share>& share,
                    bool again);

  // These leases were renewed by a call of the owner's.
  void renewed(const std::vector<core::Lease>& leases);

  // The clock was moved: returns when both threads have done what is due now.
  void clock_moved();

  // Is it known to be lost, or lost by the clock as of now?
  bool lost(const std::shared_ptr<KeptLease>& entry);
  std::optional<Error> loss(const std::shared_ptr<KeptLease>& entry);
  void lose(const std::shared_ptr<KeptLease>& entry, std::string why);

 private:
  struct Pending {
    core::LeaseId id;
    std::int64_t until_ms;
  };
  using KeptLeases = std::vector<std::shared_ptr<KeptLease>>;
  using Lock = std::unique_lock<std::mutex>;

  std::shared_ptr<KeptLease> join(const core::Lease& lease, const std::shared_ptr<Share>& share);
  std::shared_ptr<KeptLease> add(const core::Lease& lease, const std::shared_ptr<Share>& share);
  void acknowledge(KeptLease& entry, const core::Lease& lease);
  Result<void> release(const core::LeaseId& id);
  void lose_locked(KeptLease& entry, std::string why);
  std::int64_t now_ms() const { return clock_.now().mono_ms; }
  bool on_watching_thread() const { return watching_.get_id() == std::this_thread::get_id(); }
  void sleep_until(Lock& lock, std::int64_t until_ms, std::int64_t& rested_ms);

  void renew_loop();
  KeptLeases held();
  void renew(const KeptLeases& due);
  Result<void> renew_at_once(const KeptLeases& due);
  void renew_failed(KeptLease& entry, const Error& error);
  void look(const KeptLeases& all);
  void release_pending();

  void watch_loop();
  void mark_silent(KeptLease& entry);
  bool announce(Lock& lock, const KeptLeases& lost);
  void call_shares(KeptLease& entry);

  const service::Locks& locks_;  // to be copied: several threads ask
  const Clock& clock_;

  std::mutex mutex_;
  std::condition_variable changed_;
  // State below is protected by mutex_.
  bool stopping_ = false;
  std::weak_ptr<void> life_;
  core::Attachment hold_;
  std::uint64_t borrowed_back_ = 0;
  std::map<core::LeaseId, std::shared_ptr<KeptLease>> entries_;
  std::vector<core::LeaseId> releasing_;
  std::vector<Pending> pending_;
  std::int64_t next_look_ms_ = 0;
  // When each thread last went to sleep with nothing left to do; 0: it has something to do.
  std::int64_t renewing_rested_ms_ = 0;
  std::int64_t watching_rested_ms_ = 0;
  std::condition_variable rested_;

  std::thread renewing_;
  std::thread watching_;
};

}  // namespace lockkeeper::embed
