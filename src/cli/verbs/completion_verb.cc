// `completion`: scripts for three shells, made from the verbs' own declarations.
#include <set>

#include "base/text.h"
#include "cli/completion.h"
#include "cli/verbs/verbs.h"

namespace lockkeeper::cli {
namespace {

// For the scripts: who holds or waits for anything here. Silent where that cannot be told.
int print_agents(VerbContext& context) {
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

}  // namespace

int completion_verb(VerbContext& context) {
  std::vector<std::string> words;
  context.arguments().words("SHELL", words, "bash, zsh or fish");
  context.arguments().offer({"bash", "zsh", "fish"});
  if (const auto status = context.parse_some(words, "a shell: bash, zsh or fish")) return *status;
  const std::string& shell = words.front();
  if (shell == "agents" && words.size() == 1) return print_agents(context);
  using Script = std::string (*)(const std::vector<VerbShape>&);
  const Script script = shell == "bash"   ? bash_completion
                        : shell == "zsh"  ? zsh_completion
                        : shell == "fish" ? fish_completion
                                          : nullptr;
  if (script == nullptr || words.size() > 1) {
    return context.out().failed({Code::kUsage, "completion: unknown shell " + quote(words.back()),
                                 "give one of bash, zsh, fish"});
  }
  std::fputs(script(verb_shapes(context.environment())).c_str(), context.environment().out);
  return 0;
}

}  // namespace lockkeeper::cli
