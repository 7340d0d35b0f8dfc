// What git has in a commit is not lost: whoever wants it asks git.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "snapshot/losses.h"

namespace lockkeeper::cli {

class CommittedContents {
 public:
  // `root`: a worktree of the repository. Asks nothing yet.
  explicit CommittedContents(std::string root) : root_(std::move(root)) {}

  // Takes away what is in HEAD, or in a commit of a branch, a remote branch or a tag since the
  // content was kept. A stash does not count: it may be dropped. If git cannot be asked, nothing is
  // taken away.
  void without(std::vector<snapshot::Loss>& losses);

 private:
  void ask(const std::vector<std::string>& paths, std::int64_t since_wall_ms);

  std::string root_;
  std::map<std::string, std::set<std::string>> contents_;  // by path
};

}  // namespace lockkeeper::cli
