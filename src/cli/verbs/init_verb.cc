// `init` and `deinit`: everything that a newcomer's repository needs, and out again.
#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/text.h"
#include "cli/verbs/client_checks.h"
#include "cli/verbs/question.h"
#include "cli/verbs/setup.h"
#include "cli/verbs/verbs.h"
#include "dialect/kinds.h"
#include "dialect/unjoined.h"
#include "install/inspect.h"
#include "install/own_pieces.h"
#include "install/record.h"
#include "layout/registration.h"
#include "layout/registry.h"
#include "realm/disk_path.h"

namespace lockkeeper::cli {
namespace {

using install::Client;
using install::Scope;

constexpr const char* kForAgents = "AGENTS.md";
constexpr const char* kForClaude = "CLAUDE.md";
constexpr std::size_t kWorktreesShown = 3;

struct InitWords {
  bool yes = false, agents_md = false, no_agents_md = false;
  std::optional<std::string> policy;
};

Result<install::Machine> machine_in_repository(const VerbContext& context,
                                               const realm::Realm& realm) {
  LK_ASSIGN(install::Machine machine, find_machine(context, realm));
  if (!machine.repository.empty()) return machine;
  return fail(Code::kUsage, "there is no repository here: " + shown(realm.root),
              "go into one, or make one: git init");
}

// Claude Code reads CLAUDE.md alone, the others AGENTS.md.
std::vector<std::string> advice_files(const install::Machine& machine,
                                      const std::vector<Client>& clients) {
  const bool claude = std::ranges::find(clients, Client::kClaude) != clients.end();
  const auto now = install::reach_file(machine, realm::join_path(machine.repository, kForClaude));
  const bool imports = now && now->text && now->text->contains("@AGENTS.md");
  std::vector<std::string> names;
  if (clients.size() > (claude ? 1U : 0U) || imports) names.emplace_back(kForAgents);
  if (claude && !imports) names.emplace_back(kForClaude);
  return names;
}

bool wants_advice(VerbContext& context, const InitWords& given,
                  const std::vector<std::string>& files) {
  if (given.agents_md || given.no_agents_md || given.yes) return given.agents_md;
  return says_yes(
      context, "Add ten lines about working beside other agents to " + join(files, " and ") + "?");
}

std::vector<dialect::Unjoined> find_lock_folders(const VerbContext& context,
                                                 const realm::Realm& realm,
                                                 const realm::Settings& settings) {
  const service::Runtime& runtime = context.runtime();
  return dialect::find_unjoined({realm, settings, runtime.env, *runtime.clock});
}

// Whatever is changed together with the record.
Result<void> change_record(const install::Machine& machine,
                           const std::function<void(install::Record&)>& change) {
  LK_ASSIGN(install::Record record, install::Record::load_locked(install::state_folder(machine)));
  change(record);
  LK_CHECK(record.save());
  return record.remove_empty_folders() ? record.save() : Result<void>();
}

// Their ids. One that cannot be joined is a warning: locks work without it.
Result<std::vector<std::string>> join_lock_folders(VerbContext& context, const Setup& setup,
                                                   const realm::Realm& realm,
                                                   const std::vector<dialect::Unjoined>& found) {
  std::vector<std::string> ids;
  if (found.empty()) return ids;
  LK_ASSIGN(const auto open, context.open(realm));
  for (const dialect::Unjoined& one : found) {
    layout::LayoutEntry entry;
    entry.kind = one.kind;
    entry.root = one.root;
    const auto id = layout::use_layout(open->site.table(), {entry, dialect::made_below(one.kind)});
    if (id) {
      ids.push_back(*id);
    } else {
      context.out().warning(one.root + " was not joined: " + id.error().message);
    }
  }
  LK_CHECK(change_record(setup.machine, [&](install::Record& record) {
    for (const std::string& id : ids) record.put_layout({realm.store_folder, id});
  }));
  return ids;
}

// Those that no hook of another scope holds to the locks already: it would run twice.
std::vector<Client> clients_for_init(Output& out, const install::Machine& machine,
                                     const std::vector<Client>& seen) {
  std::vector<Client> clients;
  for (const Client client : seen) {
    const install::ClientStatus status = install::inspect(machine, client);
    const auto other = std::ranges::find_if(status.scopes, [](const install::ScopeStatus& one) {
      return one.scope != Scope::kProject && one.hook != install::HookState::kMissing;
    });
    if (other == status.scopes.end()) {
      clients.push_back(client);
    } else {
      out.note(std::string(install::facts_of(client).title) + " has the hook already, in " +
               other->hook_file);
    }
  }
  return clients;
}

Result<Setup> plan_init(VerbContext& context, const InitWords& given, const realm::Realm& realm) {
  LK_ASSIGN(install::Machine machine, machine_in_repository(context, realm));
  install::Request request;
  request.scope = Scope::kProject;
  const std::vector<Client> seen = seen_clients(machine);
  if (seen.empty()) return no_client_found();
  context.out().prose("Found " + client_titles(seen) + ".");
  request.clients = clients_for_init(context.out(), machine, seen);
  if (given.policy) {
    request.more.push_back(policy_for(machine, realm, request.scope, *given.policy));
  }
  request.more.push_back(install::settings_piece(machine));
  const std::vector<std::string> files = advice_files(machine, seen);
  if (wants_advice(context, given, files)) {
    for (const std::string& name : files) {
      request.more.push_back(install::advice_piece(machine, name));
    }
  }
  return plan_setup(context, std::move(machine), std::move(request));
}

Result<void> confirm_init(VerbContext& context, const InitWords& given, const Setup& setup,
                          const std::vector<dialect::Unjoined>& found) {
  show_changes(context.out(), setup, false);
  for (const dialect::Unjoined& one : found) {
    context.out().text("the lock folder " + shown(one.root) + " (" + one.kind +
                       ") is read and written from now on");
  }
  const bool nothing = setup.plan.is_nothing() && found.empty();
  if (nothing) context.out().text("nothing to do: everything is in place");
  if (nothing || given.yes || says_yes(context, "Do this?", true)) return {};
  return fail(Code::kFailed, "nothing was changed", "");
}

// What agents do from now on. `left_to_do`: some of them do not trust their hooks yet.
std::string outcome_text(bool left_to_do, realm::HookPolicy policy) {
  const std::string who = left_to_do ? "All others that" : "Agents that";
  const std::string begin =
      left_to_do ? "Installed. Agents that are marked \"to do\" skip their hooks until you have "
                   "done that.\n"
                 : "Done. ";
  switch (policy) {
    case realm::HookPolicy::kOff:
      return begin + "No hook does anything as long as [hook] policy is \"off\".";
    case realm::HookPolicy::kWarn:
      return begin + who +
             " start from now on are told when they meet in a file. Nothing is refused: [hook] "
             "policy is \"warn\".";
    default:
      return begin + who + " start from now on respect the locks.";
  }
}

// The proof, and what to know from now on.
Result<int> finish_init(VerbContext& context, const Setup& setup, const realm::Realm& realm,
                        service::Json json) {
  Output& out = context.out();
  CheckList list(out);
  if (const int ended = check_clients(context, realm, list); ended != 0) return ended;
  json["proof"] = list.json();
  for (const std::string& warning : setup.plan.warnings) out.warning(warning);
  if (list.broken()) {
    Error error = *list.broken();
    error.message = "installed, but not everything works: " + error.message;
    return out.failed(error, std::move(json));
  }
  LK_ASSIGN(const realm::Settings settings, layout::load_settings(context.runtime(), realm));
  out.object(json);
  out.prose(outcome_text(list.first().has_value(), settings.hook_policy.value));
  out.prose(
      "Three commands to know:\n"
      "  lockkeeper list --tree   who works on what\n"
      "  lockkeeper doctor        does it still work?\n"
      "  lockkeeper deinit        undo all of this");
  return 0;
}

// `last`: no other worktree uses what all of them share.
install::Request removal_request(const install::Machine& machine, const realm::Realm& realm,
                                 bool last) {
  install::Request request;
  request.scope = Scope::kProject;
  for (const install::ClientFacts& facts : install::all_clients()) {
    request.clients.push_back(facts.client);
  }
  request.more = {install::settings_piece(machine), install::advice_piece(machine, kForAgents),
                  install::advice_piece(machine, kForClaude)};
  if (last) request.more.push_back(policy_for(machine, realm, request.scope, ""));
  return request;
}

// The layouts that an init has registered here.
Result<std::vector<std::string>> joined_layouts(const install::Machine& machine,
                                                const realm::Realm& realm) {
  LK_ASSIGN(const install::Record record, install::Record::load(install::state_folder(machine)));
  std::vector<std::string> ids;
  for (const install::JoinedLayout& each : record.layouts()) {
    if (each.store == realm.store_folder) ids.push_back(each.id);
  }
  return ids;
}

Result<void> leave_lock_folders(VerbContext& context, const install::Machine& machine,
                                const realm::Realm& realm, const std::vector<std::string>& ids) {
  if (ids.empty()) return {};
  LK_ASSIGN(const auto open, context.open(realm));
  for (const std::string& id : ids) {
    const auto removed = layout::remove_layout(open->site.table(), id);
    if (!removed && removed.error().code != Code::kNotFound) return removed;
  }
  return change_record(machine,
                       [&](install::Record& record) { record.erase_layouts(realm.store_folder); });
}

// What an init did not do, so that nobody believes it gone.
void tell_what_stays(Output& out, const install::Machine& machine) {
  for (const Scope scope : {Scope::kUser, Scope::kShared}) {
    std::vector<Client> clients;
    for (const install::ClientFacts& facts : install::all_clients()) {
      const install::ClientStatus status = install::inspect(machine, facts.client);
      const bool there = std::ranges::any_of(status.scopes, [&](const auto& one) {
        return one.scope == scope && one.hook != install::HookState::kMissing;
      });
      if (there) clients.push_back(facts.client);
    }
    if (clients.empty()) continue;
    const std::string name(install::scope_name(scope));
    std::string note = "installed with --" + name;
    note.append(", and still there: ").append(client_titles(clients));
    note.append("; to remove it: lockkeeper install all --").append(name).append(" --uninstall");
    out.note(note);
  }
}

}  // namespace

Result<int> init_verb(VerbContext& context) {
  InitWords given;
  Arguments& arguments = context.arguments();
  arguments.flag("--yes", given.yes, "do not ask", "-y");
  declare_policy(arguments, given.policy);
  arguments.flag("--agents-md", given.agents_md,
                 "add ten lines for agents to AGENTS.md and\nCLAUDE.md");
  arguments.flag("--no-agents-md", given.no_agents_md, "do not add them (default with --yes)");
  if (const auto status = context.parse()) return *status;
  if (given.policy) LK_CHECK(check_policy(*given.policy));
  if (given.agents_md && given.no_agents_md) {
    return fail(Code::kUsage, "--agents-md and --no-agents-md contradict each other",
                "omit one of them");
  }
  if (!given.yes && !can_ask(context)) {
    return fail(Code::kUsage, "init asks before it changes anything, and nobody can answer here",
                "to do it without being asked: lockkeeper init --yes" + context.repeated_flags());
  }
  LK_ASSIGN(const realm::Realm realm, context.realm({}));
  LK_ASSIGN(const realm::Settings settings, layout::load_settings(context.runtime(), realm));
  LK_ASSIGN(const Setup setup, plan_init(context, given, realm));
  const auto found = find_lock_folders(context, realm, settings);
  LK_CHECK(confirm_init(context, given, setup, found));
  LK_ASSIGN(const install::Done done, install::carry_out(setup.machine, setup.plan));
  LK_ASSIGN(const std::vector<std::string> layouts,
            join_lock_folders(context, setup, realm, found));
  service::Json json = setup_json(setup);
  json["policy"] = text_or_null(given.policy.value_or(""));
  json["layouts"] = layouts;
  json["backups"] = done.backups;
  return finish_init(context, setup, realm, std::move(json));
}

Result<int> deinit_verb(VerbContext& context) {
  bool dry_run = false;
  context.arguments().flag("--dry-run", dry_run, "show what would change, and change nothing");
  if (const auto status = context.parse()) return *status;
  Output& out = context.out();
  LK_ASSIGN(const realm::Realm realm, context.realm({}));
  LK_ASSIGN(install::Machine machine, machine_in_repository(context, realm));
  const std::vector<std::string> elsewhere = set_up_elsewhere(machine);
  install::Request request = removal_request(machine, realm, elsewhere.empty());
  LK_ASSIGN(const Setup setup, plan_removal(std::move(machine), std::move(request)));
  std::vector<std::string> layouts;
  if (elsewhere.empty()) {
    LK_ASSIGN(layouts, joined_layouts(setup.machine, realm));
  }
  show_changes(out, setup, false);
  for (const std::string& id : layouts) {
    out.text("the layout " + id + " is neither read nor written any more");
  }
  service::Json json = setup_json(setup);
  json["layouts"] = layouts;
  json["dry_run"] = dry_run;
  json["backups"] = service::Json::array();
  if (!dry_run) {
    LK_CHECK(leave_lock_folders(context, setup.machine, realm, layouts));
    LK_ASSIGN(const install::Done done, install::carry_out(setup.machine, setup.plan));
    json["backups"] = done.backups;
  }
  out.object(json);
  const bool nothing = setup.plan.is_nothing() && layouts.empty();
  out.prose(nothing   ? "nothing to do: nothing of ours is in this repository"
            : dry_run ? "nothing was changed: this is what would be done"
                      : "Done. The lock table itself stays; to remove it: lockkeeper purge "
                        "--remove-store");
  show_notes(out, setup);
  if (!elsewhere.empty()) {
    out.note("what all worktrees share stays, because hooks are installed in " +
             shown_list(elsewhere, kWorktreesShown));
  }
  tell_what_stays(out, setup.machine);
  return 0;
}

}  // namespace lockkeeper::cli
