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
