// What a lock service is asked: plain data. Requests name canonical resources,
// never words; Locks (locks.h) turns words into resources, because that takes this machine's disk.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/requests.h"
#include "key/resource.h"
#include "service/caller.h"
#include "service/message_calls.h"

namespace lockkeeper::service {

struct OpenCall {
  key::Rules rules;  // of this client
};
struct OpenReply {
  key::Rules rules;
};

struct AcquireCall {
  Caller caller;
  std::vector<core::Claim> claims;
  core::Terms terms;                   // all but its ttl and request id
  std::optional<std::int64_t> ttl_ms;  // kNoEnd: endless; nullopt: the realm's default
  bool wait = false;                   // join the queue: the outcome is kQueued, see AwaitCall
  core::Attachment attachment;
  std::uint64_t wake = 0;  // the waker's word to sleep on; 0: a new one
  // Who waits, if not whoever `attachment` names or this process. Never crosses a wire.
  core::Attachment waiter = {};
  core::SessionSeen through = {};  // of a hub; never crosses a wire
  // Leases of the same owner that end in the commit that grants this one.
  std::vector<core::LeaseId> replaces;
  bool anew = false;  // never a renewal
  std::string call;   // an edit for this call of a coding agent (core rule 16); empty: on purpose
  // If it is granted, the answer has the traces of these files, as a LookCall would have them.
  std::string worktree = {};
  std::vector<std::string> traced = {};
};

// `id` is the lease id of a kQueued result. The answer is kQueued again after `at_most_ms`, or
// sooner; its id may be a new one. kGranted and kDeadlock have left the queue.
struct AwaitCall {
  Caller caller;
  core::LeaseId id;
  std::int64_t at_most_ms = 0;
  // A grant is not confirmed: the caller asks again, without this, if somebody is there to take it.
  bool looks = false;
};

// The answer is `why`, unless the lease was granted before the request could leave.
struct LeaveCall {
  Caller caller;
  core::LeaseId id;
  core::Outcome why = core::Outcome::kInterrupted;  // or kTimeout
  // A relay says it of its client: it has died. So a handoff that it has not taken is withdrawn,
  // and the answer says nothing about what it has.
  bool gone = false;
};

struct ReleaseCall {
  Caller caller;
  std::vector<key::Resource> resources;
  std::vector<core::LeaseId> leases;
  std::string task;
  bool all = false;            // but not the lease that the caller works under
  core::Attachment by;         // whoever asks; others that keep the leases can find out
  bool only_own_hold = false;  // `by` no longer keeps them; what others keep stays (rule 7)
};

struct RenewCall {
  Caller caller;
  std::vector<key::Resource> resources;
  std::vector<core::LeaseId> leases;
  bool all = false;
  std::optional<std::int64_t> ttl_ms;  // nullopt: each lease keeps its own
  // Also the leases that earlier processes of this session left behind (rule 8): they are bound to
  // `attachment`.
  bool orphans = false;
  core::Attachment attachment;
};

struct CheckCall {
  Caller caller;
  std::vector<core::Claim> claims;
  std::uint64_t fence = 0;   // 0: none
  core::LeaseId lease = {};  // whose fence that is; empty: one of the caller's own leases
  std::string worktree = {};
};

struct BreakCall {
  Caller caller;
  std::vector<key::Resource> resources;
  std::vector<core::LeaseId> leases;
  std::string agent;
  std::string reason;
  std::string cause;  // one word, for dialects whose document has one; empty: none
  bool only_expired = false;
  bool only_dead = false;
  bool foreign = false;  // only locks of other tools: their artefacts are removed
};

// Makes another tool's lock ours: the one whose artefact is at one of `paths`, or that holds
// `resource`.
struct AdoptCall {
  Caller caller;
  std::vector<std::string> paths;
  std::optional<key::Resource> resource;
  core::Terms terms;
  std::optional<std::int64_t> ttl_ms;
  core::Attachment attachment;
};

// Every filter that is set must match.
struct ListCall {
  Caller caller;
  std::vector<core::LeaseId> leases;
  std::optional<core::Owner> owner;
  std::string agent;
  std::string task;
  std::vector<key::Resource> exact;        // holds one of these, exactly as named
  std::vector<key::Resource> overlapping;  // holds something that overlaps one of these
  bool with_waiters = true;
  bool scan_layouts = true;  // look first at what other tools hold
};

struct EventsCall {
  Caller caller;
  std::uint64_t since_seq = 0;  // events with a greater number
  std::int64_t since_wall_ms = 0;
  std::string agent;
  std::optional<key::Resource> overlapping;
  std::size_t most = SIZE_MAX;
  bool newest = false;  // the last `most` of all events, without filters
};

struct PurgeCall {
  Caller caller;
  bool history = false;  // forget all events
};

}  // namespace lockkeeper::service
