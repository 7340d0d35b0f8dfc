// What Linux can do with files in one step and POSIX cannot: names that are taken without replacing
// anything, two names exchanged, a file that is whole from its first moment, a lock that others can
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

// Renames a file or folder in one step; false: `to` is taken. A file system that cannot do it in
// one step gets rename_by_steps().
Result<bool> rename_new(const Folder& folder, const std::string& from, const Folder& into,
                        const std::string& to);
inline Result<bool> rename_new(const Folder& folder, const std::string& from,
                               const std::string& to) {
  return rename_new(folder, from, folder, to);
}
// Takes the name by link or mkdir, which never replace, then moves the rest: a folder is empty for
// a moment, yet nobody else gets the name.
Result<bool> rename_by_steps(const Folder& folder, const std::string& from, const Folder& into,
                             const std::string& to);
// The one step alone, by paths or names in open folders (AT_FDCWD: of the process). 0, or errno's
// value: EEXIST if `to` is taken, EINVAL or ENOSYS if the file system cannot do it.
int rename_new_at(int folder, const std::string& from, int into, const std::string& to);

// Both must be there; in one step.
Result<void> exchange(const Folder& folder, const std::string& a, const Folder& other,
                      const std::string& b);
inline Result<void> exchange(const Folder& folder, const std::string& a, const std::string& b) {
  return exchange(folder, a, folder, b);
}

// A new file with all its bytes from the moment it is there; fails if the name is taken.
Result<void> write_new(const Folder& folder, const std::string& name, std::string_view bytes);

// Locks the file of that name (made if it is not there) among processes, until the descriptor is
// closed. nullopt: somebody has it.
Result<std::optional<Fd>> try_lock(const Folder& folder, const std::string& name);
// Does somebody have that lock? False where there is no such file.
Result<bool> is_locked(const Folder& folder, const std::string& name);

// Nobody else can open the file until the descriptor is closed, or we are dead: they wait in
// open(). False: this file system has no such leases.
bool take_lease(int fd);

// The folder `path` below `top`, step by step: no symlink on the way is followed, and few
// descriptors are needed however deep it is. It can be searched, not listed, so that no permission
// to read it is needed. None: errno says why.
Fd open_below(int top, std::string_view path);

}  // namespace lockkeeper::host
