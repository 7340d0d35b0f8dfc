#include "realm/realm.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

#include "base/bytes.h"
#include "base/text.h"
#include "key/resource.h"
#include "realm/disk_path.h"
#include "realm/git_folder.h"
#include "realm/realm_request.h"
#include "realm/user.h"

namespace lockkeeper::realm {
namespace {

// "/home/u/shop/.git" is the repository "shop", "/srv/shop.git" is "shop.git".
std::string name_of_repository(const std::string& common_dir) {
  const std::string_view last = last_name(common_dir);
  const bool hidden = last.starts_with(".") && common_dir.size() > last.size() + 1;
  return std::string(hidden ? last_name(parent_path(common_dir)) : last);
}

// Root must not leave a store that the repository's owner cannot use.
Result<void> set_owner(Realm& realm, const std::string& of_folder) {
  struct stat info{};
  if (::stat(of_folder.c_str(), &info) != 0) {
    return fail(errno_error(errno, "cannot look at " + of_folder));
  }
  if (::geteuid() == 0 && info.st_uid != 0) {
    realm.owner_uid = info.st_uid;
    realm.owner_gid = info.st_gid;
  } else if (realm.shared && info.st_gid != ::getegid()) {
    realm.owner_gid = info.st_gid;
  }
  return {};
}

Result<bool> is_folder_of_its_own(const std::string& path) {
  struct stat info{};
  if (::lstat(path.c_str(), &info) == 0) return S_ISDIR(info.st_mode) && (info.st_mode & 077) == 0;
  const int error = errno;
  if (error == ENOENT || error == ENOTDIR) return false;
  return fail(errno_error(error, "cannot look at " + path));
}

// `git init` in a folder that has been a plain realm: its locks go on counting. A folder that came
// with a clone has other permissions than ours.
Result<std::string> git_store_folder(const std::string& common_dir) {
  std::string own = join_path(common_dir, kGitStoreName);
  if (last_name(common_dir) != ".git") return own;
  struct stat info{};
  if (::lstat(own.c_str(), &info) == 0) return own;
  const std::string before = join_path(parent_path(common_dir), kPlainStoreName);
  LK_ASSIGN(const bool plain, is_folder_of_its_own(before));
  return plain ? before : own;
}

Result<Realm> git_realm(const std::string& folder, const GitFolder& git, const Environment& env) {
  Realm realm;
  realm.root = git.worktree.empty() ? folder : git.worktree;
  realm.in_git = true;
  realm.bare = git.bare;
  realm.ignore_case = git.ignore_case;
  realm.common_dir = git.common_dir;
  LK_ASSIGN(realm.store_folder, git_store_folder(git.common_dir));
  realm.name = name_of_repository(git.common_dir);
  if (git.shared) {
    realm.shared = true;
    realm.file_mode = *git.shared;
    // Whoever may read a folder may enter it, and it passes its group on, as git's folders do.
    realm.folder_mode = 02000 | *git.shared | ((*git.shared & 0444) >> 2);
  }
  realm.epoch_copy = epoch_copy_for(realm.store_folder, env);
  LK_CHECK(set_owner(realm, git.common_dir));
  return realm;
}

Result<Realm> plain_realm(const std::string& root, const Environment& env) {
  Realm realm;
  realm.root = root;
  realm.store_folder = join_path(root, kPlainStoreName);
  realm.name = root == "/" ? "/" : std::string(last_name(root));
  realm.epoch_copy = epoch_copy_for(realm.store_folder, env);
  LK_CHECK(set_owner(realm, root));
  return realm;
}

Result<bool> has_plain_store(const std::string& folder) {
  struct stat info{};
  const std::string path = join_path(folder, kPlainStoreName);
  if (::lstat(path.c_str(), &info) == 0) return true;
  const int error = errno;
  if (error == ENOENT || error == ENOTDIR) return false;
  return fail(errno_error(error, "cannot look at " + path));
}

// What is in a `.git` folder belongs to the worktree that has it, including the submodules' own
// repositories below .git/modules.
std::string out_of_dot_git(const std::string& folder) {
  const auto at = (folder + "/").find("/.git/");
  if (at == std::string::npos) return folder;
  return at == 0 ? "/" : folder.substr(0, at);
}

// The nearest ancestor with `.lockkeeper/`; empty: none.
Result<std::string> nearest_plain_root(const std::string& start) {
  for (std::string folder = start;; folder = parent_path(folder)) {
    LK_ASSIGN(const bool plain, has_plain_store(folder));
    if (plain) return folder;
    if (folder == "/") return std::string();
  }
}

// From an existing physical folder upwards. A repository wins over any `.lockkeeper/` inside it.
// nullopt: neither is found.
Result<std::optional<Realm>> nearest_realm(const std::string& start, const Environment& env) {
  for (std::string folder = out_of_dot_git(start);; folder = parent_path(folder)) {
    LK_ASSIGN(const std::optional<GitFolder> git, git_at(folder));
    if (git) return git_realm(folder, *git, env);
    if (folder == "/") break;
  }
  LK_ASSIGN(const std::string root, nearest_plain_root(start));
  if (root.empty()) return std::nullopt;
  return plain_realm(root, env);
}

Result<Realm> realm_from_folder(const std::string& folder, const Environment& env) {
  LK_ASSIGN(std::optional<Realm> found, nearest_realm(folder, env));
  return found ? std::move(*found) : plain_realm(folder, env);
}

Result<std::string> explicit_folder(const std::string& named, const std::string& cwd) {
  const std::string hint = "name an existing folder: --realm DIR, or LOCKKEEPER_REALM=DIR";
  if (named.find('\0') != std::string::npos || named.size() >= PATH_MAX) {
    return fail(Code::kInvalidInput, "realm " + quote(named) + ": not a path", hint);
  }
  auto place = walk_disk(cwd, named, Patterns::kNone);
  if (!place) return fail(Code::kInvalidInput, "realm " + place.error().message, hint);
  if (place->type == DiskPath::Type::kFolder) return std::move(place->path);
  const bool missing = place->type == DiskPath::Type::kMissing;
  return fail(Code::kInvalidInput,
              "realm " + quote(named) + (missing ? ": no such folder" : ": not a folder"), hint);
}

// Where the first path among the resources leads; nullopt: nowhere. A path that cannot be walked
// decides nothing: the resolver will say what is wrong with it.
std::optional<std::string> named_place(const FindRealm& request, const std::string& cwd) {
  for (const std::string& text : request.resources) {
    if (text.empty() || text.find('\0') != std::string::npos || key::looks_logical(text)) continue;
    if (text.size() > PATH_MAX) return std::nullopt;
    auto place = walk_disk(cwd, text, Patterns::kUnlessThere);
    if (!place) return std::nullopt;
    return std::move(place->existing_folder);
  }
  return std::nullopt;
}

}  // namespace

Result<std::string> current_folder(const std::string& given) {
  char path[PATH_MAX];
  if (given.empty()) {
    // The kernel says "(unreachable)…" for a folder outside this process's root.
    if (::getcwd(path, sizeof path) != nullptr && path[0] == '/') return std::string(path);
    return fail(Code::kInvalidInput, "the current folder cannot be found: it was removed or moved",
                "cd to a folder that exists, or name one with --realm");
  }
  if (given.front() == '/' && ::realpath(given.c_str(), path) != nullptr) return std::string(path);
  return fail(Code::kInvalidInput, "the current folder " + quote(given) + " cannot be used",
              "cd to a folder that exists, or name one with --realm");
}

std::string epoch_copy_for(const std::string& store_folder, const Environment& env) {
  const auto state = xdg_folder(env, "XDG_STATE_HOME", ".local/state");
  return state ? join_path(*state, "lockkeeper/epochs/" + store_digest(store_folder)) : "";
}

std::string store_digest(std::string_view store_folder) {
  std::string bytes;
  append_be64(bytes, hash64(store_folder));
  return to_hex(bytes);
}

bool Realm::contains(std::string_view path) const {
  if (root == "/") return path.starts_with('/');
  return path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/');
}

FindRealm realm_request(std::string explicit_dir, const Environment& env) {
  FindRealm request;
  request.explicit_dir = std::move(explicit_dir);
  request.env = env;
  if (!request.explicit_dir.empty()) return request;
  std::string& meant =
      variable(env, "LOCKKEEPER_LEASE") ? request.inherited_dir : request.explicit_dir;
  meant = variable(env, "LOCKKEEPER_REALM").value_or("");
  return request;
}

Result<Realm> find_realm(const FindRealm& request) {
  const bool inherits = request.explicit_dir.empty() && !request.inherited_dir.empty();
  const std::string& named = inherits ? request.inherited_dir : request.explicit_dir;
  const auto here = current_folder(request.cwd);
  // With an absolute folder it does not matter that the current one is gone.
  if (!here && !named.starts_with('/')) return fail(here.error());
  const std::string start = here.value_or("/");
  // What a command was started in does not decide what is meant in another repository.
  if (request.explicit_dir.empty()) {
    std::vector<std::string> places;
    if (auto place = named_place(request, start)) places.push_back(std::move(*place));
    if (here) places.push_back(start);
    for (const std::string& place : places) {
      LK_ASSIGN(std::optional<Realm> found, nearest_realm(place, request.env));
      if (found) return std::move(*found);
    }
  }
  if (named.empty()) return realm_from_folder(start, request.env);
  LK_ASSIGN(const std::string folder, explicit_folder(named, start));
  return realm_from_folder(folder, request.env);
}

Result<Realm> realm_of(std::string_view absolute_path, const Environment& env) {
  const std::string hint = "name the realm's folder with --realm DIR";
  if (!absolute_path.starts_with('/') || absolute_path.find('\0') != std::string_view::npos) {
    return fail(Code::kInvalidInput, quote(absolute_path) + ": not an absolute path", hint);
  }
  LK_ASSIGN(const DiskPath place, walk_disk("/", absolute_path, Patterns::kNone));
  LK_ASSIGN(std::optional<Realm> found, nearest_realm(place.existing_folder, env));
  if (found) return std::move(*found);
  return fail(Code::kNotFound,
              quote(absolute_path) + " is not in a git repository or below a folder with " +
                  std::string(kPlainStoreName) + "/",
              hint);
}

Result<Realm> machine_realm(const Environment& env) {
  std::optional<std::string> state = xdg_folder(env, "XDG_STATE_HOME", ".local/state");
  const std::optional<std::string> home = home_folder(env);
  if (!state && home) state = join_path(*home, ".local/state");
  Realm realm;
  realm.root = "/";
  realm.machine = true;
  realm.name = "machine";
  // Without any folder of its user. If another user made that one, it is refused.
  realm.store_folder = state ? join_path(*state, "lockkeeper")
                             : "/var/tmp/lockkeeper-" + std::to_string(::geteuid());
  realm.epoch_copy = epoch_copy_for(realm.store_folder, env);
  return realm;
}

bool has_own_store_folder(const Realm& realm) {
  struct stat info{};
  if (::lstat(realm.store_folder.c_str(), &info) != 0) return errno == ENOENT || errno == ENOTDIR;
  if (!S_ISDIR(info.st_mode)) return false;
  const bool private_to_user = (info.st_mode & 077) == 0;
  return private_to_user || (realm.shared && (info.st_mode & S_ISGID) != 0);
}

Result<bool> begins_realm(const std::string& folder, const Realm& outer) {
  if (outer.machine) return false;
  auto git = git_begins_at(folder);
  if (!git || *git) return git;
  if (outer.in_git) return false;
  return has_plain_store(folder);
}

Error crossing_error(std::string_view typed, const Realm& asked, const Realm& belongs) {
  return Error{Code::kInvalidInput,
               quote(typed) + " belongs to the realm " + belongs.root + ", this request to " +
                   asked.root + "; a request cannot cross realms",
               "ask for it separately, with --realm " + shell_quote(belongs.root)};
}

}  // namespace lockkeeper::realm
