// Asks git about a repository that may be hostile: no shell, no program that the repository's
// configuration names, no writes; answers and time are bounded.
//
// Thread safety: each call starts its own process. The caller must not reap other threads'
// children.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "git/call.h"

namespace lockkeeper::git {

struct Options {
  Limits limits = {};
  // What git told one of its hooks, such as GIT_INDEX_FILE, or another HOME. No other GIT_* of ours
  // is passed on, but kIdentityVariables.
  std::map<std::string, std::string> variables = {};
  // False: no question reads a file of the worktree. Then git runs no filter either, and need not
  // be asked first which there are.
  bool reads_files = true;
};

class Reader {
 public:
  // For the repository or worktree that begins at `root` (absolute). failed if git is not installed
  // or refuses the repository; with reads_files false, only the first question finds the latter.
  static Result<Reader> open(const std::string& root, Options options = {});

  // What `git WORDS…` prints. failed if its exit status is not 0; timeout; limit_exceeded.
  Result<std::string> ask(const std::vector<std::string>& words) const;

  // The same for questions that git answers with its exit status as well.
  using Answer = git::Answer;
  Result<Answer> try_to_ask(const std::vector<std::string>& words) const;

  const std::string& root() const { return root_; }
  // Is there a filter of git-lfs, which does not run for us? REQUIRES: reads_files.
  bool has_lfs() const { return has_lfs_; }

 private:
  Reader(std::string program, std::string root, Options options)
      : program_(std::move(program)), root_(std::move(root)), options_(std::move(options)) {}
  std::vector<std::string> environment() const;

  std::string program_;
  std::string root_;
  Options options_;
  bool has_lfs_ = false;
  // These override every configuration file and switch off what would start a program.
  std::vector<std::pair<std::string, std::string>> settings_;
};

// The parts of an answer with -z.
std::vector<std::string> split_at_nul(std::string_view answer);

// The git in PATH: only from absolute folders, because with "." the repository could bring its own;
// and not this program under another name. failed: there is none.
Result<std::string> find_git();

}  // namespace lockkeeper::git
