#include "kv/lmdb/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>

namespace lockkeeper::kv::internal {
namespace {

struct RefusedType {
  std::uint64_t type;
  const char* name;
};

// From linux/magic.h and the sources of filesystems that are not in it.
constexpr RefusedType kRefused[] = {
    {0x6969, "NFS"},        {0xff534d42, "CIFS"}, {0xfe534d42, "SMB2"},   {0x517b, "SMB"},
    {0x65735546, "FUSE"},   {0x01021997, "9p"},   {0x73757245, "Coda"},   {0x5346414f, "AFS"},
    {0x6b414653, "kAFS"},   {0x00c36400, "Ceph"}, {0x01161970, "GFS2"},   {0x7461636f, "OCFS2"},
    {0x0bd00bd0, "Lustre"}, {0x47504653, "GPFS"}, {0x786f4256, "vboxsf"}, {0xbacbacbc, "vmhgfs"},
};

Error denied(const std::string& path, int error) {
  struct stat st{};
  if ((error == EACCES || error == EPERM) && ::lstat(path.c_str(), &st) == 0) {
    return {Code::kStoreUnavailable,
            path + ": permission denied; it belongs to user " + std::to_string(st.st_uid) +
                " and this process runs as " + std::to_string(::geteuid()),
            "run as that user, or share the repository (git config core.sharedRepository)"};
  }
  if (error == EROFS) {
    return {Code::kStoreUnavailable, path + ": the filesystem is read-only",
            "locks can only be taken where the store's folder can be written"};
  }
  if (error == ELOOP) {
    return {Code::kStoreUnavailable, path + ": is a symbolic link",
            "the store's files must be plain files; remove the link"};
  }
  return errno_error(error, path);
}

Result<void> give_away(int fd, const std::string& path, unsigned mode, const FilePolicy& policy) {
  if (::fchmod(fd, mode) != 0) return fail(errno_error(errno, path));
  if (policy.uid || policy.gid) {
    const uid_t uid = policy.uid.value_or(static_cast<uid_t>(-1));
    const gid_t gid = policy.gid.value_or(static_cast<gid_t>(-1));
    if (::fchown(fd, uid, gid) != 0) return fail(errno_error(errno, path));
  }
  return {};
}

}  // namespace

std::string parent_of(const std::string& path) {
  const auto end = path.find_last_not_of('/');
  const auto slash = end == std::string::npos ? end : path.rfind('/', end);
  if (slash == std::string::npos) return path.starts_with('/') ? "/" : ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::optional<Identity> identify(const std::string& path) {
  struct statx st{};
  if (::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_INO | STATX_BTIME, &st) != 0) {
    return std::nullopt;
  }
  Identity id;
  id.device = (std::uint64_t{st.stx_dev_major} << 32) | st.stx_dev_minor;
  id.inode = st.stx_ino;
  if ((st.stx_mask & STATX_BTIME) != 0) {
    id.born_ns =
        static_cast<std::uint64_t>(st.stx_btime.tv_sec) * 1'000'000'000U + st.stx_btime.tv_nsec;
  }
  return id;
}

Result<bool> is_there(const std::string& path) {
  struct stat st{};
  if (::lstat(path.c_str(), &st) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  return fail(errno_error(errno, path));
}

Result<Fd> open_plain(const std::string& path, bool read_only, const FilePolicy* policy) {
  const int flags = (read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY;
  Fd fd(::open(path.c_str(), flags));
  if (!fd && errno == ENOENT && policy != nullptr) {
    fd = Fd(::open(path.c_str(), flags | O_CREAT | O_EXCL, 0600));
    if (fd) {
      if (auto ok = give_away(fd.get(), path, policy->file_mode, *policy); !ok) {
        return fail(std::move(ok.error()));
      }
    } else if (errno == EEXIST) {
      fd = Fd(::open(path.c_str(), flags));
    }
  }
  if (!fd) {
    const int error = errno;
    if (error == ENOENT) return fail(Code::kNotFound, path + ": does not exist");
    return fail(denied(path, error));
  }
  struct stat st{};
  if (::fstat(fd.get(), &st) != 0) return fail(errno_error(errno, path));
  if (!S_ISREG(st.st_mode)) {
    return fail(Code::kStoreCorrupt, path + ": is not a plain file",
                "move it away and run lockkeeper doctor");
  }
  return fd;
}

Result<void> sync_folder(const std::string& folder) {
  const Fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0) return fail(errno_error(errno, folder));
  return {};
}

Result<void> replace_durably(const std::string& path, std::string_view content,
                             const FilePolicy& policy) {
  return replace_file_durably(
      path, content,
      {.mode = policy.file_mode, .uid = policy.uid, .gid = policy.gid, .alone = true});
}

Result<void> make_folder(const std::string& path, const FilePolicy& policy) {
  if (::mkdir(path.c_str(), 0700) != 0) {
    const int error = errno;
    if (error == EEXIST) return {};
    if (error == EACCES || error == EPERM) return fail(denied(parent_of(path), error));
    return fail(denied(path, error));
  }
  const Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return fail(errno_error(errno, path));
  if (auto ok = give_away(fd.get(), path, policy.folder_mode, policy); !ok) return ok;
  return sync_folder(parent_of(path));
}

const char* refused_filesystem(std::uint64_t type) {
  for (const RefusedType& refused : kRefused) {
    if (refused.type == (type & 0xffffffffU)) return refused.name;
  }
  return nullptr;
}

Result<void> check_filesystem(const std::string& path) {
  struct statfs fs{};
  if (::statfs(path.c_str(), &fs) != 0) return fail(denied(path, errno));
  const char* name = refused_filesystem(static_cast<std::uint64_t>(fs.f_type));
  if (name == nullptr) return {};
  return fail(Code::kStoreUnavailable,
              path + ": is on " + name +
                  ", where file locks do not reliably exclude other machines or containers",
              "keep the store on a local disk (--store), or use a shared store such as etcd");
}

}  // namespace lockkeeper::kv::internal
