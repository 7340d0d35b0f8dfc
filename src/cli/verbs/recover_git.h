// What git has in a commit is not lost: whoever wants it asks git.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "snapshot/losses.h"

namespace lockkeeper::cli {

class CommittedContents {
 public:
  // `root`: a worktree of the repository. Asks nothing yet.
  explicit CommittedContents(std::string root) : root_(std::move(root)) {}

  // Takes away what is in HEAD, or was in a commit of a branch, a remote branch or a tag since the
  // content was kept; if nobody knows who wrote it, in any such commit. A stash does not count: it
  // may be dropped. If git cannot be asked, nothing is taken away.
  void without(std::vector<snapshot::Loss>& losses);

 private:
  void ask(const std::vector<std::string>& paths, std::optional<std::int64_t> since_wall_ms);
  void take_away(std::vector<snapshot::Loss>& losses) const;

  std::string root_;
  std::map<std::string, std::set<std::string>> contents_;  // by path
};

}  // namespace lockkeeper::cli
