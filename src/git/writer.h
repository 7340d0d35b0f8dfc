// Lets git change a repository, as its user would: the repository's hooks and filters run. Nothing
// is asked at a terminal, and git starts no work in the background.
//
// Thread safety: as git/reader.h.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "git/call.h"

namespace lockkeeper::git {

inline constexpr std::int64_t kWritePatienceMs = 3'600'000;  // a hook may run tests
inline constexpr std::size_t kWriteAnswerBytesMax = 64U << 20;

struct WriterOptions {
  // On top of our environment, of whose GIT_* only kIdentityVariables are passed on.
  std::map<std::string, std::string> variables = {};
  // A locked file. Git and its hooks hold the lock as long as they live, even if we are killed.
  int lock = -1;
  GoOn go_on = {};
  Limits limits = {kWriteAnswerBytesMax, kWritePatienceMs};
};

class Writer {
 public:
  // For the repository or worktree that begins at `root` (absolute). failed: git is not installed.
  static Result<Writer> open(const std::string& root, WriterOptions options = {});

  // What `git WORDS…` prints, errors included. failed, with git's words, if its exit status is not
  // 0 or `go_on` stopped it; timeout, limit_exceeded.
  Result<std::string> run(const std::vector<std::string>& words) const;
  // The same where other exit statuses are answers, too.
  Result<Answer> try_to_run(const std::vector<std::string>& words) const;

  const std::string& root() const { return root_; }

 private:
  Writer(std::string program, std::string root, WriterOptions options)
      : program_(std::move(program)), root_(std::move(root)), options_(std::move(options)) {}

  std::string program_;
  std::string root_;
  WriterOptions options_;
};

// What went wrong, as one line for a message: what git complains about with the files that it
// names, otherwise the end of what was printed.
std::string last_words(const std::string& text);

}  // namespace lockkeeper::git
