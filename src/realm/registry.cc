#include "realm/registry.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/fd.h"
#include "realm/disk_path.h"

namespace lockkeeper::realm {
namespace {

constexpr std::size_t kEntryBytesMax = 16384;

std::optional<std::string> registry_folder(const Environment& env) {
  const auto state = xdg_folder(env, "XDG_STATE_HOME", ".local/state");
  if (!state) return std::nullopt;
  return join_path(*state, "lockkeeper/realms");
}

bool is_gone(const std::string& folder) {
  struct stat info{};
  return ::lstat(folder.c_str(), &info) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

bool is_below(std::string_view path, std::string_view folder) {
  return folder == "/" || (path.starts_with(folder) && path.substr(folder.size()).starts_with('/'));
}

// Read from the disk again, because modes and owner may have changed. The worktree may be gone, but
// the repository, which has the store, still be there.
Realm find_again(const std::string& root, const std::string& store, const Environment& env) {
  for (const std::string& place : {root, parent_path(store)}) {
    auto found = find_realm(
        {.explicit_dir = place, .inherited_dir = {}, .resources = {}, .cwd = place, .env = env});
    if (found && found->store_folder == store) return std::move(*found);
  }
  Realm realm;  // a store that was chosen with --store
  realm.root = root;
  realm.store_folder = store;
  realm.name = last_name(root);
  return realm;
}

}  // namespace

// An entry is the root, a NUL, the store's folder: no path can contain a NUL.
Result<void> remember_realm(const Realm& realm, const Environment& env) {
  const auto folder = registry_folder(env);
  if (!folder) return {};
  LK_CHECK(make_folders(*folder));
  return replace_file_durably(join_path(*folder, store_digest(realm.store_folder)),
                              realm.root + '\0' + realm.store_folder);
}

std::vector<Realm> known_realms(const Environment& env, std::string_view below) {
  std::vector<Realm> realms;
  const auto folder = registry_folder(env);
  if (!folder) return realms;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder->c_str()), ::closedir);
  if (!entries) return realms;
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string path = join_path(*folder, entry->d_name);
    const auto content = read_file(path, kEntryBytesMax);
    if (!content) continue;
    const std::size_t split = content->find('\0');
    if (split == std::string::npos || !content->starts_with('/')) continue;
    const std::string root = content->substr(0, split);
    if (!below.empty() && (root == below || !is_below(root, below))) continue;
    const std::string store = content->substr(split + 1);
    if (!store.starts_with('/') || store_digest(store) != entry->d_name) continue;
    if (is_gone(store)) {
      ::unlink(path.c_str());
      continue;
    }
    realms.push_back(find_again(root, store, env));
  }
  std::ranges::sort(realms, {}, &Realm::root);
  return realms;
}

}  // namespace lockkeeper::realm
