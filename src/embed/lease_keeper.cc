#include "embed/lease_keeper.h"

#include <algorithm>
#include <chrono>

#include "embed/quiet_thread.h"
#include "service/questions.h"
#include "service/report.h"

namespace lockkeeper::embed {
namespace {

constexpr std::int64_t kLookEveryMs = 1'000;
constexpr std::int64_t kSleepMostMs = 3'600'000;
constexpr std::size_t kAtOnce = 100;  // leases per transaction, so that nobody waits long for us

const char* const kLostHint = "stop changing what it covered and ask for it again";

// The store has answered that the lease is gone, as opposed to not answering.
bool is_final(Code code) {
  return code == Code::kLost || code == Code::kNotFound || code == Code::kNotOwner;
}

template <class Container, class Value>
bool contains(const Container& container, const Value& value) {
  return std::ranges::find(container, value) != container.end();
}

}  // namespace

LeaseKeeper::~LeaseKeeper() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (renewing_.joinable()) renewing_.join();
  if (!watching_.joinable()) return;
  if (on_watching_thread()) {
    watching_.detach();  // it ends when it returns from the callback
  } else {
    watching_.join();
  }
}

Result<void> LeaseKeeper::start(std::weak_ptr<void> life, const core::Attachment& hold) {
  const std::lock_guard lock(mutex_);
  life_ = std::move(life);
  hold_ = hold;
  if (!renewing_.joinable()) renewing_ = quiet_thread([this] { renew_loop(); });
  if (!watching_.joinable()) watching_ = quiet_thread([this] { watch_loop(); });
  if (renewing_.joinable() && watching_.joinable()) return {};
  return fail(Code::kFailed, "no thread could be started to renew the lease",
              "raise the limit on threads (ulimit -u), or end some");
}

// --- entries and shares

std::uint64_t LeaseKeeper::borrowed_back() {
  const std::lock_guard lock(mutex_);
  return borrowed_back_;
}

std::shared_ptr<KeptLease> LeaseKeeper::keep(const service::AcquireResult& granted,
                                             const std::shared_ptr<Share>& share,
                                             std::uint64_t back_before) {
  const std::lock_guard lock(mutex_);
  const core::LeaseId& id = granted.lease.id;
  const bool renewed = granted.outcome == core::Outcome::kRenewed;
  // What another thread has borrowed may have ended since, so the caller must ask the store.
  const bool in_doubt = renewed || back_before != borrowed_back_;
  if (const auto found = entries_.find(id);
      in_doubt && found != entries_.end() && found->second->borrowed) {
    return nullptr;
  }
  if (auto entry = join(granted.lease, share)) {
    if (!renewed) entry->borrowed = false;
    return entry;
  }
  // A repeated request may be granted a lease that is about to be released.
  const bool going = contains(releasing_, id) ||
                     std::ranges::any_of(pending_, [&](const Pending& p) { return p.id == id; });
  if (in_doubt || going) return nullptr;
  return add(granted.lease, share);
}

// Adds the share to an entry that exists; null: there is none. A reported loss is final, so a later
// request gets an entry of its own.
std::shared_ptr<KeptLease> LeaseKeeper::join(const core::Lease& lease,
                                             const std::shared_ptr<Share>& share) {
  const auto found = entries_.find(lease.id);
  if (found == entries_.end() || found->second->announced) return nullptr;
  acknowledge(*found->second, lease);
  found->second->shares.push_back(share);
  return found->second;
}

std::shared_ptr<KeptLease> LeaseKeeper::borrow(const service::AcquireResult& renewed,
                                               const std::shared_ptr<Share>& share) {
  Lock lock(mutex_);
  changed_.wait(lock, [&] { return !contains(releasing_, renewed.lease.id); });
  // A lease that we failed to release is ours again.
  const auto was_ours = std::erase_if(
      pending_, [&](const Pending& pending) { return pending.id == renewed.lease.id; });
  if (auto entry = join(renewed.lease, share)) return entry;  // another thread was here first
  auto entry = add(renewed.lease, share);
  entry->borrowed = was_ours == 0;
  return entry;
}

std::shared_ptr<KeptLease> LeaseKeeper::add(const core::Lease& lease,
                                            const std::shared_ptr<Share>& share) {
  auto entry = std::make_shared<KeptLease>(lease);
  acknowledge(*entry, lease);
  entry->shares.push_back(share);
  entries_[lease.id] = entry;
  changed_.notify_all();
  return entry;
}

// The ttl counts from the store's commit, so that moment is taken from the deadline. (I7)
void LeaseKeeper::acknowledge(KeptLease& entry, const core::Lease& lease) {
  entry.ttl_ms = lease.terms.ttl_ms;
  entry.next_renewal_ms = INT64_MAX;
  entry.trouble.clear();
  if (lease.terms.ttl_ms == kNoEnd) return;
  const std::int64_t at = std::min(now_ms(), lease.deadline_mono_ms - lease.terms.ttl_ms);
  if (at > entry.acknowledged_ms.load()) entry.acknowledged_ms = at;
  entry.next_renewal_ms = entry.acknowledged_ms.load() + lease.terms.ttl_ms / 3;
}

void LeaseKeeper::renewed(const std::vector<core::Lease>& leases) {
  const std::lock_guard lock(mutex_);
  for (const core::Lease& lease : leases) {
    const auto found = entries_.find(lease.id);
    if (found != entries_.end()) acknowledge(*found->second, lease);
  }
  changed_.notify_all();
}

Result<void> LeaseKeeper::drop(const std::shared_ptr<KeptLease>& entry,
                               const std::shared_ptr<Share>& share, bool again) {
  Lock lock(mutex_);
  std::erase(entry->shares, share);
  if (!on_watching_thread()) changed_.wait(lock, [&] { return !share->calling; });
  if (!entry->shares.empty()) return {};
  const auto kept = entries_.find(entry->id);
  if (kept != entries_.end() && kept->second != entry) {
    return {};  // another share has it again, and will give it back
  }
  if (kept != entries_.end()) entries_.erase(kept);
  if (entry->borrowed) ++borrowed_back_;
  const std::int64_t ttl_ms = entry->ttl_ms.load();
  const std::int64_t until_ms =
      ttl_ms == kNoEnd ? INT64_MAX : entry->acknowledged_ms.load() + ttl_ms;
  if (on_watching_thread()) {
    // This thread reports losses, so it must not wait for the store.
    pending_.push_back({entry->id, until_ms});
    next_look_ms_ = renewing_rested_ms_ = 0;
    changed_.notify_all();
    return {};
  }
  releasing_.push_back(entry->id);
  lock.unlock();
  auto done = release(entry->id);
  lock.lock();
  releasing_.erase(std::ranges::find(releasing_, entry->id));
  if (again && !done && !is_final(done.error().code)) pending_.push_back({entry->id, until_ms});
  changed_.notify_all();
  if (!done && done.error().code == Code::kNotFound) done.error().code = Code::kLost;
  return done;
}

Result<void> LeaseKeeper::release(const core::LeaseId& id) {
  core::Attachment by;
  {
    const std::lock_guard lock(mutex_);
    by = hold_;
  }
  LK_CHECK(service::Locks(locks_).give_back(id, by));
  return {};
}

// --- loss

bool LeaseKeeper::lost(const std::shared_ptr<KeptLease>& entry) {
  if (entry->lost.load()) return true;
  if (now_ms() < entry->silent_at_ms()) return false;
  const std::lock_guard lock(mutex_);
  mark_silent(*entry);
  return entry->lost.load();
}

std::optional<Error> LeaseKeeper::loss(const std::shared_ptr<KeptLease>& entry) {
  if (!lost(entry)) return std::nullopt;
  const std::lock_guard lock(mutex_);
  return entry->loss;
}

void LeaseKeeper::lose(const std::shared_ptr<KeptLease>& entry, std::string why) {
  const std::lock_guard lock(mutex_);
  lose_locked(*entry, std::move(why));
}

void LeaseKeeper::lose_locked(KeptLease& entry, std::string why) {
  if (entry.lost.load()) return;
  entry.loss = {Code::kLost, std::move(why), kLostHint};
  entry.lost = true;
  watching_rested_ms_ = 0;
  changed_.notify_all();
}

void LeaseKeeper::mark_silent(KeptLease& entry) {
  if (now_ms() < entry.silent_at_ms()) {
    if (!locks_.site().is_out_of_contact()) return;
    return lose_locked(entry, "lease " + entry.id_text + ": the hub has not answered for " +
                                  format_duration(realm::kOutOfContactMs));
  }
  std::string why = "lease " + entry.id_text + " was not renewed for two thirds of its " +
                    format_duration(entry.ttl_ms.load());
  why += entry.trouble.empty() ? ": this process stood still" : ": " + entry.trouble;
  lose_locked(entry, std::move(why));
}

// --- time

void LeaseKeeper::sleep_until(Lock& lock, std::int64_t until_ms, std::int64_t& rested_ms) {
  const std::int64_t now = now_ms();
  if (now >= until_ms) return;
  rested_ms = now;
  rested_.notify_all();
  changed_.wait_for(lock, std::chrono::milliseconds(std::min(until_ms - now, kSleepMostMs)));
}

void LeaseKeeper::clock_moved() {
  Lock lock(mutex_);
  changed_.notify_all();
  const bool started = renewing_.joinable() && watching_.joinable();
  if (!started || on_watching_thread()) return;
  const std::int64_t now = now_ms();
  rested_.wait(lock, [&] { return renewing_rested_ms_ >= now && watching_rested_ms_ >= now; });
}

// --- the renewing thread

LeaseKeeper::KeptLeases LeaseKeeper::held() {
  KeptLeases all;
  for (const auto& [id, entry] : entries_) {
    if (!entry->lost.load()) mark_silent(*entry);
    if (!entry->lost.load()) all.push_back(entry);
  }
  return all;
}

void LeaseKeeper::renew_loop() {
  Lock lock(mutex_);
  while (!stopping_) {
    const std::int64_t now = now_ms();
    const KeptLeases all = held();
    KeptLeases due;
    std::int64_t next = all.empty() && pending_.empty() ? INT64_MAX : next_look_ms_;
    const bool look_now = now >= next;
    for (const auto& entry : all) {
      if (entry->next_renewal_ms <= now) {
        due.push_back(entry);
      } else {
        next = std::min(next, entry->next_renewal_ms);
      }
    }
    if (due.empty() && !look_now) {
      sleep_until(lock, next, renewing_rested_ms_);
      continue;
    }
    if (look_now) next_look_ms_ = now + kLookEveryMs;
    lock.unlock();
    for (std::size_t from = 0; from < due.size(); from += kAtOnce) {
      renew({due.begin() + static_cast<std::ptrdiff_t>(from),
             due.begin() + static_cast<std::ptrdiff_t>(std::min(due.size(), from + kAtOnce))});
    }
    if (look_now) {
      look(all);
      release_pending();
    }
    lock.lock();
  }
}

void LeaseKeeper::renew(const KeptLeases& due) {
  auto done = renew_at_once(due);
  if (done) return;
  if (due.size() > 1 && is_final(done.error().code)) {
    for (const auto& entry : due) renew({entry});  // at least one of them is gone
    return;
  }
  const std::lock_guard lock(mutex_);
  for (const auto& entry : due) renew_failed(*entry, done.error());
}

Result<void> LeaseKeeper::renew_at_once(const KeptLeases& due) {
  service::RenewCommand command;
  for (const auto& entry : due) command.lease_ids.push_back(entry->id_text);
  LK_ASSIGN(const std::vector<core::Lease> leases, service::Locks(locks_).renew(command));
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < leases.size(); ++i) acknowledge(*due[i], leases[i]);
  return {};
}

void LeaseKeeper::renew_failed(KeptLease& entry, const Error& error) {
  if (is_final(error.code)) return lose_locked(entry, error.message);
  constexpr std::int64_t kSoonestMs = 10;
  entry.trouble = error.message;
  entry.next_renewal_ms =
      now_ms() + std::clamp<std::int64_t>(entry.ttl_ms.load() / 9, kSoonestMs, kLookEveryMs);
}

// Notices a broken lease before its next renewal. If the store does not answer, the clock decides.
void LeaseKeeper::look(const KeptLeases& all) {
  for (std::size_t from = 0; from < all.size(); from += kAtOnce) {
    std::vector<std::pair<std::shared_ptr<KeptLease>, std::string>> gone;
    std::vector<service::LeaseAndFence> asked;
    const std::size_t end = std::min(all.size(), from + kAtOnce);
    for (std::size_t i = from; i < end; ++i) asked.push_back({all[i]->id, all[i]->fence});
    auto ended = service::how_they_ended(locks_.site(), asked);
    if (!ended) return;
    for (std::size_t i = 0; i < ended->size(); ++i) {
      if ((*ended)[i]) gone.emplace_back(all[from + i], std::move(*(*ended)[i]));
    }
    for (auto& [entry, why] : gone) lose(entry, std::move(why));
  }
}

void LeaseKeeper::release_pending() {
  std::vector<Pending> todo;
  {
    const std::lock_guard lock(mutex_);
    todo = std::exchange(pending_, {});
    for (const Pending& pending : todo) releasing_.push_back(pending.id);
  }
  for (const Pending& pending : todo) {
    const auto done = release(pending.id);
    const std::lock_guard lock(mutex_);
    releasing_.erase(std::ranges::find(releasing_, pending.id));
    changed_.notify_all();
    const bool over = done || is_final(done.error().code) || now_ms() > pending.until_ms;
    if (!over) pending_.push_back(pending);
  }
}

// --- the watching thread

void LeaseKeeper::watch_loop() {
  Lock lock(mutex_);
  while (!stopping_) {
    std::int64_t next = INT64_MAX;
    KeptLeases lost;
    for (const auto& [id, entry] : entries_) {
      if (!entry->lost.load()) mark_silent(*entry);
      if (!entry->lost.load()) {
        next = std::min(next, entry->silent_at_ms());
        if (locks_.site().server() != nullptr) next = std::min(next, now_ms() + kLookEveryMs);
      } else if (!entry->announced) {
        lost.push_back(entry);
      }
    }
    if (lost.empty()) {
      sleep_until(lock, next, watching_rested_ms_);
    } else if (!announce(lock, lost)) {
      return;
    }
  }
}

// False: a callback has destroyed the realm and all leases, and with them this object.
bool LeaseKeeper::announce(Lock& lock, const KeptLeases& lost) {
  for (const auto& entry : lost) entry->announced = true;
  const std::weak_ptr<void> life = life_;
  std::shared_ptr<void> hold = life.lock();
  if (!hold) return true;  // no Lease is left
  lock.unlock();
  for (const auto& entry : lost) entry->stop.request_stop();
  for (const auto& entry : lost) call_shares(*entry);
  hold.reset();
  if (life.expired()) return false;
  lock.lock();
  return true;
}

void LeaseKeeper::call_shares(KeptLease& entry) {
  // Destroyed after the lock is released: a callback may own the last reference to other leases.
  std::vector<std::shared_ptr<Share>> shares;
  Lock lock(mutex_);
  shares = entry.shares;
  const Error loss = entry.loss;
  for (const std::shared_ptr<Share>& share : shares) {
    // A share that was dropped meanwhile is not called.
    if (!share->on_lost || !contains(entry.shares, share)) continue;
    share->calling = true;
    lock.unlock();
    share->on_lost(loss);
    lock.lock();
    share->calling = false;
    changed_.notify_all();
  }
}

}  // namespace lockkeeper::embed
