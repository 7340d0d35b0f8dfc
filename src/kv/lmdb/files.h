// The files of a store's folder: created with the modes and the owner that the caller decided,
// never through a symlink, and told apart from a copy of themselves.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"

namespace lockkeeper::kv::internal {

// Who may read and write what is created. Set with fchmod and fchown, so the umask has no say.
struct FilePolicy {
  unsigned folder_mode = 0700;
  unsigned file_mode = 0600;
  std::optional<uid_t> uid;
  std::optional<gid_t> gid;
};

// What tells a file or folder from a later one of the same name. An inode number alone is reused at
// once by some filesystems; the time of birth is 0 where the filesystem does not keep it.
struct Identity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t born_ns = 0;
  // Devices are numbered anew at each boot: not compared.
  bool same_file(const Identity& other) const {
    return inode == other.inode && born_ns == other.born_ns;
  }
};

// nullopt if there is nothing at `path`. Does not follow a symlink.
std::optional<Identity> identify(const std::string& path);

// Whether there is anything at `path`; store_unavailable if that cannot be told, which is not the
// same as "nothing" (I10). Does not follow a symlink.
Result<bool> is_there(const std::string& path);

// Opens read-write (or read-only) without following a symlink. not_found if it is missing and
// `policy` is null, else it is created. store_unavailable names the owner if access is denied.
Result<Fd> open_plain(const std::string& path, bool read_only, const FilePolicy* policy);

// Replaces the file in one step that survives a crash. REQUIRES: nobody else replaces it at the
// same time (the gate is ours).
Result<void> replace_durably(const std::string& path, std::string_view content,
                             const FilePolicy& policy);

Result<void> sync_folder(const std::string& folder);

// Creates the folder itself (its parent must exist). Success if it is there already.
Result<void> make_folder(const std::string& path, const FilePolicy& policy);

// store_unavailable if locks of this filesystem do not exclude other machines or are not kept:
// NFS, CIFS, FUSE, 9p and their like. (F20)
Result<void> check_filesystem(const std::string& path);

// The decision behind it, by statfs's f_type; the name of the refused filesystem, or null.
const char* refused_filesystem(std::uint64_t type);

std::string parent_of(const std::string& path);

}  // namespace lockkeeper::kv::internal
