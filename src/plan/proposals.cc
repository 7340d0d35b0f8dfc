#include "plan/proposals.h"

#include <algorithm>

namespace lockkeeper::plan {
namespace {

using Kind = Resolution::Kind;
using Resources = std::vector<key::Resource>;

// Resources compared while plans are analysed again, for all gains together.
constexpr std::size_t kGainWork = 400'000;
constexpr std::size_t kGainSteps = 50'000;  // of the search for the fewest rounds, for each gain

bool has(const Resources& all, const key::Resource& one) {
  return std::ranges::find(all, one) != all.end();
}

Resources without(const Resources& all, const Resources& less) {
  Resources rest;
  for (const key::Resource& each : all) {
    if (!has(less, each)) rest.push_back(each);
  }
  return rest;
}

class Proposer {
 public:
  Proposer(const Plan& plan, const Analysis& analysis, const ProposeOptions& options)
      : plan_(plan), analysis_(analysis), options_(options) {
    for (const Job& job : plan.jobs) size_ += job.locks.size() + job.writes.size() + 1;
    size_ += analysis.conflicts.pairs / 4;
  }

  Result<Proposals> run() {
    const std::size_t count = std::min(kConflictsResolved, analysis_.conflicts.listed.size());
    for (std::size_t i = 0; i < count; ++i) {
      at_ = i;
      LK_CHECK(conflict(analysis_.conflicts.listed[i]));
    }
    result_.conflicts_left = analysis_.conflicts.pairs - count;
    return std::move(result_);
  }

 private:
  // What the job wants that matters for conflicts.
  Scope scope_of(std::size_t job) const {
    const Job& each = plan_.jobs[job];
    Scope scope{each.id, each.locks, each.description};
    if (options_.analysis.conflicts.locks_only) return scope;
    for (const key::Resource& write : each.writes) {
      if (!has(scope.resources, write)) scope.resources.push_back(write);
    }
    return scope;
  }

  Result<void> conflict(const Conflict& conflict) {
    LK_CHECK(sequential(conflict));
    // The later job in the file is the asker, the other one the holder.
    const std::vector<Scope> holders = {scope_of(conflict.a)};
    const Scope asker = scope_of(conflict.b);
    LK_ASSIGN(const std::vector<Resolution> found,
              resolutions_for(asker, holders, options_.keys, options_.children));
    for (const Resolution& resolution : found) {
      if (resolution.kind == Kind::kSequential) continue;
      if (resolution.kind == Kind::kMerge) {
        LK_CHECK(deny(conflict));
        LK_CHECK(merge(conflict, resolution));
        continue;
      }
      LK_CHECK(rescope(conflict, asker, holders.front(), resolution));
    }
    return {};
  }

  // The better of two orders. Neither makes a cycle: the two do not wait for each other yet.
  Result<void> sequential(const Conflict& conflict) {
    Proposal best;
    for (const auto& [later, earlier] :
         {std::pair(conflict.b, conflict.a), std::pair(conflict.a, conflict.b)}) {
      Proposal proposal;
      proposal.resolution.order = {{plan_.jobs[later].id, plan_.jobs[earlier].id}};
      proposal.change.order = Change::Order{later, earlier};
      LK_CHECK(gain(proposal));
      const auto worse = [](const Cost& a, const Cost& b) {
        return std::pair(a.minutes, a.rounds) > std::pair(b.minutes, b.rounds);
      };
      const bool first = !best.change.order.has_value();
      if (first || (best.after && proposal.after && worse(*best.after, *proposal.after))) {
        best = std::move(proposal);
      }
      if (!best.after) break;
    }
    add(std::move(best));
    return {};
  }

  Change::Scope difference(std::size_t job, const Resources& before, const Resources& after) const {
    const Job& each = plan_.jobs[job];
    Change::Scope change;
    change.job = job;
    change.remove = without(before, after);
    const bool locked = plan_.form == Form::kScopes ||
                        std::ranges::any_of(change.remove, [&](const key::Resource& removed) {
                          return has(each.locks, removed);
                        });
    for (const key::Resource& fresh : without(after, before)) {
      change.add.push_back({fresh, locked || !fresh.is_path()});
    }
    return change;
  }

  Result<void> rescope(const Conflict& conflict, const Scope& asker, const Scope& holder,
                       const Resolution& resolution) {
    // Without parts it is the same as `reassign`.
    if (resolution.kind == Kind::kSplit && resolution.parts.empty()) return {};
    Proposal proposal;
    proposal.resolution = resolution;
    for (const auto& [job, before, after] :
         {std::tuple(conflict.b, &asker, &resolution.scopes[0]),
          std::tuple(conflict.a, &holder, &resolution.scopes[1])}) {
      Change::Scope change = difference(job, before->resources, after->resources);
      if (!change.remove.empty() || !change.add.empty()) {
        proposal.change.scopes.push_back(std::move(change));
      }
    }
    return offer(conflict, std::move(proposal));
  }

  // Denies a job with a wide folder or pattern the part that the other has. Only work packages can
  // say so, and only if no lock is affected.
  Result<void> deny(const Conflict& conflict) {
    if (plan_.form != Form::kWorkPackages || conflict.cause != Cause::kScopes) return {};
    Change::Scope of_a{conflict.a, {}, {}, {}}, of_b{conflict.b, {}, {}, {}};
    const Job& a = plan_.jobs[conflict.a];
    const Job& b = plan_.jobs[conflict.b];
    Proposal proposal;
    proposal.resolution.kind = Kind::kSplit;
    for (const key::Resource& wide : a.writes) {
      for (const key::Resource& other : b.writes) {
        LK_ASSIGN(const std::optional<std::string> witness, key::overlap(wide, other));
        if (!witness || wide == other) continue;
        const bool a_is_wider = !key::covers(other, wide);
        Change::Scope& side = a_is_wider ? of_a : of_b;
        const key::Resource& inner = a_is_wider ? other : wide;
        leave_out(side, proposal.resolution.excepts,
                  {a_is_wider ? wide : other, inner, (a_is_wider ? a : b).id});
      }
    }
    for (Change::Scope* const side : {&of_a, &of_b}) {
      if (side->deny.empty()) continue;
      LK_ASSIGN(const bool own, denies_own(plan_.jobs[side->job], side->deny));
      if (own) return {};
      proposal.change.scopes.push_back(std::move(*side));
    }
    if (proposal.change.scopes.empty()) return {};
    return offer(conflict, std::move(proposal));
  }

  // Drops what another one covers.
  static void leave_out(Change::Scope& side, std::vector<Resolution::Except>& excepts,
                        const Resolution::Except& except) {
    const key::Resource& inner = except.without;
    if (key::covered_by_any(inner, side.deny)) return;
    std::erase_if(side.deny, [&](const key::Resource& known) { return key::covers(inner, known); });
    std::erase_if(excepts, [&](const Resolution::Except& known) {
      return known.agent == except.agent && key::covers(inner, known.without);
    });
    side.deny.push_back(inner);
    excepts.push_back(except);
  }

  // Would the job be denied a lock, or everything it writes?
  static Result<bool> denies_own(const Job& job, const Resources& denies) {
    for (const key::Resource& deny : denies) {
      for (const key::Resource& lock : job.locks) {
        LK_ASSIGN(const std::optional<std::string> witness, key::overlap(deny, lock));
        if (witness) return true;
      }
    }
    return std::ranges::all_of(
        job.writes, [&](const key::Resource& write) { return key::covered_by_any(write, denies); });
  }

  // Not if only one has a command: the other gets one when the plan is run, and that would be lost.
  Result<void> merge(const Conflict& conflict, const Resolution& resolution) {
    const bool first = plan_.jobs[conflict.a].command.empty();
    if (first != plan_.jobs[conflict.b].command.empty()) return {};
    Proposal proposal;
    proposal.resolution = resolution;
    proposal.change.merge = Change::Merge{conflict.a, conflict.b};
    LK_CHECK(gain(proposal));
    add(std::move(proposal));
    return {};
  }

  // Adds it if the conflict is gone, both jobs still have work, and it is new.
  Result<void> offer(const Conflict& conflict, Proposal proposal) {
    Job a = plan_.jobs[conflict.a];
    Job b = plan_.jobs[conflict.b];
    for (const Change::Scope& scope : proposal.change.scopes) {
      Job& job = scope.job == conflict.a ? a : b;
      const bool wrote = !job.writes.empty();
      job = rescoped(std::move(job), scope);
      if (job.writes.empty() && (wrote || job.locks.empty())) return {};
      if (!may_write_its_locks(plan_.jobs[scope.job], job)) return {};
    }
    LK_ASSIGN(const std::optional<Shared> meeting, meeting_of(a, b, options_.analysis.conflicts));
    if (meeting) return {};
    for (const Proposal& other : result_.list) {
      if (other.conflict == at_ && same_result(other, proposal)) return {};
    }
    LK_CHECK(gain(proposal));
    add(std::move(proposal));
    return {};
  }

  // Is each lock that was in the job's write scope still in it? The locks themselves are part of
  // `writes` and do not count: `validate` asks what the file allows.
  static bool may_write_its_locks(const Job& before, const Job& now) {
    const auto in = [](const Resources& writes, const key::Resource& lock) {
      return std::ranges::any_of(writes, [&](const key::Resource& write) {
        return write != lock && key::covers(write, lock);
      });
    };
    return std::ranges::all_of(now.locks, [&](const key::Resource& lock) {
      return !has(before.locks, lock) || in(now.writes, lock) || !in(before.writes, lock);
    });
  }

  static bool same_result(const Proposal& one, const Proposal& other) {
    if (one.resolution.scopes.size() < 2 || other.resolution.scopes.size() < 2) return false;
    for (std::size_t i = 0; i < 2; ++i) {
      const Resources& a = one.resolution.scopes[i].resources;
      const Resources& b = other.resolution.scopes[i].resources;
      if (!without(a, b).empty() || !without(b, a).empty()) return false;
    }
    return true;
  }

  // Computes the cost by analysing the changed plan.
  Result<void> gain(Proposal& proposal) {
    if (work_ + size_ > kGainWork) return {};
    work_ += size_;
    const Plan now = changed(plan_, proposal.change);
    const Graph needs = needs_of(now);
    LK_ASSIGN(const ConflictGraph conflicts,
              find_conflicts(now, needs, options_.analysis.conflicts));
    const Waves waves = fewest_rounds(needs, conflicts.others, kGainSteps);
    proposal.after =
        cost_of(waves, timeline(needs, conflicts.others, minutes_of(now), options_.analysis.jobs));
    return {};
  }

  void add(Proposal proposal) {
    proposal.conflict = at_;
    proposal.number = result_.list.size() + 1;
    if (!proposal.after) ++result_.gains_left;
    result_.list.push_back(std::move(proposal));
  }

  const Plan& plan_;
  const Analysis& analysis_;
  const ProposeOptions& options_;
  Proposals result_;
  std::size_t at_ = 0;    // the conflict
  std::size_t size_ = 0;  // of the plan
  std::size_t work_ = 0;
};

}  // namespace

Result<Proposals> propose(const Plan& plan, const Analysis& analysis,
                          const ProposeOptions& options) {
  return Proposer(plan, analysis, options).run();
}

}  // namespace lockkeeper::plan
