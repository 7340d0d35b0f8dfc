// What a shell or a manual must know of the verbs, and the completion scripts made of it, as text:
// verbs, flags, the values of flags, files, agents.
#pragma once

#include <string>
#include <vector>

#include "cli/arguments.h"

namespace lockkeeper::cli {

struct VerbShape {
  std::string name;
  std::string summary;
  std::string examples;
  std::vector<Arguments::Declared> arguments;
  bool takes_command = false;
};

// Otherwise it is a word.
bool is_flag(const Arguments::Declared& declared);

struct CliEnvironment;

// Of all verbs, as each declares itself.
std::vector<VerbShape> verb_shapes(const CliEnvironment& environment);

std::string bash_completion(const std::vector<VerbShape>& verbs);
std::string zsh_completion(const std::vector<VerbShape>& verbs);
std::string fish_completion(const std::vector<VerbShape>& verbs);

}  // namespace lockkeeper::cli
