#include "cli/verbs/plan_view.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ranges>

#include "base/clock.h"
#include "base/text.h"
#include "cli/verbs/list_view.h"
#include "plan/findings_report.h"

namespace lockkeeper::cli {
namespace {

using plan::Analysis;
using plan::Cost;
using plan::Job;
using plan::Proposal;
using service::Json;

constexpr std::size_t kRowsShown = 60;  // of the table; the JSON has them all
constexpr std::size_t kConflictsShown = 20;
constexpr std::size_t kFindingsShown = 20;
constexpr std::size_t kPictureColumns = 80;  // where there is no terminal
constexpr std::size_t kLabelColumns = 24;

std::vector<std::string> ids(const plan::Plan& plan, const std::vector<std::size_t>& jobs) {
  std::vector<std::string> names;
  for (const std::size_t job : jobs) names.push_back(plan.jobs[job].id);
  return names;
}

// `mark` and then the text, wrapped to the terminal; later lines are indented to the text.
void wrapped(std::vector<Line>& lines, const std::string& mark, const std::string& text,
             std::size_t columns, Style style = Style::kPlain) {
  const std::size_t room = columns > mark.size() + 20 ? columns - mark.size() : 0;
  std::string rest = wrap(printable(text), room);  // a name cannot begin a line of its own
  std::string before = mark;
  for (std::size_t end = 0; end != std::string::npos;) {
    end = rest.find('\n');
    lines.push_back({{before}, {rest.substr(0, end), style}});
    if (end != std::string::npos) rest = rest.substr(end + 1);
    before = std::string(mark.size(), ' ');
  }
}

void heading(std::vector<Line>& lines, const std::string& text, const std::string& more = {}) {
  lines.push_back({});
  lines.push_back({{text, Style::kBold}, {more.empty() ? "" : "  " + more, Style::kDim}});
}

std::string rounds_text(const plan::Waves& waves) {
  const std::string count = counted(waves.rounds.size(), "round", "rounds");
  if (waves.exact) return count + ", the fewest possible";
  return count + "; no plan has fewer than " + std::to_string(waves.at_least);
}

class View {
 public:
  View(const Planned& planned, std::size_t columns)
      : planned_(planned),
        plan_(planned.loaded.plan),
        analysis_(planned.analysis),
        columns_(columns) {}

  std::vector<Line> lines() {
    summary();
    rounds();
    timeline();
    conflicts();
    dependencies();
    worth();
    return std::move(lines_);
  }

 private:
  void summary() {
    const bool packages = plan_.form == plan::Form::kWorkPackages;
    std::string text = planned_.file + ": ";
    text += packages ? counted(plan_.jobs.size(), "package", "packages")
                     : counted(plan_.jobs.size(), "agent", "agents");
    text += ", " + rounds_text(analysis_.waves) + ", " +
            counted(analysis_.conflicts.pairs, "conflict", "conflicts");
    wrapped(lines_, "", text, columns_, Style::kBold);
    std::string time = minutes_text(analysis_.cost.minutes) + " instead of " +
                       minutes_text(analysis_.sequential_minutes) + " one after the other, " +
                       "at most " + counted(analysis_.most_busy, "agent", "agents") + " at once";
    if (planned_.options.jobs != 0) {
      time += " (--jobs " + std::to_string(planned_.options.jobs) + ")";
    }
    wrapped(lines_, "", time, columns_);
  }

  void rounds() {
    lines_.emplace_back();
    std::vector<bool> critical(plan_.jobs.size(), false);
    for (const std::size_t job : analysis_.critical) critical[job] = true;
    std::vector<Row> rows = {header({"ROUND", "NAME", "TIME", "NEEDS", "LOCKS"})};
    for (std::size_t round = 0; round < analysis_.waves.rounds.size(); ++round) {
      for (const std::size_t job : analysis_.waves.rounds[round]) {
        if (rows.size() > kRowsShown) break;
        const Job& each = plan_.jobs[job];
        std::vector<std::string> locks;
        for (const key::Resource& lock : each.locks | std::views::take(3)) {
          locks.push_back(lock.text());
        }
        std::string named = join(locks, " ");
        if (each.locks.size() > 3) named += " +" + std::to_string(each.locks.size() - 3);
        rows.push_back({{std::to_string(round + 1)},
                        {each.id, critical[job] ? Style::kYellow : Style::kPlain},
                        {minutes_text(each.minutes)},
                        {each.needs.empty() ? "-" : join(ids(plan_, each.needs), " ")},
                        {named.empty() ? "-" : named, Style::kDim}});
      }
    }
    for (Line& line : table_lines(std::move(rows), columns_)) lines_.push_back(std::move(line));
    more(plan_.jobs.size(), kRowsShown);
  }

  void more(std::size_t all, std::size_t shown) {
    if (all <= shown) return;
    lines_.push_back({{"and " + std::to_string(all - shown) + " more: see --json", Style::kDim}});
  }

  // One row per agent, drawn to scale; below them, how many agents are busy.
  void timeline() {
    if (analysis_.slots.size() <= kRowsShown && analysis_.cost.minutes > 0) draw();
    wrapped(lines_, "",
            "critical path (the longest chain of needs): " +
                join(ids(plan_, analysis_.critical), " → ") + ", " +
                minutes_text(analysis_.critical_minutes),
            columns_);
  }

  void draw() {
    heading(lines_, "Timeline", "0 to " + minutes_text(analysis_.cost.minutes));
    std::size_t name = 5;
    for (const Job& job : plan_.jobs) name = std::max(name, width(printable(job.id)));
    name = std::min(name, kLabelColumns);
    const std::size_t all = std::max<std::size_t>(columns_ == 0 ? kPictureColumns : columns_, 50);
    const std::size_t bar = std::min<std::size_t>(all, 120) - name - 3;
    const auto at = [&](std::int64_t minute) {
      return static_cast<std::size_t>(minute * static_cast<std::int64_t>(bar) /
                                      analysis_.cost.minutes);
    };
    const auto pad = [&](const std::string& text) {
      const std::string fits = cut(printable(text), name);
      return fits + std::string(name - width(fits), ' ') + "  ";
    };
    for (const plan::Slot& slot : analysis_.slots) {
      const std::size_t begin = std::min(at(slot.begin), bar - 1);
      const std::size_t end = std::max(at(slot.end), begin + 1);
      const bool critical =
          std::ranges::find(analysis_.critical, slot.package) != analysis_.critical.end();
      std::string drawn;
      for (std::size_t i = begin; i < end; ++i) drawn += critical ? "█" : "▒";
      lines_.push_back({{pad(plan_.jobs[slot.package].id) + std::string(begin, ' ')},
                        {drawn, critical ? Style::kYellow : Style::kGreen}});
    }
    std::string busy;
    for (std::size_t i = 0; i < bar; ++i) {
      std::size_t most = 0;
      for (const plan::Busy& each : analysis_.busy) {
        if (at(each.begin) <= i && std::max(at(each.end), at(each.begin) + 1) > i) {
          most = std::max(most, each.agents);
        }
      }
      busy += most > 9 ? "+" : std::to_string(most);
    }
    lines_.push_back({{pad("busy") + busy, Style::kDim}});
  }

  std::string gain(const Proposal& proposal) const {
    if (!proposal.after) return {};
    const Cost& before = analysis_.cost;
    const Cost& after = *proposal.after;
    std::string text = minutes_text(before.minutes);
    if (after.minutes != before.minutes) text += " → " + minutes_text(after.minutes);
    text += ", ";
    if (after.rounds != before.rounds) text += std::to_string(before.rounds) + " → ";
    return text + counted(after.rounds, "round", "rounds");
  }

  void conflicts() {
    const plan::ConflictGraph& graph = analysis_.conflicts;
    if (graph.pairs == 0) return;
    heading(lines_, "Conflicts",
            counted(graph.by_locks, "pair by locks", "pairs by locks") + ", " +
                std::to_string(graph.pairs - graph.by_locks) + " only by what both may write");
    for (std::size_t i = 0; i < graph.listed.size() && i < kConflictsShown; ++i) {
      conflict(i);
    }
    more(graph.pairs, kConflictsShown);
    const plan::Proposals& proposals = planned_.proposals;
    if (proposals.conflicts_left > 0) {
      wrapped(lines_, "",
              "resolutions were computed for the first " +
                  std::to_string(plan::kConflictsResolved) + " conflicts",
              columns_, Style::kDim);
    }
    if (proposals.gains_left > 0) {
      wrapped(lines_, "",
              "the plan is large: the gain of " + std::to_string(proposals.gains_left) +
                  " resolutions was not computed",
              columns_, Style::kDim);
    }
    if (proposals.list.empty()) return;
    wrapped(lines_, "",
            "apply one of them: lockkeeper plan " + planned_.file + " --apply N --output NEW",
            columns_, Style::kDim);
  }

  void conflict(std::size_t index) {
    const plan::Conflict& each = analysis_.conflicts.listed[index];
    const plan::Shared& first = each.shared.front();
    const bool locks = each.cause == plan::Cause::kLocks;
    std::string what = first.made_up ? "for example " + first.witness : first.witness;
    if (first.made_up && first.witness_exists == false) what += ", which does not exist yet";
    if (first.a.text() != first.b.text()) {
      what += " (" + first.a.text() + " × " + first.b.text() + ")";
    }
    if (each.shared.size() > 1) {
      what += " and " + (each.shared.size() == plan::kOverlapsOfConflict
                             ? "more"
                             : std::to_string(each.shared.size() - 1) + " more");
    }
    lines_.push_back({{plan_.jobs[each.a].id + " × " + plan_.jobs[each.b].id,
                       locks ? Style::kRed : Style::kYellow},
                      {locks ? "  both lock" : "  both may write", Style::kDim}});
    wrapped(lines_, "  ", what, columns_);
    for (const Proposal& proposal : planned_.proposals.list) {
      if (proposal.conflict != index) continue;
      const std::string number = std::to_string(proposal.number);
      const std::string mark =
          std::string(number.size() < 4 ? 4 - number.size() : 1, ' ') + number + ". ";
      wrapped(lines_, mark, plan::resolution_text(proposal.resolution), columns_);
      const std::string cost = gain(proposal);
      if (!cost.empty()) lines_.push_back({{std::string(mark.size(), ' ') + cost, Style::kDim}});
    }
  }

  void dependencies() {
    std::size_t sharing = 0;
    for (const plan::Dependency& each : analysis_.dependencies)
      sharing += each.witness.empty() ? 0U : 1U;
    if (analysis_.dependencies.empty()) return;
    lines_.emplace_back();
    wrapped(lines_, "",
            counted(analysis_.dependencies.size(), "dependency", "dependencies") + ": " +
                std::to_string(sharing) + " between jobs that share something, " +
                std::to_string(analysis_.dependencies.size() - sharing) + " only for the order",
            columns_);
  }

  void worth() {
    const plan::Worth& worth = planned_.worth;
    const bool yes = worth.verdict == plan::Worth::Verdict::kYes;
    const bool no = worth.verdict == plan::Worth::Verdict::kNo;
    heading(lines_, "Is locking worth it?");
    wrapped(lines_, "  ",
            (yes  ? "yes: "
             : no ? "no: "
                  : "either way: ") +
                worth.because,
            columns_, yes ? Style::kGreen : Style::kPlain);
    for (const plan::WorthRule& rule : worth.rules) {
      const std::string mark = !rule.applies ? " " : rule.for_locking ? "+" : "-";
      const Style style = rule.applies ? Style::kPlain : Style::kDim;
      wrapped(lines_, "  " + mark + " ", std::string(rule.rule) + ": " + rule.value, columns_,
              style);
    }
  }

  const Planned& planned_;
  const plan::Plan& plan_;
  const Analysis& analysis_;
  const std::size_t columns_;
  std::vector<Line> lines_;
};

Json texts(const std::vector<key::Resource>& resources) {
  Json list = Json::array();
  for (const key::Resource& each : resources) list.push_back(each.text());
  return list;
}

Json jobs_json(const plan::Plan& plan, const Analysis& analysis) {
  std::vector<const plan::Slot*> slots(plan.jobs.size(), nullptr);
  for (const plan::Slot& slot : analysis.slots) slots[slot.package] = &slot;
  std::vector<bool> critical(plan.jobs.size(), false);
  for (const std::size_t job : analysis.critical) critical[job] = true;
  Json list = Json::array();
  for (std::size_t i = 0; i < plan.jobs.size(); ++i) {
    const Job& job = plan.jobs[i];
    list.push_back({{"id", job.id},
                    {"minutes", job.minutes},
                    {"round", analysis.round_of[i] + 1},
                    {"begin", slots[i]->begin},
                    {"end", slots[i]->end},
                    {"critical", critical[i]},
                    {"needs", ids(plan, job.needs)},
                    {"locks", texts(job.locks)},
                    {"writes", texts(job.writes)}});
  }
  return list;
}

Json conflicts_json(const Planned& planned) {
  const plan::Plan& plan = planned.loaded.plan;
  Json list = Json::array();
  for (std::size_t i = 0; i < planned.analysis.conflicts.listed.size(); ++i) {
    const plan::Conflict& conflict = planned.analysis.conflicts.listed[i];
    Json json;
    json["between"] = {plan.jobs[conflict.a].id, plan.jobs[conflict.b].id};
    json["cause"] = conflict.cause == plan::Cause::kLocks ? "locks" : "scopes";
    json["overlaps"] = Json::array();
    for (const plan::Shared& each : conflict.shared) {
      json["overlaps"].push_back(
          {{"first", each.a.text()},
           {"second", each.b.text()},
           {"witness", each.witness},
           {"witness_exists", each.witness_exists ? Json(*each.witness_exists) : Json()}});
    }
    json["resolutions"] = Json::array();
    for (const Proposal& proposal : planned.proposals.list) {
      if (proposal.conflict != i) continue;
      Json resolution = {{"number", proposal.number}};
      resolution.update(plan::resolution_json(proposal.resolution));
      resolution["before"] = cost_json(planned.analysis.cost);
      resolution["after"] = proposal.after ? cost_json(*proposal.after) : Json();
      json["resolutions"].push_back(std::move(resolution));
    }
    list.push_back(std::move(json));
  }
  return list;
}

Json worth_json(const plan::Worth& worth) {
  using Verdict = plan::Worth::Verdict;
  Json rules = Json::array();
  for (const plan::WorthRule& rule : worth.rules) {
    rules.push_back({{"rule", rule.rule},
                     {"speaks", rule.for_locking ? "for" : "against"},
                     {"applies", rule.applies},
                     {"value", rule.value}});
  }
  return {{"verdict", worth.verdict == Verdict::kYes  ? "yes"
                      : worth.verdict == Verdict::kNo ? "no"
                                                      : "either"},
          {"because", worth.because},
          {"rules", std::move(rules)}};
}

}  // namespace

std::string minutes_text(std::int64_t minutes) {
  return minutes == 0 ? "0" : format_duration(minutes * 60'000);
}

std::vector<Line> plan_lines(const Planned& planned, std::size_t columns) {
  return View(planned, columns).lines();
}

Json plan_json(const Planned& planned) {
  const plan::Plan& plan = planned.loaded.plan;
  const Analysis& analysis = planned.analysis;
  Json json;
  json["file"] = planned.file;
  json["form"] = plan.form == plan::Form::kWorkPackages ? "work-packages" : "scopes";
  json["feature"] = text_or_null(plan.feature);
  json["jobs"] = jobs_json(plan, analysis);
  json["rounds"] = Json::array();
  for (const auto& round : analysis.waves.rounds) json["rounds"].push_back(ids(plan, round));
  json["fewest"] = analysis.waves.exact;
  json["rounds_at_least"] = analysis.waves.at_least;
  json["minutes"] = analysis.cost.minutes;
  json["minutes_sequential"] = analysis.sequential_minutes;
  json["agents_limit"] = planned.options.jobs == 0 ? Json() : Json(planned.options.jobs);
  json["agents_most"] = analysis.most_busy;
  json["busy"] = Json::array();
  for (const plan::Busy& each : analysis.busy) {
    json["busy"].push_back({{"begin", each.begin}, {"end", each.end}, {"agents", each.agents}});
  }
  json["critical_path"] = {{"jobs", ids(plan, analysis.critical)},
                           {"minutes", analysis.critical_minutes}};
  json["conflict_pairs"] = analysis.conflicts.pairs;
  json["conflict_pairs_by_locks"] = analysis.conflicts.by_locks;
  json["conflicts"] = conflicts_json(planned);
  json["conflicts_without_resolutions"] = planned.proposals.conflicts_left;
  json["resolutions_without_gain"] = planned.proposals.gains_left;
  json["dependencies"] = Json::array();
  for (const plan::Dependency& each : analysis.dependencies) {
    json["dependencies"].push_back({{"job", plan.jobs[each.later].id},
                                    {"needs", plan.jobs[each.earlier].id},
                                    {"shares", text_or_null(each.witness)}});
  }
  json["locking"] = worth_json(planned.worth);
  json["valid"] = planned.errors == 0;
  json["errors"] = planned.errors;
  json["findings"] = Json::array();
  for (const plan::Finding& finding : planned.loaded.findings) {
    json["findings"].push_back(plan::finding_json(finding));
  }
  return json;
}

std::string place_of(const std::string& file, const plan::Finding& finding) {
  if (finding.place.line == 0) return file;
  return file + ":" + std::to_string(finding.place.line) + ":" +
         std::to_string(finding.place.column);
}

std::vector<Line> finding_lines(const std::string& file, const std::vector<plan::Finding>& findings,
                                std::size_t columns) {
  std::vector<Line> lines;
  for (std::size_t i = 0; i < findings.size() && i < kFindingsShown; ++i) {
    const plan::Finding& finding = findings[i];
    const bool error = finding.severity == plan::Severity::kError;
    lines.push_back({{place_of(file, finding) + ": "},
                     {error ? "error" : "warning", error ? Style::kRed : Style::kYellow},
                     {" " + finding.rule, Style::kDim}});
    wrapped(lines, "  ", finding.message, columns);
    if (!finding.hint.empty()) wrapped(lines, "  ", "→ " + finding.hint, columns);
  }
  if (findings.size() > kFindingsShown) {
    lines.push_back({{"and " + std::to_string(findings.size() - kFindingsShown) +
                          " more: see lockkeeper validate, or --json",
                      Style::kDim}});
  }
  return lines;
}

Json cost_json(const Cost& cost) {
  return {{"rounds", cost.rounds}, {"minutes", cost.minutes}};
}

}  // namespace lockkeeper::cli
