// One step taking effect on a state: what spec.h's apply() tries.
#pragma once

#include <algorithm>
#include <set>

#include "linear/spec.h"

namespace lockkeeper::linear {

// One step that takes effect on a copy of a state. Its methods say whether that is possible.
class Move {
 public:
  // `other_way`: of a request that waits and had no answer, that it left the queue; of a break,
  // that it met what was handed over and never taken.
  Move(const Part& part, State& state, const Step& step, std::int64_t latest,
       bool other_way = false)
      : part_(part),
        s_(state),
        step_(step),
        told_(step.call->told),
        latest_(latest),
        other_way_(other_way) {}

  bool happen();
  bool decided() const { return decided_; }

  // Ends it as nature does: on its own, unseen, on record only when somebody looks.
  bool end_over(const core::LeaseId& id);

  // Before this step, and before the lease that lets it pass another came to its end, the waiter
  // was handed what it waits for, unseen.
  bool serve_before(const core::LeaseId& waiter, const core::LeaseId& lease);

 private:
  bool unanswered() const { return step_.optional; }
  bool is(const char* word) const { return told_.word == word; }
  bool is_or_unanswered(const char* word) const { return unanswered() || is(word); }

  bool finish(bool possible);
  void forget_formers();
  std::set<std::string> owners_of(const std::set<sim::Block>& blocks) const;

  // --- acquire ---

  bool ask();
  bool were_lost();
  void clear_away_formers();
  bool is_alike(const core::LeaseId& id) const;
  bool get();
  bool issue(std::uint64_t fence);
  bool grant(sim::Entry entry);
  bool hand_over_before(std::uint64_t fence);
  bool hand_over_late(const core::LeaseId& id);
  bool hand_over(const core::LeaseId& id);
  bool hand_off();

  // --- lengths ---

  bool begin_length(const core::LeaseId& id);
  bool ends_after(Life& life, std::int64_t ttl_ms);
  bool extend(const core::LeaseId& id);

  // --- giving back, keeping, breaking ---

  void remember_end(const core::LeaseId& id, bool lost);
  void end(const core::LeaseId& id, bool lost);
  auto ghost(const core::LeaseId& id) { return std::ranges::find(s_.ghosts, id, &sim::Entry::id); }
  void look_at_ghosts(const sim::Entry& entry);
  bool release_lease();
  bool ended_before(const core::LeaseId& id);
  bool hand_over_unseen(int resource);
  bool release_ghosts(int resource);
  bool release_key();
  bool renew();
  bool hand_over_to_be_broken(int resource);
  bool break_key();
  bool covers(const sim::Entry& held, const sim::Want& want) const;
  bool check() const;

  const Part& part_;
  State& s_;
  const Step& step_;
  const Told& told_;
  const std::int64_t latest_;
  const bool other_way_;
  std::uint64_t issued_ = 0;
  std::int64_t by_time_ = 0;  // the end of what ended in this step, by its length alone
  bool decided_ = false;
  std::set<core::LeaseId> handing_over_;
};

}  // namespace lockkeeper::linear
