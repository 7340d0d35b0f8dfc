// Who goes before whom in this process, by keys: for work that would only refuse each other if it
// were tried at once. Not for correctness: nobody waits longer than it wants.
//
// Thread safety: all methods may be called from any thread. REQUIRES: a thread takes a key once
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>

namespace lockkeeper::layout {

class Turns {
 public:
  class Turn {
   public:
    Turn() = default;
    Turn(Turn&& other) noexcept { *this = std::move(other); }
    Turn& operator=(Turn&& other) noexcept;
    ~Turn() { end(); }
    void end();

   private:
    friend class Turns;
    Turns* turns_ = nullptr;  // null: it has none
    std::uint64_t key_ = 0;
  };

  // Waits until all who have asked for that key before have ended their turns, first come first
  // served; after `most` it goes on without one.
  Turn take(std::uint64_t key, std::chrono::milliseconds most);
  std::size_t in_line(std::uint64_t key);  // with who has it

 private:
  using Line = std::list<std::condition_variable>;  // who has it, then who waits
  void end(std::uint64_t key);

  std::mutex mutex_;  // protects what is below
  std::map<std::uint64_t, Line> lines_;
};

}  // namespace lockkeeper::layout
