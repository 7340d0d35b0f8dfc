#include "plan/validate.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/text.h"
#include "plan/graph.h"
#include "plan/overlaps.h"
#include "plan/schema.h"

namespace lockkeeper::plan {
namespace {

std::string named(const Package& package) {
  return package.id.text.empty() ? "a package without a name" : package.id.text;
}

// What was written, and what it means; nothing where it breaks a rule.
struct Read {
  const Name* name;
  std::optional<key::Resource> resource;
};

class Checker {
 public:
  Checker(const ValidateOptions& options, Validated& result)
      : options_(options), result_(result), plan_(result.plan) {}

  void run() {
    ids();
    dependencies();
    for (const Package& package : plan_.packages) {
      files_.push_back(read_all(package, package.files, false));
      keys_.push_back(read_all(package, package.keys, true));
      scopes_.push_back(read_scope(package));
      contracts(package);
    }
    scope();
    overlaps();
  }

 private:
  Finding& add(const char* rule, Severity severity, Place place, const Package* package,
               std::string message, std::string hint = {}) {
    Finding& finding = result_.findings.emplace_back();
    finding.rule = rule;
    finding.severity = options_.strict ? Severity::kError : severity;
    finding.place = place;
    if (package != nullptr) finding.package = package->id.text;
    finding.message = std::move(message);
    finding.hint = std::move(hint);
    return finding;
  }

  void ids() {
    for (std::size_t i = 0; i < plan_.packages.size(); ++i) {
      const Package& package = plan_.packages[i];
      if (package.id.text.empty()) continue;  // the schema says so
      const auto [first, fresh] = numbers_.emplace(package.id.text, i);
      if (fresh) continue;
      const Place place = plan_.packages[first->second].id.place;
      add("duplicate-id", Severity::kError, package.id.place, &package,
          "package_id " + quote(package.id.text) + " is used twice, first in line " +
              std::to_string(place.line),
          "give each package a name of its own");
    }
  }

  void dependencies() {
    Graph graph(plan_.packages.size());
    std::vector<std::string_view> known;
    for (const auto& [id, number] : numbers_) known.push_back(id);
    for (std::size_t i = 0; i < plan_.packages.size(); ++i) {
      const Package& package = plan_.packages[i];
      for (const Name& need : package.depends_on) {
        const auto found = numbers_.find(need.text);
        if (found != numbers_.end()) {
          graph.add(i, found->second);
          continue;
        }
        const auto guess = nearest(need.text, known);
        add("depends-on", Severity::kError, need.place, &package,
            named(package) + " depends on " + quote(need.text) + ", which is no package here",
            guess ? "did you mean " + *guess + "?" : "");
      }
    }
    for (const std::vector<std::size_t>& ring : graph.rings()) {
      std::string text;
      for (const std::size_t member : ring) text += named(plan_.packages[member]) + " needs ";
      const Package& first = plan_.packages[ring.front()];
      add("cycle", Severity::kError, first.id.place, &first,
          "none of these can ever start: " + text + named(first),
          "take one of the dependencies away");
    }
    closure_.emplace(graph);
  }

  std::vector<Read> read_all(const Package& package, const std::vector<Name>& names, bool logical) {
    std::vector<Read> all;
    for (const Name& name : names) all.push_back(read(package, name, logical));
    return all;
  }

  Read read(const Package& package, const Name& name, bool logical) {
    const char* const rule = logical ? "lock-key" : "lock-file";
    if (logical && !key::looks_logical(name.text)) {
      add(rule, Severity::kError, name.place, &package,
          quote(name.text) + " under keys is a path, not a key",
          "move it to files, or write it with its prefix, such as \"contract:" + name.text + "\"");
      return {&name, std::nullopt};
    }
    if (!logical && key::looks_logical(name.text)) {
      add(rule, Severity::kError, name.place, &package,
          quote(name.text) + " under files is a logical key", "move it to keys");
      return {&name, std::nullopt};
    }
    auto parsed = key::parse(name.text, options_.keys);
    if (!parsed) {
      add(rule, Severity::kError, name.place, &package, parsed.error().message,
          parsed.error().hint);
      return {&name, std::nullopt};
    }
    if (parsed->resource.text() != name.text) {
      add(rule, Severity::kError, name.place, &package,
          quote(name.text) + " is not written in its canonical form",
          "write " + quote(parsed->resource.text()));
    }
    for (const std::string& warning : parsed->warnings) {
      add("purpose", Severity::kWarning, name.place, &package, warning,
          "add it to keys.feature_purposes in lockkeeper.toml if it is meant");
    }
    return {&name, parsed->resource};
  }

  std::vector<Read> read_scope(const Package& package) {
    std::vector<Read> all;
    for (const Name& name : package.write_allow) {
      auto parsed = key::parse(name.text, options_.keys);
      if (!parsed) {
        add("scope", Severity::kError, name.place, &package,
            "write_allow: " + parsed.error().message, parsed.error().hint);
        continue;
      }
      all.push_back({&name, parsed->resource});
    }
    return all;
  }

  void contracts(const Package& package) {
    for (const Name& name : package.keys) {
      constexpr std::string_view kPrefix = "contract:";
      if (!name.text.starts_with(kPrefix)) continue;
      const std::string path = name.text.substr(kPrefix.size());
      const bool known =
          std::ranges::any_of(plan_.contracts, [&](const Name& one) { return one.text == path; });
      if (known) continue;
      std::vector<std::string_view> all;
      for (const Name& one : plan_.contracts) all.push_back(one.text);
      const auto guess = nearest(path, all);
      add("contract", Severity::kWarning, name.place, &package,
          quote(name.text) + " is not among contracts.openapi.files",
          guess ? "did you mean contract:" + *guess + "?" : "list it there, or correct the key");
    }
  }

  void scope() {
    for (std::size_t i = 0; i < plan_.packages.size(); ++i) {
      const Package& package = plan_.packages[i];
      for (const Read& file : files_[i]) {
        if (!file.resource) continue;
        const bool inside = std::ranges::any_of(scopes_[i], [&](const Read& allowed) {
          return key::covers(*allowed.resource, *file.resource);
        });
        if (inside) continue;
        add("scope", Severity::kError, file.name->place, &package,
            named(package) + " locks " + quote(file.name->text) +
                " but may not write it: it is not in scope.write_allow",
            "add it to write_allow, or do not lock it");
      }
    }
  }

  // Locks against locks, and locks and scopes against scopes.
  void overlaps() {
    std::vector<Want> locks, writes;
    for (std::uint32_t i = 0; i < plan_.packages.size(); ++i) {
      for (const std::vector<Read>* reads : {&files_[i], &keys_[i]}) {
        for (const Read& one : *reads) {
          if (one.resource) locks.push_back({*one.resource, i, remember(one.name)});
        }
      }
      for (const Read& one : scopes_[i]) {
        writes.push_back({*one.resource, i, remember(one.name)});
      }
    }
    compare("lock-overlap", Severity::kError, locks, "both lock it");
    compare("scope-overlap", Severity::kError, writes, "both may write it");
  }

  std::uint32_t remember(const Name* name) {
    names_.push_back(name);
    return static_cast<std::uint32_t>(names_.size() - 1);
  }

  void compare(const char* rule, Severity severity, const std::vector<Want>& wants,
               const std::string& what) {
    std::size_t beyond = 0;
    std::size_t listed = 0;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> told;
    constexpr std::size_t kOfOnePair = 5;
    const auto apart = [&](std::uint32_t a, std::uint32_t b) { return closure_->ordered(a, b); };
    const auto done = find_overlaps(wants, apart, [&](const Overlap& overlap) {
      if (listed == kOverlapsListed ||
          ++told[{overlap.a->package, overlap.b->package}] > kOfOnePair) {
        ++beyond;
        return true;
      }
      ++listed;
      const Package& a = plan_.packages[overlap.a->package];
      const Package& b = plan_.packages[overlap.b->package];
      const Name& mine = *names_[overlap.a->index];
      const Name& other = *names_[overlap.b->index];
      Finding& finding =
          add(rule, severity, mine.place, &a,
              named(a) + " (" + quote(mine.text) + ") and " + named(b) + " (" + quote(other.text) +
                  ", line " + std::to_string(other.place.line) +
                  ") may run at the same time, and " + what,
              "let one depend on the other, or give " + quote(overlap.witness) + " to one of them");
      finding.witness = overlap.witness;
      return true;
    });
    if (!done) add(rule, severity, {}, nullptr, done.error().message, done.error().hint);
    if (beyond > 0) {
      add(rule, severity, {}, nullptr, "and " + std::to_string(beyond) + " more overlaps");
    }
  }

  const ValidateOptions& options_;
  Validated& result_;
  const WorkPackages& plan_;
  std::map<std::string, std::size_t, std::less<>> numbers_;
  std::optional<Closure> closure_;
  std::vector<std::vector<Read>> files_, keys_, scopes_;
  std::vector<const Name*> names_;
};

std::size_t rank(const std::string& rule) {
  const auto at = std::ranges::find(rules(), rule, &Rule::name);
  return static_cast<std::size_t>(at - rules().begin());
}

}  // namespace

const std::vector<Rule>& rules() {
  static const std::vector<Rule> kRules = {
      {"document", "the file is plain YAML or JSON"},
      {"schema", "it has the structure of work packages"},
      {"duplicate-id", "each package has a name of its own"},
      {"depends-on", "what a package depends on is there"},
      {"cycle", "no package waits for itself"},
      {"lock-file", "each file lock is a canonical path"},
      {"lock-key", "each logical key is known and canonical"},
      {"purpose", "feature keys have a known purpose"},
      {"contract", "contract keys name a listed contract"},
      {"scope", "a package locks only what it may write"},
      {"lock-overlap", "packages that may run at the same time lock different things"},
      {"scope-overlap", "packages that may run at the same time write different things"},
  };
  return kRules;
}

std::size_t Validated::count(Severity severity) const {
  return static_cast<std::size_t>(std::ranges::count(findings, severity, &Finding::severity));
}

Validated validate(std::string_view text, const ValidateOptions& options) {
  Validated result;
  const auto document = parse_document(text);
  if (!document) {
    Finding& finding = result.findings.emplace_back();
    finding.rule = "document";
    finding.place = document.error().place;
    finding.message = document.error().message;
    return result;
  }
  result.findings = check_structure(*document);
  result.plan = read_work_packages(*document);
  result.packages = result.plan.packages.size();
  for (const Package& package : result.plan.packages) {
    result.locks += package.files.size();
    result.keys += package.keys.size();
  }
  Checker(options, result).run();
  std::ranges::stable_sort(result.findings, [](const Finding& a, const Finding& b) {
    return std::tuple(rank(a.rule), a.place.line, a.place.column) <
           std::tuple(rank(b.rule), b.place.line, b.place.column);
  });
  return result;
}

}  // namespace lockkeeper::plan
