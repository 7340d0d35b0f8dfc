// The environment as a seam: whoever reads a variable is handed an Environment, so that a test (or
// a server that answers for somebody else) need not touch the process's own.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace lockkeeper::realm {

// The variable's value, or nullopt if it is not set. Set but empty counts as not set for everything
// that Lockkeeper reads, as `VAR= command` is how a shell user takes a variable away.
using Environment = std::function<std::optional<std::string>(const char* name)>;

// The process's own environment.
Environment process_environment();

// `env(name)` with the empty value taken as absent.
std::optional<std::string> variable(const Environment& env, const char* name);

// The folder of one of the XDG base directories: `variable_name` if it is set and absolute (the
// specification says to ignore a relative one), else $HOME/`below_home`, else nullopt.
std::optional<std::string> xdg_folder(const Environment& env, const char* variable_name,
                                      const char* below_home);

}  // namespace lockkeeper::realm
