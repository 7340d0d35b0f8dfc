#include "mcp/pool.h"

#include <chrono>
#include <system_error>

namespace lockkeeper::mcp {
namespace {

constexpr auto kIdle = std::chrono::seconds(10);  // then a thread ends

}  // namespace

Pool::~Pool() {
  Threads threads;
  {
    std::unique_lock lock(mutex_);
    ending_ = true;
    waiting_.clear();
    threads.swap(threads_);
    threads.splice(threads.end(), ended_);
  }
  wanted_.notify_all();
  for (std::thread& thread : threads) thread.join();
}

// REQUIRES: the lock is held. False: no thread serves the queue, and none can be started.
bool Pool::grow() {
  if (idle_ >= waiting_.size() || threads_.size() >= threads_max_ + paused_) return true;
  threads_.emplace_back();
  const auto self = std::prev(threads_.end());
  try {
    *self = std::thread([this, self] { loop(self); });
  } catch (const std::system_error&) {  // no more threads; the existing ones must do
    threads_.erase(self);
    return !threads_.empty();
  }
  return true;
}

bool Pool::run(std::function<void()> work) {
  Threads ended;
  {
    const std::lock_guard lock(mutex_);
    if (ending_ || waiting_.size() >= queue_max_) return false;
    waiting_.push_back(std::move(work));
    if (!grow()) {
      waiting_.pop_back();
      return false;
    }
    ended.swap(ended_);
  }
  wanted_.notify_one();
  for (std::thread& thread : ended) thread.join();
  return true;
}

bool Pool::pause() {
  const std::lock_guard lock(mutex_);
  if (ending_ || paused_ >= pauses_max_) return false;
  ++paused_;
  grow();  // for what is queued
  return true;
}

void Pool::resume() {
  const std::lock_guard lock(mutex_);
  --paused_;
}

void Pool::loop(Threads::iterator self) {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    const bool called =
        wanted_.wait_for(lock, kIdle, [this] { return ending_ || !waiting_.empty(); });
    --idle_;
    if (ending_) return;
    if (!called) {
      ended_.splice(ended_.end(), threads_, self);
      return;
    }
    std::function<void()> work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    work();
    work = nullptr;  // destroys what it holds outside the lock
    lock.lock();
  }
}

}  // namespace lockkeeper::mcp
