// Keeps versions of a worktree's files as they are on disk.
//
//   keeper.keep_all({"src/a.c", "src/b.c"}, {.why = Why::kDestroyed, .by = me}, now);
//
// Nothing is read again that has not changed since its newest version. An error never means that
// the files are worse off than before: whoever asks goes on, and says once that nothing is kept.
//
// REQUIRES: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "snapshot/record.h"
#include "snapshot/tree.h"
#include "snapshot/vault.h"
#include "snapshot/version.h"

namespace lockkeeper::snapshot {

struct Keeping {
  Why why = Why::kBefore;
  Who writer = {};  // whose content it is, if that is known
  Who by = {};      // who asks
  // The writer wrote it only if it is no longer as the newest version says.
  bool if_changed = false;
  // It is only to stay kept: not if something else would have to go.
  bool again = false;
};

// What was on disk, for whoever wants to remember how it looked.
struct Seen {
  Mark mark = {};
  std::string content = {};  // content_id(); empty: not known
  bool added = false;        // false: the newest version says the same
};

class Keeper {
 public:
  // kKept: the file's content may be kept. Otherwise why not.
  using Secrecy = std::function<Content(const std::string& path)>;

  // Opens nothing yet. `worktree`: its root, a physical path. `tree`: Version::tree.
  Keeper(Place place, Limits limits, std::string worktree, Secrecy secrecy, std::string tree = {});

  // `path`: from the worktree's root. What is neither a file nor a symlink is not kept, and
  // nothing at all is a version, too.
  Result<Seen> keep(const std::string& path, const Keeping& how, std::int64_t now_wall_ms);
  // The same for several; a folder stands for the files below it. Goes on after an error, and
  // returns the first. limit_exceeded: there were too many for one call, or `go_on` says that there
  // is no time for more.
  Result<void> keep_all(std::span<const std::string> paths, const Keeping& how,
                        std::int64_t now_wall_ms, const std::function<bool()>& go_on = {});
  // A content that is no longer on disk.
  Result<void> keep_content(const std::string& path, std::string_view content, const Keeping& how,
                            std::int64_t now_wall_ms);
  // An entry of git's stash.
  Result<void> keep_stash(const std::string& commit, const std::string& words, const Who& writer,
                          std::int64_t now_wall_ms);

  Tree& tree() { return tree_; }
  // The newest version of the path, if it is among the newest records (vault.h); null: it is not.
  Result<const Version*> newest(const std::string& path);
  // Of what was kept then: is a version of the path in a generation that will not be removed soon?
  // True also if that cannot be told.
  bool is_safe(const std::string& path, std::int64_t kept_wall_ms);
  bool knows_stash(const std::string& commit);

 private:
  Result<Vault*> vault();
  Result<void> load(Reach reach);
  bool is_within(Reach reach, std::int64_t kept_wall_ms);
  void look_at(const Record& record);
  bool knows(const std::string& path) const;
  Content content_is(const std::string& path, std::uint64_t size) const;
  bool would_keep(const Version& known, const std::string& path) const;
  bool is_secrets(const std::string& content) const;
  Result<Seen> add(Version version, std::optional<std::string_view> content,
                   std::int64_t now_wall_ms);
  std::optional<std::string> read_content(const std::string& path, const Entry& entry,
                                          Version& version);

  Place place_;
  Limits limits_;
  const std::string worktree_;
  const std::string tree_name_;
  const Secrecy secrecy_;
  Tree tree_;
  std::optional<Vault> vault_;
  std::map<Reach, std::int64_t> since_ms_;
  std::optional<Reach> loaded_;
  std::size_t misses_ = 0;
  // The newest of each path: as they were read, and of those that somebody asked for, whole.
  std::vector<std::string> read_;
  std::unordered_map<std::string_view, Record> records_;
  std::map<std::string, Version, std::less<>> recent_;
  std::map<std::string, std::string, std::less<>> secrets_in_;  // hash → a file that has it
};

}  // namespace lockkeeper::snapshot
