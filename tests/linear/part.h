// From calls to the steps of the search: a call, or a part of one, takes effect at one moment.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "linear/history.h"
#include "linear/life.h"
#include "model.h"

namespace lockkeeper::linear {

enum class Phase {
  kWhole,  // a call that takes effect once
  kAsk,    // a call that waits, first part: granted at once, refused, or in the queue
  kGet,    // second part: takes what was handed over, or leaves the queue
  kHear,   // of a call that is told of losses: all of them have happened by now
};

// A call, or a part of one, that takes effect at one moment.
struct Step {
  const Call* call = nullptr;
  Phase phase = Phase::kWhole;
  std::int64_t invoked = 0;
  std::int64_t returned = kNever;
  bool optional = false;    // no answer was seen: it may never have happened
  std::size_t partner = 0;  // of kAsk its kGet, of kGet its kAsk
  // Of one request that was repeated and never answered: the time before that it was asked, or its
  // own place if there is none; and the first of them.
  std::size_t before = 0, first = 0;
  // What it asks for; its id is that of the lease it may be granted. Calls of one owner with one
  // request id share it: at most one of them ever has a lease, or a place in the queue.
  sim::Entry entry;
  std::size_t arguments = 0;  // what a request id stands for
  core::LeaseId named;        // the lease that it names, asking or answered; empty: none
  core::LeaseId under;
  std::vector<core::LeaseId> lost;  // of told.lost
  bool asks() const { return phase == Phase::kWhole || phase == Phase::kAsk; }
};

// Calls that have nothing to do with those of other parts: no resource of theirs overlaps, and no
// owner occurs in both.
struct Part {
  Part(const std::vector<const Call*>& calls, const History& history);
  core::Owner owner_of_lease(const core::LeaseId& id) const;
  Keeper keeper(const std::string& process) const;
  // How many leases the owner may have been granted without being told, by calls begun by then.
  std::size_t untold(const core::Owner& owner, std::int64_t by) const;
  // A lease of which nobody was told: which one it is shows when it is met (State::names).
  bool is_name(const core::LeaseId& id) const { return !id.empty() && id >= first_name_; }
  bool is_told(const core::LeaseId& id) const { return told_.contains(id); }
  bool is_repeated(const core::LeaseId& id) const { return repeated_.contains(id); }
  // The fence that somebody was told when he was granted it; 0: nobody was.
  std::uint64_t fence_of(const core::LeaseId& id) const;
  // Has a lease that somebody was told of a fence between these two?
  bool is_fence_between(std::uint64_t low, std::uint64_t high) const;
  // So nobody can have been granted it by then: what was granted is never refused again (rule 12).
  bool is_refused_after(const core::LeaseId& id, std::int64_t moment) const;

  sim::World world;
  sim::Processes nobody;    // the model is told of deaths by ending what was bound to them
  std::vector<Step> steps;  // by invocation
  std::map<core::LeaseId, std::size_t> uses;  // how many steps name a lease, or tell of its loss

 private:
  void add(const Call& call, const core::LeaseId& id);
  void name_leases(const std::vector<const Call*>& calls, const std::vector<core::LeaseId>& ids);
  core::LeaseId named(const std::string& lease) const;
  void find_partners();
  void find_repetitions();
  void find_proven();
  void find_keepers(const std::vector<const Call*>& calls);
  Death death_of(const std::string& process) const;

  const History& history_;
  std::map<std::string, core::LeaseId> names_;
  core::LeaseId first_name_;
  std::map<core::LeaseId, core::Owner> owners_;
  std::map<core::LeaseId, std::uint64_t> told_;    // somebody was told `granted`, with its fence
  std::set<std::uint64_t> fences_;                 // all of told_
  std::set<core::LeaseId> repeated_;               // several calls have its request id
  std::map<core::LeaseId, std::int64_t> refused_;  // when the last of them began that was refused
  std::map<std::string, Keeper> keepers_;
};

}  // namespace lockkeeper::linear
