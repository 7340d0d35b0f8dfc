// Every verb of the command line.
#pragma once

#include <span>

#include "cli/context.h"
#include "cli/verb.h"

namespace lockkeeper::cli {

std::span<const Verb> all_verbs();

int acquire_verb(VerbContext& context);
int adopt_verb(VerbContext& context);
int break_verb(VerbContext& context);
int check_verb(VerbContext& context);
int gate_verb(VerbContext& context);
int guard_verb(VerbContext& context);
int list_verb(VerbContext& context);
int log_verb(VerbContext& context);
int mcp_verb(VerbContext& context);
int pause_verb(VerbContext& context);
int plan_verb(VerbContext& context);
int purge_verb(VerbContext& context);
int release_verb(VerbContext& context);
int renew_verb(VerbContext& context);
int resume_verb(VerbContext& context);
int validate_verb(VerbContext& context);

std::span<const Verb> completion_subcommands();
std::span<const Verb> config_subcommands();
std::span<const Verb> coordinator_subcommands();
std::span<const Verb> coordmcp_subcommands();
std::span<const Verb> layout_subcommands();
std::span<const Verb> message_subcommands();
std::span<const Verb> ports_subcommands();
std::span<const Verb> task_subcommands();
std::span<const Verb> workflow_subcommands();

}  // namespace lockkeeper::cli
