// Waits that outlive the call that began them. A client gives up a call after a minute, but a place
// in the queue should not be lost. So a wait continues in the background for a while after its call
// was answered "queued", and repeating the request finds its place, or its grant.
//
// A grant that nobody asks for in time is released, unless its owner was told of it meanwhile. A
// cancelled call leaves the queue, unless another call waits for the same.
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

// One request. Two are the same if owner, keys and mode are the same; ttl and reason are those of
// the call that began to wait.
struct WaitRequest {
  core::Owner owner;
  service::ParentLease under;
  service::AcquireCommand command;
  std::vector<std::string> keys;  // canonical, sorted, each once
};

class WaitingRoom {
 public:
  // `table` must outlive it.
  explicit WaitingRoom(service::Site& table) : site_(table) {}
  // Leaves every queue and waits until that is done. REQUIRES: nobody is in wait().
  ~WaitingRoom();
  WaitingRoom(const WaitingRoom&) = delete;
  WaitingRoom& operator=(const WaitingRoom&) = delete;

  struct Waited {
    bool queued = false;  // neither granted nor refused: its place is kept
    // It was granted before this call. Check the table for whether it still is.
    bool earlier = false;
    service::AcquireResult result;
    std::size_t position = 0;
    std::vector<core::Conflict> conflicts;  // queued: what it waits for
  };

  // Does this owner wait here, or have a grant here that it does not know of?
  bool knows(const core::Owner& owner);
  bool knows(const WaitRequest& request);

  // Waits at most `wait_ms`; joins the same wait if there is one. Reports progress to the call.
  // limit_exceeded beyond kWaitsMax.
  Result<Waited> wait(const WaitRequest& request, std::int64_t wait_ms, Call& call);

  struct Left {
    std::vector<std::string> queue;     // the keys that it no longer waits for
    std::vector<std::string> released;  // those that had been granted
  };
  // The owner no longer wants these keys, or any (no keys): leaves the queue and releases grants
  // that it does not know of.
  Left leave(const core::Owner& owner, const std::vector<std::string>& keys);
  // The grants that the owner does not know of yet; it is told of them now.
  std::vector<core::Lease> take_grants(const core::Owner& owner);
  // The owner was told what it holds, so it knows of its grants here from now on.
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
  std::int64_t now_ms() const { return site_.runtime().clock->now().mono_ms; }

  service::Site& site_;
  std::mutex mutex_;  // protects all below, including the seats' contents
  std::condition_variable changed_;
  Seats seats_;              // those that a call may find
  std::size_t sitting_ = 0;  // threads
  bool ending_ = false;
};

}  // namespace lockkeeper::mcp::locks
