// How a process that waits for a lock sleeps, and how others wake it. Each waiter has a word, by a
// number of its choice; the table gives the words to wake after a commit.
//
// A wake is a hint (rule 10): whoever sleeps looks at the table again when woken and at least once
// a second, so a waker that hears nothing costs time and nothing else. The order that loses no
// hint: read() the word, look at the table, then wait() with what was read; the other side changes
// the table, then calls wake().
//
// On one machine that is a board of futexes (host/wake_board.h); a store that is far away would
// watch rows, or listen to a stream.
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <cstdint>

namespace lockkeeper::host {

enum class Woken : std::uint8_t {
  kWake,         // somebody called wake(), or the word had changed before we slept
  kTimeout,      // the time is over
  kInterrupted,  // a signal handler ran
};

class Waker {
 public:
  virtual ~Waker() = default;

  // The word as it is now.
  virtual std::uint32_t read(std::uint64_t id) const = 0;

  // Sleeps while the word is `seen`, at most `timeout_ms` (not at all if it is not positive). May
  // wake for nothing.
  virtual Woken wait(std::uint64_t id, std::uint32_t seen, std::int64_t timeout_ms) const = 0;

  // Changes the word and wakes all that sleep on it, wherever they are. Never fails: at worst
  // nobody hears it.
  virtual void wake(std::uint64_t id) const = 0;
};

}  // namespace lockkeeper::host
