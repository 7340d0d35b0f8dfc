// The lock table as resources that a client can read and watch (LockWatch).
//
//   lock://leases          everything that is held
//   lock://leases/{path}   what is held that overlaps this path
//   lock://waiters         who waits for what
//   lock://events          what happened lately
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

// Its content; nullopt: there is no such resource. What is over is not in it, whether somebody has
// cleared it away or not.
Result<std::optional<Json>> lock_resource(service::Locks& locks, const std::string& uri);

// The same as an answer.
std::optional<Answer> read_lock_resource(service::Locks& locks, const std::string& uri);

}  // namespace lockkeeper::mcp::locks
