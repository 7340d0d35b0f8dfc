// What Lockkeeper needs to know about a git repository, read from its files. Git is not started: a
// hook has a millisecond, and the answer must not depend on variables such as GIT_DIR.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace lockkeeper::realm {

// The values of a git config file that matter here. Includes are not followed: they may depend on
// the user, and all users of a repository must agree about its lock table.
struct GitConfig {
  std::optional<bool> bare;                      // core.bare
  std::optional<bool> ignore_case;               // core.ignorecase
  std::optional<std::string> worktree;           // core.worktree
  std::optional<std::string> shared_repository;  // core.sharedRepository, as written
  std::optional<std::string> origin;             // remote.origin.url
  bool worktree_config = false;                  // extensions.worktreeConfig
};

// Reads the text of a config file. Skips lines that make no sense, because only git may judge them.
// invalid_config, with file and line: a bad value of a key above.
Result<GitConfig> parse_git_config(std::string_view text, const std::string& file);

// The permission bits for core.sharedRepository, as git reads it: nothing for `umask` and `false`;
// 0660 for `group`, `true`, `1`; 0664 for `all`, `world`, `everybody`, `2`; or an octal number that
// lets the owner read and write. invalid_config for anything else.
Result<std::optional<mode_t>> shared_permissions(std::string_view value, const std::string& file);

struct GitFolder {
  std::string common_dir;  // physical
  bool linked = false;     // a linked worktree (`git worktree add`)
  bool bare = false;       // core.bare, and not a linked worktree
  bool ignore_case = false;
  std::optional<mode_t> shared;  // file permissions of a shared repository
  std::string worktree;          // core.worktree, absolute and existing; empty if not set
};

// Does a repository or worktree begin at this folder (absolute, physical)? It has a `.git` folder
// or file, or is itself a bare repository (HEAD, objects/, refs/). An empty `.git` folder does not
// count, as in git.
// store_unavailable: a `.git` that leads nowhere, is damaged or cannot be read.
Result<std::optional<GitFolder>> git_at(const std::string& folder);

// A cheap first check for git_at: up to two stat calls if the answer is no.
Result<bool> git_begins_at(const std::string& folder);

}  // namespace lockkeeper::realm
