// The locking API of git-LFS, at /lfs/REALM/locks…, over the realm's one table: `git lfs lock`,
// `locks`, `unlock`, and the check before a push.
//
// Git-LFS knows locks on files alone. So a lease on a folder or a pattern is shown as one lock for
// each tracked file that it covers. Its locks have no end: they get the realm's longest lease, and
// the end is part of the owner's name.
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include "hub/visit.h"

namespace lockkeeper::hub {

class Lfs {
 public:
  // Both must outlive it.
  Lfs(Desk& desk, HubRealms& realms) : desk_(desk), realms_(realms) {}

  // REQUIRES: the path begins with /lfs.
  void handle(const Visit& visit);

 private:
  // One file that somebody holds.
  struct FileLock {
    std::string id;
    std::string path;
    core::Lease lease;
    bool exact = false;  // the lease names the file itself
  };
  struct Page {
    std::vector<FileLock> locks;
    std::string next;  // the cursor of the next page; empty: this is the last
  };

  Result<Answer> create(Seat& seat, const Visit& visit);
  Result<Answer> list(Seat& seat, const Visit& visit);
  Result<Answer> verify(Seat& seat, const Visit& visit);
  Result<Answer> unlock(Seat& seat, const Visit& visit, const std::string& id);
  Result<std::vector<FileLock>> all(Seat& seat);
  static Result<Page> page(std::vector<FileLock> locks, const std::string& cursor,
                           std::uint64_t limit);
  static Json json_of(const FileLock& lock);

  Desk& desk_;
  HubRealms& realms_;
};

}  // namespace lockkeeper::hub
