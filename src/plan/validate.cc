#include "plan/validate.h"

#include <algorithm>
#include <tuple>

#include "base/text.h"
#include "plan/checks.h"
#include "plan/dependencies.h"
#include "plan/schema.h"
#include "plan/scopes.h"

namespace lockkeeper::plan {
namespace {

Graph check_dependencies(const WorkPackages& plan, Findings& findings) {
  std::vector<Dependent> all;
  for (const Package& package : plan.packages) all.push_back({package.id, &package.depends_on});
  return Graph(read_dependencies(all, [&](const char* rule, std::size_t number, yaml::Place place,
                                          std::string message, std::string hint) {
    findings.add(rule, Severity::kError, place, &plan.packages[number], std::move(message),
                 std::move(hint));
  }));
}

std::size_t rank(const std::string& rule) {
  const auto at = std::ranges::find(rules(), rule, &Rule::name);
  return static_cast<std::size_t>(at - rules().begin());
}

void sort_findings(std::vector<Finding>& findings) {
  std::ranges::stable_sort(findings, [](const Finding& a, const Finding& b) {
    const auto order = [](const Finding& each) {
      const bool nowhere = each.place.line == 0;
      return std::tuple(rank(each.rule), nowhere, each.place.line, each.place.column);
    };
    return order(a) < order(b);
  });
}

// Agents of a scopes file as packages.
WorkPackages packages_of(const std::vector<ScopeEntry>& entries) {
  WorkPackages plan;
  plan.scopes = true;
  for (const ScopeEntry& entry : entries) {
    Package& package = plan.packages.emplace_back();
    package.id = entry.agent;
    package.place = entry.agent.place;
    package.description = entry.task_description;
    package.depends_on = entry.after;
    package.files = entry.files;
    package.folders = entry.directories;
    for (Name& folder : package.folders) {
      if (!folder.text.empty() && !folder.text.ends_with('/')) folder.text += '/';
    }
    package.globs = entry.globs;
    package.keys = entry.keys;
    package.command = entry.command;
  }
  return plan;
}

void read_plan(const yaml::Node& document, Validated& result, Findings& findings) {
  const auto has = [&](const char* key) { return document.find(key) != nullptr; };
  std::string why;
  if (!has("packages") && scope_agents(document, why) != nullptr) {
    result.plan = packages_of(read_scopes(document, result.findings));
  } else if (has("packages") || has("schema_version") || has("feature")) {
    result.findings = check_structure(document);
    if (auto finding = check_feature(document)) result.findings.push_back(std::move(*finding));
    result.plan = read_work_packages(document);
  } else {
    findings.add("schema", Severity::kError, document.place, nullptr,
                 document.kind == yaml::Node::Kind::kNull
                     ? "the file is empty"
                     : "neither work packages nor scopes: there is no \"packages\" and no "
                       "\"agents\"",
                 "list work packages under packages:, or agents with their files under agents:");
  }
}

}  // namespace

Finding& Findings::add(const char* rule, Severity severity, yaml::Place place,
                       const Package* package, std::string message, std::string hint) {
  if (strict_) severity = Severity::kError;
  Count& count = counts_[rule];
  const bool kept = ++count.all <= kFindingsListed;
  if (!kept) count.errors |= severity == Severity::kError;
  Finding& finding = kept ? into_.emplace_back() : beyond_;
  finding.rule = rule;
  finding.severity = severity;
  finding.place = place;
  if (package != nullptr) finding.package = package->id.text;
  finding.message = std::move(message);
  finding.hint = std::move(hint);
  return finding;
}

void Findings::count_the_rest() {
  for (const auto& [rule, count] : counts_) {
    if (count.all <= kFindingsListed) continue;
    Finding& finding = into_.emplace_back();
    finding.rule = rule;
    finding.severity = count.errors ? Severity::kError : Severity::kWarning;
    finding.message = "and " + std::to_string(count.all - kFindingsListed) + " more of this rule";
  }
}

std::size_t Validated::count(Severity severity) const {
  return static_cast<std::size_t>(std::ranges::count(findings, severity, &Finding::severity));
}

Validated validate(std::string_view text, const ValidateOptions& options) {
  Validated result;
  Findings findings(result.findings, options.strict);
  auto document = yaml::parse_document(text);
  if (!document) {
    findings.add("document", Severity::kError, document.error().place, nullptr,
                 document.error().message);
    return result;
  }
  read_plan(*document, result, findings);
  *document = {};  // half of the memory; the plan has its own texts
  result.packages = result.plan.packages.size();
  for (const Package& package : result.plan.packages) {
    result.locks += package.files.size() + package.folders.size() + package.globs.size();
    result.keys += package.keys.size();
  }
  if (result.packages > kPackagesMax) return result;  // the schema says so
  for (const Package& package : result.plan.packages) {
    for (Finding& each : check_agent(package.id, package.command, options.agent_name)) {
      findings.add("schema", each.severity, each.place, &package, each.message, each.hint);
    }
  }
  const Graph graph = check_dependencies(result.plan, findings);
  const auto meanings = check_names(result.plan, options.keys, findings);
  check_overlaps(result.plan, meanings, Closure(graph), options.children, findings);
  findings.count_the_rest();
  sort_findings(result.findings);
  return result;
}

}  // namespace lockkeeper::plan
