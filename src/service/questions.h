// What doors ask about the table besides the verbs. Each call is one look; none changes anything
// or creates a store. Where there is no store, nothing is held.
//
// Thread safety: free functions; safe to call from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "service/commands.h"

namespace lockkeeper::layout {
class LockTable;
}

namespace lockkeeper::service {

Result<std::optional<ListedLease>> find_lease(layout::LockTable& table, const core::LeaseId& id);

// Oldest first.
Result<std::vector<ListedLease>> leases_of(layout::LockTable& table, const core::Owner& owner);

// Whoever holds one of these, exactly as named.
Result<std::vector<ListedLease>> holders_of(layout::LockTable& table,
                                            std::span<const key::Resource> resources);

// A claim that overlaps what was asked for, with the live lease it belongs to.
struct OverlappingClaim {
  core::Lease lease;
  core::Claim claim;
};
// Each claim once, however many of `resources` it overlaps; whoever holds it.
Result<std::vector<OverlappingClaim>> overlapping_claims(layout::LockTable& table,
                                                         std::span<const key::Resource> resources);

// The number of the newest event; 0: there is none.
Result<std::uint64_t> newest_event(layout::LockTable& table);

// The newest ones, oldest first.
Result<std::vector<core::Event>> last_events(layout::LockTable& table, std::size_t most);

// Why the lease with this fence is no longer current, in words; nullopt: it is current.
struct LeaseAndFence {
  core::LeaseId id;
  std::uint64_t fence = 0;
};
Result<std::vector<std::optional<std::string>>> how_they_ended(
    layout::LockTable& table, std::span<const LeaseAndFence> leases);

}  // namespace lockkeeper::service
