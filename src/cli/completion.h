// The completion scripts, as text: verbs, flags, the values of flags, files, agents.
#pragma once

#include <string>
#include <vector>

#include "cli/arguments.h"

namespace lockkeeper::cli {

struct VerbShape {
  std::string name;
  std::string summary;
  std::vector<Arguments::Declared> arguments;
  bool takes_command = false;
};

std::string bash_completion(const std::vector<VerbShape>& verbs);
std::string zsh_completion(const std::vector<VerbShape>& verbs);
std::string fish_completion(const std::vector<VerbShape>& verbs);

}  // namespace lockkeeper::cli
