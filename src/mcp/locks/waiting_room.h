// Waits that outlive the call that began them. A client gives a call up after a minute; a place in
// the queue is worth more than that. So a wait goes on in the background for a while after its call
// was answered "queued", and the same request again finds it, with its place, or with its grant.
//
// What is granted and asked for by nobody within the time is given back.
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "mcp/call.h"
#include "service/locks.h"

namespace lockkeeper::mcp {

inline constexpr std::int64_t kKeepPlaceMs = 90'000;  // after the last call that asked
inline constexpr std::size_t kWaitsMax = 256;

class WaitingRoom {
 public:
  // `table` must outlive it.
  explicit WaitingRoom(service::LockTable& table) : table_(table) {}
  // Leaves every queue, and waits until that is done.
  ~WaitingRoom();
  WaitingRoom(const WaitingRoom&) = delete;
  WaitingRoom& operator=(const WaitingRoom&) = delete;

  struct Waited {
    bool queued = false;  // neither granted nor refused: the place is kept
    service::AcquireResult result;
    std::size_t position = 0;
    std::vector<core::Conflict> conflicts;  // queued: who is before it
  };

  // Asks for `command` in the owner's name and waits at most `wait_ms`; joins a wait for the same
  // that is under way. Tells the call of its progress; a call that is cancelled leaves the queue.
  Result<Waited> wait(const core::Owner& owner, const service::Under& under,
                      const service::AcquireCommand& command, std::int64_t wait_ms, Call& call);

 private:
  struct Seat;  // one wait
  using Seats = std::map<std::string, std::shared_ptr<Seat>>;

  void sit(const std::shared_ptr<Seat>& seat);
  bool on_wait(Seat& seat, const service::WaitProgress& progress);
  void leave(Seat& seat);
  std::int64_t now_ms() const { return table_.runtime().clock->now().mono_ms; }

  service::LockTable& table_;
  std::mutex mutex_;  // protects all below, and what is in the seats
  std::condition_variable changed_;
  Seats seats_;
  std::size_t sitting_ = 0;  // threads
  bool ending_ = false;
};

}  // namespace lockkeeper::mcp
