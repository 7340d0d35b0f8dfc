// Threads for calls that may wait: as many as there are such calls, up to a limit, and none for a
// connection that is silent.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace lockkeeper::mcp {

class Pool {
 public:
  explicit Pool(std::size_t threads_max) : threads_max_(threads_max) {}
  // Waits for what runs; what has not begun is dropped.
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // False: as many as allowed are at work and waiting already.
  bool run(std::function<void()> work);

 private:
  void loop();

  const std::size_t threads_max_;
  std::mutex mutex_;  // protects all below
  std::condition_variable wanted_;
  std::deque<std::function<void()>> waiting_;
  std::vector<std::thread> threads_;
  std::size_t idle_ = 0;
  bool ending_ = false;
};

}  // namespace lockkeeper::mcp
