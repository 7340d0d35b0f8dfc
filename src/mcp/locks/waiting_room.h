// Waits that outlive the call that began them. A client gives a call up after a minute; a place in
// the queue is worth more than that. So a wait goes on in the background for a while after its call
// was answered "queued", and the same request again finds it, with its place, or with its grant.
//
// What is granted and asked for by nobody within the time is given back, unless its owner was told
// of it meanwhile. A call that is cancelled leaves the queue, if no other call waits for the same.
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "mcp/call.h"
#include "service/locks.h"

namespace lockkeeper::mcp::locks {

inline constexpr std::int64_t kKeepPlaceMs = 90'000;  // after the last call that asked
inline constexpr std::size_t kWaitsMax = 256;

// Who asks for what. The same request is the same owner, keys and mode; length and reason are those
// of the call that began to wait.
struct WaitRequest {
  core::Owner owner;
  service::Under under;
  service::AcquireCommand command;
  std::vector<std::string> keys;  // canonical, sorted, each once
};

class WaitingRoom {
 public:
  // `table` must outlive it.
  explicit WaitingRoom(layout::LockTable& table) : table_(table) {}
  // Leaves every queue, and waits until that is done. REQUIRES: nobody is in wait().
  ~WaitingRoom();
  WaitingRoom(const WaitingRoom&) = delete;
  WaitingRoom& operator=(const WaitingRoom&) = delete;

  struct Waited {
    bool queued = false;  // neither granted nor refused: the place is kept
    // It was granted before this call came. Whether it still is, the table knows.
    bool earlier = false;
    service::AcquireResult result;
    std::size_t position = 0;
    std::vector<core::Conflict> conflicts;  // queued: who is before it
  };

  // Does this owner wait here, or has a grant here that it does not know of?
  bool knows(const core::Owner& owner);
  bool knows(const WaitRequest& request);

  // Waits at most `wait_ms`; joins the same wait if that is under way. Tells the call of its
  // progress. limit_exceeded beyond kWaitsMax.
  Result<Waited> wait(const WaitRequest& request, std::int64_t wait_ms, Call& call);

  // The owner no longer wants these keys, or anything (no keys): leaves the queue. What it has
  // left. Grants that wait for their owner are given back.
  std::vector<std::string> leave(const core::Owner& owner, const std::vector<std::string>& keys);
  // The owner has been told what it holds: grants that wait for it here are its own from now on.
  void mark_known(const core::Owner& owner);

 private:
  struct Seat;  // one wait
  using Seats = std::map<std::string, std::shared_ptr<Seat>>;

  std::shared_ptr<Seat> take_seat(const WaitRequest& request, std::unique_lock<std::mutex>& lock);
  void sit(const std::shared_ptr<Seat>& seat);
  bool on_wait(Seat& seat, const service::WaitProgress& progress);
  void dismiss(Seat& seat);
  void give_back(const Seat& seat);
  void stay(Seat& seat, std::int64_t until_ms, std::int64_t wait_ms, Call& call,
            std::unique_lock<std::mutex>& lock);
  std::int64_t now_ms() const { return table_.runtime().clock->now().mono_ms; }

  layout::LockTable& table_;
  std::mutex mutex_;  // protects all below, and what is in the seats
  std::condition_variable changed_;
  Seats seats_;              // those that a call may find
  std::size_t sitting_ = 0;  // threads
  bool ending_ = false;
};

}  // namespace lockkeeper::mcp::locks
