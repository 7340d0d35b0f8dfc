// The files of a store's folder: created with the modes and the owner that the caller chose, never
// opened through a symlink, and told apart from copies of themselves.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"

namespace lockkeeper::kv::internal {

// Who may read and write the files. Set with fchmod and fchown, so the umask does not matter.
struct FilePolicy {
  unsigned folder_mode = 0700;
  unsigned file_mode = 0600;
  std::optional<uid_t> uid;
  std::optional<gid_t> gid;
};

// Tells a file or folder from a later one of the same name. Some filesystems reuse an inode number
// at once. The time of birth is 0 where the filesystem does not keep it.
struct Identity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t born_ns = 0;
  // Does not compare devices: they get new numbers at each boot.
  bool same_file(const Identity& other) const {
    return inode == other.inode && born_ns == other.born_ns;
  }
};

// nullopt: nothing at `path`. Does not follow a symlink.
std::optional<Identity> identify(const std::string& path);

// Is there anything at `path`? store_unavailable: that is unknown, which is not the same as
// "nothing" (I10). Does not follow a symlink.
Result<bool> is_there(const std::string& path);

// Opens read-write (or read-only) without following a symlink. A missing file is created if there
// is a `policy`, otherwise not_found. store_unavailable names the owner if access is denied.
Result<Fd> open_plain(const std::string& path, bool read_only, const FilePolicy* policy);

// Replaces the file in one step that survives a crash. REQUIRES: nobody else replaces it meanwhile
// (the gate is ours).
Result<void> replace_durably(const std::string& path, std::string_view content,
                             const FilePolicy& policy);

Result<void> sync_folder(const std::string& folder);

// Creates the folder; its parent must exist. Success if the folder is already there.
Result<void> make_folder(const std::string& path, const FilePolicy& policy);

// store_unavailable: locks on this filesystem are not reliable (NFS, CIFS, FUSE, 9p and similar).
// (F20)
Result<void> check_filesystem(const std::string& path);

// The name of the refused filesystem with this f_type (statfs), or null.
const char* refused_filesystem(std::uint64_t type);

std::string parent_of(const std::string& path);

}  // namespace lockkeeper::kv::internal
