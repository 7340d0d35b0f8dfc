#include "realm/store_url.h"

#include <stdlib.h>

#include <cerrno>
#include <climits>

#include "base/text.h"
#include "realm/disk_path.h"

namespace lockkeeper::realm {
namespace {

constexpr std::string_view kScheme = "lmdb:";

std::unexpected<Error> bad_url(std::string_view url, std::string_view why) {
  return fail(Code::kInvalidInput, "store " + quote(url) + ": " + std::string(why),
              "there is one kind of store: lmdb: (the realm's own) or lmdb:/absolute/folder");
}

// A command under a lock inherits its realm and its store, and may work in another realm.
std::string inherited(const Realm& realm, const Environment& env) {
  std::string url = variable(env, "LOCKKEEPER_STORE").value_or("");
  FindRealm where;
  where.explicit_dir = variable(env, "LOCKKEEPER_REALM").value_or("");
  where.env = env;
  if (url.empty() || where.explicit_dir.empty()) return url;
  const auto meant = find_realm(where);
  return meant && meant->same_table(realm) ? url : std::string();
}

}  // namespace

Result<void> choose_store(Realm& realm, std::string_view given, const Environment& env) {
  const std::string url = given.empty() ? inherited(realm, env) : std::string(given);
  if (url.empty() || url == kScheme) return {};
  if (url.starts_with("etcd://") || url.starts_with("etcds://")) {
    // Its parameters are left out: they name files that are nobody's business.
    return fail(
        Code::kInvalidInput,
        "the store " + quote(url.substr(0, url.find('?'))) + " is reached through a hub only",
        "lockkeeper login URL; on the hub's machine: lockkeeper serve --store …");
  }
  if (!url.starts_with(kScheme)) return bad_url(url, "not a store that is known");
  std::string folder = url.substr(kScheme.size());
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  if (!folder.starts_with('/') || folder == "/" || folder.find('\0') != std::string::npos) {
    return bad_url(url, "the folder must be an absolute path");
  }
  const std::string last(last_name(folder));
  if (last == "." || last == "..") return bad_url(url, "the folder's own name must not be a dot");
  char physical[PATH_MAX];
  if (::realpath(parent_path(folder).c_str(), physical) == nullptr) {
    return bad_url(url, errno_error(errno, quote(parent_path(folder))).message);
  }
  realm.store_folder = join_path(physical, last);
  realm.store_url = url;
  realm.folder_mode = 0700;
  realm.file_mode = 0600;
  realm.shared = false;
  realm.owner_uid.reset();
  realm.owner_gid.reset();
  realm.epoch_copy = epoch_copy_for(realm.store_folder, env);
  return {};
}

}  // namespace lockkeeper::realm
