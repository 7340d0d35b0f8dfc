// For a hub whose table several hubs serve: the rows that say which sessions and which hubs there
// are (core/presence.h), and the requests that wait for a client of another hub.
//
// Thread safety: free functions; safe to call from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/hold.h"
#include "core/presence.h"
#include "layout/lock_table.h"

namespace lockkeeper::layout {

Result<core::Keeper> keeper_of(LockTable& locks, std::uint64_t session);
// From now on this hub keeps it: the version of its row. 0: it has gone. `begins`: one that was
// never there begins.
Result<kv::Version> keep_session(LockTable& locks, std::uint64_t session, bool begins);
// Unless another hub keeps it by now.
Result<void> end_session(LockTable& locks, std::uint64_t session);

struct HubRow {
  std::uint64_t hub = 0;
  std::string text;
};
// Is there as long as this hub.
Result<void> show_hub(LockTable& locks, const HubRow& row);
Result<void> hide_hub(LockTable& locks, std::uint64_t hub);
Result<std::vector<HubRow>> shown_hubs(LockTable& locks);

// From now on it is this process that waits; see core::Table.
Result<void> move_waiter(LockTable& locks, const core::LeaseId& id, const core::Attachment& process,
                         std::uint64_t wake);
Result<void> bury_waiter(LockTable& locks, const core::LeaseId& id,
                         const core::Attachment& process);
// The same for all that wait in this session and are dead, as far as this hub can tell.
Result<void> bury_waiters(LockTable& locks, std::uint64_t session);

}  // namespace lockkeeper::layout
