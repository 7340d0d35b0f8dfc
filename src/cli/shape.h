// The verbs' names and arguments as data, for help, manual pages and completion.
#pragma once

#include <string>
#include <vector>

#include "cli/arguments.h"

namespace lockkeeper::cli {

struct CliEnvironment;
struct Verb;

struct VerbShape {
  std::string name;  // without that of the verb above it
  std::string summary;
  std::string examples;
  // For a verb with subcommands: all their flags, which may precede the subcommand.
  std::vector<Arguments::Declared> arguments{};
  std::vector<VerbShape> subcommands{};
  std::vector<std::string> aliases{};  // other names that it answers to

  bool takes_command() const;
  // Flags whose value is the next word.
  std::vector<std::string> value_flags() const;
};

// As the verb declares itself.
VerbShape verb_shape(const CliEnvironment& environment, const Verb& verb);
// The program, with the verbs as its subcommands and the flags that may precede them.
VerbShape program_shape(const CliEnvironment& environment);

// The index of the first word that is neither a flag nor a flag's value, or words.size().
std::size_t first_word(const std::vector<std::string>& words,
                       const std::vector<std::string>& value_flags);

}  // namespace lockkeeper::cli
