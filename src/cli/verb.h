// A verb of the command line: its name, what --help says, and the function that does it.
//
// A verb's function declares its arguments on the context, calls parse(), acts, and returns the
// exit status, or an error that run_cli() prints. Help and completion run the same function up to
// parse(), so they cannot become stale. A verb such as `task` has subcommands instead of a
// function; each is itself a verb.
#pragma once

#include <span>
#include <string_view>

#include "base/error.h"

namespace lockkeeper::cli {

class VerbContext;

// Does it do something that somebody who did not read its answer would have to look up?
enum class Does { kChange, kLook };

struct Verb {
  using Run = Result<int> (*)(VerbContext&);
  using Subcommands = std::span<const Verb> (*)();

  constexpr Verb(std::string_view named, std::string_view one_line, std::string_view shell,
                 Run does, Does what = Does::kChange)
      : name(named), summary(one_line), examples(shell), run(does), effect(what) {}
  constexpr Verb(std::string_view named, std::string_view one_line, Subcommands has,
                 std::string_view advice = {}, std::string_view unnamed = {})
      : name(named), summary(one_line), subcommands(has), hint(advice), otherwise(unnamed) {}

  std::string_view name;
  std::string_view summary;   // one line; a verb without one is hidden
  std::string_view examples;  // shell lines, shown first by --help
  Run run = nullptr;          // null: it has subcommands
  Does effect = Does::kLook;
  Subcommands subcommands = nullptr;
  std::string_view hint;       // for an unknown subcommand
  std::string_view otherwise;  // the subcommand that is meant if none is named; empty: none
};

// Verbs that the overview shows together.
struct VerbGroup {
  std::string_view title;
  std::string_view verbs;  // their names, a blank between them
};

// Another name for a verb, which is understood but not listed.
struct VerbAlias {
  std::string_view name;
  std::string_view verb;
};

}  // namespace lockkeeper::cli
