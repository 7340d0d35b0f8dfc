#include "mcp/locks/waiting_room.h"

#include <thread>

#include "base/assert.h"

namespace lockkeeper::mcp {
namespace {

constexpr std::int64_t kTellEveryMs = 1'000;
constexpr auto kTick = std::chrono::milliseconds(1'000);

// The same owner asking for the same, in the same mode.
std::string name_of(const core::Owner& owner, const service::AcquireCommand& command) {
  std::string name = owner.agent + '\n' + owner.session + '\n' +
                     (command.wanted.mode == core::Mode::kShared ? "s" : "x");
  for (const std::string& text : command.wanted.texts) name += '\n' + text;
  return name;
}

}  // namespace

struct WaitingRoom::Seat {
  core::Owner owner;
  service::Under under;
  service::AcquireCommand command;
  std::int64_t wanted_until_ms = 0;  // by the last call that asked
  std::size_t callers = 0;           // in wait() for it now
  bool unwanted = false;
  bool done = false;
  std::size_t position = 0;
  std::vector<core::Conflict> conflicts;
  Result<service::AcquireResult> result = service::AcquireResult{};
};

WaitingRoom::~WaitingRoom() {
  std::unique_lock lock(mutex_);
  ending_ = true;
  for (auto& [name, seat] : seats_) leave(*seat);
  changed_.wait(lock, [this] { return sitting_ == 0; });
}

// REQUIRES: the lock is held.
void WaitingRoom::leave(Seat& seat) {
  seat.unwanted = true;
  if (const auto board = table_.board()) (*board)->wake(seat.command.wake);
}

bool WaitingRoom::on_wait(Seat& seat, const service::WaitProgress& progress) {
  const std::lock_guard lock(mutex_);
  seat.position = progress.position;
  seat.conflicts = progress.conflicts;
  changed_.notify_all();
  return !seat.unwanted && (seat.callers > 0 || now_ms() < seat.wanted_until_ms);
}

// The thread of one wait.
void WaitingRoom::sit(const std::shared_ptr<Seat>& seat) {
  service::Locks locks(table_, seat->owner, seat->under);
  service::AcquireCommand command = seat->command;
  command.on_wait = [this, &seat](const service::WaitProgress& progress) {
    return on_wait(*seat, progress);
  };
  auto result = locks.acquire(command);
  const bool granted = result && result->outcome == service::Ended::kGranted;
  std::unique_lock lock(mutex_);
  seat->result = std::move(result);
  seat->done = true;
  changed_.notify_all();
  // A grant waits for somebody to ask for it.
  while (granted && seat->callers == 0 && !seat->unwanted && !ending_ &&
         seats_.contains(name_of(seat->owner, seat->command)) && now_ms() < seat->wanted_until_ms) {
    changed_.wait_for(lock, kTick);
  }
  const auto mine = seats_.find(name_of(seat->owner, seat->command));
  const bool unclaimed = mine != seats_.end() && mine->second == seat && seat->callers == 0;
  if (unclaimed) seats_.erase(mine);
  if (granted && unclaimed) {
    const std::string id = seat->result->lease.id.text();
    lock.unlock();
    service::ReleaseCommand release;
    release.lease_ids = {id};
    static_cast<void>(locks.release(release));
    lock.lock();
  }
  --sitting_;
  changed_.notify_all();
}

Result<WaitingRoom::Waited> WaitingRoom::wait(const core::Owner& owner, const service::Under& under,
                                              const service::AcquireCommand& command,
                                              std::int64_t wait_ms, Call& call) {
  const std::string name = name_of(owner, command);
  std::unique_lock lock(mutex_);
  std::shared_ptr<Seat>& known = seats_[name];
  if (!known) {
    if (ending_ || seats_.size() > kWaitsMax) {
      seats_.erase(name);
      return fail(Code::kLimitExceeded,
                  "more than " + std::to_string(kWaitsMax) + " requests wait here",
                  "ask again in a moment, or without waiting");
    }
    known = std::make_shared<Seat>();
    known->owner = owner;
    known->under = under;
    known->command = command;
    known->command.wait_ms = service::kWaitForEver;
    known->command.wake = table_.new_ticket();
    ++sitting_;
    std::thread([this, seat = known] { sit(seat); }).detach();
  }
  const std::shared_ptr<Seat> seat = known;
  const std::int64_t until = now_ms() + wait_ms;
  seat->wanted_until_ms = until + kKeepPlaceMs;
  ++seat->callers;
  lock.unlock();
  call.on_cancel([this] {
    const std::lock_guard wake(mutex_);
    changed_.notify_all();
  });
  lock.lock();
  std::int64_t told_ms = 0;
  while (!seat->done && !call.cancelled() && now_ms() < until) {
    const auto left = std::chrono::milliseconds(until - now_ms());
    changed_.wait_for(lock, std::min<std::chrono::milliseconds>(kTick, left));
    if (now_ms() - told_ms < kTellEveryMs) continue;
    told_ms = now_ms();
    const std::size_t position = seat->position;
    lock.unlock();  // telling may take its time
    call.progress(static_cast<double>(wait_ms - (until - now_ms())), static_cast<double>(wait_ms),
                  "waiting, position " + std::to_string(position));
    lock.lock();
  }
  --seat->callers;
  Waited waited;
  waited.queued = true;
  waited.position = seat->position;
  waited.conflicts = seat->conflicts;
  if (call.cancelled()) {  // nobody hears the answer, not even a grant that came just now
    if (seat->callers == 0) leave(*seat);
    changed_.notify_all();
    return waited;
  }
  waited.queued = !seat->done;
  if (!seat->done) return waited;
  if (const auto mine = seats_.find(name); mine != seats_.end() && mine->second == seat) {
    seats_.erase(mine);  // claimed
  }
  changed_.notify_all();
  if (!seat->result) return fail(seat->result.error());
  waited.result = *seat->result;
  return waited;
}

}  // namespace lockkeeper::mcp
