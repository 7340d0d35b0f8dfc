// The keys of the table's rows. The first byte is the kind, then come parts whose byte order is the
// order we need. One lease costs its record, one claim per resource, one due row, one event, and
// its agent's counter.
//
//   l <agent 4> <session 4> <ticket 8>          → Lease. An owner's leases lie together.
//   l <agent 4>                                 → how many claims the agent has (quota), or
//   q <agent 4> <session 4>                     → how many each of its sessions has
//   w <id>                                      → Waiter, same id order
//   v <session 8> <waiter id>                   → waiters of the session's parts (rule 6)
//   x|s <place> <id> <slot 2>                   → claim of a lease, exclusive | shared
//   X|S <place> <id> <slot 2>                   → claim of a waiter
//   b <blocker id> <waiter id>                  → waiters filed under their one blocker
//   c <parent id> <child id>                    → child leases and waiters (rule 11)
//   f <epoch 8> <mono ms 8> <what 1> <subject>  → when to look again, inverted: the earliest last
//   F <epoch 8> <clock 8> <mono ms 8> <what 1> <subject>   → the same by one of several clocks
//   p <session 8>                               → a session on another machine is there: presence.h
//   P <hub 8>                                   → a hub that serves a store of several machines
//   r <agent 4> <session 4> <hash 8>            → request ids (rule 12)
//   a <agent 4> <session 4> <hash 8>            → answers kept by request id: answers.h
//   d <id>                                      → leases that ended against their holder's will
//   g <agent 4> <session 4> <hash 8>            → the last recorded refusal, for coalescing
//   h <agent 4> <session 4> <hash 8>            → what an owner of edits is doing (rule 16)
//   j <worktree 8> <path>                       → who changed a file last: traces.h
//   e …                                         → events, appended (kv::Txn::append)
//   t                                           → how much of the history was counted
//   k o u y                                     → layouts: foreign.h, mirrored.h
//   m n <agent 4> <id 8>                        → messages, and those that are unread: message.h
//
// What every grant appends lies side by side, on one page of the store: the newest event, the
// store's own ledger behind the events, and then the due rows. Their times are inverted, so that
// the newest lease's row comes first.
//
// A place (key/place.h) ends with a byte 0 here. So "this place and all below" is one range,
// "exactly this place" another, and a folder's claims come right before those below it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/types.h"
#include "key/place.h"
#include "kv/store.h"

namespace lockkeeper::core {

enum class Holding : char { kLease = 'l', kWaiter = 'w' };

std::string owner_tag(const Owner& owner);  // 8 bytes
LeaseId make_id(const Owner& owner, std::uint64_t ticket);

std::string lease_key(const LeaseId& id);
// With a single writer, one row counts an agent's claims. Elsewhere all sessions of an agent would
// conflict there, so each has a row of its own, and their sum is peeked at. A store keeps one kind
// for its whole life.
std::string counter_key(const Owner& owner);
std::string session_counter_key(const Owner& owner);
kv::Range session_counters(const Owner& owner);  // of all sessions of its agent
std::string waiter_key(const LeaseId& id);
// Of a lease or a waiter, by its row; nullopt: it is another row.
std::optional<LeaseId> id_in_row_key(std::string_view key);
std::string claim_key(Holding holding, Mode mode, const key::Place& place, const LeaseId& id,
                      std::uint16_t slot);
std::string part_key(std::string_view whole, const LeaseId& waiter);  // whole: see whole_names()
kv::Range parts_of(std::string_view whole);
std::string blocked_key(const LeaseId& blocker, const LeaseId& waiter);
std::string child_key(const LeaseId& parent, const LeaseId& child);
std::string request_key(const Owner& owner, std::string_view request_id);
std::string answer_key(const Owner& owner, std::string_view request_id);
std::string lost_key(const LeaseId& id);
std::string refusal_key(const Owner& owner, std::string_view resources);
std::string activity_key(const Owner& owner);
std::string trace_key(std::string_view worktree, std::string_view path);
kv::Range traces_of(std::string_view worktree);
std::string removal_key(const LeaseId& id);
// A name of any length as part of a key: a long one keeps its beginning and a hash.
std::string short_name(std::string_view name);
// The beginning that all names that begin with `prefix` have in common as short names.
std::string_view short_prefix(std::string_view prefix);
inline constexpr std::string_view kEventPrefix = "e";
inline constexpr std::string_view kActivityPrefix = "h";
inline constexpr std::string_view kTracePrefix = "j";
inline constexpr std::string_view kHistoryKey = "t";
// Put by hubs, with kWhileOpen, to be seen. No rule of the table reads it.
inline constexpr std::string_view kHubPrefix = "P";
std::string hub_key(std::uint64_t hub);

// What a due row asks to look at.
enum class Due : char {
  kAnswer = 'a',
  kHandoff = 'b',
  kLost = 'd',
  kRefusal = 'g',
  kActivity = 'h',
  kTrace = 'j',
  kLease = 'l',
  kRequest = 'r',
};
inline constexpr std::string_view kDuePrefix = "f";
inline constexpr std::string_view kClockedDuePrefix = "F";
// `clock`: of whoever files it, where there are several; its row's value begins with when that was.
std::string due_key(std::uint64_t epoch, std::int64_t mono_ms, Due what, std::string_view subject,
                    std::uint64_t clock = 0);
struct DueRow {
  std::uint64_t epoch;
  std::int64_t mono_ms;
  Due what;
  std::string_view subject;
  std::uint64_t clock = 0;
};
std::optional<DueRow> read_due_key(std::string_view key);
std::string due_key_of(const Lease& lease);
kv::Range due_of_clock(std::uint64_t epoch, std::uint64_t clock, std::int64_t before_ms);
std::string session_key(std::uint64_t session);
// All due rows of earlier epochs, and those of this one strictly before `mono_ms`; earliest last.
kv::Range due_before(std::uint64_t epoch, std::int64_t mono_ms);

// The claims at exactly this place, or there and below. Sets a range that the caller reuses.
void set_claim_range(kv::Range& range, Holding holding, Mode mode, std::string_view place,
                     bool below);
kv::Range exactly_at(Holding holding, Mode mode, std::string_view place);
kv::Range all_waiter_claims();
LeaseId id_in_claim_key(std::string_view key);
Mode mode_in_claim_key(std::string_view key);

}  // namespace lockkeeper::core
