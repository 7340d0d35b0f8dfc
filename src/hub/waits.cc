#include "hub/waits.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>

#include "layout/sessions.h"

namespace lockkeeper::hub {
namespace {

// How often the thread glances at each wait. Who is granted by this hub is looked at at once; this
// is for what others do, for leases that expire and for processes that die.
constexpr auto kGlanceEvery = std::chrono::milliseconds(20);
constexpr int kGlanceShare = 5;  // at most a fifth of the time

std::unexpected<Error> no_wait(const core::LeaseId& id) {
  return fail(Code::kNotFound, "no request waits under the id " + id.text(),
              "ask for the resources again");
}

}  // namespace

Waits::Waits(const Clock& clock)
    : clock_(clock), started_ms_(clock.now().mono_ms), thread_([this] { loop(); }) {}

Waits::~Waits() {
  close();
  {
    const std::lock_guard hold(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Waits::announce(std::uint64_t number) {
  const std::lock_guard hold(mutex_);
  announced_[number] = now_ms();
}

void Waits::forget(std::uint64_t number) {
  const std::lock_guard hold(mutex_);
  announced_.erase(number);
  woken_.erase(number);
}

void Waits::add(Wait wait) {
  const std::lock_guard hold(mutex_);
  announced_.erase(wait.number);
  ids_[wait.number] = wait.id;
  if (const auto known = entries_.find(wait.id); known != entries_.end()) {
    Entry& entry = *known->second;
    if (entry.wait.number != wait.number) ids_.erase(entry.wait.number);
    entry.contact_ms = now_ms();
    entry.outcome.reset();
    entry.wait = std::move(wait);
    return;
  }
  auto entry = std::make_shared<Entry>();
  entry->contact_ms = now_ms();
  entry->last.outcome = core::Outcome::kQueued;
  entry->last.lease.id = wait.id;
  entry->wait = std::move(wait);
  entries_[entry->wait.id] = std::move(entry);
  changed_.notify_all();
}

std::optional<Wait> Waits::find(const core::LeaseId& id) const {
  const std::lock_guard hold(mutex_);
  const auto found = entries_.find(id);
  return found == entries_.end() ? std::nullopt : std::optional(found->second->wait);
}

std::size_t Waits::count() const {
  const std::lock_guard hold(mutex_);
  return entries_.size();
}

core::Alive Waits::alive(std::uint64_t number) const {
  if (const auto seen = this->seen(number)) return *seen;
  // Of an earlier life of this hub, perhaps: they have the time to come back.
  return now_ms() - started_ms_ < kKeptMs ? core::Alive::kAlive : core::Alive::kDead;
}

std::optional<core::Alive> Waits::seen(std::uint64_t number) const {
  const std::lock_guard hold(mutex_);
  if (dead_.contains(number)) return core::Alive::kDead;
  if (announced_.contains(number)) return core::Alive::kAlive;
  const auto id = ids_.find(number);
  if (id == ids_.end()) return std::nullopt;
  const Entry& entry = *entries_.at(id->second);
  const bool there = !entry.askers.empty() || now_ms() - entry.contact_ms < kKeptMs;
  return there ? core::Alive::kAlive : core::Alive::kDead;
}

void Waits::died(std::uint64_t number) {
  std::vector<Asker> askers;
  service::AcquireResult last;
  {
    std::unique_lock hold(mutex_);
    const std::int64_t now = now_ms();
    std::erase_if(dead_, [&](const auto& each) { return now - each.second > 2 * kKeptMs; });
    const auto id = ids_.find(number);
    if (id != ids_.end()) {
      const std::shared_ptr<Entry> entry = entries_.at(id->second);
      changed_.wait(hold, [&] { return !entry->busy; });
      if (entry->wait.number == number) {  // not if its client has asked again meanwhile
        askers.swap(entry->askers);
        last = entry->last;
        remove(*entry);
      }
    }
    dead_[number] = now;
  }
  for (const Asker& each : askers) each.then(last);
}

void Waits::woken(const std::vector<std::uint64_t>& words) {
  const std::lock_guard hold(mutex_);
  woken_.insert(words.begin(), words.end());
  changed_.notify_all();
}

void Waits::changed(const std::vector<core::LeaseId>& ids) {
  std::map<HubRealm*, std::vector<std::uint64_t>> words;
  {
    const std::lock_guard hold(mutex_);
    for (const core::LeaseId& id : ids) {
      const auto found = entries_.find(id);
      if (found == entries_.end()) continue;
      const Wait& wait = found->second->wait;
      words[wait.realm].push_back(wait.number);
    }
  }
  for (const auto& [realm, those] : words) realm->site.table().wake(those);
}

std::optional<std::uint64_t> Waits::ask(const core::LeaseId& id, std::int64_t at_most_ms, Then then,
                                        bool looks) {
  std::unique_lock hold(mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end()) return std::nullopt;
  const std::shared_ptr<Entry> entry = found->second;
  if (entry->outcome && !entry->busy) {  // if it is busy, that is being given back
    const Outcome outcome = std::move(*entry->outcome);
    remove(*entry);
    hold.unlock();
    then(outcome);
    return 0;
  }
  entry->askers.push_back({++askers_, now_ms() + at_most_ms, looks, std::move(then)});
  if (entry->handed) woken_.insert(entry->wait.number);  // it is there to take it
  changed_.notify_all();
  return entry->askers.back().number;
}

void Waits::gone(std::uint64_t asker) {
  const std::lock_guard hold(mutex_);
  for (const auto& [id, entry] : entries_) {
    const auto left =
        std::erase_if(entry->askers, [&](const Asker& each) { return each.number == asker; });
    if (left > 0) entry->contact_ms = now_ms();
  }
}

Waits::Outcome Waits::leave(const service::LeaveCall& asked) {
  service::LeaveCall call = asked;
  const auto is_lost = [](const Outcome& outcome) {
    return !outcome && outcome.error().code == Code::kLost;
  };
  std::shared_ptr<Entry> entry;
  Wait wait;
  {
    std::unique_lock hold(mutex_);
    const auto found = entries_.find(call.id);
    if (found == entries_.end()) return no_wait(call.id);
    entry = found->second;
    changed_.wait(hold, [&] { return !entry->busy; });
    if (entry->outcome && !is_lost(*entry->outcome)) return *entry->outcome;
    entry->busy = true;
    wait = entry->wait;
  }
  if (call.caller.owner.agent.empty()) call.caller = wait.caller;
  call.caller.owner = wait.caller.owner;
  const auto service = wait.realm->site.service();
  auto left = service ? (*service)->leave(call) : std::unexpected<Error>(service.error());
  Outcome outcome = left ? Outcome(std::move(left->value)) : fail(std::move(left.error()));
  if (service && is_lost(outcome)) {
    // Handed over, perhaps, to a process that has died since, and cannot take it any more.
    static_cast<void>((*service)->release({wait.caller, {}, {call.id}, {}, false, {}, false}));
  }
  decided(entry, outcome);
  const std::lock_guard hold(mutex_);
  remove(*entry);
  return outcome;
}

// REQUIRES: mutex_
void Waits::remove(const Entry& entry) {
  const std::uint64_t number = entry.wait.number;
  if (entries_.erase(core::LeaseId(entry.wait.id)) > 0) ids_.erase(number);
}

// Where several hubs serve the table, the client may ask another one by now, and have its answer
// from there. So only the table knows: nothing is decided here unless somebody asks here.
bool Waits::is_shared(const Entry& entry) {
  return entry.wait.realm->presence() != nullptr;
}

// Tells whoever asks; where nobody does, it is kept for the next.
void Waits::decided(const std::shared_ptr<Entry>& entry, Outcome outcome) {
  std::vector<Asker> askers;
  {
    const std::lock_guard hold(mutex_);
    entry->busy = false;
    askers.swap(entry->askers);
    if (askers.empty() && !is_shared(*entry)) {
      entry->outcome = outcome;
    } else {
      remove(*entry);
    }
    changed_.notify_all();
  }
  for (const Asker& each : askers) each.then(outcome);
}

// Its client may ask again meanwhile, which changes it. And do all that ask for it only look?
std::pair<Wait, bool> Waits::wait_of(const Entry& entry) const {
  const std::lock_guard hold(mutex_);
  return {entry.wait, std::ranges::all_of(entry.askers, &Asker::looks)};
}

// What was handed over is confirmed by whoever asks for it, and by nobody else: a client that has
// died delays nobody. (F3)
bool Waits::is_due(const Entry& entry, std::int64_t now) const {
  const bool late = entry.wait.until_ms && now >= *entry.wait.until_ms && !is_shared(entry);
  return !entry.outcome && (late || !entry.askers.empty());
}

// The table has it, and nobody has confirmed it. Whoever looks decides whether to ask again.
void Waits::handed_over(const std::shared_ptr<Entry>& entry, service::AcquireResult result) {
  std::vector<Asker> told;
  {
    const std::lock_guard hold(mutex_);
    entry->busy = false;
    entry->handed = true;
    entry->contact_ms = now_ms();
    const auto looking = std::ranges::partition(entry->askers, std::logical_not(), &Asker::looks);
    std::ranges::move(looking, std::back_inserter(told));
    entry->askers.erase(looking.begin(), looking.end());
    if (!entry->askers.empty()) woken_.insert(entry->wait.number);
    changed_.notify_all();
  }
  const Outcome outcome(std::move(result));
  for (const Asker& each : told) each.then(outcome);
}

// One glance. REQUIRES: entry->busy, set by this thread.
void Waits::look(const std::shared_ptr<Entry>& entry) {
  const auto [wait, looks] = wait_of(*entry);
  const auto service = wait.realm->site.service();
  if (!service) return decided(entry, fail(service.error()));
  const bool late = wait.until_ms && now_ms() >= *wait.until_ms;
  auto reply = late ? (*service)->leave({wait.caller, wait.id, core::Outcome::kTimeout})
                    : (*service)->await({wait.caller, wait.id, 0, looks});
  if (!reply) return decided(entry, fail(std::move(reply.error())));
  if (core::is_handoff(reply->value.outcome, reply->value.lease)) {
    return handed_over(entry, std::move(reply->value));
  }
  if (reply->value.outcome != core::Outcome::kQueued) {
    return decided(entry, std::move(reply->value));
  }
  const std::lock_guard hold(mutex_);
  entry->busy = false;
  if (reply->value.lease.id != wait.id) {  // it asked again: it has another id now
    auto moved = entries_.extract(wait.id);
    moved.key() = ids_[entry->wait.number] = entry->wait.id = reply->value.lease.id;
    entries_.insert(std::move(moved));
  }
  entry->last = std::move(reply->value);
  changed_.notify_all();
}

// Nobody has asked for a minute: its place is free, and so is what it was granted.
void Waits::give_up(const std::shared_ptr<Entry>& entry) {
  Wait wait;
  std::optional<Outcome> had;
  {
    const std::lock_guard hold(mutex_);
    wait = entry->wait;
    had = entry->outcome;
  }
  if (is_shared(*entry)) return bury(entry, wait);
  const auto is_granted = [](const Outcome& outcome) {
    return outcome && outcome->outcome == core::Outcome::kGranted;
  };
  if (const auto service = wait.realm->site.service()) {
    const auto left = (*service)->leave({wait.caller, wait.id, core::Outcome::kInterrupted});
    const bool granted = left && left->value.outcome == core::Outcome::kGranted;
    if (granted || (had && is_granted(*had))) {  // but not what another process of its owner keeps
      static_cast<void>((*service)->release({wait.caller, {}, {wait.id}, {}, false, {}, true}));
    }
  }
  forget(entry, wait.id);
}

// The same where several hubs serve the table: its client may ask another one by now.
void Waits::bury(const std::shared_ptr<Entry>& entry, const Wait& wait) {
  const core::Attachment process = wait.realm->presence()->in_own_session(wait.number);
  static_cast<void>(layout::bury_waiter(wait.realm->site.table(), wait.id, process));
  forget(entry, wait.id);
}

void Waits::forget(const std::shared_ptr<Entry>& entry, const core::LeaseId& id) {
  std::vector<Asker> askers;  // whoever came too late
  {
    const std::lock_guard hold(mutex_);
    entry->busy = false;
    askers.swap(entry->askers);
    remove(*entry);
    changed_.notify_all();
  }
  for (const Asker& each : askers) each.then(no_wait(id));
}

void Waits::loop() {
  using Clock = std::chrono::steady_clock;
  Clock::time_point glance = Clock::now();
  std::unique_lock hold(mutex_);
  while (!ending_) {
    if (entries_.empty()) {
      woken_.clear();
      changed_.wait(hold);
      continue;
    }
    changed_.wait_until(hold, glance, [&] { return ending_ || !woken_.empty(); });
    const bool all = Clock::now() >= glance;
    std::vector<std::shared_ptr<Entry>> looked_at;
    std::vector<std::shared_ptr<Entry>> lost;
    std::vector<std::pair<Then, Outcome>> late;
    const std::int64_t now = now_ms();
    for (const auto& [id, entry] : entries_) {
      if (!all && !woken_.contains(entry->wait.number)) continue;
      std::erase_if(entry->askers, [&](Asker& asker) {
        if (asker.until_ms > now) return false;
        late.emplace_back(std::move(asker.then), entry->last);
        entry->contact_ms = now;
        return true;
      });
      if (entry->busy) continue;
      if (entry->askers.empty() && now - entry->contact_ms >= kKeptMs) {
        lost.push_back(entry);
      } else if (is_due(*entry, now)) {
        looked_at.push_back(entry);
      } else {
        continue;
      }
      entry->busy = true;
    }
    woken_.clear();
    hold.unlock();
    const Clock::time_point began = Clock::now();
    for (const auto& [then, outcome] : late) then(outcome);
    for (const auto& entry : looked_at) look(entry);
    for (const auto& entry : lost) give_up(entry);
    const Clock::time_point ended = Clock::now();
    if (all)
      glance = ended + std::max<Clock::duration>(kGlanceEvery, (ended - began) * kGlanceShare);
    hold.lock();
  }
}

void Waits::close() {
  std::vector<std::pair<Then, Outcome>> all;
  {
    const std::lock_guard hold(mutex_);
    for (const auto& [id, entry] : entries_) {
      for (Asker& each : entry->askers) all.emplace_back(std::move(each.then), entry->last);
      entry->askers.clear();
      entry->contact_ms = now_ms();
    }
  }
  for (const auto& [then, outcome] : all) then(outcome);
}

}  // namespace lockkeeper::hub
