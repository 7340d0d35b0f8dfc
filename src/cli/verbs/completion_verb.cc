// `completion`: scripts for three shells, made from the verbs' declarations.
#include <set>

#include "cli/completion.h"
#include "cli/verbs/verbs.h"

namespace lockkeeper::cli {
namespace {

// For the scripts: all agents that hold or wait for something here. Silent on errors.
Result<int> completion_agents(VerbContext& context) {
  if (const auto status = context.parse()) return *status;
  auto open = context.open(std::vector<std::string>{});
  if (!open) return 0;
  const auto reply = (*open)->locks.list({});
  if (!reply) return 0;
  std::set<std::string> agents;
  for (const service::ListedLease& listed : reply->leases) agents.insert(listed.lease.owner.agent);
  for (const core::Waiter& waiter : reply->waiters) agents.insert(waiter.request.owner.agent);
  for (const std::string& agent : agents) context.out().text(agent);
  return 0;
}

template <std::string script(const VerbShape&)>
Result<int> completion_script(VerbContext& context) {
  if (const auto status = context.parse()) return *status;
  const std::string text = script(program_shape(context.environment()));
  std::fputs(text.c_str(), context.environment().out);
  return 0;
}

constexpr Verb kCompletionSubcommands[] = {
    {"bash", "A script for bash",
     "  lockkeeper completion bash > /etc/bash_completion.d/lockkeeper\n",
     completion_script<bash_completion>},
    {"zsh", "A script for zsh", "  lockkeeper completion zsh > ~/.zfunc/_lockkeeper\n",
     completion_script<zsh_completion>},
    {"fish", "A script for fish",
     "  lockkeeper completion fish > ~/.config/fish/completions/lockkeeper.fish\n",
     completion_script<fish_completion>},
    {"agents", {}, {}, completion_agents},
};

}  // namespace

std::span<const Verb> completion_subcommands() {
  return kCompletionSubcommands;
}

}  // namespace lockkeeper::cli
