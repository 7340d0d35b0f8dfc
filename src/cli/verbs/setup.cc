#include "cli/verbs/setup.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/parse.h"
#include "base/text.h"
#include "install/inspect.h"
#include "install/own_pieces.h"
#include "realm/config.h"
#include "realm/disk_path.h"

namespace lockkeeper::cli {
namespace {

using How = install::InstalledProgram::How;

install::ProgramRequest program_request(const VerbContext& context) {
  install::ProgramRequest request;
  request.self = context.environment().program;
  request.version = LOCKKEEPER_VERSION;
  return request;
}

std::string_view how_name(How how) {
  constexpr std::array<std::string_view, 5> kNames = {"system", "up_to_date", "copied", "replaced",
                                                      "kept_newer"};
  return kNames[static_cast<std::size_t>(how)];
}

const char* change_name(const install::Change& change) {
  if (!change.before) return "create";
  return change.after ? "change" : "delete";
}

// Most clients run the hook of every scope.
std::vector<std::string> doubled_by(const install::Machine& machine,
                                    const install::Request& request) {
  std::vector<std::string> warnings;
  for (const install::Client client : request.clients) {
    const install::ClientFacts& facts = install::facts_of(client);
    const auto pieces = install::pieces_of(machine, client, request.scope);
    for (const install::ScopeStatus& other : install::inspect(machine, client).scopes) {
      const bool here = other.scope == request.scope ||
                        (pieces && !pieces->empty() && pieces->front().file == other.hook_file);
      if (here || other.hook == install::HookState::kMissing) continue;
      const std::string scope(install::scope_name(other.scope));
      warnings.push_back(std::string(facts.title) + " has the hook in " + other.hook_file +
                         " as well and may run both; to keep one: lockkeeper install " +
                         std::string(facts.name) + " --" + scope + " --uninstall");
    }
  }
  return warnings;
}

// Before anything is shown or asked.
Result<void> check_writable(const std::string& folder, const char* variable) {
  const auto kept = find_unwritable(folder);
  if (!kept) return {};
  Error error = errno_error(kept->error, kept->path, Code::kFailed);
  error.message += "; nothing was changed";
  error.hint = "make it writable, or set " + std::string(variable) + " to another folder";
  return fail(std::move(error));
}

}  // namespace

Result<install::Machine> find_machine(const VerbContext& context, const realm::Realm& realm) {
  const auto store = realm::check_store(realm);
  const bool plain = !realm.in_git && store && *store == realm::StoreState::kPresent;
  const bool here = (realm.in_git || plain) && !realm.bare && !realm.machine && !realm.in_memory;
  return install::look_at_machine(context.runtime().env, here ? realm.root : "");
}

std::vector<install::Client> seen_clients(const install::Machine& machine) {
  std::vector<install::Client> clients;
  for (const install::ClientFacts& facts : install::all_clients()) {
    if (install::inspect(machine, facts.client).seen) clients.push_back(facts.client);
  }
  return clients;
}

std::vector<std::string> set_up_elsewhere(const install::Machine& machine) {
  std::vector<std::string> roots;
  for (install::OtherWorktree& other : install::other_worktrees(machine)) {
    if (!other.own.empty()) roots.push_back(std::move(other.root));
  }
  return roots;
}

std::string client_titles(const std::vector<install::Client>& clients) {
  std::string text;
  for (std::size_t i = 0; i < clients.size(); ++i) {
    const install::ClientFacts& facts = install::facts_of(clients[i]);
    if (i > 0) text += i + 1 == clients.size() ? " and " : ", ";
    text += std::string(facts.title) + (facts.experimental ? " (experimental)" : "");
  }
  return text;
}

std::unexpected<Error> no_client_found() {
  std::vector<std::string> programs;
  for (const install::ClientFacts& facts : install::all_clients()) {
    programs.emplace_back(facts.program);
  }
  return fail(Code::kNotFound,
              "no coding agent was found: neither a program on PATH (" + join(programs, ", ") +
                  ") nor its settings in your home folder",
              "name the one that you will use, as in: lockkeeper install claude");
}

std::string policy_file(const install::Machine& machine, const realm::Realm& realm,
                        install::Scope scope) {
  if (scope == install::Scope::kProject) {
    return realm::join_path(realm.store_folder, realm::kLocalConfigName);
  }
  if (scope == install::Scope::kShared) {
    return realm::join_path(machine.repository, realm::kRepositoryConfigName);
  }
  const auto config = realm::xdg_folder(machine.env, "XDG_CONFIG_HOME", ".config");
  return realm::join_path(config.value_or(realm::join_path(machine.home, ".config")),
                          "lockkeeper/config.toml");
}

install::Piece policy_for(const install::Machine& machine, const realm::Realm& realm,
                          install::Scope scope, const std::string& policy) {
  install::Piece piece = install::policy_piece(scope, policy_file(machine, realm, scope), policy);
  if (scope == install::Scope::kProject) {  // whoever shares the store reads it
    piece.mode = realm.file_mode;
    piece.folder_mode = realm.folder_mode;
  }
  return piece;
}

namespace {

std::vector<std::string> policy_words() {
  std::vector<std::string> words;
  for (const auto& policy : realm::kHookPolicies) words.emplace_back(policy.text);
  return words;
}

}  // namespace

void declare_policy(Arguments& arguments, std::optional<std::string>& policy) {
  arguments.value("--policy", policy, "POLICY",
                  "what happens to an edit of a held file: wait,\nblock, ask, warn or off");
  arguments.offer(policy_words());
}

Result<void> check_policy(const std::string& policy) {
  const std::vector<std::string> words = policy_words();
  if (std::ranges::find(words, policy) != words.end()) return {};
  return fail(Code::kUsage, "--policy " + quote(policy) + " is not a policy",
              "use one of: " + join(words, ", "));
}

Result<Setup> plan_setup(const VerbContext& context, install::Machine machine,
                         install::Request request) {
  Setup setup{.machine = std::move(machine), .request = std::move(request)};
  if (setup.request.scope == install::Scope::kShared) {
    setup.program.path = install::kOurName;  // whichever is on the PATH there
  } else {
    LK_ASSIGN(setup.program, install::look_at_program(setup.machine, program_request(context)));
  }
  setup.request.program = setup.program.path;
  LK_ASSIGN(setup.plan, install::plan_install(setup.machine, setup.request));
  if (setup.program.path.starts_with('/')) setup.plan.git_hooks_start = setup.program.path;
  if (setup.program.how == How::kCopied || setup.program.how == How::kReplaced) {
    LK_CHECK(check_writable(install::data_folder(setup.machine), "XDG_DATA_HOME"));
    setup.plan.program = program_request(context);
  }
  if (!setup.plan.changes.empty()) {
    LK_CHECK(check_writable(install::state_folder(setup.machine), "XDG_STATE_HOME"));
  }
  for (std::string& warning : doubled_by(setup.machine, setup.request)) {
    setup.plan.warnings.push_back(std::move(warning));
  }
  if (setup.program.how == How::kKeptNewer) {
    setup.plan.notes.push_back(setup.program.path + " is version " +
                               shown(setup.program.other_version) +
                               ", which is newer than this one; it stays");
  }
  return setup;
}

Result<Setup> plan_removal(install::Machine machine, install::Request request) {
  Setup setup{.machine = std::move(machine), .request = std::move(request), .removes = true};
  LK_ASSIGN(setup.plan, install::plan_uninstall(setup.machine, setup.request));
  return setup;
}

void show_changes(Output& out, const Setup& setup, bool whole) {
  for (const install::Change& change : setup.plan.changes) {
    if (!whole && (!change.before || !change.after)) {
      out.text((change.after ? "creates " : "removes ") + printable(change.file));
      continue;
    }
    for (const std::string& line : words_in(install::diff_of(change), "\n")) {
      const bool name = line.starts_with("--- ") || line.starts_with("+++ ");
      const Style style = name                     ? Style::kBold
                          : line.starts_with('+')  ? Style::kGreen
                          : line.starts_with('-')  ? Style::kRed
                          : line.starts_with("@@") ? Style::kDim
                                                   : Style::kPlain;
      out.line({{line, style}});
    }
  }
  if (setup.plan.program) {
    out.text("the program is copied to " + printable(setup.program.path));
  }
}

void show_notes(Output& out, const Setup& setup) {
  for (const std::string& note : setup.plan.notes) out.note(note);
  for (const std::string& warning : setup.plan.warnings) out.warning(warning);
}

service::Json setup_json(const Setup& setup) {
  service::Json clients = service::Json::array();
  for (const install::Client client : setup.request.clients) {
    clients.push_back(install::facts_of(client).name);
  }
  service::Json json = {{"clients", std::move(clients)},
                        {"scope", install::scope_name(setup.request.scope)}};
  if (!setup.removes) {
    const bool shared = setup.request.scope == install::Scope::kShared;
    json["program"] = {{"path", setup.program.path},
                       {"action", shared ? "none" : how_name(setup.program.how)}};
  }
  json["changes"] = service::Json::array();
  for (const install::Change& change : setup.plan.changes) {
    json["changes"].push_back({{"file", change.file},
                               {"action", change_name(change)},
                               {"diff", install::diff_of(change)}});
  }
  json["notes"] = setup.plan.notes;
  json["warnings"] = setup.plan.warnings;
  return json;
}

}  // namespace lockkeeper::cli
