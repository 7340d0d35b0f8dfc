// Who made a commit or a stash, as the hooks of coding agents have noted it in the history, and who
// is at work.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "service/locks.h"

namespace lockkeeper::service {

// What such an event says; its resource is the id of the commit.
inline constexpr std::string_view kMadeCommit = "committed";
inline constexpr std::string_view kMadeStash = "stashed";

// By id: the first who was seen with it, as far back as traces are kept.
Result<std::map<std::string, core::Owner>> makers(Locks& locks, std::int64_t now_wall_ms);

// Everybody who works in that worktree: with a call or an edit that runs, or with changes that are
// not committed and a session that is not over. The caller, too, for changes alone.
std::vector<core::Owner> working_in(const LookReply& seen);

}  // namespace lockkeeper::service
