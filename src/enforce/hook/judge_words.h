// What the model reads about a command that would touch others' work.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "enforce/hook/others.h"

namespace lockkeeper::enforce::hook {

inline constexpr std::string_view kCommandNotRun =
    "Nothing of this call was run. Do not get at the same in another way. If it must be all files, "
    "ask the user or wait until the others have committed: lockkeeper list";
inline constexpr std::string_view kCommandWarned =
    "lockkeeper: this call was let through, because the policy is \"warn\"; the others are told. "
    "What "
    "it takes from them comes back with: lockkeeper recover";

inline constexpr std::string_view kStashTaken =
    "lockkeeper: this call was let through, because the stash stays; the other agent is told";

// What the asker has changed itself.
struct OwnFiles {
  std::vector<std::string> paths;  // from the worktree's top; or stashes
  std::string top;                 // empty: the asker is there
  bool midway = false;             // in a merge, rebase, …: git commits all that is staged
};
// Whose work, which files, and the command that leaves it alone.
std::string danger_words(const shell::Danger& danger, const std::vector<Affected>& affected,
                         const OwnFiles& own, const core::Owner& asker);
std::string new_branch_words(const std::vector<Affected>& affected, const core::Owner& asker);
// A part of the call could not be read, or names files that only the shell knows.
std::string cannot_tell_words(const std::string& why);
std::string command_failed_words(const Error& error);
// To the one whose work it is.
std::string warned_message(const shell::Danger& danger, const std::vector<Affected>& affected,
                           const core::Owner& whose);

}  // namespace lockkeeper::enforce::hook
