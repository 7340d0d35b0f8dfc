// What doors ask about the table besides the verbs. Each is one call that changes nothing and
// creates no store. Where there is no store, nothing is held.
//
// Thread safety: free functions; safe to call from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "service/site.h"

namespace lockkeeper::service {

Result<std::optional<ListedLease>> find_lease(Site& site, const core::LeaseId& id);

// Oldest first.
Result<std::vector<ListedLease>> leases_of(Site& site, const core::Owner& owner);
// Of those: what has ended and is still on record, because nobody has asked for it since. One
// sentence each. Empty if it cannot be told.
std::vector<std::string> ended_texts(Site& site, const core::Owner& owner);

// Whoever holds one of these, exactly as named.
Result<std::vector<ListedLease>> holders_of(Site& site, std::span<const key::Resource> resources);

// A claim that overlaps what was asked for, with the live lease it belongs to.
struct OverlappingClaim {
  core::Lease lease;
  core::Claim claim;
  core::Condition condition;
  std::string witness;  // a name that both cover
};
// Each claim once, however many of `resources` it overlaps; whoever holds it.
Result<std::vector<OverlappingClaim>> overlapping_claims(Site& site,
                                                         std::span<const key::Resource> resources);

// The number of the newest event; 0: there is none.
Result<std::uint64_t> newest_event(Site& site);

// The newest ones, oldest first.
Result<std::vector<core::Event>> last_events(Site& site, std::size_t most);

// How the lease was lost, if it was not long ago; nullopt: it was not, or nobody knows any more.
Result<std::optional<core::LostLease>> find_lost(Site& site, const core::LeaseId& id);

// Why the lease with this fence is no longer current, in words; nullopt: it is current.
struct LeaseAndFence {
  core::LeaseId id;
  std::uint64_t fence = 0;
};
Result<std::vector<std::optional<std::string>>> how_they_ended(
    Site& site, std::span<const LeaseAndFence> leases);

}  // namespace lockkeeper::service
