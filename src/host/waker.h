// How a process that waits for a lock sleeps, and how others wake it. Each waiter chooses the
// number of a word. After a commit the table lists the words to wake.
//
// A wake is a hint (rule 10 in core/README.md): a waiter polls the table when woken and at least
// once a second, so a lost wake costs time and nothing else. This order loses no hint: read() the
// word, poll the table, then wait() with what was read; the other side changes the table, then
// calls wake().
//
// On one machine the words are futexes (host/wake_board.h). A remote store would watch rows or
// listen to a stream.
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

  // Sleeps while the word is `seen`, at most `timeout_ms` (not at all if that is not positive). May
  // wake without a reason.
  virtual Woken wait(std::uint64_t id, std::uint32_t seen, std::int64_t timeout_ms) const = 0;

  // Changes the word and wakes everybody that sleeps on it. Never fails: at worst nobody wakes.
  virtual void wake(std::uint64_t id) const = 0;
};

}  // namespace lockkeeper::host
