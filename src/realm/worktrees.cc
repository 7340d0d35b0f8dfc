#include "realm/worktrees.h"

#include <algorithm>
#include <climits>
#include <cstdlib>

#include "base/fd.h"
#include "base/folder.h"
#include "realm/disk_path.h"

namespace lockkeeper::realm {
namespace {

void add_root(std::vector<std::string>& roots, const std::string& folder) {
  char physical[PATH_MAX];
  if (::realpath(folder.c_str(), physical) == nullptr) return;
  if (std::ranges::find(roots, physical) == roots.end()) roots.emplace_back(physical);
}

}  // namespace

std::vector<std::string> worktree_roots(const std::string& root, const std::string& common_dir) {
  std::vector<std::string> roots = {root};
  if (common_dir.empty()) return roots;
  if (common_dir.ends_with("/.git")) add_root(roots, parent_path(common_dir));
  const auto folder = Folder::open(common_dir, "worktrees");
  if (!folder) return roots;
  const auto names = folder->names();
  if (!names) return roots;
  for (const std::string& name : *names) {
    // "gitdir" has the path of the worktree's .git file.
    auto text = read_file(folder->path_of(name) + "/gitdir", PATH_MAX);
    if (!text) continue;
    while (text->ends_with('\n')) text->pop_back();
    if (text->starts_with('/') && text->ends_with("/.git")) {
      add_root(roots, parent_path(*text));
    }
  }
  return roots;
}

}  // namespace lockkeeper::realm
