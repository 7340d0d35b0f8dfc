// What the commit guard remembers of a repository, in the store's folder: which commits its hooks
// have seen, what was refused, and which commits must not be pushed. Plain files of lines; what
// cannot be read or written is as if it had never been there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/folder.h"
#include "core/types.h"
#include "realm/realm.h"

namespace lockkeeper::guard {

// A path that was refused, with the content that it had.
struct Refused {
  std::string path;
  std::string id;  // of the content; zeroes: its deletion
  friend bool operator==(const Refused&, const Refused&) = default;
};

// A commit that must not be pushed.
struct Marked {
  std::string commit;
  std::string why;  // for people
};

// How far the log of HEAD was read.
struct KnownHead {
  std::string commit = {};      // empty: nothing is known
  std::uint64_t log_bytes = 0;  // the size of git's log of HEAD then
};

// Somebody's change that a commit has. It counts again if that commit is taken back.
struct Committed {
  std::string commit;
  std::string path;     // as a trace has it
  std::string content;  // as a trace has it; empty: the file was deleted
  core::Owner owner;
  std::int64_t at_wall_ms = 0;
};

class Notebook {
 public:
  // nullopt: there is no store, or the folder cannot be made.
  static std::optional<Notebook> open(const realm::Realm& realm);

  // The last commit of this worktree that a hook of ours knows of.
  KnownHead head(const std::string& worktree) const;
  void put_head(const std::string& worktree, const KnownHead& known) const;

  // Those of a worktree, oldest first. A later one replaces that of the same path and owner.
  void add_committed(const std::string& worktree, const std::vector<Committed>& committed) const;
  std::vector<Committed> committed(const std::string& worktree) const;

  // That this git process has passed with this index (see base/fd.h, file_stamp()).
  void put_passed(const std::string& worktree, int git_pid, std::uint64_t index_stamp) const;
  bool has_passed(const std::string& worktree, int git_pid, std::uint64_t index_stamp) const;

  void add_refused(const std::vector<Refused>& refused) const;
  std::vector<Refused> refused() const;

  void mark(const Marked& marked) const;
  std::vector<Marked> marked() const;

 private:
  explicit Notebook(Folder folder) : folder_(std::move(folder)) {}
  std::string text_of(const std::string& name) const;
  void put(const std::string& name, const std::string& text) const;
  void append_lines(const std::string& name, const std::string& lines) const;

  Folder folder_;
};

}  // namespace lockkeeper::guard
