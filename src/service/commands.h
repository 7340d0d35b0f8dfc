// What the verbs are asked, in words: plain data, the same for every door. Locks turns them into
// calls of the lock service.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/table.h"
#include "key/resource.h"
#include "realm/resolve.h"
#include "service/replies.h"

namespace lockkeeper::service {

// Resources as typed and how to read them, or as they are.
struct Wanted {
  std::vector<std::string> texts;
  std::vector<key::Resource> resources;  // canonical: taken as they are
  realm::Base base;
  key::Syntax syntax = key::Syntax::kAuto;
  bool convert_backslash = false;
  bool no_patterns = false;  // the protocol has none: what looks like one is a name, with a warning
  core::Mode mode = core::Mode::kExclusive;
};

// What each word of Wanted stands for: one resource, or several that are asked for together.
struct Resolved {
  std::vector<std::vector<key::Resource>> words;
  std::vector<std::string> warnings;
  std::vector<key::Resource> resources() const;
  std::vector<core::Claim> claims(core::Mode mode) const;
};

inline constexpr std::int64_t kWaitForever = -1;

// How a wait stands, for a person who watches.
struct WaitProgress {
  const std::vector<core::Conflict>& conflicts;
  std::size_t position;
  std::int64_t waited_ms;
};

struct AcquireCommand {
  Wanted wanted;
  // All but its ttl, which the realm's rules decide from the one below. A dialect's lease is taken
  // through the layout named here, and shown there under the artefact of the dialect's choice.
  core::Terms terms;
  std::optional<std::int64_t> ttl_ms;   // kNoEnd: endless; nullopt: the realm's default
  std::optional<std::int64_t> wait_ms;  // nullopt: do not wait; kWaitForever
  std::optional<int> attach_pid;
  core::Attachment attachment;  // instead of attach_pid, for those who hold a slot; they wait by it
  // The word of the wake board to sleep on, for whoever wants to wake it up; 0: a new one.
  std::uint64_t wake = 0;
  // Own leases that end in the commit that grants this one: a scope that changes.
  std::vector<core::LeaseId> replaces;
  bool anew = false;  // never a renewal: whoever holds exactly this gets another lease of it
  std::string call;   // an edit for this call of a coding agent (core rule 16); empty: on purpose
  // As AcquireCall has them.
  std::string worktree;
  std::vector<std::string> traced;
  // Called while waiting, at least once a second; false leaves the queue (kInterrupted).
  std::function<bool(const WaitProgress&)> on_wait;
};

// One of several requests that are granted together or not at all.
struct Member {
  core::Owner owner;
  AcquireCommand command;  // REQUIRES: no wait_ms
};

struct ReleaseCommand {
  Wanted wanted;
  std::vector<std::string> lease_ids;
  std::string task;
  bool all = false;          // but not the lease that the owner works under
  core::Attachment by = {};  // whoever asks, if it keeps leases itself
};

struct RenewCommand {
  Wanted wanted;
  std::vector<std::string> lease_ids;
  bool all = false;
  std::optional<std::int64_t> ttl_ms;
};

struct CheckCommand {
  Wanted wanted;
  std::uint64_t fence = 0;    // 0: none
  std::string lease_id = {};  // whose fence that is; empty: one of the owner's leases
  std::string worktree = {};  // for this checkout alone (core rule 15)
};

struct BreakCommand {
  Wanted wanted;
  std::vector<std::string> lease_ids;
  std::string agent;
  std::string reason;
  std::string cause;  // one word, for dialects whose document has one; empty: none
  bool only_expired = false;
  bool only_dead = false;
  bool foreign = false;  // only locks of other tools: their artefacts are removed
};

struct ListCommand {
  std::string agent;
  std::string task;
  Wanted under;              // at most one; what overlaps it
  bool scan_layouts = true;  // false: other tools' locks as they were last seen
};

struct LogCommand {
  std::uint64_t since_seq = 0;  // events with a greater number
  std::int64_t since_wall_ms = 0;
  std::string agent;
  Wanted under;
};

}  // namespace lockkeeper::service
