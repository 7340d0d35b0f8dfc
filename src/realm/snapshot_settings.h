// [snapshots]: which contents of files are kept so that they can be recovered, and how long.
//
// Thread safety: plain values and free functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace lockkeeper::realm {

struct Settings;

inline constexpr std::int64_t kDayMs = std::int64_t{24} * 3'600'000;
inline constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
inline constexpr std::int64_t kSnapshotsKeepMsMin = 3'600'000;
inline constexpr std::int64_t kSnapshotsKeepMsMax = 366 * kDayMs;
inline constexpr std::uint64_t kSnapshotsBytesMin = kMiB;
inline constexpr std::uint64_t kSnapshotsBytesMax = 64 * 1024 * kMiB;
inline constexpr std::uint64_t kSnapshotsFileBytesMax = 64 * kMiB;  // a hook has it in memory

// Patterns of files that usually have keys and passwords in them.
std::vector<std::string> default_secrets();

// Does snapshots.only_hash name this file, or a folder that it is in? Case does not count, and a
// copy ("key.pem.bak") is as secret as the file. `path` as hook_ignores() reads it.
bool snapshot_is_secret(const Settings& settings, std::string_view path);

// "256MiB", "4 KiB", "1GiB", "512" (bytes). invalid_input: anything else.
Result<std::uint64_t> parse_bytes(std::string_view text);
// The same, as short as it can be written.
std::string format_bytes(std::uint64_t bytes);

}  // namespace lockkeeper::realm
