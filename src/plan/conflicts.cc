#include "plan/conflicts.h"

#include <algorithm>
#include <unordered_map>

namespace lockkeeper::plan {
namespace {

// May neither of the two write what they seem to share, because it is denied to one?
bool denied(const Job& a, const key::Resource& of_a, const Job& b, const key::Resource& of_b) {
  const auto covers_either = [&](const key::Resource& deny) {
    return key::covers(deny, of_a) || key::covers(deny, of_b);
  };
  return std::ranges::any_of(a.denies, covers_either) ||
         std::ranges::any_of(b.denies, covers_either);
}

class Finder {
 public:
  Finder(const Plan& plan, const Graph& needs)
      : plan_(plan), closure_(needs), met_(plan.jobs.size() * plan.jobs.size() / 64 + 1, 0) {
    result_.others.resize(plan.jobs.size());
  }

  Result<ConflictGraph> run(ConflictOptions options) {
    LK_CHECK(look(Cause::kLocks));
    result_.by_locks = result_.pairs;
    locks_met_ = met_;
    if (!options.locks_only) LK_CHECK(look(Cause::kScopes));
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

  Result<void> look(Cause cause) {
    std::vector<Want> wants;
    for (std::uint32_t i = 0; i < plan_.jobs.size(); ++i) {
      const Job& job = plan_.jobs[i];
      for (const key::Resource& each : cause == Cause::kLocks ? job.locks : job.writes) {
        wants.push_back({each, i, 0});
      }
    }
    // Once a pair is told, more of it is not looked for: everybody may conflict with everybody.
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
    if (cause == Cause::kScopes && denied(plan_.jobs[a], shared.a, plan_.jobs[b], shared.b)) {
      return;
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
                "more than " + std::to_string(kConflictPairs) + " pairs of the plan's " +
                    std::to_string(plan_.jobs.size()) + " packages conflict, the last at '" + at_ +
                    "'",
                "make them depend on one another, or divide the plan");
  }

  const Plan& plan_;
  const Closure closure_;
  std::vector<std::uint64_t> met_, locks_met_;            // pairs
  std::unordered_map<std::size_t, std::size_t> numbers_;  // pair to its place in listed
  ConflictGraph result_;
  bool full_ = false;
  std::string at_;
};

Result<std::optional<Shared>> first_shared(const std::vector<key::Resource>& a,
                                           const std::vector<key::Resource>& b,
                                           const std::function<bool(const Shared&)>& passed_over) {
  for (const key::Resource& of_a : a) {
    for (const key::Resource& of_b : b) {
      LK_ASSIGN(std::optional<std::string> witness, key::overlap(of_a, of_b));
      if (!witness) continue;
      Shared shared{of_a, of_b, std::move(*witness)};
      if (!passed_over(shared)) return shared;
    }
  }
  return std::nullopt;
}

}  // namespace

Graph needs_of(const Plan& plan) {
  Graph graph(plan.jobs.size());
  for (std::size_t i = 0; i < plan.jobs.size(); ++i) {
    for (const std::size_t need : plan.jobs[i].needs) graph.add(i, need);
  }
  return graph;
}

Result<ConflictGraph> find_conflicts(const Plan& plan, const Graph& needs,
                                     ConflictOptions options) {
  return Finder(plan, needs).run(options);
}

Result<std::optional<Meeting>> meeting_of(const Job& a, const Job& b, ConflictOptions options) {
  LK_ASSIGN(std::optional<Shared> locks,
            first_shared(a.locks, b.locks, [](const Shared&) { return false; }));
  if (locks) return Meeting{Cause::kLocks, std::move(*locks)};
  if (options.locks_only) return std::nullopt;
  LK_ASSIGN(std::optional<Shared> writes, first_shared(a.writes, b.writes, [&](const Shared& s) {
              return denied(a, s.a, b, s.b);
            }));
  if (writes) return Meeting{Cause::kScopes, std::move(*writes)};
  return std::nullopt;
}

}  // namespace lockkeeper::plan
