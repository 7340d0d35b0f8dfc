#include "mcp/locks/waiting_room.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>

#include "service/questions.h"
#include "service/report.h"

namespace lockkeeper::mcp::locks {
namespace {

constexpr std::int64_t kTellEveryMs = 1'000;
constexpr auto kWaitTick = std::chrono::milliseconds(1'000);

std::string name_of(const WaitRequest& request) {
  const bool shared = request.command.wanted.mode == core::Mode::kShared;
  std::string name =
      request.owner.agent + '\n' + request.owner.session + '\n' + (shared ? "s" : "x");
  for (const std::string& key : request.keys) name += '\n' + key;
  return name;
}

}  // namespace

struct WaitingRoom::Seat {
  WaitRequest request;
  std::string name;
  std::int64_t wanted_until_ms = 0;  // by the calls that joined it
  std::size_t callers = 0;           // in wait() for it now
  bool unwanted = false;             // it is about to leave the queue
  bool claimed = false;              // its owner has learned of the grant
  bool done = false;
  bool gone = false;                 // its thread no longer uses the table
  std::vector<core::LeaseId> known;  // leases that the owner has learned of meanwhile
  std::size_t position = 0;
  std::vector<core::Conflict> conflicts;
  std::int64_t seen_ms = 0;  // when these two were updated
  Result<service::AcquireResult> result = service::AcquireResult{};

  bool granted() const { return done && result && service::outcome_status(result->outcome) == 0; }
};

WaitingRoom::~WaitingRoom() {
  std::unique_lock lock(mutex_);
  ending_ = true;
  for (auto& [name, seat] : seats_) dismiss(*seat);
  changed_.wait(lock, [this] { return sitting_ == 0; });
}

bool WaitingRoom::knows(const core::Owner& owner) {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(
      seats_, [&](const auto& entry) { return entry.second->request.owner == owner; });
}

bool WaitingRoom::knows(const WaitRequest& request) {
  const std::lock_guard lock(mutex_);
  return seats_.contains(name_of(request));
}

// REQUIRES: the lock is held.
void WaitingRoom::dismiss(Seat& seat) {
  seat.unwanted = true;
  changed_.notify_all();
  if (const auto waker = site_.table().waker()) (*waker)->wake(seat.request.command.wake);
}

// Called many times a second, so it copies the conflicts only if they may have changed.
bool WaitingRoom::on_wait(Seat& seat, const service::WaitProgress& progress) {
  const std::lock_guard lock(mutex_);
  const std::int64_t now = now_ms();
  if (seat.position != progress.position || now - seat.seen_ms >= kTellEveryMs) {
    seat.position = progress.position;
    seat.conflicts = progress.conflicts;
    seat.seen_ms = now;
  }
  return !seat.unwanted && (seat.callers > 0 || now < seat.wanted_until_ms);
}

// Unless another call of the owner has renewed it and relies on it.
void WaitingRoom::give_back(const Seat& seat) {
  const core::Lease& granted = seat.result->lease;
  if (seat.result->existed_before) return;
  const auto now = service::find_lease(site_, granted.id);
  const bool untouched = now && *now && (*now)->lease.deadline_mono_ms == granted.deadline_mono_ms;
  if (now && !untouched) return;
  service::Locks locks(site_, seat.request.owner, seat.request.under);
  // If the store is unavailable, the lease ends by its ttl.
  static_cast<void>(locks.give_back(granted.id, seat.request.command.attachment));
}

// The thread of one wait.
void WaitingRoom::sit(const std::shared_ptr<Seat>& seat) {
  service::Locks locks(site_, seat->request.owner, seat->request.under);
  service::AcquireCommand command = seat->request.command;
  command.on_wait = [this, &seat](const service::WaitProgress& progress) {
    return on_wait(*seat, progress);
  };
  auto result = locks.acquire(command);
  std::unique_lock lock(mutex_);
  seat->result = std::move(result);
  seat->done = true;
  seat->claimed = seat->granted() &&
                  std::ranges::find(seat->known, seat->result->lease.id) != seat->known.end();
  changed_.notify_all();
  // The waiting calls take the result; without one, a grant waits for the next call.
  const auto wanted = [&] {
    if (seat->claimed || ending_) return false;
    if (seat->callers > 0) return true;
    return seat->granted() && !seat->unwanted && now_ms() < seat->wanted_until_ms;
  };
  while (wanted()) changed_.wait_for(lock, kWaitTick);
  if (seat->granted() && !seat->claimed) {
    seat->unwanted = true;  // new calls wait until it has left
    lock.unlock();
    give_back(*seat);
    lock.lock();
  }
  seat->gone = true;
  const auto mine = seats_.find(seat->name);
  if (mine != seats_.end() && mine->second == seat) seats_.erase(mine);
  --sitting_;
  changed_.notify_all();
}

// The seat of this request, existing or new; null if there are too many.
std::shared_ptr<WaitingRoom::Seat> WaitingRoom::take_seat(const WaitRequest& request,
                                                          std::unique_lock<std::mutex>& lock) {
  const std::string name = name_of(request);
  for (auto found = seats_.find(name); found != seats_.end(); found = seats_.find(name)) {
    const std::shared_ptr<Seat> seat = found->second;
    if (!seat->unwanted) return seat;
    changed_.wait(lock, [&] { return seat->gone; });
  }
  if (ending_ || sitting_ >= kWaitsMax) return nullptr;
  auto seat = std::make_shared<Seat>();
  seat->request = request;
  seat->request.command.wait_ms = service::kWaitForever;
  seat->request.command.wake = site_.table().new_ticket();
  seat->name = name;
  seats_[name] = seat;
  ++sitting_;
  try {
    std::thread([this, seat] { sit(seat); }).detach();
  } catch (const std::system_error&) {  // no thread available
    --sitting_;
    seats_.erase(name);
    return nullptr;
  }
  return seat;
}

// Waits until it is decided, the call is cancelled, or its time is over.
void WaitingRoom::stay(Seat& seat, std::int64_t until_ms, std::int64_t wait_ms, Call& call,
                       std::unique_lock<std::mutex>& lock) {
  std::int64_t told_ms = now_ms();
  while (!seat.done && !ending_ && !call.cancelled() && now_ms() < until_ms) {
    const auto left = std::chrono::milliseconds(until_ms - now_ms());
    changed_.wait_for(lock, std::min<std::chrono::milliseconds>(kWaitTick, left));
    const std::int64_t now = now_ms();
    if (now - told_ms < kTellEveryMs || seat.done) continue;
    told_ms = now;
    const std::size_t position = seat.position;
    lock.unlock();  // sending may take time
    call.progress(static_cast<double>(wait_ms - std::max<std::int64_t>(0, until_ms - now)),
                  static_cast<double>(wait_ms),
                  "waiting in the queue, position " + std::to_string(position));
    lock.lock();
  }
}

Result<WaitingRoom::Waited> WaitingRoom::wait(const WaitRequest& request, std::int64_t wait_ms,
                                              Call& call) {
  std::unique_lock lock(mutex_);
  const std::shared_ptr<Seat> seat = take_seat(request, lock);
  if (!seat) {
    return fail(Code::kLimitExceeded,
                std::to_string(kWaitsMax) + " requests wait in this server, which is the most",
                "call lock_acquire again without wait_s, or in a minute");
  }
  Waited waited;
  waited.earlier = seat->done;
  const std::int64_t until_ms = now_ms() + wait_ms;
  seat->wanted_until_ms = std::max(seat->wanted_until_ms, until_ms + kKeepPlaceMs);
  ++seat->callers;
  lock.unlock();
  call.on_cancel([this] {
    const std::lock_guard wake(mutex_);
    changed_.notify_all();
  });
  {
    // If too many wait already, the answer is "queued" at once.
    const Call::Pause pause(call);
    lock.lock();
    if (pause) stay(*seat, until_ms, wait_ms, call, lock);
  }
  --seat->callers;
  changed_.notify_all();
  waited.position = seat->position;
  waited.conflicts = seat->conflicts;
  // A cancelled call gets no answer, not even a grant that came just now.
  if (call.cancelled() && seat->callers == 0 && !seat->claimed) dismiss(*seat);
  waited.queued = !seat->done || call.cancelled();
  if (waited.queued) return waited;
  seat->claimed = true;
  if (const auto mine = seats_.find(seat->name); mine != seats_.end() && mine->second == seat) {
    seats_.erase(mine);
  }
  if (!seat->result) return fail(seat->result.error());
  waited.result = *seat->result;
  return waited;
}

WaitingRoom::Left WaitingRoom::leave(const core::Owner& owner,
                                     const std::vector<std::string>& keys) {
  std::unique_lock lock(mutex_);
  std::vector<std::shared_ptr<Seat>> leaving;
  for (const auto& [name, seat] : seats_) {
    const std::vector<std::string>& its = seat->request.keys;
    if (!(seat->request.owner == owner) || seat->unwanted) continue;
    const bool meant = keys.empty() || std::ranges::any_of(its, [&](const std::string& key) {
                         return std::ranges::find(keys, key) != keys.end();
                       });
    if (!meant) continue;
    leaving.push_back(seat);
  }
  for (const auto& seat : leaving) dismiss(*seat);
  changed_.wait(lock, [&] {
    return std::ranges::all_of(leaving, [](const auto& seat) { return seat->gone; });
  });
  Left left;
  for (const auto& seat : leaving) {
    const std::vector<std::string>& its = seat->request.keys;
    std::vector<std::string>& to = seat->granted() ? left.released : left.queue;
    to.insert(to.end(), its.begin(), its.end());
  }
  return left;
}

std::vector<core::Lease> WaitingRoom::take_grants(const core::Owner& owner) {
  std::vector<core::Lease> grants;
  const std::lock_guard lock(mutex_);
  std::erase_if(seats_, [&](const auto& entry) {
    Seat& seat = *entry.second;
    const bool untold = seat.request.owner == owner && !seat.unwanted && !seat.claimed &&
                        seat.callers == 0 && seat.granted();
    if (!untold) return false;
    grants.push_back(seat.result->lease);
    seat.claimed = true;
    return true;
  });
  changed_.notify_all();
  return grants;
}

// The table knows of a grant before the seat does, so the table is asked.
void WaitingRoom::mark_known(const core::Owner& owner) {
  if (!knows(owner)) return;
  const auto leases = service::leases_of(site_, owner);
  if (!leases) return;
  std::vector<core::LeaseId> held;
  for (const service::ListedLease& each : *leases) held.push_back(each.lease.id);
  const std::lock_guard lock(mutex_);
  std::erase_if(seats_, [&](const auto& entry) {
    Seat& seat = *entry.second;
    if (!(seat.request.owner == owner) || seat.unwanted) return false;
    if (!seat.done) seat.known = held;
    if (seat.granted()) seat.claimed = true;
    return seat.claimed;
  });
  changed_.notify_all();
}

}  // namespace lockkeeper::mcp::locks
