// What the commit guard remembers of a repository, in the store's folder: which commits its hooks
// have seen, what was refused, and which commits must not be pushed. Plain files of lines; what
// cannot be read or written is as if it had never been there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/folder.h"
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

class Notebook {
 public:
  // nullopt: there is no store, or the folder cannot be made.
  static std::optional<Notebook> open(const realm::Realm& realm);

  // The last commit of this worktree that a hook of ours knows of; empty: none.
  std::string head(const std::string& worktree) const;
  void put_head(const std::string& worktree, const std::string& commit) const;

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
