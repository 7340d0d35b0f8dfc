// Every verb of the command line: its name, what --help says, and the function that does it.
//
// A verb's function declares its arguments on the context, calls parse(), acts, and gives the exit
// status. Help and completion run the same function up to parse(), so they cannot go stale.
#pragma once

#include <span>
#include <string_view>

#include "cli/context.h"

namespace lockkeeper::cli {

struct Verb {
  std::string_view name;
  std::string_view summary;   // one line
  std::string_view examples;  // lines of shell, shown first by --help
  int (*run)(VerbContext&);
};

std::span<const Verb> verbs();
const Verb* find_verb(std::string_view name);  // null: there is none

int acquire_verb(VerbContext& context);
int adopt_verb(VerbContext& context);
int break_verb(VerbContext& context);
int check_verb(VerbContext& context);
int completion_verb(VerbContext& context);
int config_verb(VerbContext& context);
int coordinator_verb(VerbContext& context);
int gate_verb(VerbContext& context);
int guard_verb(VerbContext& context);
int coordmcp_verb(VerbContext& context);
int layout_verb(VerbContext& context);
int list_verb(VerbContext& context);
int log_verb(VerbContext& context);
int mcp_verb(VerbContext& context);
int message_verb(VerbContext& context);
int pause_verb(VerbContext& context);
int plan_verb(VerbContext& context);
int ports_verb(VerbContext& context);
int purge_verb(VerbContext& context);
int release_verb(VerbContext& context);
int renew_verb(VerbContext& context);
int resume_verb(VerbContext& context);
int task_verb(VerbContext& context);
int workflow_verb(VerbContext& context);
int validate_verb(VerbContext& context);

}  // namespace lockkeeper::cli
