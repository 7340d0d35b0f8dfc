// Rules lock-overlap and scope-overlap.
#include <map>

#include "base/text.h"
#include "plan/checks.h"
#include "plan/denied.h"
#include "plan/overlaps.h"
#include "plan/validate.h"
#include "plan/witness.h"

namespace lockkeeper::plan {
namespace {

constexpr std::size_t kOfOnePair = 5;            // more for one pair of packages are only counted
constexpr std::size_t kCountedMost = 1'000'000;  // more are not even counted

class OverlapChecks {
 public:
  OverlapChecks(const WorkPackages& plan, const std::vector<PackageMeaning>& meanings,
                const Closure& closure, const Children& children, Findings& findings)
      : plan_(plan),
        meanings_(meanings),
        closure_(closure),
        witnesses_(children),
        findings_(findings) {}

  void run() {
    std::vector<Want> locks, writes;
    for (std::uint32_t i = 0; i < plan_.packages.size(); ++i) {
      const PackageMeaning& meaning = meanings_[i];
      for (const Meaning& file : meaning.files) want(locks, i, file, true);
      for (const Meaning& key : meaning.keys) want(locks, i, key, true);
      for (const Meaning& write : meaning.writes) want(writes, i, write, false);
      // A lock outside the write scope is a finding of its own; its overlaps should be known, too.
      for (std::size_t f = 0; f < meaning.files.size(); ++f) {
        if (!meaning.inside[f] || !plan_.packages[i].scoped)
          want(writes, i, meaning.files[f], true);
      }
    }
    compare("lock-overlap", locks, false);
    compare("scope-overlap", writes, true);
  }

 private:
  struct Source {
    const Name* name;
    bool lock;
  };

  void want(std::vector<Want>& wants, std::uint32_t package, const Meaning& meaning, bool lock) {
    if (!meaning.resource) return;
    wants.push_back({*meaning.resource, package, static_cast<std::uint32_t>(sources_.size())});
    sources_.push_back({meaning.name, lock});
  }

  void compare(const char* rule, const std::vector<Want>& wants, bool writing) {
    std::size_t beyond = 0;
    std::size_t listed = 0;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> reported;
    const auto apart = [&](std::uint32_t a, std::uint32_t b) { return closure_.ordered(a, b); };
    const auto done = find_overlaps(wants, apart, [&](const Overlap& overlap) {
      const std::optional<std::string> witness = writing ? left(overlap) : overlap.witness;
      if (!witness) return true;
      if (listed == kOverlapsListed ||
          ++reported[{overlap.a->package, overlap.b->package}] > kOfOnePair) {
        return ++beyond < kCountedMost;
      }
      ++listed;
      report(rule, overlap, *witness);
      return true;
    });
    if (beyond > 0) {
      const std::string more = beyond == kCountedMost ? "at least " : "";
      findings_.add(rule, plan_.scopes ? Severity::kWarning : Severity::kError, {}, nullptr,
                    "and " + more + counted(beyond, "more overlap"));
    }
    if (!done) {
      findings_.add(rule, Severity::kError, {}, nullptr, done.error().message, done.error().hint);
    }
  }

  // Something that both may write and neither is denied. lock-overlap compares two locks.
  std::optional<std::string> left(const Overlap& overlap) const {
    if (sources_[overlap.a->index].lock && sources_[overlap.b->index].lock) return std::nullopt;
    return left_of(overlap.a->resource, overlap.b->resource, overlap.witness, denied(overlap));
  }

  // What one of the two may not write.
  std::vector<key::Resource> denied(const Overlap& overlap) const {
    std::vector<key::Resource> all;
    for (const Want* const each : {overlap.a, overlap.b}) {
      if (sources_[each->index].lock) continue;  // a lock counts even where it is denied
      for (const Meaning& deny : meanings_[each->package].denied) {
        if (deny.resource) all.push_back(*deny.resource);
      }
    }
    return all;
  }

  void report(const char* rule, const Overlap& overlap, const std::string& common) {
    const Witness witness =
        witnesses_.find(overlap.a->resource, overlap.b->resource, common, denied(overlap));
    const std::string shared = witness.made_up ? "what both cover" : quote(witness.name);
    const Package& a = plan_.packages[overlap.a->package];
    const Package& b = plan_.packages[overlap.b->package];
    const Source& mine = sources_[overlap.a->index];
    const Source& other = sources_[overlap.b->index];
    const auto does = [](const Source& source) {
      return (source.lock ? " locks " : " may write ") + quote(source.name->text);
    };
    const bool integration = a.id.text == kIntegration || b.id.text == kIntegration;
    const std::string first = a.id.text == kIntegration ? b.id.text : a.id.text;
    std::string hint = "make one depend on the other, or give " + shared + " to only one of them";
    if (plan_.scopes) {
      hint = "let one come after the other, or give " + shared + " to only one of them";
    } else if (integration) {
      hint = "make " + std::string(kIntegration) + " depend on " + shown_name(first);
    }
    const bool warning = integration || plan_.scopes;
    Finding& finding =
        findings_.add(rule, warning ? Severity::kWarning : Severity::kError, mine.name->place, &a,
                      shown_name(a.id.text) + does(mine) + " and " + shown_name(b.id.text) +
                          does(other) + " (line " + std::to_string(other.name->place.line) + "); " +
                          (plan_.scopes ? "they will take turns, because"
                                        : "they may run at the same time, and") +
                          " both include" + included_text(witness),
                      std::move(hint));
    finding.witness = witness.name;
    finding.witness_exists = witness.exists;
  }

  const WorkPackages& plan_;
  const std::vector<PackageMeaning>& meanings_;
  const Closure& closure_;
  WitnessFinder witnesses_;
  Findings& findings_;
  std::vector<Source> sources_;
};

}  // namespace

void check_overlaps(const WorkPackages& plan, const std::vector<PackageMeaning>& meanings,
                    const Closure& closure, const Children& children, Findings& findings) {
  OverlapChecks(plan, meanings, closure, children, findings).run();
}

}  // namespace lockkeeper::plan
