// What the commit guard says: who is in the way of which file, and the exact command that helps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "guard/judge.h"

namespace lockkeeper::guard {

// "src/a.c: changed by codex (session 01ab) 3m ago", "src/b.c: locked by ann 5m ago, reason …".
std::string finding_words(const Finding& finding, std::int64_t now_wall_ms);

// How the committer asked for it.
struct Asked {
  std::string root;                     // the worktree's
  bool from_top = true;                 // it was asked from the worktree's top
  bool own_index = true;                // false: `git commit -a` or `git commit -- FILES`
  bool first = false;                   // there is no commit yet
  std::vector<std::string> paths = {};  // all of the commit
};

// The whole refusal, with the command that takes the files out of the commit.
std::string refusal_words(const std::vector<Finding>& findings, const Asked& asked,
                          std::int64_t now_wall_ms);
// That command alone.
std::string way_out(const std::vector<Finding>& refused, const Asked& asked);

std::string warning_words(const std::vector<Finding>& findings, std::int64_t now_wall_ms);

// "lockkeeper cannot tell …".
std::string unknown_words(const Error& error, bool refused);

}  // namespace lockkeeper::guard
