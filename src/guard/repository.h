// The repository that git runs a hook for, as git tells it.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/error.h"
#include "git/reader.h"
#include "git/state.h"
#include "realm/environment.h"

namespace lockkeeper::guard {

struct Repository {
  std::string folder;      // where git started the hook: the worktree's top, or a bare repository
  std::string git_folder;  // of this worktree: its HEAD and index
  std::string common;      // of the repository: hooks and config
  std::string index;       // what is to be committed
  bool own_index = true;   // false: git made that index for this commit alone (commit -a, -- FILES)
  // What git told this hook, for questions to git about the same repository.
  std::map<std::string, std::string> variables;
};

// not_found: this is not a repository.
Result<Repository> repository_of(const std::string& cwd, const realm::Environment& env);

// Asks about commits and the index, never about files.
Result<git::Reader> reader_of(const Repository& repository);

}  // namespace lockkeeper::guard
