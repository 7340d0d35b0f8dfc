// What `install`, `init` and `deinit` have in common: where we are, what would change, doing it,
// and saying so.
#pragma once

#include <string>
#include <vector>

#include "cli/context.h"
#include "install/plan.h"
#include "install/program.h"

namespace lockkeeper::cli {

// This user's machine, with the repository of this realm if there is one.
Result<install::Machine> find_machine(const VerbContext& context, const realm::Realm& realm);

// The clients that are on this machine.
std::vector<install::Client> seen_clients(const install::Machine& machine);
// The other worktrees of this repository that have hooks of their own, for this user alone. They
// share the policy and the joined lock folders.
std::vector<std::string> set_up_elsewhere(const install::Machine& machine);
// "Claude Code and Cursor (experimental)"
std::string client_titles(const std::vector<install::Client>& clients);
// not_found: the machine has none of them.
std::unexpected<Error> no_client_found();

// The settings file of ours that a policy for this scope belongs to.
std::string policy_file(const install::Machine& machine, const realm::Realm& realm,
                        install::Scope scope);
// That policy in that file.
install::Piece policy_for(const install::Machine& machine, const realm::Realm& realm,
                          install::Scope scope, const std::string& policy);
// The flag --policy.
void declare_policy(Arguments& arguments, std::optional<std::string>& policy);
// usage: it is not what [hook] policy may be.
Result<void> check_policy(const std::string& policy);

struct Setup {
  install::Machine machine;
  install::Request request;
  bool removes = false;
  install::InstalledProgram program = {};
  install::Plan plan = {};
};

// Plans, and changes nothing. The request's program is found here. Errors as plan_install().
Result<Setup> plan_setup(const VerbContext& context, install::Machine machine,
                         install::Request request);
// The same for taking it out again.
Result<Setup> plan_removal(install::Machine machine, install::Request request);

// For people: the difference; what is left to do. `whole`: also all lines of a file that is new or
// goes, which is otherwise one line.
void show_changes(Output& out, const Setup& setup, bool whole);
void show_notes(Output& out, const Setup& setup);
service::Json setup_json(const Setup& setup);

}  // namespace lockkeeper::cli
