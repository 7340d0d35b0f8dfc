// `workflow`: the lock files of the workflow document, `{OUTPUT}/locks/{agent}.lock`.
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
#include "plan/scopes.h"

namespace lockkeeper::cli {
namespace {

namespace workflow = dialect::workflow;
using service::Json;

struct Options {
  std::vector<std::string> words;
  std::optional<std::string> output, agent, task_description, ttl, scopes;
  std::vector<std::string> files, directories, add, remove;
  bool renew = false;
  WorkflowRunOptions run;
};

constexpr std::string_view kWords[] = {"lock", "update", "unlock", "status", "clean", "run"};

void declare(Arguments& arguments, Options& options) {
  arguments.words("ACTION [FILE]", options.words,
                  "run FILE, lock, update, unlock, status or clean;\nFILE is a plan");
  arguments.offer({"lock", "update", "unlock", "status", "clean", "run"});
  arguments.value("--output", options.output, "DIR", "the workflow's output folder");
  arguments.offer(Arguments::Complete::kFolders);
  arguments.value("--agent", options.agent, "NAME", "whose lock: DIR/locks/NAME.lock");
  arguments.offer(Arguments::Complete::kAgents);
  arguments.values("--file", options.files, "FILE",
                   "lock: a file, from the repository's root; may be\nrepeated");
  arguments.offer(Arguments::Complete::kFiles);
  arguments.values("--dir", options.directories, "DIR", "lock: a folder with all below it");
  arguments.offer(Arguments::Complete::kFolders);
  arguments.value("--task-description", options.task_description, "TEXT",
                  "what the agent is to do; others are told");
  arguments.value("--ttl", options.ttl, "DURATION", "how long it lasts: 90s, 1h (default), none");
  arguments.flag("--renew", options.renew, "lock: renew a live lock of that name");
  arguments.value("--scopes", options.scopes, "FILE",
                  "lock: several agents, all or none, from JSON or YAML");
  arguments.offer(Arguments::Complete::kFiles);
  arguments.values("--add", options.add, "PATH", "update: also this; a folder ends in /");
  arguments.offer(Arguments::Complete::kFiles);
  arguments.values("--remove", options.remove, "PATH", "update: no longer this");
  arguments.value("--jobs", options.run.jobs, "N", "run: at most so many agents at once");
  arguments.flag("--resume", options.run.resume, "run: go on after Ctrl-C, a crash or a failure");
  arguments.flag("--restart", options.run.restart,
                 "run: begin again; what is there is kept in earlier/");
  arguments.flag("--strict-scope", options.run.strict_scope,
                 "run: a change outside its scope fails an agent");
  arguments.flag("--no-scope-check", options.run.no_scope_check,
                 "run: do not look for what agents change");
  arguments.value("--grace", options.run.grace, "DURATION",
                  "run: between asking an agent to end and killing\nit (default 10s)");
  arguments.command(options.run.command, "run: for agents that have no command in the plan");
}

Error workflow_usage(const std::string& message) {
  return {Code::kUsage, "workflow: " + message, "see: lockkeeper workflow --help"};
}

std::optional<Error> check_run(const Options& options) {
  const WorkflowRunOptions& run = options.run;
  if (options.words.size() != 2) return workflow_usage("run needs one plan: workflow run FILE");
  if (options.agent || !options.files.empty() || !options.directories.empty() || options.scopes ||
      !options.add.empty() || !options.remove.empty() || options.renew || options.ttl ||
      options.task_description) {
    return workflow_usage("run takes agents, files and tasks from the plan, not from options");
  }
  if (run.resume && run.restart) return workflow_usage("--resume or --restart, not both");
  if (run.strict_scope && run.no_scope_check) {
    return workflow_usage("--strict-scope or --no-scope-check, not both");
  }
  return std::nullopt;
}

// Which options make sense for which word.
std::optional<Error> check(const Options& options) {
  if (options.words.empty()) return workflow_usage("one word is needed: lock, update, unlock, …");
  const std::string& word = options.words.front();
  if (std::ranges::find(kWords, word) == std::end(kWords)) {
    const auto guess = nearest(word, kWords);
    return workflow_usage("unknown word " + quote(word) +
                          (guess ? ", did you mean " + *guess + "?" : ""));
  }
  if (word == "run") return check_run(options);
  if (options.words.size() != 1) return workflow_usage(word + " takes no word beside it");
  const WorkflowRunOptions& run = options.run;
  if (run.jobs || run.grace || run.resume || run.restart || run.strict_scope ||
      run.no_scope_check || !run.command.empty()) {
    return workflow_usage(
        "--jobs, --grace, --resume, --restart, --strict-scope, --no-scope-check and a "
        "command are for run");
  }
  const bool lock = word == "lock", update = word == "update", unlock = word == "unlock";
  if (!options.output || options.output->empty())
    return workflow_usage(word + " needs --output DIR");
  const bool scoped = !options.files.empty() || !options.directories.empty();
  const bool changes = !options.add.empty() || !options.remove.empty();
  if (options.scopes && (!lock || options.agent || scoped || options.task_description)) {
    return workflow_usage(
        "--scopes stands alone with lock: it names agents, files and tasks itself");
  }
  if ((lock || update || unlock) && !options.agent && !options.scopes) {
    return workflow_usage(word + " needs --agent NAME");
  }
  if (lock && options.agent) {
    if (auto safe = workflow::check_lock_name(*options.agent); !safe) return safe.error();
  }
  if (!lock && (scoped || options.renew))
    return workflow_usage("--file, --dir and --renew are for lock");
  if (!update && changes) return workflow_usage("--add and --remove are for update");
  if (!lock && options.task_description) return workflow_usage("--task-description is for lock");
  if (!lock && !update && options.ttl) return workflow_usage("--ttl is for lock and update");
  if (update && !changes && !options.ttl)
    return workflow_usage("update needs --add PATH or --remove PATH");
  return std::nullopt;
}

Result<std::string> absolute(const VerbContext& context, const std::string& path) {
  if (path.find('\0') != std::string::npos) {
    return fail(Code::kInvalidInput, "--output has a NUL in it", "name a folder: --output DIR");
  }
  if (path.starts_with('/')) return path;
  LK_ASSIGN(const service::Wanted here, context.wanted({}));
  return here.base.folder + "/" + path;
}

// Physical. `make`: with its missing parents, as the document's `mkdir -p`. Empty: there is none.
Result<std::string> output_folder(const std::string& path, bool make) {
  if (make) {
    if (auto made = make_folders(path, 0777); !made) {
      made.error().message = "--output: " + made.error().message;
      return fail(std::move(made.error()));
    }
  }
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

Result<std::vector<workflow::Request>> requests(const Options& options) {
  std::optional<std::int64_t> ttl_ms;
  if (options.ttl) {
    auto length = parse_duration_ms(*options.ttl, {.allow_none = true});
    if (!length) {
      length.error().message = "--ttl: " + length.error().message;
      return fail(std::move(length.error()));
    }
    ttl_ms = *length;
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
                      " has globs or keys, which no workflow lock file can hold",
                  "name files and directories, or take them with: lockkeeper acquire");
    }
    list.push_back({entry.agent.text, plan::texts_of(entry.files),
                    plan::texts_of(entry.directories),
                    entry.task_description.empty() ? entry.task : entry.task_description,
                    entry.task, entry.ttl_ms ? entry.ttl_ms : ttl_ms});
  }
  return list;
}

// What is left for the asker once what overlaps is the holders'.
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

Error refusal(const VerbContext& context, const workflow::Locked& locked,
              const std::string& output) {
  service::Asked asked;
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
  error.message = name + " is live: " + service::holder_text(conflict, asked.now_wall_ms);
  const std::string words =
      " --output " + shell_quote(output) + " --agent " + shell_quote(locked.agent);
  error.hint = conflict.holder.foreign ? "end it on record: lockkeeper workflow unlock" + words
                                       : "renew it: lockkeeper workflow lock" + words + " --renew";
  return error;
}

int print_locked(VerbContext& context, const std::vector<workflow::Locked>& replies,
                 const std::optional<std::string>& scopes, const std::string& output) {
  Output& out = context.out();
  const workflow::Locked* refused = nullptr;
  const std::string separator = "\n";
  for (const workflow::Locked& reply : replies) {
    for (const core::LostLease& lost : reply.result.lost) out.warning(service::lost_text(lost));
    for (const std::string& warning : reply.result.warnings) out.warning(warning);
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
      out.text(locked_text(reply, context.now_wall_ms()));
    }
    return 0;
  }
  for (const workflow::Locked& reply : replies) {
    if (const std::string text = conflict_text(reply); !text.empty()) out.text(text + separator);
  }
  Error error = refusal(context, *refused, output);
  if (scopes && !refused->name_taken) {
    error.hint =
        "change the scopes as one of the resolutions says, then: lockkeeper workflow lock "
        "--output " +
        shell_quote(output) + " --scopes " + shell_quote(*scopes);
  }
  return out.failed(error, std::move(json));
}

int lock(VerbContext& context, const Options& options, const Session& session) {
  const auto wanted = requests(options);
  if (!wanted) return context.out().failed(wanted.error());
  const auto replies = session.flow->lock(*wanted, options.renew);
  if (!replies) return context.out().failed(replies.error());
  return print_locked(context, *replies, options.scopes, session.output);
}

int update(VerbContext& context, const Options& options, const Session& session) {
  workflow::Update update{*options.agent, options.add, options.remove, std::nullopt};
  if (options.ttl) {
    const auto length = parse_duration_ms(*options.ttl, {.allow_none = true});
    if (!length) return context.out().failed(length.error());
    update.ttl_ms = *length;
  }
  const auto reply = session.flow->update(update);
  if (!reply) return context.out().failed(reply.error());
  return print_locked(context, {*reply}, std::nullopt, session.output);
}

int unlock(VerbContext& context, const Options& options, const Session& session) {
  Output& out = context.out();
  const auto unlocked = session.flow->unlock(*options.agent);
  if (!unlocked) return out.failed(unlocked.error());
  out.object({{"unlocked", Json::array({unlocked_json(*unlocked)})}});
  out.text(unlocked_text(*unlocked));
  return 0;
}

int status(VerbContext& context, const Session& session) {
  Output& out = context.out();
  const auto status = session.flow->status();
  if (!status) return out.failed(status.error());
  Json json = status_json(*status, session.output);
  if (status->locks.empty()) {
    out.text("no locks in " + session.output);
  } else {
    for (const Line& line : status_lines(*status, out.columns())) {
      out.line(line);
    }
  }
  // "Cannot tell" is not "these are all".
  for (const workflow::Standing& each : status->locks) {
    if (each.error) return out.failed(*each.error, std::move(json));
  }
  out.object(json);
  return 0;
}

int clean(VerbContext& context, const Session& session) {
  Output& out = context.out();
  const auto cleaned = session.flow->clean();
  if (!cleaned) return out.failed(cleaned.error());
  Json json;
  json["unlocked"] = Json::array();
  for (const workflow::Unlocked& each : cleaned->unlocked) {
    json["unlocked"].push_back(unlocked_json(each));
    out.text(unlocked_text(each));
  }
  json["left"] = cleaned->left;
  json["folder_removed"] = cleaned->folder_removed;
  for (const std::string& path : cleaned->left) {
    out.note(path + " is no lock of this workflow and was left");
  }
  out.text(cleaned->folder_removed ? "removed " + session.flow->path_of("")
                                   : "left " + session.flow->path_of(""));
  out.object(json);
  return 0;
}

Result<Session> start(const VerbContext& context, const Options& options) {
  Session session;
  session.output = *options.output;
  LK_ASSIGN(const std::string path, absolute(context, session.output));
  LK_ASSIGN(realm::Realm realm, context.realm({path}));
  LK_ASSIGN(std::string folder, output_folder(path, options.words.front() == "lock"));
  if (folder.empty()) folder = path;  // nothing can be there
  LK_ASSIGN(session.open, context.open(std::move(realm)));
  LK_ASSIGN(service::Under under, service::under_from(context.runtime().env));
  LK_ASSIGN(session.flow, workflow::Workflow::open(session.open->table, std::move(folder),
                                                   session.open->locks.owner(), std::move(under)));
  return session;
}

}  // namespace

int workflow_verb(VerbContext& context) {
  Options options;
  declare(context.arguments(), options);
  if (const auto status = context.parse()) return *status;
  Output& out = context.out();
  if (options.words.size() == 2 && options.words.front() == "keep") {
    return workflow_keep(context, options.words.back());
  }
  if (const auto error = check(options)) return out.failed(*error);
  if (options.words.front() == "run") {
    options.run.file = options.words.back();
    options.run.output = options.output;
    return workflow_run(context, options.run);
  }
  const auto session = start(context, options);
  if (!session) return out.failed(session.error());
  const std::string& word = options.words.front();
  if (word == "lock") return lock(context, options, *session);
  if (word == "update") return update(context, options, *session);
  if (word == "unlock") return unlock(context, options, *session);
  if (word == "status") return status(context, *session);
  return clean(context, *session);
}

}  // namespace lockkeeper::cli
