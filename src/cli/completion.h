// The completion scripts, as text: verbs, subcommands, flags, the values of flags, files, agents.
#pragma once

#include <string>

#include "cli/shape.h"

namespace lockkeeper::cli {

// Each takes program_shape().
std::string bash_completion(const VerbShape& program);
std::string zsh_completion(const VerbShape& program);
std::string fish_completion(const VerbShape& program);

}  // namespace lockkeeper::cli
