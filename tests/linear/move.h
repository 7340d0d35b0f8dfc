// One step taking effect on a state: what spec.h's apply() tries.
#pragma once

#include <algorithm>
#include <optional>
#include <set>

#include "linear/choices.h"
#include "linear/spec.h"

namespace lockkeeper::linear {

// Whoever is over has been taken out of the model; the rest lives.
class AllAlive final : public core::Prober {
 public:
  core::Alive probe(const core::Attachment&) const override { return core::Alive::kAlive; }
};
inline const AllAlive kAlive;

// One step that takes effect on a copy of a state. Its methods say whether that is possible.
class Move {
 public:
  Move(const Part& part, State& state, const Step& step, std::int64_t latest, Choices& choices)
      : part_(part),
        s_(state),
        step_(step),
        asked_(step.call->asked),
        told_(step.call->told),
        latest_(latest),
        choices_(choices) {}

  // Things that end by themselves are ended before.
  bool happen();
  bool decided() const { return decided_; }
  std::uint64_t issued() const { return issued_; }
  const std::set<core::LeaseId>& granted() const { return granted_; }
  // Whoever was served before it, with this fence, may have been so by its own commit.
  void share_commit(std::uint64_t fence, const std::set<core::LeaseId>& served) {
    shared_ = fence;
    served_ = served;
  }
  // Ends it as nature does: on its own, unseen, on record only when somebody looks.
  bool end_over(const core::LeaseId& id);
  // Its processes are found dead, and its grace runs.
  bool orphan(const core::LeaseId& id);

  // Before this step, and before the lease that lets it pass another (or its own process) came to
  // its end, the waiter was handed what it waits for, unseen.
  bool serve_before(const core::LeaseId& waiter, const core::LeaseId& lender);
  bool serve(const core::LeaseId& waiter);

 private:
  bool unanswered() const { return !step_.call->answered() || is("unknown"); }
  bool is(const char* word) const { return told_.word == word; }
  bool is_or_unanswered(const char* word) const { return unanswered() || is(word); }

  bool finish(bool possible);
  void forget_formers();
  void end_over_below(const core::LeaseId& parent, std::int64_t gone_by);
  void leave_unseen(const core::LeaseId& id, std::int64_t gone_by);
  std::set<std::string> owners_of(const std::set<sim::Block>& blocks) const;
  core::LeaseId named() const { return s_.real(part_, step_.named); }

  // --- acquire ---
  bool ask();
  bool may_present();
  void let_in(sim::Entry& entry);
  std::optional<bool> renew_alike();
  bool queue(sim::Entry waiter);
  void wait_in(Life& life) const;
  bool were_lost();
  void meet(const sim::Entry& entry, const std::set<sim::Block>& blocks);
  bool get();
  bool issue(std::uint64_t fence);
  bool grant(sim::Entry entry);
  bool hand_over_before(std::uint64_t fence);
  bool hand_over_late(const core::LeaseId& id);
  std::vector<core::LeaseId> ends_of(const core::LeaseId& id) const;
  bool hand_over(const core::LeaseId& id);
  bool hand_off();
  void leave_queue(const core::LeaseId& id);

  // --- repeating (replay.cc) ---
  void remember_request(const core::LeaseId& lease);
  std::optional<bool> replay();
  bool replay_lease(const core::LeaseId& id);
  bool resume(const core::LeaseId& id);
  bool awaken(const Sleeper& sleeper);

  // --- keeping (keep.cc) ---
  bool recognize(const core::LeaseId& id);
  bool begin_length(const core::LeaseId& id);
  bool ends_after(Life& life, std::int64_t ttl_ms);
  bool ends_as_told(Life& life) const;
  void confirm(const core::LeaseId& id);
  bool may_reclaim(const core::LeaseId& id) const;
  void join(Life& life);
  bool extend(const core::LeaseId& id, std::int64_t ttl_ms);
  bool renew_by_asking(const core::LeaseId& id);

  // --- giving back, renewing, breaking, checking (give.cc) ---
  void remember_end(const core::LeaseId& id, Gone how);
  void end(const core::LeaseId& id, Gone how);
  Gone released(const Life& life) const;
  auto ghost(const core::LeaseId& id) { return std::ranges::find(s_.ghosts, id, &sim::Entry::id); }
  bool overlap(const sim::Entry& a, const sim::Entry& b) const;
  void look_at_ghosts(const sim::Entry& entry, bool handed);
  bool release_lease();
  bool give_back(const core::LeaseId& id);
  bool release_ghost(const core::LeaseId& id);
  bool ended_before(const core::LeaseId& id);
  bool hand_over_unseen(int resource);
  bool release_ghosts(int resource);
  bool release_key();
  bool renew();
  bool hand_over_to_be_broken(int resource);
  bool break_key();
  bool covers(const sim::Entry& held, const sim::Want& want) const;
  bool is_current(const sim::Entry& entry) const;
  bool check();

  const Part& part_;
  State& s_;
  const Step& step_;
  const Asked& asked_;
  const Told& told_;
  const std::int64_t latest_;
  Choices& choices_;
  std::uint64_t issued_ = 0;
  std::uint64_t shared_ = 0;
  std::int64_t by_time_ = 0;  // the end of what ended in this step, by its length alone
  bool decided_ = false;
  std::set<core::LeaseId> handing_over_;
  std::set<core::LeaseId> granted_;  // in this step
  std::set<core::LeaseId> served_;   // before it, perhaps by its commit
};

}  // namespace lockkeeper::linear
