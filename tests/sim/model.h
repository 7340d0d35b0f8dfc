// The lock table as a sequential specification: plain maps, brute force, no index, no rows. It says
// what is the case (who holds what, who waits, who is over) and answers the questions of the
// grant rules by looking at everything. What may happen is judged in judge.h.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/table.h"
#include "world.h"

namespace lockkeeper::sim {

using OwnerKey = std::pair<std::string, std::string>;
inline OwnerKey key_of(const core::Owner& owner) {
  return {owner.agent, owner.session};
}

struct Want {
  int resource;
  core::Mode mode;
  auto operator<=>(const Want&) const = default;
};

// A lease, or a request that waits.
struct Entry {
  core::LeaseId id;
  core::Owner owner;
  std::vector<Want> wants;  // sorted, each resource once
  std::int64_t ttl_ms = 0;
  std::int64_t deadline = kNoEnd;
  std::vector<core::Attachment> holds;
  core::Attachment then;
  std::int64_t grace_ms = 0;
  std::optional<std::int64_t> orphaned_at;
  std::int64_t confirm_by = 0;
  bool rebooted = false;  // bound to processes of an earlier boot
  bool carried = false;   // detached, and given its full length again by a reboot
  core::LeaseId parent;
  std::uint64_t fence = 0;
  kv::Version created = 0;
  std::string request_id;
  std::uint64_t wake = 0;
  std::string worktree;
  std::optional<core::Edit> edit;
  std::optional<core::Edit> edit_or;  // or this, if a report took several commits
  bool attached() const;              // by processes alone
};

// Something in the way of a request.
struct Block {
  core::LeaseId id;
  bool waiting;
  int wanted;
  int held;
  auto operator<=>(const Block&) const = default;
};

class Model {
 public:
  Model(const World& world, const Processes& processes) : world_(world), processes_(processes) {}

  const World& world() const { return world_; }
  const Processes& processes() const { return processes_; }

  std::map<core::LeaseId, Entry> leases;
  std::map<core::LeaseId, Entry> waiters;
  std::int64_t now = 0;
  std::int64_t store_ms = 0;  // the store's own clock, by which rows vanish; no reboot sets it back
  kv::Epoch epoch;
  std::map<OwnerKey, core::Activity> activities;

  // Attached leases and waiters are over; detached leases get their full length again (rule 9).
  void reboot(const kv::Epoch& next);

  // Why it counts for nobody any more, as `view` sees it; empty: it does count.
  std::string over_lease(const Entry& lease, const core::Prober& view) const;
  std::string over_waiter(const Entry& waiter, const core::Prober& view) const;

  // Of all who keep it, the one that is best off.
  core::Alive seen(const Entry& entry, const core::Prober& view) const;
  bool dead(const Entry& entry) const;  // really, whoever sees it
  // Its processes are gone, as seen now or recorded before.
  bool is_orphan(const Entry& lease, const core::Prober& view) const;

  // Rule 16: an edit that gives way to whoever asks. It must not be over.
  bool yields(const Entry& lease) const;
  // To this request: not if what is on its own side lies in it.
  bool yields_to(const Entry& request, const Entry& lease, const core::Prober& view) const;
  // Is everything in the way such an edit?
  bool gives_way(const Entry& request, const std::set<Block>& blocks,
                 const core::Prober& view) const;

  static bool meet(const Entry& a, const Entry& b);  // rule 15
  bool conflict(const Entry& a, const Entry& b) const;
  bool on_side(const Entry& request, const Entry& lease) const;
  bool descends(const Entry& entry, const core::LeaseId& ancestor) const;
  std::size_t depth(const Entry& lease) const;  // 1, if it lies in no other
  // May these two be held at once although they conflict?
  bool may_both_hold(const Entry& a, const Entry& b) const;

  // Everything in the way of the request by rule 2: leases of others, and waiters created before
  // `before` (0: all) except those that wait for what is on its own side. What is over counts too.
  std::set<Block> blocks(const Entry& request, kv::Version before, const core::Prober& view) const;
  std::set<Block> without_over(const std::set<Block>& blocks, const core::Prober& view) const;

  // Whom the owner waits for: by its waiters, by those of its session's parts and by those that
  // wait under its leases.
  std::set<OwnerKey> waits_for(const OwnerKey& owner, const core::Prober& view) const;
  // The owner of the request and of the leases it works under.
  std::vector<core::Owner> owners_behind(const Entry& request) const;
  // Does the request wait for this owner's sake: its own, its host's, or a part of one's session?
  bool for_sake_of(const Entry& request, const OwnerKey& owner) const;
  // Is a lease of its owner, or of a session that this is a part of, inside this one?
  bool works_under(const Entry& request, const core::LeaseId& host, const core::Prober& view) const;
  // Would the request, waiting for `blocks`, wait for itself?
  bool closes_cycle(const Entry& request, const std::set<Block>& blocks,
                    const core::Prober& view) const;

  // The waiters that wait for themselves, as things stand.
  std::vector<core::LeaseId> waiters_in_cycles(const core::Prober& view) const;

  // Held and waited for.
  std::size_t claims_of_agent(const std::string& agent) const;
  std::size_t claims_of(const core::Owner& owner) const;

 private:
  const Entry* lease(const core::LeaseId& id) const;
  std::set<OwnerKey> owners_of(const Entry& request, const std::set<Block>& blocks,
                               const core::Prober& view) const;

  const World& world_;
  const Processes& processes_;
};

}  // namespace lockkeeper::sim
