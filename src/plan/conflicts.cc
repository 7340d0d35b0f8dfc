#include "plan/conflicts.h"

#include <algorithm>
#include <unordered_map>

#include "plan/denied.h"
#include "plan/witness.h"

namespace lockkeeper::plan {
namespace {

bool locks(const Job& job, const key::Resource& resource) {
  return std::ranges::find(job.locks, resource) != job.locks.end();
}

// What one of them may not write. A lock counts even where it is denied.
std::vector<key::Resource> denied(const Job& a, const Job& b, const Shared& shared) {
  std::vector<key::Resource> all;
  if (!a.denies.empty() && !locks(a, shared.a)) all = a.denies;
  if (!b.denies.empty() && !locks(b, shared.b)) {
    all.insert(all.end(), b.denies.begin(), b.denies.end());
  }
  return all;
}

// Something that both may write and neither is denied.
std::optional<std::string> left(const Job& a, const Job& b, const Shared& shared) {
  return left_of(shared.a, shared.b, shared.witness, denied(a, b, shared));
}

class Finder {
 public:
  Finder(const Plan& plan, const Graph& needs)
      : plan_(plan), closure_(needs), met_(plan.jobs.size() * plan.jobs.size() / 64 + 1, 0) {
    result_.others.resize(plan.jobs.size());
  }

  Result<ConflictGraph> run(ConflictOptions options) {
    LK_CHECK(search(Cause::kLocks));
    result_.by_locks = result_.pairs;
    locks_met_ = met_;
    if (!options.locks_only) LK_CHECK(search(Cause::kScopes));
    if (full_) return too_many();
    std::ranges::sort(result_.listed, {},
                      [](const Conflict& conflict) { return std::pair(conflict.a, conflict.b); });
    for (std::vector<std::size_t>& others : result_.others) std::ranges::sort(others);
    return std::move(result_);
  }

 private:
  std::size_t bit(std::size_t a, std::size_t b) const {
    return std::min(a, b) * plan_.jobs.size() + std::max(a, b);
  }
  static bool has(const std::vector<std::uint64_t>& set, std::size_t at) {
    return (set[at / 64] >> (at % 64) & 1) != 0;
  }

  Result<void> search(Cause cause) {
    std::vector<Want> wants;
    for (std::uint32_t i = 0; i < plan_.jobs.size(); ++i) {
      const Job& job = plan_.jobs[i];
      for (const key::Resource& each : cause == Cause::kLocks ? job.locks : job.writes) {
        wants.push_back({each, i, 0});
      }
    }
    // A pair that is known needs no further search: everybody may conflict with everybody.
    const auto apart = [&](std::uint32_t a, std::uint32_t b) {
      const std::size_t at = bit(a, b);
      if (!has(met_, at)) return closure_.ordered(a, b);
      return result_.pairs > kConflictsListed || (cause == Cause::kScopes && has(locks_met_, at));
    };
    return find_overlaps(wants, apart, [&](const Overlap& overlap) {
      add(cause, overlap);
      return !full_;
    });
  }

  void add(Cause cause, const Overlap& overlap) {
    const std::size_t a = overlap.a->package;
    const std::size_t b = overlap.b->package;
    Shared shared{overlap.a->resource, overlap.b->resource, overlap.witness};
    if (cause == Cause::kScopes) {
      const auto witness = left(plan_.jobs[a], plan_.jobs[b], shared);
      if (!witness) return;
      shared.witness = *witness;
    }
    const std::size_t at = bit(a, b);
    if (has(met_, at)) {
      const auto known = numbers_.find(at);
      if (known == numbers_.end()) return;
      std::vector<Shared>& list = result_.listed[known->second].shared;
      if (list.size() < kOverlapsOfConflict) list.push_back(std::move(shared));
      return;
    }
    full_ = result_.pairs == kConflictPairs;
    if (full_) {
      at_ = overlap.witness;
      return;
    }
    met_[at / 64] |= std::uint64_t{1} << (at % 64);
    ++result_.pairs;
    result_.others[a].push_back(b);
    result_.others[b].push_back(a);
    if (result_.listed.size() == kConflictsListed) return;
    numbers_.emplace(at, result_.listed.size());
    result_.listed.push_back({a, b, cause, {std::move(shared)}});
  }

  std::unexpected<Error> too_many() const {
    return fail(Code::kLimitExceeded,
                "more than " + std::to_string(kConflictPairs) + " pairs among the plan's " +
                    std::to_string(plan_.jobs.size()) + " packages conflict, for example over '" +
                    at_ + "'",
                "let packages depend on each other, or split the plan");
  }

  const Plan& plan_;
  const Closure closure_;
  std::vector<std::uint64_t> met_, locks_met_;            // pairs
  std::unordered_map<std::size_t, std::size_t> numbers_;  // pair to its place in listed
  ConflictGraph result_;
  bool full_ = false;
  std::string at_;
};

// `writing`: compares what they may write, without what one of them is denied.
Result<std::optional<Shared>> first_shared(const Job& a, const Job& b, bool writing) {
  for (const key::Resource& of_a : writing ? a.writes : a.locks) {
    for (const key::Resource& of_b : writing ? b.writes : b.locks) {
      LK_ASSIGN(std::optional<std::string> witness, key::overlap(of_a, of_b));
      if (!witness) continue;
      Shared shared{of_a, of_b, std::move(*witness)};
      if (!writing) return shared;
      witness = left(a, b, shared);
      if (!witness) continue;
      shared.witness = *witness;
      return shared;
    }
  }
  return std::nullopt;
}

}  // namespace

Graph needs_of(const Plan& plan) {
  std::vector<std::vector<std::size_t>> needs;
  for (const Job& job : plan.jobs) needs.push_back(job.needs);
  return Graph(needs);
}

Result<ConflictGraph> find_conflicts(const Plan& plan, const Graph& needs,
                                     ConflictOptions options) {
  return Finder(plan, needs).run(options);
}

void name_existing(const Plan& plan, const Children& children, ConflictGraph& graph) {
  WitnessFinder witnesses(children);
  for (Conflict& conflict : graph.listed) {
    for (Shared& shared : conflict.shared) {
      Witness found = witnesses.find(shared.a, shared.b, shared.witness,
                                     denied(plan.jobs[conflict.a], plan.jobs[conflict.b], shared));
      shared.witness = std::move(found.name);
      shared.made_up = found.made_up;
      shared.witness_exists = found.exists;
    }
  }
}

Result<std::optional<Shared>> meeting_of(const Job& a, const Job& b, ConflictOptions options) {
  LK_ASSIGN(std::optional<Shared> both_lock, first_shared(a, b, false));
  if (both_lock || options.locks_only) return both_lock;
  return first_shared(a, b, true);
}

}  // namespace lockkeeper::plan
