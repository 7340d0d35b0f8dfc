#include "plan/plan_file.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "base/text.h"
#include "plan/graph.h"
#include "plan/model.h"
#include "plan/scopes.h"

namespace lockkeeper::plan {
namespace {

constexpr std::int64_t kScopeTtlMs = 60 * kMinuteMs;  // the workflow document's hour

class Loader {
 public:
  Loader(const LoadOptions& options, Loaded& result) : options_(options), result_(result) {}

  void work_packages(const yaml::Node& root) {
    result_.plan.form = Form::kWorkPackages;
    const WorkPackages file = read_work_packages(root);
    result_.plan.feature = file.feature;
    if (file.packages.empty()) {
      add("schema", Severity::kError, root.place, "the plan has no packages",
          "list them under packages:");
    }
    for (const Package& package : file.packages) {
      package_ = package.id.text;
      job(package);
      needs_.push_back(package.depends_on);
    }
    package_.clear();
    names();
    dependencies();
  }

  void scopes(const yaml::Node& root) {
    result_.plan.form = Form::kScopes;
    for (const ScopeEntry& entry : read_scopes(root, result_.findings)) {
      package_ = entry.agent.text;
      job(entry);
      needs_.push_back(entry.after);
    }
    package_.clear();
    names();
    dependencies();
  }

 private:
  void add(const char* rule, Severity severity, yaml::Place place, std::string message,
           std::string hint = {}) {
    result_.findings.push_back(
        {rule, severity, place, package_, std::move(message), std::move(hint), {}});
  }

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

  // Each once; in the order of the file.
  static void once(std::vector<key::Resource>& resources) {
    std::unordered_set<std::string> seen;
    std::erase_if(resources, [&](const key::Resource& each) {
      return !seen.insert(std::to_string(static_cast<int>(each.kind())) + each.text()).second;
    });
  }

  static void finish(Job& job) {
    for (const key::Resource& lock : job.locks) {
      if (lock.is_path()) job.writes.push_back(lock);
    }
    for (auto* const list : {&job.locks, &job.writes, &job.denies, &job.reads}) once(*list);
  }

  void put(std::vector<key::Resource>& to, const char* rule, const Name& name, key::Syntax syntax) {
    if (syntax == key::Syntax::kAuto && key::looks_logical(name.text)) {
      add(rule, loose(), name.place, quote(name.text) + " stands among paths and is a logical key",
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
      add("lock-key", loose(), name.place, quote(name.text) + " under keys is a path, not a key",
          "move it to files, or write it with its prefix");
      if (options_.opaque_keys) put(to, "lock-key", name, key::Syntax::kAuto);
      return;
    }
    auto parsed = key::parse(name.text, options_.keys);
    if (parsed) {
      for (const std::string& warning : parsed->warnings) {
        add("purpose", Severity::kWarning, name.place, warning,
            "add it to keys.feature_purposes in lockkeeper.toml if it is meant");
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

  void names() {
    std::vector<Job>& jobs = result_.plan.jobs;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      package_ = jobs[i].id;
      if (jobs[i].id.empty()) {
        add("schema", Severity::kError, jobs[i].place, "a package without a package_id",
            "give each package a name of its own");
        continue;
      }
      const auto [first, fresh] = numbers_.emplace(jobs[i].id, i);
      if (fresh) continue;
      add("duplicate-id", Severity::kError, jobs[i].place,
          quote(jobs[i].id) + " is used twice, first in line " +
              std::to_string(jobs[first->second].place.line),
          "give each package a name of its own");
    }
    package_.clear();
  }

  void dependencies() {
    std::vector<Job>& jobs = result_.plan.jobs;
    Graph graph(jobs.size());
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      package_ = jobs[i].id;
      for (const Name& need : needs_[i]) {
        const auto found = numbers_.find(need.text);
        if (found == numbers_.end()) {
          missing(need);
          continue;
        }
        if (std::ranges::find(jobs[i].needs, found->second) == jobs[i].needs.end()) {
          jobs[i].needs.push_back(found->second);
        }
        graph.add(i, found->second);
      }
    }
    for (const std::vector<std::size_t>& ring : graph.rings()) {
      std::string text;
      for (const std::size_t member : ring) text += jobs[member].id + " needs ";
      package_ = jobs[ring.front()].id;
      add("cycle", Severity::kError, jobs[ring.front()].place,
          "none of these can ever start: " + text + jobs[ring.front()].id,
          "take one of the dependencies away");
    }
    package_.clear();
  }

  void missing(const Name& need) {
    constexpr std::size_t kGuesses = 50;  // each looks at every name
    std::optional<std::string> guess;
    if (++missing_ <= kGuesses) {
      std::vector<std::string_view> known;
      for (const auto& [id, number] : numbers_) known.push_back(id);
      guess = nearest(need.text, known);
    }
    add("depends-on", Severity::kError, need.place,
        package_ + " depends on " + quote(need.text) + ", which is not in the plan",
        guess ? "did you mean " + *guess + "?" : "name one that is, or take it away");
  }

  const LoadOptions& options_;
  Loaded& result_;
  std::string package_;                   // whose findings these are
  std::vector<std::vector<Name>> needs_;  // of each job, as written
  std::map<std::string, std::size_t, std::less<>> numbers_;
  std::size_t missing_ = 0;
};

}  // namespace

bool Loaded::usable() const {
  return std::ranges::none_of(
      findings, [](const Finding& finding) { return finding.severity == Severity::kError; });
}

Loaded load_plan(std::string_view text, const LoadOptions& options) {
  Loaded result;
  const auto document = yaml::parse_document(text);
  if (!document) {
    result.findings.push_back({"document",
                               Severity::kError,
                               document.error().place,
                               {},
                               document.error().message,
                               {},
                               {}});
    return result;
  }
  Loader loader(options, result);
  std::string why;
  if (document->is_map() && document->find("packages") != nullptr) {
    loader.work_packages(*document);
  } else if (scope_agents(*document, why) != nullptr) {
    loader.scopes(*document);
  } else {
    result.findings.push_back({"schema",
                               Severity::kError,
                               document->place,
                               {},
                               "neither work packages nor scopes: " + why,
                               "list the work under packages:, or agents with their files under "
                               "agents:",
                               {}});
  }
  return result;
}

}  // namespace lockkeeper::plan
