#include "plan/plan_file.h"

#include <algorithm>
#include <unordered_set>

#include "base/text.h"
#include "plan/dependencies.h"
#include "plan/key_warnings.h"
#include "plan/schema.h"
#include "plan/scopes.h"

namespace lockkeeper::plan {
namespace {

constexpr std::int64_t kScopeTtlMs = 60 * kMinuteMs;  // the workflow protocol's default

class Loader {
 public:
  Loader(const LoadOptions& options, Loaded& result) : options_(options), result_(result) {}

  void work_packages(const yaml::Node& root) {
    result_.plan.form = Form::kWorkPackages;
    const WorkPackages file = read_work_packages(root);
    result_.plan.feature = file.feature;
    if (auto finding = check_feature(root)) {
      finding->severity = loose();
      result_.findings.push_back(std::move(*finding));
    }
    for (Finding& finding : unknown_keys(root)) {
      finding.severity = Severity::kWarning;
      result_.findings.push_back(std::move(finding));
    }
    if (file.packages.empty()) {
      add("schema", Severity::kError, root.place, "the plan has no packages",
          "list them under packages:");
    }
    for (const Package& package : file.packages) {
      package_ = package.id.text;
      job(package);
      needs_.push_back(package.depends_on);
    }
    dependencies();
  }

  void scopes(const yaml::Node& root) {
    result_.plan.form = Form::kScopes;
    if (const yaml::Node* const feature = feature_id(root)) result_.plan.feature = feature->text;
    for (const ScopeEntry& entry : read_scopes(root, result_.findings)) {
      package_ = entry.agent.text;
      job(entry);
      needs_.push_back(entry.after);
    }
    dependencies();
  }

  void add(const char* rule, Severity severity, yaml::Place place, std::string message,
           std::string hint = {}) {
    result_.findings.push_back(
        {rule, severity, place, package_, std::move(message), std::move(hint), {}});
  }

 private:
  void job(const Package& package) {
    Job& job = result_.plan.jobs.emplace_back();
    job.id = package.id.text;
    job.place = package.id.place.line == 0 ? package.place : package.id.place;
    job.description = package.description.empty() ? package.title : package.description;
    job.reason = package.reason.empty() ? package.title : package.reason;
    job.command = package.command;
    job.priority = package.priority;
    job.minutes = std::max<std::int64_t>(1, package.timeout_minutes);
    job.timeout_ms = job.minutes * kMinuteMs;
    job.ttl_ms = std::max<std::int64_t>(1, package.ttl_minutes) * kMinuteMs;
    job.retries = std::max<std::int64_t>(0, package.retry_budget);
    for (const Name& name : package.files) put(job.locks, "lock-file", name, key::Syntax::kAuto);
    for (const Name& name : package.keys) put_key(job.locks, name);
    for (const Name& name : package.write_allow) put(job.writes, "scope", name, key::Syntax::kAuto);
    for (const Name& name : package.deny) put(job.denies, "scope", name, key::Syntax::kAuto);
    for (const Name& name : package.read_allow) put(job.reads, "scope", name, key::Syntax::kAuto);
    finish(job);
  }

  void job(const ScopeEntry& entry) {
    Job& job = result_.plan.jobs.emplace_back();
    job.id = entry.agent.text;
    job.place = entry.agent.place;
    job.description = entry.task_description;
    job.task = entry.task;
    job.reason = entry.task_description.empty() ? entry.task : entry.task_description;
    job.command = entry.command;
    job.priority = entry.priority.value_or(job.priority);
    job.timeout_ms = entry.timeout_ms.value_or(0);
    if (job.timeout_ms > 0) job.minutes = (job.timeout_ms + kMinuteMs - 1) / kMinuteMs;
    job.minutes = entry.minutes.value_or(job.minutes);
    job.ttl_ms = entry.ttl_ms.value_or(kScopeTtlMs);
    job.retries = entry.retries.value_or(0);
    for (const Name& name : entry.files) put(job.locks, "lock-file", name, key::Syntax::kLiteral);
    for (Name name : entry.directories) {
      if (!name.text.empty() && !name.text.ends_with('/')) name.text += '/';
      put(job.locks, "lock-file", name, key::Syntax::kLiteral);
    }
    for (const Name& name : entry.globs) put(job.locks, "lock-file", name, key::Syntax::kGlob);
    for (const Name& name : entry.keys) put_key(job.locks, name);
    finish(job);
  }

  // Removes doubles, keeping the order.
  static void once(std::vector<key::Resource>& resources) {
    std::unordered_set<std::string> seen;
    std::erase_if(resources, [&](const key::Resource& each) {
      return !seen.insert(std::to_string(static_cast<int>(each.kind())) + each.text()).second;
    });
  }

  void finish(Job& job) {
    for (Finding& each : check_agent({job.id, job.place}, job.command, options_.agent_name)) {
      result_.findings.push_back(std::move(each));
    }
    for (const key::Resource& lock : job.locks) {
      if (lock.is_path()) job.writes.push_back(lock);
    }
    for (auto* const list : {&job.locks, &job.writes, &job.denies, &job.reads}) once(*list);
  }

  void put(std::vector<key::Resource>& to, const char* rule, const Name& name, key::Syntax syntax) {
    if (syntax == key::Syntax::kAuto && key::looks_logical(name.text)) {
      add(rule, loose(), name.place,
          quote(name.text) + " is listed among paths but is a logical key",
          "move it to keys, or write " + quote("./" + name.text));
      if (options_.opaque_keys) put_key(to, name);
      return;
    }
    auto parsed = key::parse(name.text, options_.keys, syntax);
    if (parsed) return to.push_back(parsed->resource);
    add(rule, Severity::kError, name.place, parsed.error().message, parsed.error().hint);
  }

  void put_key(std::vector<key::Resource>& to, const Name& name) {
    if (!key::looks_logical(name.text)) {
      add("lock-key", loose(), name.place, quote(name.text) + " is listed under keys but is a path",
          "move it to files, or add a prefix");
      if (options_.opaque_keys) put(to, "lock-key", name, key::Syntax::kAuto);
      return;
    }
    auto parsed = key::parse(name.text, options_.keys);
    if (parsed) {
      for (const std::string& warning : key_warnings(*parsed, options_.keys)) {
        add("purpose", Severity::kWarning, name.place, warning,
            "if it is correct, add it to keys.feature_purposes in lockkeeper.toml");
      }
      return to.push_back(parsed->resource);
    }
    Error& error = parsed.error();
    const auto itself = key::restore(name.text, key::Kind::kLogical);
    const bool opaque = options_.opaque_keys && itself;
    add("lock-key", opaque ? Severity::kWarning : Severity::kError, name.place,
        std::move(error.message), std::move(error.hint));
    if (opaque) to.push_back(*itself);
  }

  Severity loose() const { return options_.opaque_keys ? Severity::kWarning : Severity::kError; }

  void dependencies() {
    package_.clear();
    std::vector<Job>& jobs = result_.plan.jobs;
    std::vector<Dependent> all;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      all.push_back({{jobs[i].id, jobs[i].place}, &needs_[i]});
      if (!jobs[i].id.empty()) continue;
      add("schema", Severity::kError, jobs[i].place, "a package has no package_id",
          "give each package its own name");
    }
    auto needs = read_dependencies(all, [&](const char* rule, std::size_t number, yaml::Place place,
                                            std::string message, std::string hint) {
      package_ = jobs[number].id;
      add(rule, Severity::kError, place, std::move(message), std::move(hint));
    });
    for (std::size_t i = 0; i < jobs.size(); ++i) jobs[i].needs = std::move(needs[i]);
  }

  const LoadOptions& options_;
  Loaded& result_;
  std::string package_;                   // whose findings these are
  std::vector<std::vector<Name>> needs_;  // of each job, as written
};

}  // namespace

bool Loaded::usable() const {
  return std::ranges::none_of(
      findings, [](const Finding& finding) { return finding.severity == Severity::kError; });
}

Loaded load_plan(std::string_view text, const LoadOptions& options) {
  Loaded result;
  Loader loader(options, result);
  const auto document = yaml::parse_document(text);
  if (!document) {
    loader.add("document", Severity::kError, document.error().place, document.error().message);
    return result;
  }
  std::string why;
  if (document->is_map() && document->find("packages") != nullptr) {
    loader.work_packages(*document);
  } else if (scope_agents(*document, why) != nullptr) {
    loader.scopes(*document);
  } else {
    loader.add("schema", Severity::kError, document->place,
               "neither work packages nor scopes: " + why,
               "list work packages under packages:, or agents with their files under agents:");
  }
  return result;
}

}  // namespace lockkeeper::plan
