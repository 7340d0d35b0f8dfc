#include "embed/keeper.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <system_error>

#include "service/questions.h"
#include "service/report.h"

namespace lockkeeper::embed {
namespace {

constexpr std::int64_t kLookEveryMs = 1'000;
constexpr std::int64_t kSleepMostMs = 3'600'000;
constexpr std::size_t kAtOnce = 100;  // leases per transaction, so that nobody waits long for us

const char* const kLostHint = "stop changing what it covered and ask for it again";

// A thread that takes none of the process's signals, but for its own faults: the kernel kills a
// process whose thread faults with that signal blocked.
std::thread quiet_thread(const std::function<void()>& body) {
  sigset_t all, before;
  ::sigfillset(&all);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) {
    ::sigdelset(&all, fault);
  }
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread;
  try {
    thread = std::thread(body);
  } catch (const std::system_error&) {
    thread = {};  // said by its not being joinable
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

// The store has said that the lease is not there any more, as against not saying anything.
bool is_final(Code code) {
  return code == Code::kLost || code == Code::kNotFound || code == Code::kNotOwner;
}

template <class Container, class Value>
bool contains(const Container& container, const Value& value) {
  return std::ranges::find(container, value) != container.end();
}

}  // namespace

Keeper::~Keeper() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (renewing_.joinable()) renewing_.join();
  if (!watching_.joinable()) return;
  if (on_watching_thread()) {
    watching_.detach();  // it sees that all is gone and ends
  } else {
    watching_.join();
  }
}

Result<void> Keeper::start(std::weak_ptr<void> life) {
  const std::lock_guard lock(mutex_);
  life_ = std::move(life);
  if (!renewing_.joinable()) renewing_ = quiet_thread([this] { renew_loop(); });
  if (!watching_.joinable()) watching_ = quiet_thread([this] { watch_loop(); });
  if (renewing_.joinable() && watching_.joinable()) return {};
  return fail(Code::kFailed, "no thread could be started to renew the lease",
              "raise the limit on threads (ulimit -u), or end some");
}

// --- who keeps what
// -------------------------------------------------------------------------------

std::shared_ptr<Entry> Keeper::keep(const service::AcquireResult& granted,
                                    const std::shared_ptr<Share>& share) {
  const std::lock_guard lock(mutex_);
  const core::LeaseId& id = granted.lease.id;
  const bool renewed = granted.outcome == core::Outcome::kRenewed;
  // What another thread has borrowed may have ended since; who joins it must look for itself.
  if (const auto found = entries_.find(id);
      renewed && found != entries_.end() && found->second->borrowed) {
    return nullptr;
  }
  if (auto entry = join(granted.lease, share)) {
    if (!renewed) entry->borrowed = false;
    return entry;
  }
  // A repeated request (I8) may be granted what is on its way to be released.
  const bool going = contains(releasing_, id) ||
                     std::ranges::any_of(pending_, [&](const Pending& p) { return p.id == id; });
  if (renewed || going) return nullptr;
  return add(granted.lease, share);
}

// Adds the share to what is kept already; null: nothing is. A loss that was told is for ever, so
// who asks again gets an entry of its own.
std::shared_ptr<Entry> Keeper::join(const core::Lease& lease, const std::shared_ptr<Share>& share) {
  const auto found = entries_.find(lease.id);
  if (found == entries_.end() || found->second->announced) return nullptr;
  acknowledge(*found->second, lease);
  found->second->shares.push_back(share);
  return found->second;
}

std::shared_ptr<Entry> Keeper::borrow(const service::AcquireResult& renewed,
                                      const std::shared_ptr<Share>& share) {
  Lock lock(mutex_);
  changed_.wait(lock, [&] { return !contains(releasing_, renewed.lease.id); });
  // What we failed to release is ours again.
  const auto was_ours = std::erase_if(
      pending_, [&](const Pending& pending) { return pending.id == renewed.lease.id; });
  if (auto entry = join(renewed.lease, share)) return entry;  // another thread was here first
  auto entry = add(renewed.lease, share);
  entry->borrowed = was_ours == 0;
  return entry;
}

std::shared_ptr<Entry> Keeper::add(const core::Lease& lease, const std::shared_ptr<Share>& share) {
  auto entry = std::make_shared<Entry>(lease);
  acknowledge(*entry, lease);
  entry->shares.push_back(share);
  entries_[lease.id] = entry;
  changed_.notify_all();
  return entry;
}

// The store counts from the moment of its commit, which is what the deadline tells. (I7)
void Keeper::acknowledge(Entry& entry, const core::Lease& lease) {
  if (entry.length_ms == kNoEnd) return;
  // Endless by now: asked for so again, or renewed so by another process in this owner's name.
  const bool endless = lease.deadline_mono_ms == kNoEnd;
  const std::int64_t now = now_ms();
  const std::int64_t at =
      endless ? now : std::min(now, lease.deadline_mono_ms - lease.terms.ttl_ms);
  if (at > entry.acknowledged_ms.load()) entry.acknowledged_ms = at;
  entry.next_renewal_ms = entry.acknowledged_ms.load() + entry.length_ms / 3;
  entry.trouble.clear();
}

Result<void> Keeper::drop(const std::shared_ptr<Entry>& entry, const std::shared_ptr<Share>& share,
                          bool again) {
  Lock lock(mutex_);
  std::erase(entry->shares, share);
  if (!on_watching_thread()) changed_.wait(lock, [&] { return !share->calling; });
  if (!entry->shares.empty()) return {};
  const auto kept = entries_.find(entry->id);
  if (kept != entries_.end() && kept->second != entry) {
    kept->second->borrowed = false;  // somebody here has it again since: theirs to release
    return {};
  }
  if (kept != entries_.end()) entries_.erase(kept);
  if (entry->borrowed) return {};
  const std::int64_t until_ms =
      entry->length_ms == kNoEnd ? INT64_MAX : entry->acknowledged_ms.load() + entry->length_ms;
  if (on_watching_thread()) {
    // Losses are told by this thread: it must not wait for the store.
    pending_.push_back({entry->id, until_ms});
    next_look_ms_ = 0;
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

Result<void> Keeper::release(const core::LeaseId& id) {
  service::ReleaseCommand command;
  command.lease_ids = {id.text()};
  LK_CHECK(locks_.release(command));
  return {};
}

// --- loss
// -----------------------------------------------------------------------------------------

bool Keeper::lost(const std::shared_ptr<Entry>& entry) {
  if (entry->lost.load()) return true;
  if (now_ms() < entry->silent_at_ms()) return false;
  const std::lock_guard lock(mutex_);
  mark_silent(*entry);
  return entry->lost.load();
}

std::optional<Error> Keeper::loss(const std::shared_ptr<Entry>& entry) {
  if (!lost(entry)) return std::nullopt;
  const std::lock_guard lock(mutex_);
  return entry->loss;
}

void Keeper::lose(const std::shared_ptr<Entry>& entry, std::string why) {
  const std::lock_guard lock(mutex_);
  lose_locked(*entry, std::move(why));
}

void Keeper::lose_locked(Entry& entry, std::string why) {
  if (entry.lost.load()) return;
  entry.loss = {Code::kLost, std::move(why), kLostHint};
  entry.lost = true;
  changed_.notify_all();
}

void Keeper::mark_silent(Entry& entry) {
  if (now_ms() < entry.silent_at_ms()) return;
  std::string why = "lease " + entry.id_text + " was not renewed for two thirds of its " +
                    format_duration(entry.length_ms);
  why += entry.trouble.empty() ? ": this process stood still" : ": " + entry.trouble;
  lose_locked(entry, std::move(why));
}

// --- the renewing thread
// --------------------------------------------------------------------------

void Keeper::sleep_until(Lock& lock, std::int64_t until_ms) {
  const std::int64_t ms = std::clamp<std::int64_t>(until_ms - now_ms(), 1, kSleepMostMs);
  changed_.wait_for(lock, std::chrono::milliseconds(ms));
}

Keeper::Entries Keeper::held() const {
  Entries all;
  for (const auto& [id, entry] : entries_) {
    if (!entry->lost.load()) all.push_back(entry);
  }
  return all;
}

void Keeper::renew_loop() {
  Lock lock(mutex_);
  while (!stopping_) {
    const std::int64_t now = now_ms();
    const Entries all = held();
    Entries due;
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
      sleep_until(lock, next);
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

void Keeper::renew(const Entries& due) {
  auto done = renew_at_once(due);
  if (done) return;
  if (due.size() > 1 && is_final(done.error().code)) {
    for (const auto& entry : due) renew({entry});  // one of them is gone, the others are not
    return;
  }
  const std::lock_guard lock(mutex_);
  for (const auto& entry : due) renew_failed(*entry, done.error());
}

Result<void> Keeper::renew_at_once(const Entries& due) {
  service::RenewCommand command;
  for (const auto& entry : due) command.lease_ids.push_back(entry->id_text);
  LK_ASSIGN(const std::vector<core::Lease> leases, locks_.renew(command));
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < leases.size(); ++i) acknowledge(*due[i], leases[i]);
  return {};
}

void Keeper::renew_failed(Entry& entry, const Error& error) {
  if (is_final(error.code)) return lose_locked(entry, error.message);
  constexpr std::int64_t kSoonestMs = 10;
  entry.trouble = error.message;
  entry.next_renewal_ms =
      now_ms() + std::clamp<std::int64_t>(entry.length_ms / 9, kSoonestMs, kLookEveryMs);
}

// A lease that was broken is not missed before its next renewal otherwise. What cannot be told is
// left to the clock.
void Keeper::look(const Entries& all) {
  for (std::size_t from = 0; from < all.size(); from += kAtOnce) {
    std::vector<std::pair<std::shared_ptr<Entry>, std::string>> gone;
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

void Keeper::release_pending() {
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
// --------------------------------------------------------------------------

void Keeper::watch_loop() {
  Lock lock(mutex_);
  while (!stopping_) {
    std::int64_t next = INT64_MAX;
    Entries lost;
    for (const auto& [id, entry] : entries_) {
      if (!entry->lost.load()) mark_silent(*entry);
      if (!entry->lost.load()) {
        next = std::min(next, entry->silent_at_ms());
      } else if (!entry->announced) {
        lost.push_back(entry);
      }
    }
    if (lost.empty()) {
      sleep_until(lock, next);
    } else if (!announce(lock, lost)) {
      return;
    }
  }
}

// False: a callback has let go of everything, and this object is gone.
bool Keeper::announce(Lock& lock, const Entries& lost) {
  for (const auto& entry : lost) entry->announced = true;
  const std::weak_ptr<void> life = life_;
  std::shared_ptr<void> hold = life.lock();
  if (!hold) return true;  // no Lease is left to tell
  lock.unlock();
  for (const auto& entry : lost) entry->stop.request_stop();
  for (const auto& entry : lost) call_shares(*entry);
  hold.reset();
  if (life.expired()) return false;
  lock.lock();
  return true;
}

void Keeper::call_shares(Entry& entry) {
  // Destroyed after the lock: with its callback the last of a share may let go of other leases.
  std::vector<std::shared_ptr<Share>> shares;
  Lock lock(mutex_);
  shares = entry.shares;
  const Error loss = entry.loss;
  for (const std::shared_ptr<Share>& share : shares) {
    // One that was dropped meanwhile is not called.
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
