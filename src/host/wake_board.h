// The wake board: 4096 futex words in a shared file, on which waiters of any process sleep.
//
// A wake is a hint (host/waker.h), so a board that is missing, truncated or replaced costs time and
// nothing else.
//
// The mapping gives the futex its address and is never touched by us: words are read and written
// through the descriptor. So a truncated file or a full disk is an error code, never a SIGBUS.
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/fd.h"
#include "host/waker.h"

namespace lockkeeper::host {

class WakeBoard final : public Waker {
 public:
  static constexpr std::uint64_t kWords = 4096;

  // Opens the file; creates or extends it. Follows no symlink. store_unavailable, no_space, or
  // store_corrupt: it is not a regular file.
  static Result<WakeBoard> open(const std::string& path, unsigned mode = 0600);

  WakeBoard(WakeBoard&& other) noexcept
      : file_(std::move(other.file_)), words_(std::exchange(other.words_, nullptr)) {}
  WakeBoard& operator=(WakeBoard&&) = delete;
  WakeBoard(const WakeBoard&) = delete;
  WakeBoard& operator=(const WakeBoard&) = delete;
  ~WakeBoard() override;

  // Each method takes an id and uses the word `id modulo kWords`. Ids that share a word wake each
  // other needlessly, which is harmless.

  // The word as it is now; 0 if the file is too short.
  std::uint32_t read(std::uint64_t id) const override;

  // Sleeps while the word is `seen`, at most `timeout_ms` (not at all if that is not positive). If
  // the kernel cannot wait on the word, it sleeps for the whole time.
  Woken wait(std::uint64_t id, std::uint32_t seen, std::int64_t timeout_ms) const override;

  // Changes the word and wakes everybody that sleeps on it, in every process. Never fails: at worst
  // nobody wakes.
  void wake(std::uint64_t id) const override;

 private:
  WakeBoard(Fd file, std::uint32_t* words) : file_(std::move(file)), words_(words) {}

  Fd file_;
  std::uint32_t* words_;  // owned mapping of kWords words
};

}  // namespace lockkeeper::host
