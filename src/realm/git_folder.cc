#include "realm/git_folder.h"

#include <sys/stat.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "base/fd.h"
#include "base/text.h"
#include "realm/disk_path.h"

namespace lockkeeper::realm {
namespace {

constexpr std::size_t kGitFileBytesMax = 64 * 1024;
constexpr std::size_t kGitConfigBytesMax = 4 * 1024 * 1024;

enum class Entry { kMissing, kFolder, kFile };

struct Look {
  Entry entry = Entry::kMissing;
  bool by_link = false;
};

// Follows a symlink, as git does: `.git` itself may be one. One call if there is nothing.
Result<Look> look_at(const std::string& path) {
  struct stat info{};
  Look look;
  int result = ::lstat(path.c_str(), &info);
  if (result == 0 && S_ISLNK(info.st_mode)) {
    look.by_link = true;
    result = ::stat(path.c_str(), &info);
  }
  if (result == 0) {
    look.entry = S_ISDIR(info.st_mode) ? Entry::kFolder : Entry::kFile;
    return look;
  }
  const int error = errno;
  if (look.by_link && (error == ENOENT || error == ENOTDIR)) {
    return fail(Code::kStoreUnavailable, path + ": a symlink that leads nowhere",
                "repair or remove the symlink");
  }
  if (error == ENOENT || error == ENOTDIR) return look;
  return fail(errno_error(error, "cannot look at " + path));
}

Result<Entry> entry_at(const std::string& path) {
  LK_ASSIGN(const Look look, look_at(path));
  return look.entry;
}

Result<std::string> physical(const std::string& path, const std::string& named_in) {
  char resolved[PATH_MAX];
  if (::realpath(path.c_str(), resolved) != nullptr) return std::string(resolved);
  return fail(
      Code::kStoreUnavailable,
      named_in + ": leads to " + quote(path) + ", which cannot be reached: " + std::strerror(errno),
      "if the repository was moved, run: git worktree repair");
}

// The path in a small git file, made absolute.
Result<std::string> path_in_file(const std::string& file, std::string_view prefix,
                                 const std::string& relative_to) {
  auto text = read_file(file, kGitFileBytesMax);
  if (!text) {
    return fail(Code::kStoreUnavailable, "cannot read " + text.error().message,
                "repair the repository: git cannot use it either");
  }
  while (!text->empty() && (text->back() == '\n' || text->back() == '\r')) text->pop_back();
  if (!text->starts_with(prefix) || text->size() == prefix.size() ||
      text->find('\0') != std::string::npos) {
    return fail(Code::kStoreUnavailable,
                file + ": not a git file: expected \"" + std::string(prefix) + "PATH\", found " +
                    quote(*text, 40),
                "repair or remove it; git calls this an invalid gitfile");
  }
  const std::string path = text->substr(prefix.size());
  return physical(path.front() == '/' ? path : join_path(relative_to, path), file);
}

Result<bool> has_objects_and_refs(const std::string& folder) {
  for (const char* name : {"objects", "refs"}) {
    LK_ASSIGN(const Entry entry, entry_at(join_path(folder, name)));
    if (entry != Entry::kFolder) return false;
  }
  return true;
}

// HEAD may be a symlink to a branch that has no commit yet, so it is not followed.
Result<bool> has_head(const std::string& folder) {
  struct stat info{};
  const std::string path = join_path(folder, "HEAD");
  if (::lstat(path.c_str(), &info) == 0) return S_ISREG(info.st_mode) || S_ISLNK(info.st_mode);
  const int error = errno;
  if (error == ENOENT || error == ENOTDIR) return false;
  return fail(errno_error(error, "cannot look at " + path));
}

struct GitDirs {
  std::string git_dir;
  std::string common_dir;
  bool linked = false;
};

// nullopt: not a git dir at all (git then continues with the parent folder).
Result<std::optional<GitDirs>> dirs_of(const std::string& git_dir, bool named_by_file) {
  GitDirs dirs{git_dir, git_dir, false};
  LK_ASSIGN(const bool head, has_head(git_dir));
  const std::string pointer = join_path(git_dir, "commondir");
  LK_ASSIGN(const Entry common, entry_at(pointer));
  if (common == Entry::kFile) {
    LK_ASSIGN(dirs.common_dir, path_in_file(pointer, "", git_dir));
    dirs.linked = true;
  }
  LK_ASSIGN(const bool complete, has_objects_and_refs(dirs.common_dir));
  if (head && complete) return dirs;
  if (!named_by_file) {
    // An empty `.git` does not count. One with remains of a repository is damaged; to ignore it
    // would start a second, empty lock table.
    bool remains = head || complete;
    for (const char* name : {"config", "objects", "lockkeeper"}) {
      LK_ASSIGN(const Entry entry, entry_at(join_path(git_dir, name)));
      remains = remains || entry != Entry::kMissing;
    }
    if (!remains) return std::nullopt;
  }
  return fail(Code::kStoreUnavailable,
              git_dir + ": a damaged git repository (HEAD, objects/ or refs/ is missing)",
              "repair it, or remove it if it is left over");
}

Result<GitConfig> config_at(const std::string& file) {
  auto text = read_file(file, kGitConfigBytesMax);
  if (text) return parse_git_config(*text, file);
  if (text.error().code == Code::kNotFound) return GitConfig{};
  return fail(Code::kStoreUnavailable, "cannot read " + text.error().message,
              "Lockkeeper needs git's config to know who shares this repository");
}

Result<GitFolder> describe(const GitDirs& dirs) {
  const std::string file = join_path(dirs.common_dir, "config");
  LK_ASSIGN(GitConfig config, config_at(file));
  if (config.worktree_config && !dirs.linked) {
    LK_ASSIGN(const GitConfig own, config_at(join_path(dirs.common_dir, "config.worktree")));
    if (own.bare) config.bare = own.bare;
    if (own.worktree) config.worktree = own.worktree;
  }
  GitFolder git;
  git.common_dir = dirs.common_dir;
  git.linked = dirs.linked;
  git.bare = !dirs.linked && config.bare.value_or(false);
  git.ignore_case = config.ignore_case.value_or(false);
  if (config.shared_repository) {
    LK_ASSIGN(git.shared, shared_permissions(*config.shared_repository, file));
  }
  if (config.worktree && !config.worktree->empty() && !dirs.linked) {
    const std::string& named = *config.worktree;
    auto path = physical(named.front() == '/' ? named : join_path(dirs.git_dir, named),
                         file + ": core.worktree");
    // If the worktree is not there (an unmounted disk), the folder that holds `.git` is used.
    if (path) git.worktree = std::move(*path);
  }
  return git;
}

// nullopt: no repository begins at `folder`.
Result<std::optional<GitDirs>> dirs_at(const std::string& folder) {
  const std::string dot_git = join_path(folder, ".git");
  LK_ASSIGN(const Look look, look_at(dot_git));
  if (look.entry == Entry::kFolder) {
    LK_ASSIGN(const std::string path, look.by_link ? physical(dot_git, dot_git) : dot_git);
    auto dirs = dirs_of(path, false);
    if (!dirs || *dirs) return dirs;
  }
  if (look.entry == Entry::kFile) {
    LK_ASSIGN(const std::string path, path_in_file(dot_git, "gitdir: ", folder));
    return dirs_of(path, true);
  }
  // A bare repository. A folder called `.git` was already seen from its parent.
  if (last_name(folder) == ".git") return std::nullopt;
  LK_ASSIGN(const bool head, has_head(folder));
  if (!head) return std::nullopt;
  LK_ASSIGN(const bool complete, has_objects_and_refs(folder));
  if (!complete) return std::nullopt;
  return GitDirs{folder, folder, false};
}

}  // namespace

Result<std::optional<GitFolder>> git_at(const std::string& folder) {
  LK_ASSIGN(const std::optional<GitDirs> dirs, dirs_at(folder));
  if (!dirs) return std::nullopt;
  return describe(*dirs);
}

Result<bool> git_begins_at(const std::string& folder) {
  LK_ASSIGN(const std::optional<GitDirs> dirs, dirs_at(folder));
  return dirs.has_value();
}

}  // namespace lockkeeper::realm
