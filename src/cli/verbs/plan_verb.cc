// `plan`: a plan's conflicts, its rounds and timeline, and what to change.
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/text.h"
#include "cli/verbs/plan_input.h"
#include "cli/verbs/plan_view.h"
#include "cli/verbs/verbs.h"
#include "plan/drawings.h"
#include "plan/edit.h"
#include "plan/findings_report.h"
#include "plan/schema.h"
#include "realm/children.h"

namespace lockkeeper::cli {
namespace {

using service::Json;

constexpr std::uint64_t kJobsMax = 1'000'000;

struct PlanOptions {
  std::vector<std::string> files;
  std::optional<std::string> jobs, timeline, graph, apply, output;
  bool locks_only = false;
  bool mermaid = false;
  bool in_place = false;
  bool example = false;
};

void declare(Arguments& arguments, PlanOptions& options) {
  arguments.words("FILE", options.files, "work packages or scopes, YAML or JSON");
  arguments.offer(Arguments::Complete::kFiles);
  arguments.value("--jobs", options.jobs, "N", "at most this many agents at once");
  arguments.flag("--locks-only", options.locks_only, "ignore what two may write but neither locks");
  arguments.value("--timeline", options.timeline, "SVG", "draw who works when to this file");
  arguments.offer(Arguments::Complete::kFiles);
  arguments.value("--graph", options.graph, "SVG", "draw rounds, dependencies and conflicts");
  arguments.offer(Arguments::Complete::kFiles);
  arguments.flag("--mermaid", options.mermaid, "the graph as a Mermaid flowchart on stdout");
  arguments.value("--apply", options.apply, "N",
                  "apply resolution N; prints the plan unless --output\nor --in-place is given");
  arguments.value("--output", options.output, "NEW", "write the changed plan to this file");
  arguments.offer(Arguments::Complete::kFiles);
  arguments.flag("--in-place", options.in_place, "change FILE itself");
  arguments.flag("--example", options.example, "print work packages to start from; takes no FILE");
}

std::optional<Error> check(const PlanOptions& options) {
  const auto usage = [](const std::string& message) {
    return Error{Code::kUsage, "plan: " + message, "see: lockkeeper plan --help"};
  };
  if (options.files.size() != 1) return usage("takes one FILE");
  const bool writes = options.output || options.in_place;
  if (writes && !options.apply) return usage("--output and --in-place need --apply N");
  if (options.output && options.in_place)
    return usage("--output and --in-place contradict each other");
  if (options.apply && (options.mermaid || options.timeline || options.graph)) {
    return usage("--apply does not draw; draw the new plan afterwards");
  }
  return std::nullopt;
}

plan::Loaded load(const std::string& text, const PlanRules& rules) {
  plan::LoadOptions options;
  options.opaque_keys = true;
  options.keys = rules.keys;
  options.agent_name = check_planned_name;
  return plan::load_plan(text, options);
}

plan::ProposeOptions propose_options(const PlanRules& rules,
                                     const plan::AnalysisOptions& analysis) {
  plan::ProposeOptions options;
  options.analysis = analysis;
  options.keys = rules.keys;
  options.children = [](const std::string&) { return std::nullopt; };
  if (!rules.root.empty()) options.children = realm::children_on_disk(rules.root);
  return options;
}

Result<void> think(Planned& planned, const PlanRules& rules) {
  LK_ASSIGN(planned.analysis, plan::analyse(planned.loaded.plan, planned.options));
  plan::name_existing(planned.loaded.plan, names_on_disk(rules), planned.analysis.conflicts);
  LK_ASSIGN(planned.worth, plan::is_locking_worth_it(planned.loaded.plan, planned.analysis));
  LK_ASSIGN(planned.proposals, plan::propose(planned.loaded.plan, planned.analysis,
                                             propose_options(rules, planned.options)));
  return {};
}

// Raw bytes for a file or another program; escaped at a terminal.
void print_raw(Output& out, const std::string& text) {
  if (out.quiet()) return;
  if (out.options().out_is_terminal) return out.text(text);
  std::fwrite(text.data(), 1, text.size(), out.options().out);
}

// A file is replaced as a whole, which would ignore its mode and part it from its other names.
Result<void> check_replaceable(const std::string& path, const struct stat& known) {
  constexpr mode_t kWritable = S_IWUSR | S_IWGRP | S_IWOTH;
  if (!S_ISREG(known.st_mode)) {
    return fail(Code::kInvalidInput, quote(path) + " is not a file", "name a file");
  }
  const bool writable = (known.st_mode & kWritable) != 0 && ::access(path.c_str(), W_OK) == 0;
  if (!writable) {
    return fail(Code::kInvalidInput, quote(path) + " is read-only",
                "make it writable, or write another file: --output NEW");
  }
  if (known.st_nlink > 1) {
    return fail(Code::kInvalidInput,
                quote(path) + " has " + std::to_string(known.st_nlink) +
                    " names (hard links); the others would keep the old text",
                "write another file: --output NEW");
  }
  return {};
}

Result<void> write_file(const std::string& path, std::string_view content) {
  struct stat known{};
  const bool there = ::stat(path.c_str(), &known) == 0;
  char physical[PATH_MAX];
  // Writes through a symlink, which stays.
  const std::string target = ::realpath(path.c_str(), physical) != nullptr ? physical : path;
  if (there) LK_CHECK(check_replaceable(path, known));
  if (auto written = replace_file_durably(target, content); !written) {
    const std::string& why = written.error().message;  // includes the temporary file's name
    return fail(Code::kFailed,
                "cannot write " + quote(path) + why.substr(std::min(why.rfind(": "), why.size())),
                "name a file in a folder that can be written");
  }
  const mode_t mask = ::umask(0);
  ::umask(mask);
  ::chmod(target.c_str(), there ? known.st_mode & 07777 : 0666 & ~mask);
  return {};
}

bool same_file(const std::string& a, const std::string& b) {
  struct stat one{}, other{};
  return ::stat(a.c_str(), &one) == 0 && ::stat(b.c_str(), &other) == 0 &&
         one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

Result<void> draw(Output& out, const PlanOptions& options, const Planned& planned) {
  const plan::Plan& plan = planned.loaded.plan;
  const std::string title = plan.feature.empty() ? planned.file : plan.feature;
  const auto put = [&](const std::string& path, const std::string& svg) -> Result<void> {
    if (path == "-") {
      print_raw(out, svg);
      return {};
    }
    if (same_file(path, planned.file)) {
      return fail(Code::kUsage, quote(path) + " is the plan itself", "name another file");
    }
    LK_CHECK(write_file(path, svg));
    out.note("drew " + path);
    return {};
  };
  if (options.timeline) {
    LK_CHECK(put(*options.timeline,
                 draw::timeline_svg(plan::timeline_picture(plan, planned.analysis, title))));
  }
  if (options.graph) {
    LK_CHECK(put(*options.graph, plan::graph_svg(plan, planned.analysis, title)));
  }
  return {};
}

// Is stdout meant for a program?
bool prints_data(const PlanOptions& options) {
  return options.mermaid || options.apply || options.timeline == "-" || options.graph == "-";
}

int unusable(Output& out, const PlanOptions& options, const Planned& planned) {
  Json json = {{"file", planned.file}, {"findings", Json::array()}};
  for (const plan::Finding& finding : planned.loaded.findings) {
    json["findings"].push_back(plan::finding_json(finding));
  }
  if (!prints_data(options)) {
    for (const Line& line : finding_lines(planned.file, planned.loaded.findings, out.columns())) {
      out.line(line);
    }
  }
  return out.failed({Code::kInvalidInput, planned.file + " cannot be planned",
                     "fix the findings; details: lockkeeper validate " + shell_quote(planned.file)},
                    std::move(json));
}

// Do the two jobs of that conflict, by name, still conflict?
Result<bool> conflict_stays(const plan::Plan& before, const plan::Conflict& conflict,
                            const plan::Plan& after, plan::ConflictOptions options) {
  const auto find = [&](std::size_t job) {
    return std::ranges::find(after.jobs, before.jobs[job].id, &plan::Job::id);
  };
  const auto a = find(conflict.a);
  const auto b = find(conflict.b);
  if (a == after.jobs.end() || b == after.jobs.end()) return false;  // merged
  const plan::Closure closure(plan::needs_of(after));
  const auto number = [&](auto job) { return static_cast<std::size_t>(job - after.jobs.begin()); };
  if (closure.ordered(number(a), number(b))) return false;
  LK_ASSIGN(const std::optional<plan::Shared> meeting, plan::meeting_of(*a, *b, options));
  return meeting.has_value();
}

struct Applied {
  const plan::Proposal* proposal = nullptr;
  yaml::Rewritten written;
  plan::Cost before, after;
};

Result<Applied> apply(const PlanOptions& options, const Planned& planned, const std::string& text,
                      const PlanRules& rules) {
  LK_ASSIGN(const std::uint64_t number, parse_number(*options.apply, "--apply", kJobsMax));
  Applied applied;
  const auto& list = planned.proposals.list;
  if (number > list.size()) {
    return fail(Code::kNotFound,
                "there is no resolution " + std::to_string(number) + "; " +
                    (list.empty() ? "the plan has no conflict to resolve"
                                  : "choose one from 1 to " + std::to_string(list.size())),
                "see them: lockkeeper plan " + shell_quote(planned.file));
  }
  applied.proposal = &list[number - 1];
  LK_ASSIGN(applied.written,
            plan::apply_change(text, planned.loaded.plan, applied.proposal->change, rules.keys));
  const plan::Loaded again = load(applied.written.text, rules);
  const plan::Conflict& conflict = planned.analysis.conflicts.listed[applied.proposal->conflict];
  if (!again.usable()) {
    return fail(Code::kFailed, "the changed plan could not be read again", "nothing was written");
  }
  LK_ASSIGN(const bool stays,
            conflict_stays(planned.loaded.plan, conflict, again.plan, planned.options.conflicts));
  if (stays) {
    return fail(Code::kFailed, "the conflict would still be there", "nothing was written");
  }
  LK_ASSIGN(const plan::Analysis after, plan::analyse(again.plan, planned.options));
  applied.before = planned.analysis.cost;
  applied.after = after.cost;
  return applied;
}

Result<int> show_applied(Output& out, const PlanOptions& options, const Planned& planned,
                         const Applied& applied) {
  const std::optional<std::string> target = options.in_place ? planned.file : options.output;
  if (target) {
    if (!options.in_place && same_file(*target, planned.file)) {
      return fail(Code::kUsage, quote(*target) + " is the plan itself",
                  "use --in-place to change it");
    }
    LK_CHECK(write_file(*target, applied.written.text));
  }
  const std::string words = printable(plan::resolution_text(applied.proposal->resolution));
  Json json = {{"file", planned.file}, {"applied", applied.proposal->number}};
  json["resolution"] = plan::resolution_name(applied.proposal->resolution.kind);
  json["summary"] = words;
  json["output"] = target ? Json(*target) : Json();
  json["before"] = cost_json(applied.before);
  json["after"] = cost_json(applied.after);
  json["comments_kept"] = !applied.written.whole;
  if (!target) json["text"] = applied.written.text;
  out.object(json);
  if (out.json()) return 0;
  if (!target) print_raw(out, applied.written.text);
  if (applied.written.whole) {
    out.warning("the plan could not be edited in place: it was rewritten without its comments");
  }
  out.note((target ? "wrote " + *target + ": " : "") + words + ": " +
           std::to_string(applied.before.rounds) + " → " + counted(applied.after.rounds, "round") +
           ", " + minutes_text(applied.before.minutes) + " → " +
           minutes_text(applied.after.minutes));
  return 0;
}

Result<int> show(Output& out, const PlanOptions& options, const Planned& planned) {
  const bool drawn = options.timeline == "-" || options.graph == "-";
  LK_CHECK(draw(out, options, planned));
  if (options.mermaid) {
    const std::string text = plan::mermaid(planned.loaded.plan, planned.analysis);
    if (out.json()) {
      out.object({{"file", planned.file}, {"mermaid", text}});
    } else {
      print_raw(out, text);
    }
    return 0;
  }
  if (drawn) return 0;
  out.object(plan_json(planned));
  if (out.json()) return 0;
  for (const Line& line : plan_lines(planned, out.columns())) out.line(line);
  return 0;
}

int show_example(VerbContext& context, const PlanOptions& options) {
  if (!options.files.empty()) return context.refuse_usage("--example takes no file");
  const std::string text(plan::work_packages_example());
  context.out().object({{"example", text}});
  if (!context.out().json()) print_raw(context.out(), text);
  return 0;
}

}  // namespace

Result<int> plan_verb(VerbContext& context) {
  PlanOptions options;
  declare(context.arguments(), options);
  if (const auto status = context.parse()) return *status;
  Output& out = context.out();
  if (options.example) return show_example(context, options);
  if (options.files.empty()) return context.refuse_usage("needs a file");
  if (const auto error = check(options)) return out.failed(*error);
  Planned planned;
  planned.file = options.files.front();
  planned.options.conflicts.locks_only = options.locks_only;
  if (options.jobs) {
    LK_ASSIGN(planned.options.jobs, parse_number(*options.jobs, "--jobs", kJobsMax));
  }
  LK_ASSIGN(const PlanRules rules, plan_rules(context));
  LK_ASSIGN(const auto text, read_plan_text(planned.file));
  planned.loaded = load(text, rules);
  if (!planned.loaded.usable()) return unusable(out, options, planned);
  tell_unknown_words(out, planned.file, planned.loaded.findings);
  planned.errors = tell_refusals(out, planned.file, text, rules.keys);
  LK_CHECK(think(planned, rules));
  if (!options.apply) return show(out, options, planned);
  LK_ASSIGN(const auto applied, apply(options, planned, text, rules));
  return show_applied(out, options, planned, applied);
}

}  // namespace lockkeeper::cli
