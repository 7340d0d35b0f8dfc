// The same words for every door: replies as JSON, refusals as errors that say who holds what, since
// when, until when, and one thing to do next. What is printed here is the contract of the command
// line; MCP and HTTP answer with the same objects.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "service/names.h"
#include "service/replies.h"

namespace lockkeeper::service {

using lockkeeper::Json;

// One line. Never throws: bytes that are not UTF-8 become U+FFFD; every hidden character
// (base/quote.h) is escaped, also those that JSON would allow, because terminals and models act on
// them.
std::string dump(const Json& json);

Json lease_json(const core::Lease& lease);
Json conflict_json(const core::Conflict& conflict);
Json foreign_json(const core::Lease& lease);  // {"kind","path"}; REQUIRES: lease.foreign
Json lost_json(const core::LostLease& lost);
// Who waits for what the owner holds.
Json waiting_json(const core::Waiter& waiter);
std::string waiting_text(const core::Waiter& waiter, std::int64_t now_wall_ms);
Json event_json(const core::Event& event);
Json error_json(const Error& error);  // {"code","message","hint"}; no hint: ""

// {"outcome":…} with lease, or conflicts and cycle; `lost` and `warnings` where there are any. A
// refusal's error is added by the door, from refusal().
Json acquire_json(const AcquireResult& result);
Json release_json(const core::ReleaseReply& reply);
Json check_json(const core::CheckReply& reply);
Json list_json(const ListReply& reply);
// The same, and which are the asker's own ("mine"), and which edits give way.
Json list_json(const ListReply& reply, const core::Owner& asker);
Json leases_json(const char* name, const std::vector<core::Lease>& leases);  // {"renewed":[…]}

// Is it held by the asker, or by a part of it?
bool is_own(const core::Lease& lease, const core::Owner& asker);
// Does it keep the asker out? Also what it holds itself, if its subagent or own command is inside.
bool is_held(const core::CheckReply& reply);

// "granted", "renewed", "held", "timeout", "deadlock", "interrupted".
const char* outcome_name(core::Outcome outcome);

// 0, 0, 75, 124, 76, 130.
int outcome_status(core::Outcome outcome);

// How the request was made, so that the hint can repeat it.
struct HintContext {
  std::vector<std::string> resources;  // as typed
  std::string flags;         // what else must be repeated, each after a space, shell-quoted
  std::string caller_flags;  // those of them that every verb takes
  core::Owner asker = {};    // to tell what may be its own; empty: nobody in particular
  std::int64_t now_wall_ms = 0;
  bool checked = false;      // `check`, which can only be refused as held
  std::string program = {};  // `run`: " -- COMMAND"; empty: it was an acquire
  Names names = {};
};

// The error of a request that was not granted. REQUIRES: the outcome is a refusal.
Error refusal(const AcquireResult& result, const HintContext& asked);
Error held_error(const std::vector<core::Conflict>& conflicts, const HintContext& asked);

// The error of a release that gave back nothing, or met what is another's; kFailed never. nullopt:
// it was all right. `all`: --all, for which nothing to release is fine. `flags`: the asker's own,
// for the commands of the hints.
std::optional<Error> release_error(const core::ReleaseReply& reply, bool all,
                                   const core::Owner& asker = {}, const std::string& flags = {},
                                   const Names& names = {});

// What the owner of a renewed lease must know: "y is held by your subagent x, …".
std::vector<std::string> part_warnings(const AcquireResult& renewed);

// The error of a verb that was given neither a resource nor a lease.
std::unexpected<Error> nothing_named(std::string_view verb);

// One person or tool may appear under several sessions that nobody named, or under none. How to act
// as `holder`, if that may be the asker: "--session tty-…"; empty if it is certainly not.
std::string flag_to_be(const core::Owner& holder, const core::Owner& asker);

// "frontend", "frontend (session 4f2a)".
std::string owner_text(const core::Owner& owner);

// "your own command (pid 4711)", "your subagent x", "the subagent x of your session": a holder that
// is a part of the asker, or of what the asker is a part of. Empty: it is neither.
std::string kin_text(const core::Lease& holder, const core::Owner& asker);

// One sentence part: "held by frontend (exclusive) since … (2m ago) until … (in 58m), its process
// is alive, reason \"…\"". With an asker: "held by your own command (pid 4711), …".
std::string holder_text(const core::Conflict& conflict, std::int64_t now_wall_ms,
                        const core::Owner& asker = {}, const Names& names = {});

// "ends in 58m 3s", rounded up; "no end"; "ended" where that moment is past.
std::string end_text(const core::Lease& lease, std::int64_t now_wall_ms);

// "your lease on src/a.py (fence 40) was broken by lead at …: \"taking over\"".
std::string lost_text(const core::LostLease& lost);

// Of what was released too late.
std::string ended_before_text(const std::string& key, const std::string& cause);

// "programs that use mkdir-1a2b3c4d cannot see the lock on src/, docs/**; if none are in use: …".
std::string unmirrored_text(const layout::Unmirrored& unmirrored);

}  // namespace lockkeeper::service
