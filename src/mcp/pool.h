// Threads for calls that may take time: as many as there are such calls, up to a limit, and none
// for a connection that is silent.
//
// A call that only waits (for a lock, for its client) lends its place to another meanwhile: however
// many wait, calls that work go on. Waiting has a limit of its own.
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

  // `threads_max` of them work, `pauses_max` wait, `queue_max` have not begun.
  explicit Pool(std::size_t threads_max, std::size_t pauses_max = kPausesMax,
                std::size_t queue_max = kQueueMax)
      : threads_max_(threads_max), pauses_max_(pauses_max), queue_max_(queue_max) {}
  // Waits for what runs; what has not begun is dropped.
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // False: as many as allowed are at work and waiting already. `work` must not throw.
  bool run(std::function<void()> work);

  // The calling thread is going to wait, and is back. False: too many wait already.
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
