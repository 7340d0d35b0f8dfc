// What Linux can do with files in one step and POSIX cannot: take a name without replacing
// anything, exchange two names, create a file that is complete at once, take a lock that others can
// see.
//
// Thread safety: plain functions without state.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"
#include "base/folder.h"

namespace lockkeeper::host {

// Renames a file or folder in one step. False: `to` is taken. Uses rename_by_steps() on a file
// system that cannot do it in one step.
Result<bool> rename_new(const Folder& folder, const std::string& from, const Folder& into,
                        const std::string& to);
inline Result<bool> rename_new(const Folder& folder, const std::string& from,
                               const std::string& to) {
  return rename_new(folder, from, folder, to);
}
// Takes the name by link or mkdir, which never replace, then moves the rest. A folder is empty for
// a moment, but nobody else gets the name.
Result<bool> rename_by_steps(const Folder& folder, const std::string& from, const Folder& into,
                             const std::string& to);
// Only the single step, by paths or names in open folders (AT_FDCWD: the process's). 0, or errno's
// value: EEXIST if `to` is taken, EINVAL or ENOSYS if the file system cannot do it.
int rename_new_at(int folder, const std::string& from, int into, const std::string& to);

// Exchanges two names in one step. Both must exist.
Result<void> exchange(const Folder& folder, const std::string& a, const Folder& other,
                      const std::string& b);
inline Result<void> exchange(const Folder& folder, const std::string& a, const std::string& b) {
  return exchange(folder, a, folder, b);
}

// A new file that has all its bytes as soon as it appears. Fails if the name is taken.
Result<void> write_new(const Folder& folder, const std::string& name, std::string_view bytes);

// Locks the file of that name (created if it is not there) until the descriptor is closed. nullopt:
// another process has it.
Result<std::optional<Fd>> try_lock(const Folder& folder, const std::string& name);
// Does somebody have that lock? False if there is no such file.
Result<bool> is_locked(const Folder& folder, const std::string& name);

// Nobody else can open the file until the descriptor is closed or we die: they wait in open().
// False: this file system has no such leases.
bool take_lease(int fd);

// Opens the folder `path` below `top` step by step: follows no symlink on the way, and needs few
// descriptors however deep it is. It can be searched but not listed, so no read permission is
// needed. None: errno says why.
Fd open_below(int top, std::string_view path);

}  // namespace lockkeeper::host
