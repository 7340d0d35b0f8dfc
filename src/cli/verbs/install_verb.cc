// `install CLIENT…`: our hooks and MCP server in the settings of coding agents, and out again.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "cli/verbs/setup.h"
#include "cli/verbs/verbs.h"
#include "install/git_pieces.h"
#include "install/inspect.h"
#include "install/own_pieces.h"

namespace lockkeeper::cli {
namespace {

using install::Client;
using install::Scope;

struct InstallWords {
  std::vector<std::string> clients;
  bool user = false, project = false, shared = false;
  std::optional<std::string> policy;
  bool dry_run = false, uninstall = false;
  bool git = false;  // among the clients: the commit guard for this repository
};

void declare_install(Arguments& arguments, InstallWords& given) {
  std::vector<std::string> names;
  for (const install::ClientFacts& facts : install::all_clients()) names.emplace_back(facts.name);
  names.emplace_back("all");
  names.emplace_back("git");
  arguments.words("CLIENT…", given.clients,
                  "claude, codex, gemini, copilot, opencode, cursor\n"
                  "(experimental), or all that are on this machine;\n"
                  "git: the commit guard for everybody's git here");
  arguments.offer(names);
  arguments.flag("--project", given.project,
                 "in this repository, for you alone: nothing to\ncommit (default)");
  arguments.flag("--user", given.user, "for you, in every repository");
  arguments.flag("--shared", given.shared,
                 "in this repository, for everybody: files to\ncommit; finds lockkeeper on PATH");
  declare_policy(arguments, given.policy);
  arguments.flag("--dry-run", given.dry_run, "show what would change, and change nothing");
  arguments.flag("--uninstall", given.uninstall, "take everything out again");
}

Result<Scope> install_scope(const InstallWords& given) {
  if (int{given.user} + int{given.project} + int{given.shared} > 1) {
    return fail(Code::kUsage, "only one of --user, --project and --shared can be meant",
                "run it once for each");
  }
  if (given.user) return Scope::kUser;
  return given.shared ? Scope::kShared : Scope::kProject;
}

// `git` among the names is no client: it stands alone.
Result<void> take_git_word(InstallWords& given) {
  given.git = std::ranges::find(given.clients, "git") != given.clients.end();
  if (!given.git) return {};
  if (given.clients.size() > 1) {
    return fail(Code::kUsage, "git stands alone", "lockkeeper install git");
  }
  if (given.user || given.shared || given.policy) {
    return fail(Code::kOperationNotPermitted,
                "the commit guard is installed in one repository; a core.hooksPath for all of them "
                "would take their hooks from those that have none of ours",
                "go into the repository: lockkeeper install git");
  }
  given.clients.clear();
  return {};
}

Result<std::vector<Client>> clients_to_install(const InstallWords& given,
                                               const install::Machine& machine) {
  std::vector<Client> clients;
  for (const std::string& name : given.clients) {
    const auto client = install::client_named(name);
    if (client && std::ranges::find(clients, *client) == clients.end()) {
      clients.push_back(*client);
    }
    if (client) continue;
    if (name != "all") {
      return fail(Code::kUsage, quote(name) + " is not a coding agent that Lockkeeper knows",
                  "use claude, codex, gemini, copilot, opencode, cursor, git or all");
    }
    if (given.clients.size() > 1) {
      return fail(Code::kUsage, "all stands alone", "lockkeeper install all");
    }
    // Whatever is gone from this machine may still have something of ours.
    for (const install::ClientFacts& facts : install::all_clients()) {
      if (given.uninstall) clients.push_back(facts.client);
    }
    if (!given.uninstall) clients = seen_clients(machine);
    if (clients.empty()) return no_client_found();
  }
  return clients;
}

// Does another client, here or in another worktree, keep a hook of this scope, which needs the
// policy?
bool others_stay(const install::Machine& machine, const install::Request& request) {
  if (request.scope == Scope::kProject && !set_up_elsewhere(machine).empty()) return true;
  return std::ranges::any_of(install::all_clients(), [&](const install::ClientFacts& facts) {
    if (std::ranges::find(request.clients, facts.client) != request.clients.end()) return false;
    const install::ClientStatus status = install::inspect(machine, facts.client);
    return std::ranges::any_of(status.scopes, [&](const install::ScopeStatus& scope) {
      return scope.scope == request.scope && scope.hook != install::HookState::kMissing;
    });
  });
}

const char* scope_text(Scope scope) {
  switch (scope) {
    case Scope::kUser:
      return "for you, in every repository";
    case Scope::kProject:
      return "in this repository, for you alone";
    case Scope::kShared:
      break;
  }
  return "in this repository, for everybody once it is committed";
}

// The commit guard, for everybody's git?
bool is_git(const Setup& setup) {
  return setup.request.clients.empty();
}

std::string who_text(const Setup& setup) {
  return is_git(setup) ? "git" : client_titles(setup.request.clients);
}

std::string where_text(const Setup& setup) {
  return is_git(setup) ? "in this repository, for everybody who works in it here"
                       : scope_text(setup.request.scope);
}

// The policy is read at every edit, by the hooks of all agents.
std::string policy_text(const std::string& policy, Scope scope) {
  const std::string who = scope == Scope::kUser
                              ? "in every repository of yours that has no policy of its own"
                              : "in this repository";
  return "The policy is " + quote(policy) + " now, for all agents " + who + ", at once.";
}

// `policy_only`: that is all that has changed.
void tell_installed(Output& out, const Setup& setup, const std::string& policy, bool policy_only) {
  if (!policy.empty()) out.prose(policy_text(policy, setup.request.scope));
  if (policy_only) return;
  out.prose(
      "installed for " + who_text(setup) + ", " + where_text(setup) +
      (is_git(setup) ? "" : "\nSessions that run already keep their settings: start them again.") +
      "\nSee that it works: lockkeeper doctor");
}

void tell_done(Output& out, const Setup& setup, const InstallWords& given) {
  const bool dry_run = given.dry_run;
  const std::string who = who_text(setup);
  const std::string where = where_text(setup);
  if (setup.plan.is_nothing()) {
    out.prose("nothing to do for " + who + ", " + where +
              (setup.removes ? ": nothing of ours is there" : ": everything is in place"));
    return;
  }
  if (dry_run) {
    out.prose("nothing was changed: this is what would be done for " + who + ", " + where);
    return;
  }
  if (setup.removes) {
    out.prose("removed from " + who + ", " + where);
    return;
  }
  const auto of_policy = [&](const install::Change& change) {
    return std::ranges::any_of(setup.request.more, [&](const install::Piece& piece) {
      return piece.kind == install::Piece::Kind::kPolicy && piece.file == change.file;
    });
  };
  const auto changed = std::ranges::count_if(setup.plan.changes, of_policy);
  const bool only =
      changed > 0 && std::cmp_equal(changed, setup.plan.changes.size()) && !setup.plan.program;
  tell_installed(out, setup, changed > 0 ? *given.policy : "", only);
}

Result<int> finish_install(VerbContext& context, const Setup& setup, const InstallWords& given) {
  Output& out = context.out();
  service::Json json = setup_json(setup);
  json["policy"] = text_or_null(given.policy.value_or(""));
  json["uninstall"] = given.uninstall;
  json["dry_run"] = given.dry_run;
  install::Done done;
  show_changes(out, setup, given.dry_run && !setup.removes);
  if (!given.dry_run) {
    LK_ASSIGN(done, install::carry_out(setup.machine, setup.plan));
  }
  json["backups"] = done.backups;
  out.object(json);
  tell_done(out, setup, given);
  for (const std::string& backup : done.backups) out.note("as it was before: " + backup);
  show_notes(out, setup);
  return 0;
}

}  // namespace

Result<int> install_verb(VerbContext& context) {
  InstallWords given;
  declare_install(context.arguments(), given);
  if (const auto status = context.parse_some(given.clients, "a coding agent, or all")) {
    return *status;
  }
  LK_CHECK(take_git_word(given));
  LK_ASSIGN(const Scope scope, install_scope(given));
  if (given.policy) LK_CHECK(check_policy(*given.policy));
  if (given.policy && given.uninstall) {
    return fail(Code::kUsage, "--policy does not go with --uninstall", "omit --policy");
  }
  LK_ASSIGN(const realm::Realm realm, context.realm({}));
  LK_ASSIGN(install::Machine machine, find_machine(context, realm));
  install::Request request;
  request.scope = scope;
  LK_ASSIGN(request.clients, clients_to_install(given, machine));
  if (given.git) {
    request.more = install::git_pieces_there(machine);
    if (!given.uninstall) {
      LK_ASSIGN(request.more, install::git_pieces(machine));
    }
  }
  const bool needs_policy =
      !given.git && (given.policy || (given.uninstall && !others_stay(machine, request)));
  if (needs_policy && (scope == Scope::kUser || !machine.repository.empty())) {
    request.more.push_back(policy_for(machine, realm, scope, given.policy.value_or("")));
  }
  auto setup = given.uninstall ? plan_removal(std::move(machine), std::move(request))
                               : plan_setup(context, std::move(machine), std::move(request));
  if (!setup) return fail(std::move(setup.error()));
  return finish_install(context, *setup, given);
}

}  // namespace lockkeeper::cli
