#include "mcp/pool.h"

namespace lockkeeper::mcp {
namespace {

constexpr std::size_t kWaitingPerThread = 16;

}  // namespace

Pool::~Pool() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    waiting_.clear();
  }
  wanted_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool Pool::run(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    if (ending_ || waiting_.size() >= threads_max_ * kWaitingPerThread) return false;
    waiting_.push_back(std::move(work));
    if (idle_ < waiting_.size() && threads_.size() < threads_max_) {
      threads_.emplace_back([this] { loop(); });
    }
  }
  wanted_.notify_one();
  return true;
}

void Pool::loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    wanted_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
    --idle_;
    if (ending_) return;
    const std::function<void()> work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
}

}  // namespace lockkeeper::mcp
