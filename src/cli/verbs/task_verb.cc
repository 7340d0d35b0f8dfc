// `task`: the locks of the mkdir protocol (seed 004), with its own words on stdout: ACQUIRED, BUSY.
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/verbs/list_view.h"
#include "cli/verbs/verbs.h"
#include "dialect/mkdir/owner.h"
#include "dialect/mkdir/tasks.h"

namespace lockkeeper::cli {
namespace {

using dialect::mkdir::Tasks;

struct TaskOptions {
  std::vector<std::string> words, files;
  std::optional<std::string> retry, report, reason, attach, root, returned;
  bool dead = false;
  bool all = false;
};

Error task_usage(std::string message) {
  return {Code::kUsage, "task " + std::move(message), "see: lockkeeper task --help"};
}

// The realm's locks and the protocol's folder in it.
struct OpenTasks {
  std::unique_ptr<OpenLocks> open;
  std::unique_ptr<Tasks> tasks;
};

Result<OpenTasks> open_tasks(VerbContext& context, const TaskOptions& options) {
  OpenTasks opened;
  LK_ASSIGN(opened.open, context.open(std::vector<std::string>()));
  LK_ASSIGN(const service::Wanted here, context.wanted({}));
  const layout::LockTable& table = opened.open->table;
  LK_ASSIGN(std::string root, dialect::mkdir::find_root(table.realm(), table.settings(),
                                                        here.base.folder, options.root));
  opened.tasks = std::make_unique<Tasks>(opened.open->locks, std::move(root));
  return opened;
}

Result<dialect::mkdir::TaskRequest> read_request(const TaskOptions& options) {
  dialect::mkdir::TaskRequest request;
  request.take_task = options.words.front() == "acquire";
  if (options.words.size() < 2)
    return fail(task_usage(options.words.front() + " needs a task's id"));
  request.task = options.words[1];
  request.files = options.files;
  const std::vector<std::string> more(options.words.begin() + 2, options.words.end());
  if (request.take_task && !more.empty()) {
    return fail(task_usage("acquire takes one task; a file is named by --file, not as " +
                           quote(more.front())));
  }
  request.files.insert(request.files.end(), more.begin(), more.end());
  if (!request.take_task && request.files.empty()) {
    return fail(task_usage("lock-file needs a task's id and at least one file"));
  }
  if (options.retry) {
    LK_ASSIGN(request.retry_ms, parse_duration_ms(*options.retry));
  }
  if (options.attach) {
    LK_ASSIGN(const std::uint64_t pid, parse_number(*options.attach, "--attach", INT32_MAX));
    request.attach_pid = static_cast<int>(pid);
  }
  request.reason = options.reason.value_or("");
  return request;
}

// Appends to the completion report. A report that cannot be written changes no answer.
void report(VerbContext& context, const TaskOptions& options,
            const dialect::mkdir::TaskRequest& request, const dialect::mkdir::TaskReply& reply,
            service::Json& json) {
  if (!options.report) return;
  std::string text;
  for (const core::Conflict& conflict : reply.conflicts) {
    text += dialect::mkdir::report_line(request.task, conflict, context.now_wall_ms(),
                                        context.common().json);
  }
  const auto written = dialect::mkdir::append_report(*options.report, text);
  if (written) return;
  context.out().warning(written.error().message);
  json["warnings"].push_back(written.error().message);
}

int busy(VerbContext& context, const TaskOptions& options,
         const dialect::mkdir::TaskRequest& request, const dialect::mkdir::TaskReply& reply,
         service::Json json) {
  Output& out = context.out();
  json["conflicts"] = service::Json::array();
  for (const core::Conflict& conflict : reply.conflicts) {
    json["conflicts"].push_back(service::conflict_json(conflict));
  }
  json["released"] = reply.released;
  report(context, options, request, reply, json);
  out.text("BUSY");
  for (const std::string& key : reply.released) out.note("released " + key);
  Error error = service::held_error(reply.conflicts, {{}, {}, context.now_wall_ms(), false});
  error.hint =
      "go on with another task; who holds what: lockkeeper task list" + context.repeated_flags();
  return out.failed(error, std::move(json));
}

int acquire(VerbContext& context, const TaskOptions& options) {
  Output& out = context.out();
  const auto request = read_request(options);
  if (!request) return out.failed(request.error());
  const auto opened = open_tasks(context, options);
  if (!opened) return out.failed(opened.error());
  const auto reply = opened->tasks->acquire(*request);
  if (!reply) return out.failed(reply.error());
  service::Json json;
  json["outcome"] = reply->acquired ? "granted" : "held";
  json["task"] = request->task;
  for (const core::LostLease& lost : reply->lost) {
    out.warning(service::lost_text(lost));
    json["lost"].push_back(service::lost_json(lost));
  }
  for (const std::string& warning : reply->warnings) {
    out.warning(warning);
    json["warnings"].push_back(warning);
  }
  if (!reply->acquired) return busy(context, options, *request, *reply, std::move(json));
  json.update(service::leases_json("leases", reply->leases));
  out.object(json);
  out.text("ACQUIRED");
  return 0;
}

int release(VerbContext& context, const TaskOptions& options) {
  Output& out = context.out();
  if (options.words.size() != 2) return out.failed(task_usage("release takes one task's id"));
  const auto opened = open_tasks(context, options);
  if (!opened) return out.failed(opened.error());
  const auto reply = opened->tasks->release(options.words[1]);
  if (!reply) return out.failed(reply.error());
  out.object(service::release_json(*reply));
  for (const std::string& key : reply->released) out.text("released " + key);
  return 0;
}

service::Json lock_json(const dialect::mkdir::TaskLock& lock) {
  const auto or_null = [](const std::string& text) {
    return text.empty() ? service::Json() : service::Json(text);
  };
  return {{"lock", lock.name},
          {"path", lock.path},
          {"resources", lock.resources},
          {"agent", lock.owner.agent},
          {"session", or_null(lock.owner.session)},
          {"task", or_null(lock.task)},
          {"since", format_time(lock.since_wall_ms)},
          {"foreign", lock.foreign},
          {"native", lock.native},
          {"lease", or_null(lock.lease.empty() ? "" : lock.lease.text())}};
}

int list(VerbContext& context, const TaskOptions& options) {
  Output& out = context.out();
  if (options.words.size() > 1) return out.failed(task_usage("list takes no further word"));
  const auto opened = open_tasks(context, options);
  if (!opened) return out.failed(opened.error());
  const auto locks = opened->tasks->list();
  if (!locks) return out.failed(locks.error());
  service::Json json = {{"root", opened->tasks->layout().entry().root},
                        {"locks", service::Json::array()}};
  std::vector<std::vector<Span>> rows = {{{"LOCK", Style::kBold},
                                          {"AGENT", Style::kBold},
                                          {"TASK", Style::kBold},
                                          {"SINCE", Style::kBold},
                                          {"THROUGH", Style::kBold}}};
  for (const dialect::mkdir::TaskLock& lock : *locks) {
    json["locks"].push_back(lock_json(lock));
    rows.push_back({{lock.name},
                    {lock.owner.agent},
                    {lock.task.empty() ? "-" : lock.task},
                    {dialect::mkdir::local_time(lock.since_wall_ms)},
                    {lock.foreign  ? "another tool"
                     : lock.native ? "lockkeeper"
                                   : "lockkeeper task"}});
  }
  out.object(json);
  if (locks->empty()) {
    out.text("no lock in " + opened->tasks->layout().entry().root + "/.locks");
    return 0;
  }
  for (const Line& line : table_lines(std::move(rows), out.columns())) out.line(line);
  return 0;
}

int sweep(VerbContext& context, const TaskOptions& options) {
  Output& out = context.out();
  if (options.words.size() > 1) return out.failed(task_usage("sweep takes no further word"));
  dialect::mkdir::SweepRequest request;
  if ((options.returned ? 1 : 0) + (options.dead ? 1 : 0) + (options.all ? 1 : 0) > 1) {
    return out.failed(task_usage("sweep takes one of --returned, --dead and --all"));
  }
  if (options.returned) request = {dialect::mkdir::Sweep::kReturned, *options.returned};
  if (options.all) request.what = dialect::mkdir::Sweep::kAll;
  const auto opened = open_tasks(context, options);
  if (!opened) return out.failed(opened.error());
  const auto reply = opened->tasks->sweep(request);
  if (!reply) return out.failed(reply.error());
  service::Json json = service::leases_json("broken", reply->broken);
  json["released"] = reply->released;
  json["kept"] = reply->kept;
  out.object(json);
  for (const std::string& key : reply->released) out.text("released " + key);
  for (const core::Lease& lease : reply->broken) {
    for (const core::Claim& claim : lease.claims) {
      out.text("broke " + claim.resource.text() + ", held by " + service::owner_text(lease.owner));
    }
  }
  if (reply->released.empty() && reply->broken.empty()) out.text("nothing to free");
  if (reply->kept > 0) out.note(std::to_string(reply->kept) + " locks stay");
  return 0;
}

}  // namespace

int task_verb(VerbContext& context) {
  TaskOptions options;
  Arguments& arguments = context.arguments();
  arguments.words("WORD [T] [FILE…]", options.words,
                  "acquire, lock-file, release, list or sweep; then the task's id");
  arguments.offer({"acquire", "lock-file", "release", "list", "sweep"});
  arguments.values("--file", options.files, "FILE", "lock this file, too; may be repeated");
  arguments.offer(Arguments::Complete::kFiles);
  arguments.value("--retry", options.retry, "DURATION",
                  "how long to ask again for a file that is held (5s)");
  arguments.value("--report", options.report, "FILE", "append what was held, and by whom");
  arguments.offer(Arguments::Complete::kFiles);
  arguments.value("--reason", options.reason, "TEXT", "what for; shown to whoever is refused");
  arguments.value("--attach", options.attach, "PID", "free them when that process ends");
  arguments.value("--root", options.root, "DIR",
                  "the folder that holds .locks (else the nearest\nspec/ upwards)");
  arguments.offer(Arguments::Complete::kFolders);
  arguments.value("--returned", options.returned, "T", "sweep: free what this task holds");
  arguments.flag("--dead", options.dead,
                 "sweep: only what belongs to processes that are gone;\nthe default");
  arguments.flag("--all", options.all, "sweep: everything taken this way, also of the living");
  if (const auto status =
          context.parse_some(options.words, "a word: acquire, lock-file, release, list, sweep")) {
    return *status;
  }
  const std::string& word = options.words.front();
  if (word == "acquire" || word == "lock-file") return acquire(context, options);
  if (word == "release") return release(context, options);
  if (word == "list") return list(context, options);
  if (word == "sweep") return sweep(context, options);
  return context.out().failed(task_usage("has no word " + quote(word)));
}

}  // namespace lockkeeper::cli
