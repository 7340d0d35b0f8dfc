// The directory lock of agent pipelines, held by this process: the file
// {tmpdir}/agent-dir-{sha256(folder)}.lock, which other tools see, together with a lock on that
// folder in its repository. `lockkeeper guard` takes the same two.
//
//   auto guard = lockkeeper::DirectoryGuard::take({.agents = {"implement"}});
//   if (!guard) return complain(guard.error());   // kHeld: the message names the holder
//   while (!guard->lost() && more_to_do()) work();
//                                                 // released here
//
// Two guards always exclude each other, even within one process. A thread checks twice a second
// that the lock is still ours. If anything takes it (a stale timeout, another tool, `rm`), the
// guard is lost and stays lost.
//
// Thread safety: const methods may be called from any thread. Only one thread at a time may move
// it, release it or destroy it. Nothing here throws.
//
// Fork: in a forked child the parent's guard is lost. The child releases nothing.
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
  // An older lock counts as stale even if its process is alive. 0 removes any lock that is there.
  std::chrono::milliseconds stale_timeout = std::chrono::minutes(20);
  std::vector<std::string> agents = {};  // named in the lock; empty: `agent`
  std::string agent = {};                // the caller's name; empty: as in RealmOptions
  // Gets every "[LOCK]" line that the command would print. The library itself prints nothing.
  std::function<void(std::string_view line, bool warning)> on_line = {};
};

class DirectoryGuard {
 public:
  // kHeld: somebody else has it. kInvalidInput: no such folder. Never waits for the holder.
  static Answer<DirectoryGuard> take(const GuardOptions& options = {});

  DirectoryGuard(DirectoryGuard&&) noexcept;
  // Releases the lock that was here before, as the destructor does.
  DirectoryGuard& operator=(DirectoryGuard&&) noexcept;
  DirectoryGuard(const DirectoryGuard&) = delete;
  DirectoryGuard& operator=(const DirectoryGuard&) = delete;
  // Releases the lock unless release() has.
  ~DirectoryGuard();

  const std::string& path() const;    // of the lock file
  const std::string& folder() const;  // absolute, without symlinks
  bool lost() const noexcept;
  std::stop_token lost_token() const;  // a stop is requested when the lock is lost

  // Releases it now. kLost: it was not ours anymore. kNotFound: it was released before.
  Answer<void> release();

 private:
  explicit DirectoryGuard(std::unique_ptr<embed::GuardState> state);
  void close() noexcept;
  std::unique_ptr<embed::GuardState> state_;  // null after a move
};

}  // namespace lockkeeper
