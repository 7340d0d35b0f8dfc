// `workflow`: the lock files of the workflow protocol, `{OUTPUT}/locks/{agent}.lock`.
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/text.h"
#include "cli/verbs/verbs.h"
#include "cli/verbs/workflow_run.h"
#include "cli/verbs/workflow_view.h"
#include "layout/registry.h"
#include "plan/scopes.h"

namespace lockkeeper::cli {
namespace {

namespace workflow = dialect::workflow;
using service::Json;

struct LockOptions {
  std::string output;
  std::optional<std::string> agent, task_description, ttl, scopes;
  std::vector<std::string> files, directories;
  bool renew = false;
};

void declare_output(Arguments& arguments, std::string& output) {
  arguments.required_value("--output", output, "DIR", "the workflow's output folder");
  arguments.offer(Arguments::Complete::kFolders);
}

void declare_agent(Arguments& arguments, std::string& agent) {
  arguments.required_value("--agent", agent, "NAME", "whose lock: DIR/locks/NAME.lock");
  arguments.offer(Arguments::Complete::kAgents);
}

// status and clean act on every lock of the folder, so a --agent changes nothing there.
void declare_unused_agent(Arguments& arguments, std::optional<std::string>& agent) {
  arguments.begin_hidden();
  arguments.value("--agent", agent, "NAME", "");
}

void declare(Arguments& arguments, LockOptions& options) {
  declare_output(arguments, options.output);
  arguments.value("--agent", options.agent, "NAME", "whose lock: DIR/locks/NAME.lock");
  arguments.offer(Arguments::Complete::kAgents);
  arguments.values("--file", options.files, "FILE",
                   "a file, from the repository's root; may be repeated");
  arguments.offer(Arguments::Complete::kFiles);
  arguments.values("--dir", options.directories, "DIR", "a folder and everything below it");
  arguments.offer(Arguments::Complete::kFolders);
  arguments.value("--task-description", options.task_description, "TEXT",
                  "what the agent does; shown to others");
  arguments.value("--ttl", options.ttl, "DURATION", "how long it lasts: 90s, 1h (default), none");
  arguments.flag("--renew", options.renew, "renew a live lock of that name");
  arguments.value("--scopes", options.scopes, "FILE",
                  "several agents, all or none, from JSON or YAML");
  arguments.offer(Arguments::Complete::kFiles);
}

Result<std::string> absolute_output(const VerbContext& context, const std::string& path) {
  if (path.empty()) {
    return fail(Code::kUsage, "--output is empty", "name a folder: --output DIR");
  }
  if (path.find('\0') != std::string::npos) {
    return fail(Code::kInvalidInput, "--output contains a NUL", "name a folder: --output DIR");
  }
  if (path.starts_with('/')) return path;
  LK_ASSIGN(const service::Wanted here, context.wanted({}));
  return here.base.folder + "/" + path;
}

// Physical. `make`: creates it with its missing parents. Empty: there is none.
Result<std::string> output_folder(const std::string& path, bool make) {
  if (make) return make_output_folder(path);
  char physical[PATH_MAX];
  if (::realpath(path.c_str(), physical) != nullptr) return std::string(physical);
  if (errno == ENOENT) return std::string();
  return fail(errno_error(errno, "--output " + quote(path), Code::kInvalidInput));
}

struct Session {
  std::unique_ptr<OpenLocks> open;
  std::unique_ptr<workflow::Workflow> flow;
  std::string output;  // as typed, for hints
};

Result<Session> start(VerbContext& context, const std::string& output, bool make) {
  Session session;
  session.output = output;
  LK_ASSIGN(const std::string path, absolute_output(context, output));
  LK_ASSIGN(realm::Realm realm, context.realm({path}));
  LK_ASSIGN(std::string folder, output_folder(path, make));
  if (folder.empty()) folder = path;  // there are no locks then
  LK_ASSIGN(session.open, context.open(std::move(realm)));
  LK_ASSIGN(service::ParentLease under,
            service::parent_lease_from(context.runtime().env, session.open->site.realm()));
  LK_ASSIGN(session.flow, workflow::Workflow::open(session.open->site, std::move(folder),
                                                   session.open->locks.owner(), std::move(under)));
  return session;
}

Result<std::vector<workflow::Request>> requests(const LockOptions& options) {
  std::optional<std::int64_t> ttl_ms;
  if (options.ttl) {
    LK_ASSIGN(ttl_ms, parse_duration(*options.ttl, "--ttl", {.allow_none = true}));
  }
  std::vector<workflow::Request> list;
  if (!options.scopes) {
    list.push_back({options.agent.value_or(""), options.files, options.directories,
                    options.task_description.value_or(""), "", ttl_ms});
    return list;
  }
  LK_ASSIGN(const std::vector<plan::ScopeEntry> entries, plan::read_scopes_file(*options.scopes));
  for (const plan::ScopeEntry& entry : entries) {
    if (!entry.globs.empty() || !entry.keys.empty()) {
      return fail(Code::kInvalidInput,
                  *options.scopes + ": " + quote(entry.agent.text) +
                      " has globs or keys, which a workflow lock file cannot hold",
                  "name files and directories, or take them with: lockkeeper acquire");
    }
    list.push_back({entry.agent.text, plan::texts_of(entry.files),
                    plan::texts_of(entry.directories),
                    entry.task_description.empty() ? entry.task : entry.task_description,
                    entry.task, entry.ttl_ms ? entry.ttl_ms : ttl_ms});
  }
  return list;
}

// The command that locks what the holders do not hold.
std::string rest_command(const workflow::Locked& locked, const std::string& output) {
  constexpr std::size_t kResourcesInHint = 5;
  for (const plan::Resolution& each : locked.resolutions) {
    if (each.kind != plan::Resolution::Kind::kReassign) continue;
    const plan::Scope& rest = each.scopes.front();
    const bool holders_change = std::ranges::any_of(
        each.moves, [&](const auto& move) { return move.from != locked.agent; });
    if (holders_change || rest.resources.empty()) continue;
    if (rest.resources.size() > kResourcesInHint) continue;
    std::string text = "take the rest now: lockkeeper workflow lock --output " +
                       shell_quote(output) + " --agent " + shell_quote(locked.agent);
    for (const key::Resource& resource : rest.resources) {
      const bool folder = resource.kind() == key::Kind::kFolder;
      text += (folder ? " --dir " : " --file ") + shell_quote(resource.text());
    }
    return text;
  }
  return "run " + locked.agent + " after that; see: lockkeeper workflow status --output " +
         shell_quote(output);
}

// What to do about a live lock of ours with the wanted name. `words`: names it on a command line.
std::string hint_for_taken(const workflow::Locked& locked, const std::string& words) {
  constexpr std::size_t kAddedInHint = 5;
  if (locked.not_in_it.empty()) {
    return "renew it: lockkeeper workflow lock" + words + " --renew";
  }
  std::string text = "add to it: lockkeeper workflow update" + words;
  if (locked.not_in_it.size() > kAddedInHint) return text + " --add PATH…";
  for (const key::Resource& resource : locked.not_in_it) {
    text += " --add " + shell_quote(resource.text());
  }
  return text;
}

Error refusal(const VerbContext& context, const workflow::Locked& locked,
              const std::string& output) {
  service::HintContext asked;
  asked.now_wall_ms = context.now_wall_ms();
  Error error = service::held_error(locked.result.conflicts, asked);
  if (locked.result.outcome != core::Outcome::kHeld) {
    return service::refusal(locked.result, asked);
  }
  if (!locked.name_taken) {
    error.hint = rest_command(locked, output);
    return error;
  }
  const core::Conflict& conflict = locked.result.conflicts.front();
  const std::string name = workflow::lock_name(locked.agent);
  error.message = shown(name) + " is live: " + service::holder_text(conflict, asked.now_wall_ms);
  const std::string words =
      " --output " + shell_quote(output) + " --agent " + shell_quote(locked.agent);
  error.hint = conflict.holder.foreign ? "end it on record: lockkeeper workflow unlock" + words
                                       : hint_for_taken(locked, words);
  return error;
}

Result<int> print_locked(VerbContext& context, const std::vector<workflow::Locked>& replies,
                         const std::optional<std::string>& scopes, const std::string& output) {
  Output& out = context.out();
  const workflow::Locked* refused = nullptr;
  const std::string separator = "\n";
  for (const workflow::Locked& reply : replies) {
    for (const core::LostLease& lost : reply.result.lost) out.warning(service::lost_text(lost));
    for (const std::string& warning : reply.result.warnings) out.warning(warning);
    for (const auto& hidden : reply.result.unmirrored) out.note(service::unmirrored_text(hidden));
    if (service::outcome_status(reply.result.outcome) == 0) continue;
    const bool explained = !reply.result.conflicts.empty();
    if (refused == nullptr || (refused->result.conflicts.empty() && explained)) refused = &reply;
  }
  Json json;
  if (scopes) {
    json["outcome"] =
        refused == nullptr ? "granted" : service::outcome_name(refused->result.outcome);
    json["locks"] = Json::array();
    for (const workflow::Locked& reply : replies) json["locks"].push_back(locked_json(reply));
  } else {
    json = locked_json(replies.front());
  }
  if (refused == nullptr) {
    out.object(json);
    for (const workflow::Locked& reply : replies) {
      out.prose(locked_text(reply, context.now_wall_ms()));
    }
    return 0;
  }
  for (const workflow::Locked& reply : replies) {
    if (const std::string text = conflict_text(reply); !text.empty()) out.prose(text + separator);
  }
  Error error = refusal(context, *refused, output);
  if (scopes && !refused->name_taken) {
    error.hint =
        "apply one of the resolutions to the scopes, then: lockkeeper workflow lock "
        "--output " +
        shell_quote(output) + " --scopes " + shell_quote(*scopes);
  }
  return out.failed(error, std::move(json));
}

Result<int> workflow_lock(VerbContext& context) {
  LockOptions options;
  declare(context.arguments(), options);
  if (const auto status = context.parse()) return *status;
  const bool scoped = !options.files.empty() || !options.directories.empty();
  if (options.scopes && (options.agent || scoped || options.task_description)) {
    return context.refuse_usage("takes agents, files and tasks from --scopes, or from other flags");
  }
  if (!options.agent && !options.scopes) {
    return context.refuse_usage("needs --agent NAME or --scopes FILE");
  }
  if (options.agent) LK_CHECK(workflow::check_lock_name(*options.agent));
  LK_ASSIGN(const Session session, start(context, options.output, true));
  LK_ASSIGN(const auto wanted, requests(options));
  LK_ASSIGN(const auto replies, session.flow->lock(wanted, options.renew));
  return print_locked(context, replies, options.scopes, session.output);
}

Result<int> workflow_update(VerbContext& context) {
  std::string output;
  std::optional<std::string> ttl;
  workflow::Update update;
  Arguments& arguments = context.arguments();
  declare_output(arguments, output);
  declare_agent(arguments, update.agent);
  arguments.values("--add", update.add, "PATH", "add to the scope; a folder ends in /");
  arguments.offer(Arguments::Complete::kFiles);
  arguments.values("--remove", update.remove, "PATH", "remove from the scope");
  arguments.value("--ttl", ttl, "DURATION", "how long it lasts: 90s, 1h (default), none");
  if (const auto status = context.parse()) return *status;
  if (update.add.empty() && update.remove.empty() && !ttl) {
    return context.refuse_usage("needs --add PATH or --remove PATH");
  }
  LK_ASSIGN(const auto session, start(context, output, false));
  if (ttl) {
    LK_ASSIGN(update.ttl_ms, parse_duration_ms(*ttl, {.allow_none = true}));
  }
  LK_ASSIGN(const auto reply, session.flow->update(update));
  return print_locked(context, {reply}, std::nullopt, session.output);
}

Result<int> workflow_unlock(VerbContext& context) {
  std::string output, agent;
  declare_output(context.arguments(), output);
  declare_agent(context.arguments(), agent);
  if (const auto status = context.parse()) return *status;
  Output& out = context.out();
  LK_ASSIGN(const auto session, start(context, output, false));
  LK_ASSIGN(const auto unlocked, session.flow->unlock(agent));
  out.object({{"unlocked", Json::array({unlocked_json(unlocked)})}});
  out.prose(unlocked_text(unlocked));
  return 0;
}

// Prints one workflow's locks. With an unreadable lock the list is incomplete: that is the error.
Result<std::optional<Error>> show_status(VerbContext& context, const std::string& output,
                                         Json& json) {
  Output& out = context.out();
  LK_ASSIGN(const auto session, start(context, output, false));
  LK_ASSIGN(const auto status, session.flow->status());
  json = status_json(status, output);
  if (status.locks.empty()) {
    out.text("no locks in " + output);
  } else {
    for (const Line& line : status_lines(status, out.columns())) out.line(line);
  }
  for (const workflow::Standing& each : status.locks) {
    if (each.error) return each.error;
  }
  return std::nullopt;
}

// Where this realm's workflows have their lock files.
Result<std::vector<std::string>> known_outputs(VerbContext& context) {
  LK_ASSIGN(const auto open, context.open(std::vector<std::string>{}));
  LK_ASSIGN(const auto all, layout::load_layouts(open->site.realm(), open->site.settings()));
  std::vector<std::string> outputs;
  for (const layout::LayoutEntry& entry : all) {
    if (entry.kind == workflow::kKind) outputs.push_back(entry.root);
  }
  return outputs;
}

Result<int> workflow_status(VerbContext& context) {
  std::optional<std::string> output, agent;
  context.arguments().value("--output", output, "DIR",
                            "the workflow's output folder (default: all that this\nrealm knows)");
  context.arguments().offer(Arguments::Complete::kFolders);
  declare_unused_agent(context.arguments(), agent);
  if (const auto parsed = context.parse()) return *parsed;
  Output& out = context.out();
  if (output) {
    Json json;
    LK_ASSIGN(const std::optional<Error> error, show_status(context, *output, json));
    if (error) return out.failed(*error, std::move(json));
    out.object(json);
    return 0;
  }
  LK_ASSIGN(const std::vector<std::string> outputs, known_outputs(context));
  Json all = {{"workflows", Json::array()}};
  std::optional<Error> first;
  for (const std::string& each : outputs) {
    if (outputs.size() > 1) out.line({{each, Style::kBold}});
    LK_ASSIGN(const std::optional<Error> error,
              show_status(context, each, all["workflows"].emplace_back()));
    if (!first) first = error;
  }
  if (first) return out.failed(*first, std::move(all));
  if (outputs.empty()) {
    LK_ASSIGN(const realm::Realm realm, context.realm({}));
    const bool earlier = ::access((realm.root + "/" + kDefaultOutputs).c_str(), F_OK) == 0;
    out.text(std::string("no workflow has locks in this realm now; ") +
             (earlier ? "the reports of earlier runs are in " + std::string(kDefaultOutputs) + "/; "
                      : "") +
             "to look elsewhere: --output DIR");
  }
  out.object(all);
  return 0;
}

Result<int> workflow_clean(VerbContext& context) {
  std::string output;
  std::optional<std::string> agent;
  declare_output(context.arguments(), output);
  declare_unused_agent(context.arguments(), agent);
  if (const auto status = context.parse()) return *status;
  Output& out = context.out();
  LK_ASSIGN(const auto session, start(context, output, false));
  LK_ASSIGN(const auto cleaned, session.flow->clean());
  Json json;
  json["unlocked"] = Json::array();
  for (const workflow::Unlocked& each : cleaned.unlocked) {
    json["unlocked"].push_back(unlocked_json(each));
    out.text(unlocked_text(each));
  }
  json["left"] = cleaned.left;
  json["folder_removed"] = cleaned.folder_removed;
  for (const std::string& path : cleaned.left) {
    out.note(path + " is not a lock of this workflow and was left");
  }
  const std::string folder = session.flow->path_of("");
  out.text(!cleaned.folder_found    ? "nothing to clean: there is no " + folder
           : cleaned.folder_removed ? "removed " + folder
                                    : "left " + folder);
  out.object(json);
  return 0;
}

constexpr Verb kWorkflowSubcommands[] = {
    {"run", "Run a plan's agents side by side, each under its locks",
     "  lockkeeper workflow run plan.yaml --jobs 4\n"
     "  lockkeeper workflow run plan.yaml --resume    # after Ctrl-C or a crash\n"
     "  lockkeeper workflow run plan.yaml -- claude -p {scope}  # if they name none\n",
     workflow_run},
    {"lock", "Take an agent's scope, as a lock file",
     "  lockkeeper workflow lock --output out --agent frontend --dir src/ui/ --ttl 1h\n"
     "  lockkeeper workflow lock --output out --scopes scopes.json   # all or none\n",
     workflow_lock},
    {"update", "Change what a lock file covers",
     "  lockkeeper workflow update --output out --agent frontend --add src/x.tsx\n",
     workflow_update},
    {"unlock", "Release an agent's scope",
     "  lockkeeper workflow unlock --output out --agent frontend\n", workflow_unlock},
    {"status", "Which lock files there are, and who waits for what",
     "  lockkeeper workflow status                  # all workflows of this realm\n"
     "  lockkeeper workflow status --output out\n",
     workflow_status, Does::kLook},
    {"clean", "Unlock everything: the workflow is over",
     "  lockkeeper workflow clean --output out\n", workflow_clean},
    {"keep", {}, {}, workflow_keep},
};

}  // namespace

std::span<const Verb> workflow_subcommands() {
  return kWorkflowSubcommands;
}

}  // namespace lockkeeper::cli
