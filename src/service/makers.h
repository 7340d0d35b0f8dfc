// Who made a commit or a stash, as the hooks of coding agents have noted it in the history.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "service/locks.h"

namespace lockkeeper::service {

// What such an event says; its resource is the id of the commit.
inline constexpr std::string_view kMadeCommit = "committed";
inline constexpr std::string_view kMadeStash = "stashed";

// By id: the first who was seen with it, as far back as traces are kept.
Result<std::map<std::string, core::Owner>> makers(Locks& locks, std::int64_t now_wall_ms);

}  // namespace lockkeeper::service
