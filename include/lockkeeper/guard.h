// The directory lock of agent pipelines, held by this process: the file
// {tmpdir}/agent-dir-{sha256(folder)}.lock that other tools see, and with it that folder in the
// repository it lies in, as `lockkeeper guard` takes them.
//
//   auto guard = lockkeeper::DirectoryGuard::take({.agents = {"implement"}});
//   if (!guard) return complain(guard.error());   // kHeld: the message names the holder
//   while (!guard->lost() && more_to_do()) work();
//                                                 // released here
//
// Two guards never are one party, also in one process. A thread looks twice a second whether the
// lock is still ours; whoever takes it (a stale timeout, another tool, `rm`) makes it lost, for
// ever.
//
// Thread safety: const methods may be called from any thread; moving, release() and the destructor
// by one thread at a time. None of them throws.
//
// Fork: in a forked child the parent's guard is lost, and nothing is released.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "lockkeeper/answer.h"

namespace lockkeeper {

namespace embed {
class GuardState;
}

struct GuardOptions {
  std::string folder = {};  // empty: the current folder
  // A lock that is older counts as stale though its process lives; 0 clears whatever is there.
  std::chrono::milliseconds stale_timeout = std::chrono::minutes(20);
  std::vector<std::string> agents = {};  // named in the lock; empty: who asks
  std::string agent = {};                // who asks; empty: as in RealmOptions
  // Gets every "[LOCK]" line as the command prints it; the library itself prints nothing.
  std::function<void(std::string_view line, bool warning)> on_line = {};
};

class DirectoryGuard {
 public:
  // kHeld: another has it. kInvalidInput: no such folder. Never waits for the holder.
  static Answer<DirectoryGuard> take(const GuardOptions& options = {});

  DirectoryGuard(DirectoryGuard&&) noexcept;
  // What was held here before is released as by the destructor.
  DirectoryGuard& operator=(DirectoryGuard&&) noexcept;
  DirectoryGuard(const DirectoryGuard&) = delete;
  DirectoryGuard& operator=(const DirectoryGuard&) = delete;
  // Releases, if release() has not.
  ~DirectoryGuard();

  const std::string& path() const;    // of the lock file
  const std::string& folder() const;  // physical
  bool lost() const noexcept;
  std::stop_token lost_token() const;  // stop is requested when it is lost

  // Gives it back now. kLost: it was not ours any more. kNotFound: it was released before.
  Answer<void> release();

 private:
  explicit DirectoryGuard(std::unique_ptr<embed::GuardState> state);
  void close() noexcept;
  std::unique_ptr<embed::GuardState> state_;  // null after a move
};

}  // namespace lockkeeper
