// Which paths differ: in a worktree, between the index and commits, between commits. Paths are
// bytes from the worktree's top, as git has them; a rename is a deletion and an addition.
//
// REQUIRES of every `commit`: an object id, HEAD, or another name that is not a user's text.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "git/reader.h"

namespace lockkeeper::git {

// A path that is not as the last commit has it.
struct ChangedPath {
  std::string path;
  char staged = '.';    // HEAD against the index: '.', 'M', 'T', 'A', 'D', 'U'; '?': untracked
  char unstaged = '.';  // the index against the worktree, the same way
  bool untracked() const { return staged == '?'; }
  bool unmerged() const { return staged == 'U' || unstaged == 'U'; }
  // All that changed is in the index, or the index alone tells.
  bool staged_alone() const { return unmerged() || (staged != '.' && unstaged == '.'); }
  friend bool operator==(const ChangedPath&, const ChangedPath&) = default;
};

// Those of `paths` (files, or folders with all they contain) that are not as HEAD has them, without
// ignored files. No `paths`: none. REQUIRES of the reader: reads_files.
Result<std::vector<ChangedPath>> changed_paths(const Reader& reader,
                                               std::span<const std::string> paths);
// The same for the whole worktree.
Result<std::vector<ChangedPath>> all_changed_paths(const Reader& reader);

// Those of `paths` (files) that are as HEAD has them, or in neither. REQUIRES of the reader:
// reads_files.
Result<std::set<std::string>> as_committed(const Reader& reader,
                                           std::span<const std::string> paths);

// One path in which a tree differs from another.
struct Difference {
  std::string path;
  char kind = 'M';       // 'A', 'D', 'M', 'T' (another type); 'U' (unmerged, index only)
  std::string old_mode;  // "100644"; "000000": not there
  std::string mode;
  std::string old_id;  // of the content; zeroes: not there
  std::string id;
  friend bool operator==(const Difference&, const Difference&) = default;
};

// The index against one commit; nullopt: against nothing. Another index than the worktree's own:
// GIT_INDEX_FILE among the reader's variables.
Result<std::vector<Difference>> staged_against(const Reader& reader,
                                               const std::optional<std::string>& commit);
// Only what differs from every one of them; none of them: from nothing. The old content is the
// first one's.
Result<std::vector<Difference>> staged_against_all(const Reader& reader,
                                                   std::span<const std::string> commits);

// The tree of `to` against that of `from`; nullopt: against nothing.
Result<std::vector<Difference>> between(const Reader& reader,
                                        const std::optional<std::string>& from,
                                        const std::string& to);
// In what a commit differs from every one of its parents.
Result<std::vector<Difference>> made_by(const Reader& reader, const std::string& commit);

Result<std::vector<std::string>> parents_of(const Reader& reader, const std::string& commit);

// The content ids that a commit has at these paths. A path that is not in it is left out; so is
// everything if there is no such commit.
Result<std::map<std::string, std::string>> contents_at(const Reader& reader,
                                                       const std::string& commit,
                                                       std::span<const std::string> paths);

// What the newest commits of HEAD, since then, have made of these paths: each with its content id.
using PathContent = std::pair<std::string, std::string>;
Result<std::set<PathContent>> contents_since(const Reader& reader,
                                             const std::set<std::string>& paths,
                                             std::int64_t since_wall_ms);

// The object id of a name such as HEAD or a branch; nullopt: there is none.
Result<std::optional<std::string>> commit_named(const Reader& reader, const std::string& name);

}  // namespace lockkeeper::git
