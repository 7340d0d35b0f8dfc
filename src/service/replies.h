// What a lock service answers: plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/message.h"
#include "core/requests.h"
#include "layout/layout.h"

namespace lockkeeper::service {

// What the owner must be told; see Tell.
struct Notices {
  std::vector<core::LostLease> lost;
  std::vector<core::Message> messages;
  std::size_t more_messages = 0;      // that come with the next reply
  std::vector<core::Waiter> waiting;  // at most kWaitingTold

  void add(Notices later);
};
inline constexpr std::size_t kWaitingTold = 20;

template <typename T>
struct Reply {
  T value;
  Notices notices;
};

struct Done {};

// Appends the reply of a later part of the same release.
void add(core::ReleaseReply& to, const core::ReleaseReply& more);

struct AcquireResult {
  core::Outcome outcome = core::Outcome::kHeld;
  core::Lease lease;            // granted, renewed; queued: the request, with the id to await
  bool existed_before = false;  // a renewal or a repeated request: the grant is never undone
  std::vector<core::Conflict> conflicts;
  std::vector<core::CycleStep> cycle;
  std::vector<core::Conflict> elsewhere;  // granted: the same is held in other worktrees
  std::size_t position = 0;
  std::string reason_before;  // renewed: the reason that this request's has replaced
  std::vector<layout::Unmirrored> unmirrored;
  std::vector<core::Trace> traces;  // granted: of AcquireCall::traced
  // Filled in by Locks.
  std::int64_t waited_ms = 0;
  std::vector<std::string> warnings;
  std::vector<core::LostLease> lost;  // leases this owner lost since it last asked
};

struct ListedLease {
  core::Lease lease;
  core::Condition condition;
};

struct ListReply {
  std::vector<ListedLease> leases;
  std::vector<core::Waiter> waiters;
  std::vector<core::LostLease> lost;  // of ListCall::leases, those known to be lost
  bool moved = false;                 // the table changed while it was read, page by page
};

}  // namespace lockkeeper::service
