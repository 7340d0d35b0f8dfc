// Threads for calls that may take time: one per call, up to a limit, and none for a silent
// connection.
//
// A call that only waits (for a lock, for its client) frees its place meanwhile, so working calls
// proceed however many wait. Waiting has its own limit.
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

namespace lockkeeper::mcp {

class Pool {
 public:
  static constexpr std::size_t kPausesMax = 512;
  static constexpr std::size_t kQueueMax = 2'048;

  // Limits: `threads_max` calls work, `pauses_max` wait, `queue_max` have not begun.
  explicit Pool(std::size_t threads_max, std::size_t pauses_max = kPausesMax,
                std::size_t queue_max = kQueueMax)
      : threads_max_(threads_max), pauses_max_(pauses_max), queue_max_(queue_max) {}
  // Waits for running calls; drops those that have not begun.
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // False: the limits are reached. `work` must not throw.
  bool run(std::function<void()> work);

  // Around a wait of the calling thread. False: too many wait already.
  bool pause();
  void resume();

 private:
  using Threads = std::list<std::thread>;

  bool grow();
  void loop(Threads::iterator self);

  const std::size_t threads_max_;
  const std::size_t pauses_max_;
  const std::size_t queue_max_;
  std::mutex mutex_;  // protects all below
  std::condition_variable wanted_;
  std::deque<std::function<void()>> waiting_;
  Threads threads_;
  Threads ended_;  // to be joined
  std::size_t idle_ = 0;
  std::size_t paused_ = 0;
  bool ending_ = false;
};

}  // namespace lockkeeper::mcp
