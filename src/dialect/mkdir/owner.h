// The owner file of a lock folder: three lines that say who, for which task, since when.
//
//   agent: implementer
//   task: T-17
//   timestamp: 2026-01-17T15:30:00+01:00
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lockkeeper::dialect::mkdir {

inline constexpr std::string_view kOwnerName = "owner";
inline constexpr std::size_t kOwnerBytesMax = 64 * 1024;  // more is no owner file
inline constexpr std::string_view kUnknownAgent = "unknown";

struct OwnerLines {
  std::string agent;
  std::string task;
  std::optional<std::int64_t> since_wall_ms;  // nullopt: none that can be read
};

std::string owner_text(std::string_view agent, std::string_view task, std::int64_t wall_ms);

// What can be read of it, in any order, with other lines between; what others wrote is cut to the
// lengths of ours and cleaned of what a name cannot hold. No agent: kUnknownAgent.
OwnerLines parse_owner(std::string_view text);

// As `date -Iseconds`: local time with the zone's offset, "2026-01-17T15:30:00+01:00".
std::string local_time(std::int64_t wall_ms);

}  // namespace lockkeeper::dialect::mkdir
