// The store's folder: looked at before it is trusted, made so that nobody sees it half made.
#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "base/fd.h"
#include "base/text.h"
#include "realm/disk_path.h"
#include "realm/realm.h"

namespace lockkeeper::realm {
namespace {

std::string user_name(uid_t uid) {
  struct passwd entry{};
  struct passwd* found = nullptr;
  std::vector<char> buffer(16384);
  ::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found);
  const std::string number = "uid " + std::to_string(uid);
  return found != nullptr ? std::string(found->pw_name) + " (" + number + ")" : number;
}

Error not_ours(const Realm& realm, uid_t owner, std::string_view why) {
  std::string hint = "run it as that user";
  if (realm.in_git) {
    hint += ", or share the repository: git config core.sharedRepository group";
  }
  return Error{Code::kStoreUnavailable,
               realm.store_folder + " belongs to " + user_name(owner) + ", you are " +
                   user_name(::geteuid()) + std::string(why),
               hint};
}

Error cannot_create(const Realm& realm, int error) {
  if (error == EACCES || error == EROFS || error == EPERM) {
    return Error{
        Code::kStoreUnavailable,
        "cannot create " + realm.store_folder + ": " + parent_path(realm.store_folder) +
            (error == EROFS ? " is on a read-only file system" : " is not writable for you"),
        "make it writable, or work in another realm with --realm DIR"};
  }
  if (error == ENOENT) {
    return Error{Code::kStoreUnavailable,
                 "cannot create " + realm.store_folder + ": its parent folder is gone",
                 {}};
  }
  return errno_error(error, "cannot create " + realm.store_folder);
}

// Mode and owner, on the open folder so that no name can be swapped underneath.
Result<void> dress(const Realm& realm, const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return fail(cannot_create(realm, errno));
  if (realm.owner_uid || realm.owner_gid) {
    const uid_t uid = realm.owner_uid.value_or(static_cast<uid_t>(-1));
    const gid_t gid = realm.owner_gid.value_or(static_cast<gid_t>(-1));
    // Somebody who is not in the repository's group may not give the folder to it; git has the
    // same limit, and the setgid bit of the common dir has done it already in the usual set-up.
    if (::fchown(fd.get(), uid, gid) != 0 && ::geteuid() == 0) {
      return fail(cannot_create(realm, errno));
    }
  }
  if (::fchmod(fd.get(), realm.folder_mode) != 0) return fail(cannot_create(realm, errno));
  return {};
}

// For the few file systems that cannot rename without replacing.
Result<void> create_in_place(const Realm& realm) {
  if (::mkdir(realm.store_folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return fail(cannot_create(realm, errno));
  }
  return dress(realm, realm.store_folder);
}

}  // namespace

Result<StoreState> look_at_store(const Realm& realm) {
  struct stat info{};
  if (::lstat(realm.store_folder.c_str(), &info) != 0) {
    const int error = errno;
    if (error == ENOENT) return StoreState::kAbsent;
    return fail(errno_error(error, "cannot look at " + realm.store_folder));
  }
  if (!S_ISDIR(info.st_mode)) {
    const bool link = S_ISLNK(info.st_mode);
    return fail(Code::kStoreUnavailable,
                realm.store_folder + (link ? " is a symlink; the store must be a real folder, so "
                                             "that nobody can lead it elsewhere"
                                           : " is not a folder"),
                "move it away; Lockkeeper makes the folder when it needs it");
  }
  const uid_t me = ::geteuid();
  if (me == 0 || info.st_uid == me) return StoreState::kPresent;
  if (!realm.shared) return fail(not_ours(realm, info.st_uid, ", and it is not shared"));
  if (::faccessat(AT_FDCWD, realm.store_folder.c_str(), R_OK | X_OK, AT_EACCESS) != 0) {
    return fail(not_ours(realm, info.st_uid, ", and its mode does not let you in"));
  }
  return StoreState::kPresent;
}

Result<void> create_store_folder(const Realm& realm) {
  auto state = look_at_store(realm);
  if (!state) return fail(std::move(state.error()));
  if (*state == StoreState::kPresent) return {};
  const std::string parent = parent_path(realm.store_folder);
  if (realm.machine) {
    if (auto made = make_folders(parent); !made) return made;
  }
  std::string fresh = realm.store_folder + ".new.XXXXXX";
  if (::mkdtemp(fresh.data()) == nullptr) return fail(cannot_create(realm, errno));
  auto done = dress(realm, fresh);
  if (done && ::renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, realm.store_folder.c_str(),
                          RENAME_NOREPLACE) == 0) {
    return {};
  }
  const int error = errno;
  ::rmdir(fresh.c_str());
  if (!done) return done;
  if (error == EINVAL || error == ENOSYS) return create_in_place(realm);
  if (error != EEXIST) return fail(cannot_create(realm, error));
  auto there = look_at_store(realm);  // somebody was faster
  if (!there) return fail(std::move(there.error()));
  return {};
}

}  // namespace lockkeeper::realm
