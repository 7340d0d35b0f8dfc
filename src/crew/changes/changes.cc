#include "crew/changes/changes.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "crew/changes/file_digest.h"
#include "git/reader.h"
#include "host/file_ops.h"

namespace lockkeeper::crew {
namespace {

bool is_executable(const FileState& state) {
  return (state.mode & S_IXUSR) != 0;
}

// Git also counts a new kind of file, or a new executable bit, as a change.
bool same_kind(const FileState& a, const FileState& b) {
  return (a.mode & S_IFMT) == (b.mode & S_IFMT) && is_executable(a) == is_executable(b);
}

bool is_ignore_file(std::string_view path) {
  return path == ".gitignore" || path.ends_with("/.gitignore");
}

class Comparison {
 public:
  Comparison(const Tree& before, const Tree& after, std::string root)
      : before_(before),
        after_(after),
        root_(std::move(root)),
        top_(::open((root_ + "/").c_str(), O_DIRECTORY | O_CLOEXEC)) {}

  Result<std::vector<Change>> find();

 private:
  Result<void> read_commits();
  Result<void> add_committed(const std::string& prefix, const std::string& from,
                             const std::string& to);
  std::optional<Change::Kind> compare(const std::string& path, const FileState& before,
                                      const FileState& after) const;
  std::optional<Change::Kind> gone(const std::string& path, const FileState& before) const;
  bool has_content_of(const std::string& path, const FileState& before,
                      const FileState& after) const;
  bool in_moved_repository(std::string_view path) const;

  const Tree& before_;
  const Tree& after_;
  std::string root_;
  Fd top_;
  std::set<std::string> committed_;   // paths that differ between the commits
  std::vector<std::string> unknown_;  // repositories whose commits could not be compared
};

Result<std::vector<Change>> Comparison::find() {
  if (before_.by_git != after_.by_git) {
    return fail(
        Code::kFailed,
        "git answered only " + std::string(before_.by_git ? "before" : "after") + " the agent ran",
        "run git status there");
  }
  if (before_.by_git) LK_CHECK(read_commits());
  std::vector<Change> found;
  bool rules_changed = false;  // files that were ignored may be listed now
  for (const auto& [path, state] : before_.files) {
    const auto now = after_.files.find(path);
    const std::optional<Change::Kind> kind =
        now == after_.files.end() ? gone(path, state) : compare(path, state, now->second);
    if (!kind) continue;
    found.push_back({path, *kind, false, {}});
    rules_changed = rules_changed || is_ignore_file(path);
  }
  for (const auto& [path, state] : after_.files) {
    if (before_.files.contains(path)) continue;
    const bool was_there = rules_changed && state.ctime_ns < before_.scanned_ns;
    if (!was_there) found.push_back({path, Change::Kind::kAdded, false, {}});
  }
  std::ranges::sort(found, {}, &Change::path);
  return found;
}

Result<void> Comparison::read_commits() {
  LK_CHECK(add_committed("", before_.head, after_.head));
  for (const auto& [prefix, head] : after_.nested) {
    if (const auto was = before_.nested.find(prefix); was != before_.nested.end()) {
      LK_CHECK(add_committed(prefix, was->second, head));
    }
  }
  return {};
}

Result<void> Comparison::add_committed(const std::string& prefix, const std::string& from,
                                       const std::string& to) {
  if (from == to) return {};
  const Result<git::Reader> git = git::Reader::open(root_ + "/" + prefix);
  Result<std::string> names = fail(Code::kFailed, "");
  if (git && !from.empty() && !to.empty()) {
    names = git->ask({"diff-tree", "-r", "-z", "--name-only", "--no-renames", from, to});
  }
  if (!names) {
    unknown_.push_back(prefix);
    return {};
  }
  for (const std::string& name : git::split_at_nul(*names)) committed_.insert(prefix + name);
  return {};
}

bool Comparison::in_moved_repository(std::string_view path) const {
  return std::ranges::any_of(unknown_,
                             [&](const std::string& prefix) { return path.starts_with(prefix); });
}

bool Comparison::has_content_of(const std::string& path, const FileState& before,
                                const FileState& after) const {
  if (before.digest.empty()) return same_on_disk(before, after);
  if (!same_kind(before, after)) return false;
  if (!after.digest.empty()) return before.digest == after.digest;
  const Fd folder = host::open_below(top_.get(), folder_of(path));
  return folder && file_digest(folder.get(), name_of(path)) == before.digest;
}

std::optional<Change::Kind> Comparison::compare(const std::string& path, const FileState& before,
                                                const FileState& after) const {
  const bool same = same_on_disk(before, after) && !is_young(before_, before);
  if (same) return std::nullopt;  // also after `git rm --cached`: the file is unchanged
  bool unchanged = false;
  if (!before_.by_git) {
    unchanged = same_on_disk(before, after) && has_content_of(path, before, after);
  } else if (before.dirty || !before.digest.empty()) {
    unchanged = has_content_of(path, before, after);
  } else if (!after.dirty) {
    unchanged = !committed_.contains(path) && !in_moved_repository(path);
  }
  return unchanged ? std::nullopt : std::optional(Change::Kind::kModified);
}

// A file that is no longer listed was removed, or is only ignored from now on.
std::optional<Change::Kind> Comparison::gone(const std::string& path,
                                             const FileState& before) const {
  struct stat found{};
  const Fd folder = host::open_below(top_.get(), folder_of(path));
  if (!before_.by_git || !folder ||
      ::fstatat(folder.get(), name_of(path).c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0 ||
      S_ISDIR(found.st_mode)) {
    return Change::Kind::kRemoved;
  }
  const FileState now = file_state(found);
  const bool same = same_on_disk(before, now) && !is_young(before_, before);
  if (same || has_content_of(path, before, now)) return std::nullopt;
  return Change::Kind::kModified;
}

// A path without a slash at its end may still be a folder.
bool lies_in(const key::Resource& scope, const key::Resource& name) {
  if (key::covers(scope, name)) return true;
  return scope.kind() == key::Kind::kFile && name.is_path() &&
         name.text().starts_with(scope.text() + "/");
}

bool any_covers(const std::vector<key::Resource>& scopes, const key::Resource& name) {
  return std::ranges::any_of(scopes, [&](const key::Resource& one) { return lies_in(one, name); });
}

bool any_touches(const std::vector<key::Resource>& scopes, const key::Resource& name) {
  return std::ranges::any_of(scopes,
                             [&](const key::Resource& one) { return key::may_overlap(one, name); });
}

// The nearest folder above `path` that can be named.
std::optional<key::Resource> folder_above(std::string_view path, const key::Rules& rules) {
  for (std::size_t slash = path.rfind('/'); slash != std::string_view::npos && slash > 0;
       slash = path.rfind('/', slash - 1)) {
    const auto folder = key::parse(path.substr(0, slash + 1), rules, key::Syntax::kLiteral);
    if (folder) return folder->resource;
  }
  const auto whole = key::parse("./", rules, key::Syntax::kLiteral);
  return whole ? std::optional(whole->resource) : std::nullopt;
}

}  // namespace

bool may_write(const WriteScope& scope, const std::string& path) {
  key::Rules rules;
  rules.fold_case = scope.fold_case;
  if (const auto file = key::parse(path, rules, key::Syntax::kLiteral)) {
    return any_covers(scope.writes, file->resource) && !any_covers(scope.denies, file->resource);
  }
  const std::optional<key::Resource> folder = folder_above(path, rules);
  return folder && any_covers(scope.writes, *folder) && !any_touches(scope.denies, *folder);
}

Result<std::vector<Change>> changes_between(const Tree& before, const Tree& after,
                                            const std::string& root) {
  return Comparison(before, after, root).find();
}

}  // namespace lockkeeper::crew
