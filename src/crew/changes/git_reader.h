// Asks git questions about a repository that may be hostile: no shell, nothing that the
// repository's configuration names is run, nothing is written, answers and time are bounded.
//
// Thread safety: plain functions; each call is a process of its own. The caller must not reap
// children that are not its own.
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
  // or does not accept the repository: then nothing can be asked.
  static Result<GitReader> open(const std::string& root, GitLimits limits = {});

  // What `git WORDS…` prints. failed if it exits with anything but 0; timeout; limit_exceeded.
  Result<std::string> ask(const std::vector<std::string>& words) const;

 private:
  GitReader(std::string program, std::string root, GitLimits limits)
      : program_(std::move(program)), root_(std::move(root)), limits_(limits) {}

  std::string program_;
  std::string root_;
  GitLimits limits_;
  // Laid over every configuration file: what would start a program is switched off.
  std::vector<std::pair<std::string, std::string>> settings_;
};

// The parts of an answer with -z.
std::vector<std::string> split_at_nul(const std::string& answer);

}  // namespace lockkeeper::crew
