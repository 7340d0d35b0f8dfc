// Asks git about a repository that may be hostile: no shell, no program that the repository's
// configuration names, no writes; answers and time are bounded.
//
// Thread safety: each call starts its own process. The caller must not reap other threads'
// children.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace lockkeeper::crew {

inline constexpr std::size_t kGitAnswerBytesMax = 512U << 20;
inline constexpr std::int64_t kGitPatienceMs = 120'000;

struct GitLimits {
  std::size_t answer_bytes = kGitAnswerBytesMax;
  std::int64_t patience_ms = kGitPatienceMs;
};

class GitReader {
 public:
  // For the repository or worktree that begins at `root` (absolute). failed if git is not installed
  // or refuses the repository.
  static Result<GitReader> open(const std::string& root, GitLimits limits = {});

  // What `git WORDS…` prints. failed if its exit status is not 0; timeout; limit_exceeded.
  Result<std::string> ask(const std::vector<std::string>& words) const;

 private:
  GitReader(std::string program, std::string root, GitLimits limits)
      : program_(std::move(program)), root_(std::move(root)), limits_(limits) {}

  std::string program_;
  std::string root_;
  GitLimits limits_;
  // These override every configuration file and switch off what would start a program.
  std::vector<std::pair<std::string, std::string>> settings_;
};

// The parts of an answer with -z.
std::vector<std::string> split_at_nul(const std::string& answer);

}  // namespace lockkeeper::crew
