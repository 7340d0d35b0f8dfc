// Where a destructive command does its work: the worktrees, and which of their files.
#pragma once

#include <string>
#include <vector>

#include "enforce/hook/session.h"
#include "enforce/shell/danger.h"

namespace lockkeeper::enforce::hook {

struct Area {
  Place* place = nullptr;
  bool all = false;                     // every file of the worktree
  bool removed = false;                 // the worktree itself goes, with all that is in it
  bool perhaps = false;                 // it may well not be meant: only the shell knows the path
  std::vector<shell::Path> paths = {};  // otherwise these, from the worktree's root
  std::vector<shell::Path> excluded = {};  // but never these
  bool contains(std::string_view path) const;
};

// Without what lies in no repository, or is none of a hook's business (hook.ignore). A folder that
// is not known is taken for the one in which the session works.
Result<std::vector<Area>> areas_of(Session& session, const shell::Danger& danger);

// "a/./b/../c" → "a/c"; nullopt: it leads out of the worktree. Also for patterns.
std::optional<std::string> clean_path(std::string_view path);

}  // namespace lockkeeper::enforce::hook
