// Every verb of the command line.
#pragma once

#include <span>

#include "cli/context.h"
#include "cli/verb.h"

namespace lockkeeper::cli {

std::span<const Verb> all_verbs();
std::span<const VerbGroup> verb_groups();
std::span<const VerbAlias> verb_aliases();

Result<int> acquire_verb(VerbContext& context);
Result<int> adopt_verb(VerbContext& context);
Result<int> break_verb(VerbContext& context);
Result<int> check_verb(VerbContext& context);
Result<int> deinit_verb(VerbContext& context);
Result<int> doctor_verb(VerbContext& context);
Result<int> gate_verb(VerbContext& context);
Result<int> git_hook_verb(VerbContext& context);
Result<int> guard_verb(VerbContext& context);
Result<int> init_verb(VerbContext& context);
Result<int> install_verb(VerbContext& context);
Result<int> list_verb(VerbContext& context);
Result<int> log_verb(VerbContext& context);
Result<int> login_verb(VerbContext& context);
Result<int> logout_verb(VerbContext& context);
Result<int> mcp_verb(VerbContext& context);
Result<int> open_verb(VerbContext& context);
Result<int> serve_verb(VerbContext& context);
Result<int> pause_verb(VerbContext& context);
Result<int> plan_verb(VerbContext& context);
Result<int> purge_verb(VerbContext& context);
Result<int> relay_verb(VerbContext& context);
Result<int> release_verb(VerbContext& context);
Result<int> renew_verb(VerbContext& context);
Result<int> resume_verb(VerbContext& context);
Result<int> top_verb(VerbContext& context);
Result<int> validate_verb(VerbContext& context);
Result<int> whoami_verb(VerbContext& context);

std::span<const Verb> completion_subcommands();
std::span<const Verb> config_subcommands();
std::span<const Verb> coordinator_subcommands();
std::span<const Verb> coordmcp_subcommands();
std::span<const Verb> hook_subcommands();
std::span<const Verb> layout_subcommands();
std::span<const Verb> message_subcommands();
std::span<const Verb> ports_subcommands();
std::span<const Verb> recover_subcommands();
std::span<const Verb> task_subcommands();
std::span<const Verb> token_subcommands();
std::span<const Verb> workflow_subcommands();

}  // namespace lockkeeper::cli
