// `task`: the locks of the mkdir protocol, which prints ACQUIRED or BUSY.
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/verbs/list_view.h"
#include "cli/verbs/verbs.h"
#include "core/encoding.h"
#include "dialect/mkdir/owner.h"
#include "dialect/mkdir/tasks.h"

namespace lockkeeper::cli {
namespace {

using dialect::mkdir::Tasks;

struct TaskOptions {
  dialect::mkdir::TaskRequest request;
  std::optional<std::string> retry, report, reason, attach, root;
};

// The realm's locks and the protocol's folder in it.
struct OpenTasks {
  std::unique_ptr<OpenLocks> open;
  std::unique_ptr<Tasks> tasks;
};

Result<OpenTasks> open_tasks(VerbContext& context, const std::optional<std::string>& root_flag) {
  OpenTasks opened;
  LK_ASSIGN(opened.open, context.open(std::vector<std::string>()));
  LK_ASSIGN(const service::Wanted here, context.wanted({}));
  const service::Site& table = opened.open->site;
  LK_ASSIGN(std::string root, dialect::mkdir::find_root(table.realm(), table.settings(),
                                                        here.base.folder, root_flag));
  opened.tasks = std::make_unique<Tasks>(opened.open->locks, std::move(root));
  return opened;
}

Result<void> read_request(TaskOptions& options) {
  dialect::mkdir::TaskRequest& request = options.request;
  if (options.retry) {
    LK_ASSIGN(request.retry_ms, parse_duration_ms(*options.retry));
  }
  if (options.attach) {
    LK_ASSIGN(const std::uint64_t pid, parse_number(*options.attach, "--attach", INT32_MAX));
    request.attach_pid = static_cast<int>(pid);
  }
  request.reason = options.reason.value_or("");
  return {};
}

// Appends to the completion report. An error there does not change the answer.
void report(VerbContext& context, const TaskOptions& options,
            const dialect::mkdir::TaskReply& reply, service::Json& json) {
  if (!options.report) return;
  std::string text;
  for (const core::Conflict& conflict : reply.conflicts) {
    text += dialect::mkdir::report_line(options.request.task, conflict, context.now_wall_ms(),
                                        context.common().json);
  }
  const auto written = dialect::mkdir::append_report(*options.report, text);
  if (written) return;
  context.out().warning(written.error().message);
  json["warnings"].push_back(written.error().message);
}

Result<int> busy(VerbContext& context, const TaskOptions& options,
                 const dialect::mkdir::TaskReply& reply, service::Json json) {
  Output& out = context.out();
  json["conflicts"] = service::Json::array();
  for (const core::Conflict& conflict : reply.conflicts) {
    json["conflicts"].push_back(service::conflict_json(conflict));
  }
  json["released"] = reply.released;
  report(context, options, reply, json);
  out.text("BUSY");
  for (const std::string& key : reply.released) out.note("released " + shown(key));
  service::HintContext asked;
  asked.now_wall_ms = context.now_wall_ms();
  Error error = service::held_error(reply.conflicts, asked);
  error.hint = "continue with another task; to see who holds what: lockkeeper task list" +
               context.repeated_flags();
  return out.failed(error, std::move(json));
}

Result<int> take_locks(VerbContext& context, TaskOptions options) {
  Output& out = context.out();
  LK_CHECK(read_request(options));
  LK_ASSIGN(const auto opened, open_tasks(context, options.root));
  LK_ASSIGN(const auto reply, opened.tasks->acquire(options.request));
  service::Json json;
  json["outcome"] = reply.acquired ? "granted" : "held";
  json["task"] = options.request.task;
  for (const core::LostLease& lost : reply.lost) {
    out.warning(service::lost_text(lost));
    json["lost"].push_back(service::lost_json(lost));
  }
  for (const std::string& warning : reply.warnings) {
    out.warning(warning);
    json["warnings"].push_back(warning);
  }
  if (!reply.acquired) return busy(context, options, reply, std::move(json));
  json.update(service::leases_json("leases", reply.leases));
  out.object(json);
  out.text("ACQUIRED");
  return 0;
}

void declare_root(Arguments& arguments, std::optional<std::string>& root) {
  arguments.value("--root", root, "DIR",
                  "the folder that contains .locks (default: the\nnearest spec/ upwards)");
  arguments.offer(Arguments::Complete::kFolders);
}

void declare_taking(Arguments& arguments, TaskOptions& options, const char* file_help) {
  arguments.values("--file", options.request.files, "FILE", file_help);
  arguments.offer(Arguments::Complete::kFiles);
  arguments.value("--retry", options.retry, "DURATION",
                  "how long to retry a file that is held (5s)");
  arguments.value("--report", options.report, "FILE", "append who held what");
  arguments.offer(Arguments::Complete::kFiles);
  arguments.value("--reason", options.reason, "TEXT", "why; shown to agents that are refused");
  arguments.value("--attach", options.attach, "PID", "release them when that process ends");
  declare_root(arguments, options.root);
}

Result<int> task_acquire(VerbContext& context) {
  TaskOptions options;
  options.request.take_task = true;
  context.arguments().word("TASK", options.request.task, "the task's id");
  declare_taking(context.arguments(), options, "also lock this file; may be repeated");
  if (const auto status = context.parse()) return *status;
  return take_locks(context, std::move(options));
}

Result<int> task_lock_file(VerbContext& context) {
  TaskOptions options;
  options.request.take_task = false;
  context.arguments().word("TASK", options.request.task, "the task's id");
  context.arguments().words("FILE…", options.request.files, "what to lock for it");
  context.arguments().offer(Arguments::Complete::kFiles);
  declare_taking(context.arguments(), options, "the same as FILE; may be repeated");
  if (const auto status = context.parse()) return *status;
  if (options.request.files.empty()) return context.refuse_usage("needs at least one file");
  return take_locks(context, std::move(options));
}

Result<int> task_release(VerbContext& context) {
  std::string task;
  std::optional<std::string> root;
  context.arguments().word("TASK", task, "the task's id");
  declare_root(context.arguments(), root);
  if (const auto status = context.parse()) return *status;
  Output& out = context.out();
  LK_ASSIGN(const auto opened, open_tasks(context, root));
  LK_ASSIGN(const auto reply, opened.tasks->release(task));
  out.object(service::release_json(reply));
  for (const std::string& key : reply.released) out.text("released " + shown(key));
  return 0;
}

service::Json lock_json(const dialect::mkdir::TaskLock& lock) {
  return {{"lock", lock.name},
          {"path", lock.path},
          {"resources", lock.resources},
          {"agent", lock.owner.agent},
          {"session", text_or_null(lock.owner.session)},
          {"task", text_or_null(lock.task)},
          {"since", format_time(lock.since_wall_ms)},
          {"foreign", lock.foreign},
          {"native", lock.native},
          {"lease", text_or_null(lock.lease.empty() ? "" : lock.lease.text())}};
}

Result<int> task_list(VerbContext& context) {
  std::optional<std::string> root;
  declare_root(context.arguments(), root);
  if (const auto status = context.parse()) return *status;
  Output& out = context.out();
  LK_ASSIGN(const auto opened, open_tasks(context, root));
  LK_ASSIGN(const auto locks, opened.tasks->list());
  service::Json json = {{"root", opened.tasks->layout().entry().root},
                        {"locks", service::Json::array()}};
  std::vector<Row> rows = {header({"LOCK", "AGENT", "TASK", "SINCE", "THROUGH"})};
  for (const dialect::mkdir::TaskLock& lock : locks) {
    json["locks"].push_back(lock_json(lock));
    rows.push_back({{lock.name},
                    {shown(lock.owner.agent)},
                    {lock.task.empty() ? "-" : lock.task},
                    {dialect::mkdir::local_time(lock.since_wall_ms)},
                    {lock.foreign  ? "another tool"
                     : lock.native ? "lockkeeper"
                                   : "lockkeeper task"}});
  }
  out.object(json);
  if (locks.empty()) {
    out.text("no lock in " + opened.tasks->layout().entry().root + "/.locks");
    return 0;
  }
  for (const Line& line : table_lines(std::move(rows), out.columns())) out.line(line);
  return 0;
}

Result<int> task_sweep(VerbContext& context) {
  std::optional<std::string> returned, root;
  bool dead = false, all = false;
  Arguments& arguments = context.arguments();
  arguments.value("--returned", returned, "TASK", "free what this task holds");
  arguments.flag("--dead", dead, "only locks whose process is gone (default)");
  arguments.flag("--all", all, "all locks taken this way, live ones included");
  declare_root(arguments, root);
  if (const auto status = context.parse()) return *status;
  Output& out = context.out();
  if ((returned ? 1 : 0) + (dead ? 1 : 0) + (all ? 1 : 0) > 1) {
    return context.refuse_usage("takes one of --returned, --dead and --all");
  }
  dialect::mkdir::SweepRequest request;
  if (returned) request = {dialect::mkdir::Sweep::kReturned, *returned};
  if (all) request.what = dialect::mkdir::Sweep::kAll;
  LK_ASSIGN(const auto opened, open_tasks(context, root));
  LK_ASSIGN(const auto reply, opened.tasks->sweep(request));
  service::Json json = service::leases_json("broken", reply.broken);
  json["released"] = reply.released;
  json["kept"] = reply.kept;
  out.object(json);
  for (const std::string& key : reply.released) out.text("released " + shown(key));
  for (const core::Lease& lease : reply.broken) {
    for (const std::string& text : core::resource_texts(lease)) {
      out.text("broke " + shown(text) + ", held by " + service::owner_text(lease.owner));
    }
  }
  if (reply.released.empty() && reply.broken.empty()) out.text("nothing to free");
  if (reply.kept > 0) out.note(std::to_string(reply.kept) + " locks remain");
  return 0;
}

constexpr Verb kTaskSubcommands[] = {
    {"acquire", "Take a task, and files with it",
     "  lockkeeper task acquire T-17 --file src/a.py   # ACQUIRED, or BUSY and exit 75\n"
     "  lockkeeper task acquire T-17 --attach $$       # freed when this shell ends\n",
     task_acquire},
    {"lock-file", "Lock more files for a task that was taken",
     "  lockkeeper task lock-file T-17 src/c.py --retry 5s --report report.md\n", task_lock_file},
    {"release", "Release a task and its files", "  lockkeeper task release T-17\n", task_release},
    {"list", "Who holds which task and which file",
     "  lockkeeper task list\n"
     "  lockkeeper task list --root spec\n",
     task_list, Does::kLook},
    {"sweep", "Free what was left behind",
     "  lockkeeper task sweep --returned T-17   # its agent returned and left locks\n"
     "  lockkeeper task sweep                   # what dead processes left\n",
     task_sweep},
};

}  // namespace

std::span<const Verb> task_subcommands() {
  return kTaskSubcommands;
}

}  // namespace lockkeeper::cli
