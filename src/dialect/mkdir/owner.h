// The owner file of a lock folder: three lines with agent, task and time.
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
inline constexpr std::size_t kOwnerBytesMax = 64 * 1024;  // a longer file is not an owner file
inline constexpr std::string_view kUnknownAgent = "unknown";

struct OwnerLines {
  std::string agent;
  std::string task;
  std::optional<std::int64_t> since_wall_ms;  // nullopt: missing or unreadable
};

std::string owner_text(std::string_view agent, std::string_view task, std::int64_t wall_ms);

// Reads the lines in any order, with others in between; cuts names to our limits and removes
// invalid characters. Without an agent: kUnknownAgent.
OwnerLines parse_owner(std::string_view text);

// As `date -Iseconds`: local time with the zone's offset, "2026-01-17T15:30:00+01:00".
std::string local_time(std::int64_t wall_ms);

}  // namespace lockkeeper::dialect::mkdir
