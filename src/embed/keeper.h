// Keeps an owner's leases: one thread renews them and looks whether they are still there, another
// one watches the clock and tells of losses. Two, because the first may be stuck in the store just
// when a loss must be told in time (I7).
//
//   renewing   each third of a lease's length; again soon if that failed; looks every second
//   watching   never touches the store; marks as lost what was silent for two thirds of its length,
//              then, for each loss: stop is requested, then on_lost is called
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

#include "embed/entry.h"
#include "service/locks.h"

namespace lockkeeper::embed {

class Keeper {
 public:
  // `locks` must outlive it.
  explicit Keeper(service::Locks& locks) : locks_(locks) {}
  // Ends the threads. REQUIRES: no share is left. May run in the watching thread, as the end of the
  // last on_lost.
  ~Keeper();
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  // Starts the threads, once; failed if the system has none left. `life` is held while on_lost
  // runs, so that a callback that lets go of everything does not pull the floor away.
  Result<void> start(std::weak_ptr<void> life);

  // Keeps the lease of that grant, and adds `share` to it: an entry that is kept already, or a new
  // one. Null: it was only renewed, and nobody here is known to keep it: see borrow().
  std::shared_ptr<Entry> keep(const service::AcquireResult& granted,
                              const std::shared_ptr<Share>& share);
  // As keep(), for a lease that was taken elsewhere in this owner's name: not ours to release,
  // unless it turns out to be. Waits until no release of it is on its way; so it may have ended
  // since, but from now on nobody here ends it: ask the store.
  std::shared_ptr<Entry> borrow(const service::AcquireResult& renewed,
                                const std::shared_ptr<Share>& share);

  // Takes the share out, waiting for its on_lost if that runs in another thread. The last one
  // releases the lease: ok, lost, or why not. If that fails, `again` has it tried in the
  // background.
  Result<void> drop(const std::shared_ptr<Entry>& entry, const std::shared_ptr<Share>& share,
                    bool again);

  // Lost, known or by the clock as of now?
  bool lost(const std::shared_ptr<Entry>& entry);
  std::optional<Error> loss(const std::shared_ptr<Entry>& entry);
  void lose(const std::shared_ptr<Entry>& entry, std::string why);

 private:
  struct Pending {
    core::LeaseId id;
    std::int64_t until_ms;
  };
  using Entries = std::vector<std::shared_ptr<Entry>>;
  using Lock = std::unique_lock<std::mutex>;

  std::shared_ptr<Entry> join(const core::Lease& lease, const std::shared_ptr<Share>& share);
  std::shared_ptr<Entry> add(const core::Lease& lease, const std::shared_ptr<Share>& share);
  void acknowledge(Entry& entry, const core::Lease& lease);
  Result<void> release(const core::LeaseId& id);
  void lose_locked(Entry& entry, std::string why);
  std::int64_t now_ms() const { return locks_.site().runtime().clock->now().mono_ms; }
  bool on_watching_thread() const { return watching_.get_id() == std::this_thread::get_id(); }
  void sleep_until(Lock& lock, std::int64_t until_ms);

  void renew_loop();
  Entries held() const;
  void renew(const Entries& due);
  Result<void> renew_at_once(const Entries& due);
  void renew_failed(Entry& entry, const Error& error);
  void look(const Entries& all);
  void release_pending();

  void watch_loop();
  void mark_silent(Entry& entry);
  bool announce(Lock& lock, const Entries& lost);
  void call_shares(Entry& entry);

  service::Locks& locks_;

  std::mutex mutex_;
  std::condition_variable changed_;
  // State below is protected by mutex_.
  bool stopping_ = false;
  std::weak_ptr<void> life_;
  std::map<core::LeaseId, std::shared_ptr<Entry>> entries_;
  std::vector<core::LeaseId> releasing_;
  std::vector<Pending> pending_;
  std::int64_t next_look_ms_ = 0;

  std::thread renewing_;
  std::thread watching_;
};

}  // namespace lockkeeper::embed
