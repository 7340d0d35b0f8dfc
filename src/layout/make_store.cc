#include "layout/make_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/fd.h"
#include "host/file_ops.h"
#include "realm/disk_path.h"

namespace lockkeeper::layout {
namespace {

Error cannot_create(const realm::Realm& of, int error) {
  if (error == EACCES || error == EROFS || error == EPERM) {
    return Error{
        Code::kStoreUnavailable,
        "cannot create " + of.store_folder + ": " + realm::parent_path(of.store_folder) +
            (error == EROFS ? " is on a read-only file system" : " is not writable by you"),
        "make it writable, or work in another realm with --realm DIR"};
  }
  if (error == ENOENT) {
    // /proc and its like say the same about a folder that is there.
    const std::string parent = realm::parent_path(of.store_folder);
    const bool there = ::access(parent.c_str(), F_OK) == 0;
    return Error{Code::kStoreUnavailable,
                 "cannot create " + of.store_folder + ": " + parent +
                     (there ? " takes no new folders" : " is gone"),
                 "work in another realm with --realm DIR"};
  }
  return errno_error(error, "cannot create " + of.store_folder);
}

// Sets mode and owner on the open folder, so that the name cannot be swapped.
Result<void> dress(const realm::Realm& of, const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return fail(cannot_create(of, errno));
  if (of.owner_uid || of.owner_gid) {
    const uid_t uid = of.owner_uid.value_or(static_cast<uid_t>(-1));
    const gid_t gid = of.owner_gid.value_or(static_cast<gid_t>(-1));
    // A user who is not in the repository's group may not give the folder to it. Git has the same
    // limit, and usually the setgid bit of the common dir has already done it.
    if (::fchown(fd.get(), uid, gid) != 0 && ::geteuid() == 0) {
      return fail(cannot_create(of, errno));
    }
  }
  if (::fchmod(fd.get(), of.folder_mode) != 0) return fail(cannot_create(of, errno));
  return {};
}

// For the few file systems that cannot rename without replacing.
Result<void> create_in_place(const realm::Realm& of) {
  if (::mkdir(of.store_folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return fail(cannot_create(of, errno));
  }
  return dress(of, of.store_folder);
}

}  // namespace

Result<void> create_store_folder(const realm::Realm& of) {
  LK_ASSIGN(const realm::StoreState state, realm::check_store(of));
  if (state == realm::StoreState::kPresent) return {};
  const std::string parent = realm::parent_path(of.store_folder);
  if (of.machine) {
    LK_CHECK(make_folders(parent));
  }
  std::string fresh = of.store_folder + ".new.XXXXXX";
  if (::mkdtemp(fresh.data()) == nullptr) return fail(cannot_create(of, errno));
  auto done = dress(of, fresh);
  const int error = done ? host::rename_new_at(AT_FDCWD, fresh, AT_FDCWD, of.store_folder) : 0;
  if (done && error == 0) return {};
  ::rmdir(fresh.c_str());
  if (!done) return done;
  if (error == EINVAL || error == ENOSYS) return create_in_place(of);
  if (error != EEXIST) return fail(cannot_create(of, error));
  LK_CHECK(realm::check_store(of));  // somebody was faster
  return {};
}

}  // namespace lockkeeper::layout
