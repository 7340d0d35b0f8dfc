// The environment as a seam: code that reads a variable is given an Environment, so that a test (or
// a server that acts for somebody else) need not touch the process's own.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace lockkeeper::realm {

// The variable's value; nullopt: not set. Lockkeeper treats an empty variable as not set, because
// shell users write `VAR= command` to remove one.
using Environment = std::function<std::optional<std::string>(const char* name)>;

// The process's own environment.
Environment process_environment();

// `env(name)` with the empty value taken as absent.
std::optional<std::string> variable(const Environment& env, const char* name);

// One of the XDG base directories: `variable_name` if it is set and absolute (the specification
// says to ignore a relative one), otherwise $HOME/`below_home`. nullopt: neither is set.
std::optional<std::string> xdg_folder(const Environment& env, const char* variable_name,
                                      const char* below_home);

}  // namespace lockkeeper::realm
