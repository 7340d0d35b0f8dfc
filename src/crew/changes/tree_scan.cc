#include "crew/changes/tree_scan.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <memory>
#include <set>
#include <string_view>

#include "base/fd.h"
#include "base/text.h"
#include "crew/changes/file_digest.h"
#include "git/reader.h"
#include "host/file_ops.h"
#include "realm/git_folder.h"

namespace lockkeeper::crew {
namespace {

constexpr const char* kStoreFolder = ".lockkeeper/";
constexpr std::size_t kNestingMax = 32;

// By path from the root, with one slash at the end.
std::set<std::string> folders_left_out(const std::string& root,
                                       const std::vector<std::string>& leave_out) {
  std::set<std::string> made = {kStoreFolder};
  for (std::string_view folder : leave_out) {
    if (folder.starts_with(root + "/")) folder.remove_prefix(root.size() + 1);
    if (folder.starts_with("./")) folder.remove_prefix(2);
    while (folder.ends_with('/')) folder.remove_suffix(1);
    if (!folder.empty() && !folder.starts_with('/')) made.insert(std::string(folder) + "/");
  }
  return made;
}

bool is_gone(int error) {
  return error == ENOENT || error == ENOTDIR || error == ELOOP || error == EACCES;
}

class TreeScan {
 public:
  TreeScan(std::string root, const std::vector<std::string>& leave_out)
      : root_(std::move(root)), left_out_(folders_left_out(root_, leave_out)) {}

  Result<Tree> run() {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
    tree_.scanned_ns = nanoseconds(now);
    top_ = Fd(::open((root_ + "/").c_str(), O_DIRECTORY | O_CLOEXEC));
    if (!top_) return fail(errno_error(errno, root_, Code::kFailed));
    LK_ASSIGN(tree_.by_git, scan_by_git("", 0));
    if (!tree_.by_git) LK_CHECK(walk(""));
    add_digests();
    return std::move(tree_);
  }

 private:
  bool is_left_out(std::string_view path) const {
    return std::ranges::any_of(left_out_,
                               [&](const std::string& folder) { return path.starts_with(folder); });
  }
  Result<void> add(const std::string& path, const struct stat& found, bool dirty);
  Result<bool> scan_by_git(const std::string& prefix, std::size_t depth);
  Result<void> take_status(const std::string& prefix, const std::string& status, std::size_t depth);
  Result<void> take_name(std::string path, bool dirty, std::size_t depth);
  Result<void> scan_inside(const std::string& prefix, std::size_t depth);
  Result<void> walk(const std::string& from);
  Result<void> walk_one(const std::string& path, std::vector<std::string>& open);
  void add_digests();
  int folder_of(std::string_view path);

  std::string root_;
  std::set<std::string> left_out_;
  Fd top_;
  std::string parent_ = "/";  // the folder that folder_of opened last; "/": none yet
  Fd parent_fd_;
  Tree tree_;
};

// The opened folder of a file; -1: it is gone, or behind a symlink. Paths come in order, so the
// last folder is often the next one, too.
int TreeScan::folder_of(std::string_view path) {
  const std::string_view folder = crew::folder_of(path);
  if (folder != parent_) {
    parent_ = folder;
    parent_fd_ = host::open_below(top_.get(), folder);
  }
  return parent_fd_.get();
}

Result<void> TreeScan::add(const std::string& path, const struct stat& found, bool dirty) {
  FileState& state = tree_.files[path];
  dirty = dirty || state.dirty;
  state = file_state(found);
  state.dirty = dirty;
  if (tree_.files.size() > kTreeFilesMax) {
    return fail(Code::kLimitExceeded,
                quote(root_) + " has more than " + std::to_string(kTreeFilesMax) + " files");
  }
  return {};
}

// A failure of git's means that it cannot be asked; others are ours.
Result<bool> unless_failed(const Error& error) {
  if (error.code != Code::kFailed) return fail(error);
  return false;
}

// False: not a repository, or git cannot be asked.
Result<bool> TreeScan::scan_by_git(const std::string& prefix, std::size_t depth) {
  std::string folder = root_ + "/" + prefix;
  if (folder.size() > 1) folder.pop_back();
  const Result<bool> begins = realm::git_begins_at(folder);
  if (!begins || !*begins) return false;
  const Result<git::Reader> git = git::Reader::open(folder);
  if (!git) return false;
  // -v: files marked "assume unchanged" are checked all the same.
  const Result<std::string> names = git->ask({"ls-files", "-z", "-c", "-v"});
  if (!names) return unless_failed(names.error());
  const Result<std::string> status = git->ask(
      {"status", "--porcelain=v2", "-z", "--branch", "--no-ahead-behind", "--untracked-files=all",
       "--ignored=no", "--no-renames", "--ignore-submodules=all"});
  if (!status) return unless_failed(status.error());
  for (const std::string& line : git::split_at_nul(*names)) {
    if (line.size() > 2) LK_CHECK(take_name(prefix + line.substr(2), line[0] != 'H', depth));
  }
  LK_CHECK(take_status(prefix, *status, depth));
  return true;
}

// The path of a line `1 XY … path`: after so many fields.
std::string_view after_fields(std::string_view line, std::size_t fields) {
  for (; fields > 0 && !line.empty(); --fields) {
    line.remove_prefix(std::min(line.find(' ') + 1, line.size()));
  }
  return line;
}

Result<void> TreeScan::take_status(const std::string& prefix, const std::string& status,
                                   std::size_t depth) {
  constexpr std::string_view kHead = "# branch.oid ";
  // Changed, unmerged and new files: how such a line begins, and how many fields precede the path.
  constexpr std::pair<std::string_view, std::size_t> kKinds[] = {{"1 ", 8}, {"u ", 10}, {"? ", 1}};
  std::string head;
  for (const std::string& line : git::split_at_nul(status)) {
    if (line.starts_with(kHead)) {
      head = line.substr(kHead.size());
      if (head.starts_with('(')) head.clear();  // "(initial)"
    }
    for (const auto& [kind, fields] : kKinds) {
      if (!line.starts_with(kind)) continue;
      LK_CHECK(take_name(prefix + std::string(after_fields(line, fields)), true, depth));
    }
  }
  std::string& into = prefix.empty() ? tree_.head : tree_.nested[prefix];
  into = head;
  return {};
}

// A listed folder is a nested repository.
Result<void> TreeScan::take_name(std::string path, bool dirty, std::size_t depth) {
  if (is_left_out(path)) return {};
  if (path.ends_with('/')) path.pop_back();
  const int folder = folder_of(path);
  struct stat found{};
  if (folder < 0 || ::fstatat(folder, name_of(path).c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) {
    return {};
  }
  if (S_ISDIR(found.st_mode)) return scan_inside(path + "/", depth);
  return add(path, found, dirty);
}

Result<void> TreeScan::scan_inside(const std::string& prefix, std::size_t depth) {
  if (is_left_out(prefix) || tree_.nested.contains(prefix)) return {};
  if (depth >= kNestingMax) {
    return fail(Code::kLimitExceeded, "repositories are nested more than " +
                                          std::to_string(kNestingMax) + " deep at " +
                                          quote(prefix));
  }
  tree_.nested[prefix] = {};
  LK_ASSIGN(const bool by_git, scan_by_git(prefix, depth + 1));
  if (by_git) return {};
  return walk(prefix);
}

Result<void> TreeScan::walk(const std::string& from) {
  std::vector<std::string> open = {from};
  while (!open.empty()) {
    const std::string path = std::move(open.back());
    open.pop_back();
    LK_CHECK(walk_one(path, open));
  }
  return {};
}

Result<void> TreeScan::walk_one(const std::string& path, std::vector<std::string>& open) {
  const Fd found_folder = host::open_below(top_.get(), path);
  Fd opened;
  if (found_folder) {
    opened = Fd(::openat(found_folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opened ? ::fdopendir(opened.get()) : nullptr,
                                                   ::closedir);
  if (!folder) {
    if (is_gone(errno)) return {};
    return fail(errno_error(errno, quote(root_ + "/" + path), Code::kFailed));
  }
  const int here = opened.release();  // `folder` owns it now
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(folder.get());
    if (entry == nullptr) break;
    const std::string name = entry->d_name;
    if (name == "." || name == ".." || name == ".git") continue;
    struct stat found{};
    if (::fstatat(here, name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!S_ISDIR(found.st_mode)) {
      if (!is_left_out(path + name)) LK_CHECK(add(path + name, found, true));
    } else if (!is_left_out(path + name + "/")) {
      open.push_back(path + name + "/");
    }
  }
  if (errno != 0) return fail(errno_error(errno, quote(root_ + "/" + path), Code::kFailed));
  return {};
}

// For files that git does not know, and files too young to be judged by their times.
void TreeScan::add_digests() {
  std::uint64_t left = kDigestTotalBytesMax;
  for (auto& [path, state] : tree_.files) {
    if (!(tree_.by_git && state.dirty) && !is_young(tree_, state)) continue;
    if (state.size > std::min(left, kDigestFileBytesMax)) continue;
    left -= state.size;
    const int folder = folder_of(path);
    if (folder >= 0) state.digest = file_digest(folder, name_of(path));
  }
}

}  // namespace

Result<Tree> scan_tree(const std::string& root, const std::vector<std::string>& leave_out) {
  std::string folder = root;
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  return TreeScan(folder == "/" ? "" : folder, leave_out).run();
}

}  // namespace lockkeeper::crew
