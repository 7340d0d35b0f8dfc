#include "cli/verbs/workflow_run.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/random.h"
#include "base/sha256.h"
#include "base/text.h"
#include "cli/verbs/crew_view.h"
#include "cli/verbs/feature_option.h"
#include "cli/verbs/git_arming.h"
#include "cli/verbs/plan_input.h"
#include "cli/verbs/plan_view.h"
#include "crew/log_pump.h"
#include "crew/record/run_list.h"
#include "crew/report/report.h"
#include "crew/report/report_parts.h"
#include "crew/supervisor.h"
#include "crew/trees/merger.h"
#include "host/pipes.h"
#include "host/process.h"
#include "layout/make_store.h"
#include "plan/placeholders.h"
#include "plan/plan_file.h"

namespace lockkeeper::cli {
namespace {

using crew::Standing;

constexpr std::size_t kPlanBytesMax = 64U << 20;
constexpr std::size_t kOrdersBytesMax = 64U << 20;
constexpr std::uint64_t kJobsAtOnceMax = 1'000;
constexpr std::uint64_t kDraws = 1'000'000'000;
constexpr std::size_t kAgentsNamed = 5;

struct WorkflowRunOptions {
  std::string file;
  std::optional<std::string> output;
  std::optional<std::string> jobs;
  std::optional<std::string> feature;
  std::optional<std::string> grace;
  std::vector<std::string> command;
  bool resume = false;
  bool restart = false;
  bool strict_scope = false;
  bool no_scope_check = false;
  bool worktrees = false;
};

void declare(Arguments& arguments, WorkflowRunOptions& options) {
  arguments.word("FILE", options.file, "the plan");
  arguments.offer(Arguments::Complete::kFiles);
  arguments.value("--output", options.output, "DIR", "where logs, state and the report go");
  arguments.offer(Arguments::Complete::kFolders);
  arguments.value("--jobs", options.jobs, "N", "at most this many agents at once");
  arguments.value("--feature", options.feature, "ID",
                  "obey this feature's pause (default: the plan's, or\nLOCKKEEPER_FEATURE)");
  arguments.flag("--resume", options.resume, "continue after Ctrl-C, a crash or a failure");
  arguments.flag("--restart", options.restart, "start over; earlier results are kept in earlier/");
  arguments.flag("--strict-scope", options.strict_scope,
                 "a change outside its scope fails an agent");
  arguments.flag("--no-scope-check", options.no_scope_check, "do not check what agents change");
  arguments.flag("--worktrees", options.worktrees,
                 "each agent in a git worktree of its own, on a\nbranch that is merged at the end");
  arguments.value("--grace", options.grace, "DURATION",
                  "time between asking an agent to stop and killing\nit (default 10s)");
  arguments.command(options.command, "for agents that have no command in the plan", true);
}

// Everything that a run needs before it begins.
struct Prepared {
  std::unique_ptr<OpenLocks> open;
  plan::Plan plan;
  std::string digest;
  std::string output;  // physical
  crew::ForemanOptions foreman;
  std::optional<crew::StartPoint> start;  // of a new run with worktrees
};

std::string file_stem(const std::string& path) {
  std::string name = path.substr(path.rfind('/') + 1);
  const std::size_t dot = name.rfind('.');
  return dot == std::string::npos || dot == 0 ? name : name.substr(0, dot);
}

// All errors, one to a line.
Error unusable(const std::string& file, const std::vector<plan::Finding>& findings) {
  constexpr std::size_t kTold = 20;
  std::vector<std::string> lines;
  for (const plan::Finding& each : findings) {
    if (each.severity != plan::Severity::kError) continue;
    lines.push_back(printable(place_of(file, each) + ": " + each.message));
  }
  const std::size_t errors = lines.size();
  lines.resize(std::min(errors, kTold));
  std::string message = join(lines, "\n");
  if (errors > kTold) message += "\nand " + counted(errors - kTold, "more error");
  return {Code::kInvalidInput, message, "see: lockkeeper validate " + shell_quote(file)};
}

Result<plan::Plan> load(Output& out, const OpenLocks& open, const std::string& file,
                        const std::string& text) {
  plan::LoadOptions options;
  options.keys = open.site.settings().key_rules(open.site.realm());
  options.agent_name = check_planned_name;
  plan::Loaded loaded = plan::load_plan(text, options);
  if (!loaded.usable()) return fail(unusable(file, loaded.findings));
  if (loaded.plan.jobs.empty()) {
    return fail(Code::kInvalidInput, file + " has no agents to run",
                "see: lockkeeper validate " + shell_quote(file));
  }
  tell_unknown_words(out, file, loaded.findings);
  tell_refusals(out, file, text, options.keys);
  return std::move(loaded.plan);
}

// Every agent has a command, and the one after -- is of use to somebody.
Result<void> check_commands(Output& out, const plan::Plan& plan,
                            const WorkflowRunOptions& options) {
  for (const std::string& unknown : plan::unknown_placeholders({options.command, false})) {
    out.warning("after --, " + plan::unknown_placeholder_text(unknown) + "; " +
                plan::known_placeholders_text());
  }
  for (const plan::Job& job : plan.jobs) {
    if (!job.command.empty()) continue;
    if (!options.command.empty()) return {};
    return fail(Code::kInvalidInput, quote(job.id) + " has no command in " + options.file,
                "give one for all agents without one: lockkeeper workflow run " +
                    shell_quote(options.file) + " -- COMMAND…");
  }
  if (!options.command.empty()) {
    out.warning("the command after -- is not used: every agent in " + quote(options.file) +
                " has one of its own");
  }
  return {};
}

// Created if missing; physical.
Result<std::string> output_folder(const VerbContext& context, const realm::Realm& realm,
                                  const WorkflowRunOptions& options, const plan::Plan& plan) {
  std::string path;
  if (options.output) {
    path = *options.output;
    if (path.empty() || path.find('\0') != std::string::npos) {
      return fail(Code::kInvalidInput, "--output is not a folder name", "name one: --output DIR");
    }
    if (!path.starts_with('/')) {
      LK_ASSIGN(const service::Wanted here, context.wanted({}));
      path = here.base.folder + "/" + path;
    }
  } else {
    const std::string name = plan.feature.empty() ? file_stem(options.file) : plan.feature;
    path = realm.root + "/" + kDefaultOutputs + "/" + crew::file_name_for(name);
  }
  LK_ASSIGN(std::string physical, make_output_folder(path));
  // Git ignores this folder, and no agent works in it, so it must not contain the repository.
  const std::string folder = physical == "/" ? "" : physical;
  if ((realm.root + "/").starts_with(folder + "/")) {
    return fail(Code::kInvalidInput,
                "--output " + quote(physical) + " contains all of " + quote(realm.root),
                "name a separate folder: --output DIR");
  }
  return physical;
}

Result<void> read_numbers(const WorkflowRunOptions& options, crew::ForemanOptions& foreman) {
  if (options.jobs) {
    LK_ASSIGN(foreman.jobs, parse_number(*options.jobs, "--jobs", kJobsAtOnceMax));
  }
  if (options.grace) {
    LK_ASSIGN(foreman.grace_ms, parse_duration(*options.grace, "--grace"));
  }
  return {};
}

std::vector<std::string> supervisor_program(const VerbContext& context, const OpenLocks& open) {
  std::vector<std::string> words{host::own_program(), "workflow", "keep", "--realm",
                                 open.site.realm().root};
  if (context.common().store) {
    words.push_back("--store");
    words.push_back(*context.common().store);
  }
  return words;
}

// Can agents of a new run have worktrees of this repository? What they will not see is told.
Result<crew::StartPoint> find_start(Output& out, const realm::Realm& realm,
                                    const crew::Patterns& patterns) {
  if (!realm.in_git || realm.bare) {
    return fail(
        Code::kFailed,
        quote(realm.root) + (realm.bare ? " is a bare repository: it has no files to work on"
                                        : " is not in a git repository"),
        realm.bare ? "run it in a worktree: git worktree add DIR"
                   : "make one: git init; or run without --worktrees");
  }
  LK_ASSIGN(crew::StartPoint start, crew::start_point(realm.root));
  std::erase_if(start.untracked, [&](const std::string& path) {
    // A run that was killed at once may not have hidden its folder from git yet.
    return path.starts_with(".workflow/") || realm::matches_ignore_patterns(patterns.copy, path) ||
           realm::matches_ignore_patterns(patterns.link, path);
  });
  if (!start.untracked.empty()) {
    out.note("agents in worktrees do not see what git does not track: " +
             shown_list(start.untracked, kAgentsNamed));
  }
  if (start.submodules) {
    out.warning("submodules are empty folders in the worktrees of the agents");
  }
  return start;
}

Result<Prepared> prepare(VerbContext& context, const WorkflowRunOptions& options) {
  Prepared run;
  LK_CHECK(read_numbers(options, run.foreman));
  LK_ASSIGN(run.open, context.open(std::vector<std::string>{}));
  auto text = read_file(options.file, kPlanBytesMax);
  if (!text) {
    if (text.error().code == Code::kNotFound) text.error().hint = "name a file that exists";
    return fail(std::move(text.error()));
  }
  LK_ASSIGN(run.plan, load(context.out(), *run.open, options.file, *text));
  LK_CHECK(check_commands(context.out(), run.plan, options));
  run.digest = sha256_hex(*text);
  const realm::Realm& realm = run.open->site.realm();
  LK_ASSIGN(std::string feature, feature_to_obey(context, options.feature));
  run.foreman.patterns = {run.open->site.settings().worktrees_copy.value,
                          run.open->site.settings().worktrees_link.value};
  if (options.worktrees && !options.resume) {
    LK_ASSIGN(run.start, find_start(context.out(), realm, run.foreman.patterns));
  }
  LK_ASSIGN(run.output, output_folder(context, realm, options, run.plan));
  if (options.feature || run.plan.feature.empty()) run.plan.feature = std::move(feature);
  run.foreman.command = {options.command, options.command.size() == 1};
  run.foreman.strict_scope = options.strict_scope;
  run.foreman.detect_changes = !options.no_scope_check;
  run.foreman.folder = realm.root;
  run.foreman.environment = git_arming(context, realm);
  run.foreman.supervisor = supervisor_program(context, *run.open);
  return run;
}

// Beside no repository, and not in one: tools that look for their settings in the folders above, or
// that read a whole tree, must not meet the worktrees of others.
Result<std::string> trees_folder(const VerbContext& context, const realm::Realm& realm) {
  const auto state = realm::xdg_folder(context.runtime().env, "XDG_STATE_HOME", ".local/state");
  if (!state) {
    return fail(Code::kFailed, "there is no place for worktrees: HOME is not set",
                "set HOME or XDG_STATE_HOME");
  }
  const std::string path =
      *state + "/lockkeeper/worktrees/" + realm::store_digest(realm.store_folder);
  LK_CHECK(make_folders(path));
  char physical[PATH_MAX];
  if (::realpath(path.c_str(), physical) != nullptr) return std::string(physical);
  return fail(errno_error(errno, quote(path), Code::kFailed));
}

crew::RunState new_run(const VerbContext& context, const Prepared& run,
                       const WorkflowRunOptions& options) {
  crew::RunState fresh;
  fresh.record.started_ms = context.now_wall_ms();
  const std::string time = format_time(fresh.record.started_ms);
  fresh.record.id = time.substr(0, 10) + "T" + time.substr(11, 2) + time.substr(14, 2) +
                    time.substr(17, 2) + "-" + std::to_string(::getpid());
  fresh.record.plan = options.file;
  fresh.record.feature = run.plan.feature;
  fresh.record.realm = run.open->site.realm().root;
  fresh.record.jobs = run.foreman.jobs;
  fresh.head.plan_digest = run.digest;
  const std::string& session = run.open->locks.owner().session;
  // Two runs in two containers may have the same pid and start in the same second.
  SystemRandom random;
  fresh.head.session = (session.empty() ? "" : session + "/") + fresh.record.id + "-" +
                       std::to_string(random_below(random, kDraws));
  return fresh;
}

std::string again(const VerbContext& context, const WorkflowRunOptions& options) {
  std::string text = "lockkeeper workflow run " + shell_quote(options.file) + " --resume";
  add_flag(text, "--output", options.output);
  add_flag(text, "--jobs", options.jobs);
  add_flag(text, "--feature", options.feature);
  if (options.strict_scope) text += " --strict-scope";
  if (options.worktrees) text += " --worktrees";
  text += context.repeated_flags();
  if (!options.command.empty()) text += " --";
  for (const std::string& word : options.command) text += " " + shell_quote(word);
  return text;
}

// So that the hub's page shows it. A run is not worth less without that.
void tell_others(Output& out, const realm::Realm& realm, const crew::OpenRun& run) {
  auto listed = layout::create_store_folder(realm);
  if (listed) {
    listed = crew::list_run(realm.store_folder, run.state.record.id, run.output.path());
  }
  if (!listed) out.warning("the hub's page will not show this run: " + listed.error().message);
}

// Without --jobs or --feature, a resumed run keeps its earlier value.
void keep_earlier(const WorkflowRunOptions& options, crew::RunRecord& record, Prepared& now) {
  if (!options.jobs) now.foreman.jobs = record.jobs;
  if (!options.feature && !record.feature.empty()) now.plan.feature = record.feature;
  record.jobs = now.foreman.jobs;
  record.feature = now.plan.feature;
}

// Writes the three report files; an error there does not fail the run.
Result<void> write_reports(const Folder& output, const crew::RunRecord& record) {
  LK_CHECK(output.write("report.json", service::dump(crew::report_json(record)) + "\n"));
  LK_CHECK(output.write("report.md", crew::report_markdown(record)));
  return output.write("timeline.svg", crew::report_svg(record));
}

std::string last_log(const Folder& output, const crew::AgentRecord& agent) {
  return output.path_of(std::string(crew::kAgentsName) + "/" + crew::file_name_for(agent.id) + "/" +
                        std::to_string(agent.attempts.back().number) + "/" + crew::kLogName);
}

// The ends of the logs of the first agents that failed: for people here, for programs as
// [{"agent","log","tail":[…]}].
service::Json show_tails(Output& out, const Folder& output, const crew::RunRecord& record) {
  constexpr std::size_t kAgents = 3;
  constexpr std::size_t kLines = 10;
  service::Json all = service::Json::array();
  const auto agents = output.existing(crew::kAgentsName);
  if (!agents || !*agents) return all;
  for (const crew::AgentRecord& agent : record.agents) {
    if (agent.standing != Standing::kFailed || agent.attempts.empty()) continue;
    if (all.size() == kAgents) break;
    const auto folder = crew::attempt_folder(**agents, agent.id, agent.attempts.back().number);
    if (!folder || !*folder) continue;
    const std::vector<std::string> tail = crew::log_tail(**folder, kLines);
    show_tail(out, agent, tail);
    service::Json& json = all.emplace_back();
    json = {{"agent", agent.id}, {"log", last_log(output, agent)}, {"tail", tail}};
  }
  return all;
}

// "bad (exit status 4), slow (ran out of time) and 2 more". On one line: others chose these words,
// and could forge a line of ours.
std::string failures_text(const std::vector<const crew::AgentRecord*>& failed) {
  constexpr std::size_t kNamed = 3;
  std::string text;
  for (std::size_t i = 0; i < failed.size() && i < kNamed; ++i) {
    text += (i == 0 ? "" : ", ") + printable(failed[i]->id);
    if (!failed[i]->why.empty()) text += " (" + printable(why_text(*failed[i])) + ")";
  }
  if (failed.size() > kNamed) text += " and " + std::to_string(failed.size() - kNamed) + " more";
  return text;
}

// Where to read what went wrong. The log of an agent that failed the
// scope check or could not be committed does not tell.
std::string file_about(const Folder& output, const crew::AgentRecord& failed) {
  if (failed.attempts.empty()) return output.path_of("report.md");
  const crew::Ending ending = failed.attempts.back().ending;
  const bool in_log = ending != crew::Ending::kStrayed && ending != crew::Ending::kUncommitted;
  return in_log ? last_log(output, failed) : output.path_of("report.md");
}

// Agents are done, but the branch where the run began does not have all of their work.
std::optional<Error> merge_trouble(const crew::RunRecord& record, const std::string& go_on) {
  const crew::AgentRecord* first = nullptr;
  for (const crew::AgentRecord& agent : record.agents) {
    const bool conflict = agent.tree.state == crew::TreeRecord::State::kConflict;
    if (crew::is_unmerged(agent.tree) && (first == nullptr || conflict)) first = &agent;
    if (conflict) break;
  }
  if (first == nullptr) return std::nullopt;
  const std::size_t count = crew::unmerged_count(record);
  std::string text =
      counted(count, "branch is", "branches are") + " not merged: " + printable(first->tree.branch);
  if (!first->tree.why.empty()) text += " (" + printable(first->tree.why) + ")";
  if (count > 1) text += " and " + std::to_string(count - 1) + " more";
  const bool by_hand = first->tree.state == crew::TreeRecord::State::kConflict;
  return Error{Code::kFailed, text,
               (by_hand ? "merge it by hand: git merge " + shell_quote(first->tree.branch)
                        : "put that right") +
                   ", then: " + go_on};
}

// How to get rid of what is kept although everything is merged; empty: nothing is.
std::string kept_text(const crew::RunRecord& record) {
  const crew::AgentRecord* first = nullptr;
  std::size_t count = 0;
  for (const crew::AgentRecord& agent : record.agents) {
    if (agent.tree.kept.empty()) continue;
    if (first == nullptr) first = &agent;
    if (agent.tree.removed == first->tree.removed) ++count;
  }
  if (first == nullptr) return "";
  const crew::TreeRecord& tree = first->tree;
  const std::string branch = "git branch -D " + shell_quote(tree.branch);
  if (tree.removed) {
    return counted(count, "branch is", "branches are") + " kept; to delete one: " + branch;
  }
  return counted(count, "worktree is", "worktrees are") +
         " kept; once you have what is in one: git worktree remove --force " +
         shell_quote(tree.folder) + " && " + branch;
}

std::optional<Error> trouble(const crew::RunRecord& record, const Folder& output,
                             const std::string& go_on) {
  std::vector<const crew::AgentRecord*> failed;
  for (const crew::AgentRecord& agent : record.agents) {
    if (agent.standing == Standing::kFailed) failed.push_back(&agent);
  }
  const std::size_t skipped = crew::count_of(record, Standing::kSkipped);
  const std::size_t stopped = crew::count_of(record, Standing::kStopped);
  if (failed.size() + skipped + stopped == 0) return merge_trouble(record, go_on);
  const bool only_one = record.agents.size() == 1;
  const std::string all = std::to_string(record.agents.size());
  if (failed.empty()) {
    return Error{Code::kFailed,
                 only_one ? "the run was stopped before its agent was done"
                          : "the run was stopped: " +
                                std::to_string(crew::count_of(record, Standing::kDone)) + " of " +
                                all + " agents were done",
                 "continue: " + go_on};
  }
  std::string text =
      (only_one ? "the agent failed: "
                : std::to_string(failed.size()) + " of " + all + " agents failed: ") +
      failures_text(failed);
  if (skipped > 0) text += "; " + std::to_string(skipped) + " skipped";
  return Error{Code::kFailed, text,
               "read " + shell_quote(file_about(output, *failed.front())) + ", then: " + go_on};
}

Result<int> ended(VerbContext& context, const WorkflowRunOptions& options, const crew::OpenRun& run,
                  const crew::Foreman& foreman) {
  Output& out = context.out();
  crew::RunRecord record = foreman.record();
  const bool over = record.ended_ms != 0;
  if (!over) record.ended_ms = context.now_wall_ms();
  const auto written = write_reports(run.output, record);
  show_outcome(out, record);
  service::Json json = crew::report_json(record);
  json["failures"] = show_tails(out, run.output, record);
  json["event"] = "report";
  json["output"] = run.output.path();
  if (written) {
    out.note("report: " + run.output.path_of("report.md"));
  } else {
    out.warning("the report cannot be written: " + written.error().message);
  }
  if (const std::string kept = kept_text(record); !kept.empty()) out.note(kept);
  auto error = trouble(record, run.output, again(context, options));
  if (!error && !written) error = written.error();
  if (!error) {
    out.object(json);
    return 0;
  }
  const int status = out.failed(*error, std::move(json));
  return foreman.signal() != 0 ? 128 + foreman.signal() : status;
}

}  // namespace

Result<std::string> make_output_folder(const std::string& path) {
  if (auto made = make_folders(path, 0777); !made) {
    made.error().message = "--output: " + made.error().message;
    return fail(std::move(made.error()));
  }
  char physical[PATH_MAX];
  if (::realpath(path.c_str(), physical) != nullptr) return std::string(physical);
  return fail(errno_error(errno, "--output " + quote(path), Code::kInvalidInput));
}

Result<int> workflow_run(VerbContext& context) {
  WorkflowRunOptions options;
  declare(context.arguments(), options);
  if (const auto status = context.parse()) return *status;
  if (context.common().agent) return context.refuse_usage("takes its agents from the plan");
  if (options.resume && options.restart) {
    return context.refuse_usage("takes --resume or --restart, not both");
  }
  if (options.strict_scope && options.no_scope_check) {
    return context.refuse_usage("takes --strict-scope or --no-scope-check, not both");
  }
  Output& out = context.out();
  LK_ASSIGN(auto prepared, prepare(context, options));
  const crew::Beginning beginning = options.resume    ? crew::Beginning::kResume
                                    : options.restart ? crew::Beginning::kRestart
                                                      : crew::Beginning::kFresh;
  crew::RunState fresh = new_run(context, prepared, options);
  if (prepared.start) {
    LK_ASSIGN(const std::string folder, trees_folder(context, prepared.open->site.realm()));
    fresh.record.trees = {folder + "/" + fresh.record.id, prepared.start->branch,
                          prepared.start->commit};
  }
  LK_ASSIGN(auto run, crew::open_run(prepared.output, beginning, fresh));
  if (options.worktrees && run.state.record.trees.folder.empty()) {
    return fail(Code::kInvalidInput,
                "the run in " + quote(run.output.path()) + " was started without --worktrees",
                "omit --worktrees, or start again: --restart instead of --resume");
  }
  if (!run.not_resumed.empty()) {
    out.note(
        "the last run failed and this one starts from the beginning; --resume would have "
        "repeated only " +
        shown_list(run.not_resumed, kAgentsNamed));
  }
  if (!run.trees_before.empty()) {
    out.note("the worktrees of the run before are kept in " + shell_quote(run.trees_before));
  }
  keep_earlier(options, run.state.record, prepared);
  tell_others(out, prepared.open->site.realm(), run);
  const std::string title =
      prepared.plan.feature.empty() ? file_stem(options.file) : prepared.plan.feature;
  CrewView view(out, *context.runtime().clock, title);
  crew::NowFile now(run.output);
  crew::Foreman foreman(prepared.open->locks, prepared.plan, run, prepared.foreman,
                        {[&](const crew::CrewEvent& event) { view.show(event); },
                         [&] {
                           view.redraw();
                           now.tell(run.state, context.runtime().clock->now().mono_ms);
                         }});
  view.watch(foreman);
  const auto done = foreman.run();
  view.clear();
  if (!done) return out.failed(done.error());
  return ended(context, options, run, foreman);
}

Result<int> workflow_keep(VerbContext& context) {
  std::string folder;
  context.arguments().word("FOLDER", folder, "the attempt's");
  if (const auto status = context.parse()) return *status;
  Output& out = context.out();
  if (!host::is_message_channel(crew::kChannelFd)) {
    return context.refuse_usage("is started by workflow run alone");
  }
  ::fcntl(crew::kChannelFd, F_SETFD, FD_CLOEXEC);
  crew::Channel channel{Fd(crew::kChannelFd)};
  const auto refuse = [&](const Error& error) {
    channel.send({{"say", "refused"}, {"message", error.message}});
    return out.failed(error);
  };
  const auto attempt = crew::open_run_files(folder);
  if (!attempt) return refuse(attempt.error());
  const auto text = attempt->read(crew::kOrdersName, kOrdersBytesMax);
  if (!text) return refuse(text.error());
  const auto orders = crew::orders_from(text->value_or(""));
  if (!orders) return refuse(orders.error());
  context.act_as(orders->agent);
  context.act_in(orders->session);
  auto open = context.open(std::vector<std::string>{}, false);
  if (!open) return refuse(open.error());
  return crew::supervise((*open)->locks, *orders, *attempt, std::move(channel));
}

}  // namespace lockkeeper::cli
