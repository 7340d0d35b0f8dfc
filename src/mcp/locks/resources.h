// The lock table as resources that a client can read and watch (LockWatch).
//
//   lock://leases          all leases
//   lock://leases/{path}   leases that overlap this path
//   lock://waiters         waiting requests
//   lock://events          recent history
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mcp/catalogue.h"
#include "service/locks.h"

namespace lockkeeper::mcp::locks {

inline constexpr std::size_t kEventsShown = 100;

std::vector<Resource> lock_resources();
std::vector<Resource> lock_templates();

// Its content; nullopt if there is no such resource. Leases that are over are left out, even if the
// table still has them.
Result<std::optional<Json>> lock_resource(service::Locks& locks, const std::string& uri);

// The same as an answer.
std::optional<Answer> read_lock_resource(service::Locks& locks, const std::string& uri);

}  // namespace lockkeeper::mcp::locks
