#include "cli/shape.h"

#include <algorithm>
#include <iterator>

#include "cli/context.h"
#include "cli/verb.h"

namespace lockkeeper::cli {
namespace {

using Declared = Arguments::Declared;

// The first line, with its continuation lines (after a backslash).
std::string first_example(const std::string& examples) {
  std::size_t end = examples.find('\n');
  while (end != std::string::npos && end > 0 && examples[end - 1] == '\\') {
    end = examples.find('\n', end + 1);
  }
  return examples.substr(0, end) + "\n";
}

VerbShape described(const CliEnvironment& environment, const Verb& verb, const Verb* above) {
  VerbShape shape{std::string(verb.name), std::string(verb.summary), std::string(verb.examples)};
  VerbContext context(environment, verb, above, std::nullopt);
  static_cast<void>(verb.run(context));  // stops at parse()
  std::ranges::remove_copy_if(context.arguments().declared(), std::back_inserter(shape.arguments),
                              &Declared::hidden);
  return shape;
}

void add_flags(VerbShape& shape, const VerbShape& subcommand, bool only_common) {
  for (const Declared& declared : subcommand.arguments) {
    if (!declared.is_flag() || (only_common && !declared.common)) continue;
    const auto same = std::ranges::find(shape.arguments, declared.name, &Declared::name);
    if (same == shape.arguments.end()) shape.arguments.push_back(declared);
  }
}

}  // namespace

bool VerbShape::takes_command() const {
  return std::ranges::any_of(arguments, &Declared::is_command);
}

std::vector<std::string> VerbShape::value_flags() const {
  std::vector<std::string> names;
  for (const Declared& declared : arguments) {
    if (!declared.takes_next()) continue;
    names.push_back(declared.name);
    if (!declared.brief.empty()) names.push_back(declared.brief);
  }
  return names;
}

VerbShape verb_shape(const CliEnvironment& environment, const Verb& verb) {
  if (verb.run != nullptr) return described(environment, verb, nullptr);
  VerbShape shape{std::string(verb.name), std::string(verb.summary), {}};
  for (const Verb& subcommand : verb.subcommands()) {
    if (subcommand.summary.empty()) continue;
    shape.subcommands.push_back(described(environment, subcommand, &verb));
    shape.examples += first_example(shape.subcommands.back().examples);
    add_flags(shape, shape.subcommands.back(), false);
  }
  return shape;
}

VerbShape program_shape(const CliEnvironment& environment) {
  VerbShape shape{"lockkeeper", "Locks for coding agents that share a repository", {}};
  for (const Verb& verb : environment.verbs) {
    if (verb.summary.empty()) continue;
    shape.subcommands.push_back(verb_shape(environment, verb));
    add_flags(shape, shape.subcommands.back(), true);
    for (const VerbAlias& alias : environment.aliases) {
      if (alias.verb == verb.name) shape.subcommands.back().aliases.emplace_back(alias.name);
    }
  }
  shape.arguments.push_back({.name = "--version", .brief = "-V", .help = "print the version"});
  return shape;
}

std::size_t first_word(const std::vector<std::string>& words,
                       const std::vector<std::string>& value_flags) {
  std::size_t at = 0;
  while (at < words.size() && words[at].starts_with('-')) {
    at += std::ranges::find(value_flags, words[at]) == value_flags.end() ? 1U : 2U;
  }
  return std::min(at, words.size());
}

}  // namespace lockkeeper::cli
