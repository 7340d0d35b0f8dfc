// The judge follows the table with the model: each committed transaction comes with the operation,
// its answer and the events it appended. Every event must be legal in the model at that moment
// (I1, I3, I5, I6, I11, L4), every answer true of it (I8, I9), and what the table keeps in its rows
// must be what the model says (I2, I5). Anything else is a Violation.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model.h"
#include "op.h"

namespace lockkeeper::sim {

using Probes = std::map<std::string, std::uint64_t>;  // how often each rare thing was seen

class Judge {
 public:
  Judge(Model& model, const core::Limits& limits, bool budgeted, Probes& probes)
      : model_(model), limits_(limits), budgeted_(budgeted), probes_(probes) {}

  void committed(const Done& done);
  // The operation ended in an error; nothing was committed.
  void refused(const Op& op, const Error& error, const core::Prober& view, bool strict);
  void refused(const TooLarge& what);
  void reboot(const kv::Epoch& epoch);
  void recreated(const kv::Epoch& epoch, const std::vector<core::Event>& events);

  // L5, after each commit: of the waiters in a cycle one must be about to look for it. Those in
  // `looking` do so on their own, others are woken, or see the end of what is before them.
  void check_cycles(const std::set<core::LeaseId>& looking, const core::Prober& view);
  // The rows of a lease and of a waiter, as decoded, against the model.
  void compare(const core::Lease& lease) const;
  void compare(const core::Waiter& waiter) const;
  static std::string describe(const Op& op);
  static std::string describe(const Entry& entry, const World& world);

 private:
  struct Known {
    std::string arguments;
    core::LeaseId lease;
    std::optional<std::int64_t> forget_after;
    bool renewal = false;  // it was answered `renewed`
  };
  struct Lost {
    core::Owner owner;
    std::optional<core::Owner> whole;  // what the owner is a part of is told, too
    bool told = false;
    bool told_whole = false;
    std::int64_t forget_after = 0;
    std::int64_t vanishes_ms = 0;  // its row may be gone then, on the store's clock
  };
  using RequestKey = std::pair<OwnerKey, std::string>;
  [[noreturn]] void fail(const std::string& what) const;
  void require(bool holds, const char* what) const {
    if (!holds) fail(what);
  }

  // What happened: judge_events.cc.
  void before_events(const Done& done);
  void note_looking(const Done& done);
  void happened(const Done& done, const core::Event& event);
  void granted(const Done& done, const core::Event& event);
  void granted_to_waiter(const Done& done, const core::Event& event);
  void check_grant(const Done& done, const Entry& entry, kv::Version before) const;
  void check_fence(const Done& done, const core::Event& event);
  void queued(const Done& done, const core::Event& event);
  void released(const Done& done, const core::Event& event);
  void ended(const core::Event& event);
  void broken(const Done& done, const core::Event& event);
  void orphaned(const core::Event& event);
  void cancelled(const Done& done, const core::Event& event);
  void refusal(const Done& done, const core::Event& event) const;
  void remove_lease(const core::LeaseId& id, bool lost);
  void after_events(const Done& done);
  void renewed(const Done& done, const core::Lease& lease);
  void confirmed(const core::LeaseId& id);
  void joined(const Op& op, const core::Lease& lease);
  void let_go(const Op& op, const core::ReleaseReply& reply);
  // Edits: judge_edits.cc.
  void note_activity(const core::ReportRequest& report);
  void reported(const Done& done);
  void settle_edits(const core::ReportRequest& report, bool again);
  void released_by_report(const Done& done, const core::Event& event);
  void passed_on(const Done& done, const core::Event& event);
  void yielded(const core::Event& event, const Entry& lease);
  void check_yielded(const Done& done) const;
  void begun(const core::Owner& owner, const std::vector<std::string>& calls,
             const std::string& worktree);
  core::ReportRequest report_of(const Op& op, const core::Owner& owner) const;
  void note_lost(const core::LeaseId& id, const core::Owner& owner);

  // What was answered: judge_answers.cc.
  void check_answer(const Done& done);
  void check_acquire(const Done& done, const core::AcquireReply& reply);
  void check_replay(const Op& op, const core::AcquireReply& reply);
  void check_conflicts(const Done& done, const Entry& request, kv::Version before,
                       const core::AcquireReply& reply) const;
  void check_cycle(const Done& done, const Entry& request, const core::AcquireReply& reply) const;
  void check_check(const Done& done, const core::CheckReply& reply) const;
  void check_notices(const Done& done, const std::vector<core::LostLease>& notices);
  void expect_release(const Done& done, const core::ReleaseReply& reply) const;
  void refused_acquire(const Op& op, const Error& error, const core::Prober& view) const;

  bool lies_in_dead(const Entry& entry) const;
  bool may_be_lost(const core::LeaseId& id, const core::Prober& view) const;
  Entry entry_of(const Op& op, const core::Lease& lease) const;
  void check_parent(const Op& op, const Entry& entry, const core::Prober& view) const;
  Entry& lease_at(const core::LeaseId& id);
  std::vector<Want> wants_of(const std::vector<core::Claim>& claims) const;
  std::string arguments_of(const core::AcquireRequest& request) const;
  void remember(const Op& op, const core::LeaseId& id, bool renewal = false);
  void check_quota(const core::Owner& owner, bool sure) const;
  bool is_sure(const Done& done) const { return done.strict && (done.alone || !budgeted_); }
  bool is_mine(const Entry& request, const Want& want, const core::Prober& view) const;
  void probe(const char* name) const { ++probes_[name]; }

  Model& model_;
  const core::Limits limits_;
  const bool budgeted_;
  Probes& probes_;
  const Op* current_ = nullptr;
  std::uint64_t highest_fence_ = 0;
  kv::Version highest_fence_at_ = 0;
  std::map<RequestKey, Known> known_;
  std::map<core::LeaseId, Lost> lost_;
  std::map<core::LeaseId, std::uint64_t> woken_;        // handoffs of this commit, and their words
  std::map<core::LeaseId, kv::Version> about_to_look_;  // woken then, and has not polled since
  std::vector<std::pair<Entry, core::Owner>> yielded_;  // in this commit, and to whom
};

}  // namespace lockkeeper::sim
