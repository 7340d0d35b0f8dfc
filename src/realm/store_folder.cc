// Checks the store's folder before it is trusted.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "realm/realm.h"
#include "realm/user.h"

namespace lockkeeper::realm {
namespace {

std::string user_name(uid_t uid) {
  const std::optional<User> found = find_user(uid);
  const std::string number = "uid " + std::to_string(uid);
  return found ? found->name + " (" + number + ")" : number;
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

}  // namespace

Result<StoreState> check_store(const Realm& realm) {
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

}  // namespace lockkeeper::realm
