#include "dialect/dirlock/worktrees.h"

#include <algorithm>
#include <climits>
#include <cstdlib>

#include "base/fd.h"
#include "base/folder.h"
#include "realm/disk_path.h"

namespace lockkeeper::dialect::dirlock {
namespace {

void add(std::vector<std::string>& roots, const std::string& folder) {
  char physical[PATH_MAX];
  if (::realpath(folder.c_str(), physical) == nullptr) return;
  if (std::ranges::find(roots, physical) == roots.end()) roots.emplace_back(physical);
}

}  // namespace

std::vector<std::string> worktree_roots(const realm::Realm& realm) {
  std::vector<std::string> roots = {realm.root};
  if (realm.common_dir.empty()) return roots;
  if (realm.common_dir.ends_with("/.git")) add(roots, realm::parent_path(realm.common_dir));
  const auto folder = Folder::open(realm.common_dir, "worktrees");
  if (!folder) return roots;
  const auto names = folder->names();
  if (!names) return roots;
  for (const std::string& name : *names) {
    // "gitdir" has the path of the worktree's .git file.
    auto text = read_file(folder->path_of(name) + "/gitdir", PATH_MAX);
    if (!text) continue;
    while (text->ends_with('\n')) text->pop_back();
    if (text->starts_with('/') && text->ends_with("/.git")) {
      add(roots, realm::parent_path(*text));
    }
  }
  return roots;
}

}  // namespace lockkeeper::dialect::dirlock
