// `validate`: finds what is wrong with a plan before anyone starts on it.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text.h"
#include "cli/verbs/plan_input.h"
#include "cli/verbs/plan_view.h"
#include "cli/verbs/verbs.h"
#include "plan/findings_report.h"

namespace lockkeeper::cli {
namespace {

using plan::FileReport;
using plan::Finding;
using plan::Severity;

// Wrapped to the terminal, every line indented.
void show_text(Output& out, const std::string& text, std::size_t indent) {
  const std::size_t columns = out.columns() > indent + 20 ? out.columns() - indent : 0;
  std::string lines = wrap(printable(text), columns);
  const std::string blank(indent, ' ');
  for (std::size_t at = 0; (at = lines.find('\n', at)) != std::string::npos; at += indent + 1) {
    lines.insert(at + 1, blank);
  }
  out.text(blank + lines);
}

// The findings of one rule. A hint that they share is printed once, below them.
void show_group(Output& out, const FileReport& report, const std::vector<const Finding*>& group) {
  const std::string& hint = group.front()->hint;
  const bool same = group.size() > 1 && std::ranges::all_of(group, [&](const Finding* each) {
                      return each->hint == hint;
                    });
  for (const Finding* const finding : group) {
    const bool error = finding->severity == Severity::kError;
    Line line = {{"  " + place_of(report.file, *finding) + ": "},
                 {error ? "error" : "warning", error ? Style::kRed : Style::kYellow}};
    if (out.columns() == 0) {  // one line for grep and editors
      line.push_back({": " + finding->message});
      out.line(line);
    } else {
      line.push_back({"  " + finding->package, Style::kDim});
      out.line(fit(line, out.columns()));
      show_text(out, finding->message, 4);
    }
    if (!same && !finding->hint.empty()) show_text(out, "→ " + finding->hint, 4);
  }
  if (same && !hint.empty()) show_text(out, "→ " + hint, 2);
}

void show_findings(Output& out, const FileReport& report) {
  std::map<std::string, std::vector<const Finding*>> by_rule;
  for (const Finding& finding : report.result.findings) by_rule[finding.rule].push_back(&finding);
  for (const plan::Rule& rule : plan::rules()) {
    const auto group = by_rule.find(rule.name);
    if (group == by_rule.end()) continue;
    const std::string summary = rule.summary_for(report.result.plan.scopes);
    out.line(fit({{rule.name, Style::kBold}, {"  " + summary, Style::kDim}}, out.columns()));
    show_group(out, report, group->second);
  }
}

void show_summary(Output& out, const FileReport& report) {
  const plan::Validated& result = report.result;
  const std::size_t errors = result.count(Severity::kError);
  const std::size_t warnings = result.count(Severity::kWarning);
  Line line = {{report.file + ": " +
                counted(result.packages, result.plan.scopes ? "agent" : "package") + ", " +
                counted(result.locks + result.keys, "lock") + ": "}};
  if (errors + warnings == 0) line.push_back({"no findings", Style::kGreen});
  if (errors > 0) line.push_back({counted(errors, "error"), Style::kRed});
  if (errors > 0 && warnings > 0) line.push_back({", "});
  if (warnings > 0) line.push_back({counted(warnings, "warning"), Style::kYellow});
  out.line(line);
}

// Every file is checked, even if another one is wrong.
struct Checked {
  std::vector<FileReport> reports;
  std::optional<Error> unreadable;  // the first that could not be read
  bool valid = true;
};

Checked check_files(Output& out, const std::vector<std::string>& files,
                    const plan::ValidateOptions& options) {
  Checked checked;
  for (const std::string& file : files) {
    const auto text = read_plan_text(file);
    if (text) {
      checked.reports.push_back({file, plan::validate(*text, options)});
      checked.valid &= checked.reports.back().result.count(Severity::kError) == 0;
      continue;
    }
    if (checked.unreadable) {
      out.warning(text.error().message);
    } else {
      checked.unreadable = text.error();
    }
    checked.valid = false;
  }
  return checked;
}

// For programs, after the findings; people get the summary.
Error found(const Checked& checked) {
  std::size_t errors = 0;
  for (const FileReport& report : checked.reports) errors += report.result.count(Severity::kError);
  return {Code::kInvalidInput,
          counted(errors, "error") + " in " + counted(checked.reports.size(), "file"),
          "fix the findings"};
}

}  // namespace

Result<int> validate_verb(VerbContext& context) {
  std::vector<std::string> files;
  bool strict = false;
  bool sarif = false;
  Arguments& arguments = context.arguments();
  arguments.words("FILE…", files, "work packages or scopes, YAML or JSON");
  arguments.offer(Arguments::Complete::kFiles);
  arguments.flag("--strict", strict, "warnings are errors");
  arguments.flag("--sarif", sarif, "SARIF 2.1.0 on stdout, for code hosts");
  if (const auto status = context.parse_some(files, "a file")) return *status;
  Output& out = context.out();
  LK_ASSIGN(PlanRules rules, plan_rules(context));
  plan::ValidateOptions options;
  options.strict = strict;  // only this makes key warnings errors
  options.children = names_on_disk(rules);
  options.keys = std::move(rules.keys);
  options.agent_name = check_planned_name;
  const Checked checked = check_files(out, files, options);
  const int status = checked.valid ? 0 : exit_status(Code::kInvalidInput);
  if (sarif) {
    out.data(plan::sarif_json(checked.reports, LOCKKEEPER_VERSION));
    if (!checked.unreadable) return status;
    out.warning(checked.unreadable->message);
    return exit_status(checked.unreadable->code);
  }
  service::Json json = {{"valid", checked.valid}, {"files", service::Json::array()}};
  for (const FileReport& report : checked.reports) {
    json["files"].push_back(plan::findings_json(report));
    if (out.json()) continue;
    show_findings(out, report);
    show_summary(out, report);
  }
  if (checked.unreadable) return out.failed(*checked.unreadable, std::move(json));
  if (!checked.valid) json["error"] = service::error_json(found(checked));
  out.object(json);
  return status;
}

}  // namespace lockkeeper::cli
