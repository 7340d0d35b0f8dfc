// Where things are for this user: home, XDG folders, the repository. Nothing here reads the
// process's own environment, so a test has a machine of its own.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
#include "install/clients.h"
#include "realm/environment.h"

namespace lockkeeper::install {

struct Machine {
  std::string home;        // absolute and physical
  std::string repository;  // the root of the worktree, the same way; empty: none
  std::string git_folder;  // its common .git folder; empty: not in git
  realm::Environment env;
};

// `repository` may be empty. invalid_input: there is no home folder, or a folder does not exist.
Result<Machine> look_at_machine(realm::Environment env, const std::string& repository);

std::string state_folder(const Machine& machine);  // $XDG_STATE_HOME/lockkeeper
std::string data_folder(const Machine& machine);   // $XDG_DATA_HOME/lockkeeper

// The file as this client names it; nullopt: it has none of this kind and scope. usage: the scope
// needs a repository, and there is none.
Result<std::optional<std::string>> place_of(const Machine& machine, const ClientFacts& facts,
                                            const SettingsFile& file);

// A file as it is reached through symlinks.
struct ReachedFile {
  std::string target;                    // absolute and physical
  std::optional<std::string> text = {};  // nullopt: there is no such file
  unsigned mode = 0;                     // of the file, if there is one
};
inline constexpr std::size_t kSettingsBytesMax = 64U << 20;
// invalid_config: a symlink leads out of the home folder and the repository, or nowhere; not a
// regular file; larger than kSettingsBytesMax. failed: it cannot be read.
Result<ReachedFile> reach_file(const Machine& machine, const std::string& file);

// Is the file, by its path in the repository, committed or staged? failed: git does not say.
Result<bool> is_tracked(const Machine& machine, const std::string& path);
// Does git leave it out?
Result<bool> is_ignored(const Machine& machine, const std::string& path);

// The path below this folder; nullopt: it is not below.
std::optional<std::string> path_below(std::string_view folder, std::string_view path);

}  // namespace lockkeeper::install
