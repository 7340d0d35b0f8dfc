// One lock of the workflow protocol: the JSON in `{OUTPUT}/locks/{agent}.lock`, and its name.
//
//   {"agent", "locked_at", "files", "directories", "task_description", "expires_at"}
//
// `directories` and `task_description` may be missing. We write exactly these fields in this order;
// others' files may have more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "core/types.h"

namespace lockkeeper::dialect::workflow {

inline constexpr std::size_t kLockFileBytesMax = 1 << 20;
inline constexpr std::size_t kLockFileEntriesMax = 10'000;  // files and directories together
inline constexpr std::size_t kLockNameBytesMax = 200;       // an agent's name as a file name
inline constexpr std::string_view kLockSuffix = ".lock";
// The protocol's locks all end; a lease without an end gets this one.
inline constexpr std::int64_t kFarFutureMs = 253'402'300'799'000;  // 9999-12-31T23:59:59Z

struct LockFile {
  std::string agent;
  std::int64_t locked_at_ms = 0;
  std::vector<std::string> files;
  std::vector<std::string> directories;
  std::string task_description;
  std::int64_t expires_at_ms = 0;  // never kNoEnd

  bool expired(std::int64_t now_wall_ms) const { return expires_at_ms < now_wall_ms; }
  // Agent and time: distinguishes a lock from its successor of the same name.
  std::string identity() const;
  // The same with the scope: also distinguishes two locks of one agent within one second.
  std::string full_identity() const;
};

// The protocol's form: indented by two, a final newline, times in UTC and whole seconds. locked_at
// is rounded down and expires_at up, so that nobody sees it end early (I6).
std::string render(const LockFile& lock);

// invalid_input says what is wrong: not JSON, a missing field, a wrong type, an invalid time, more
// than kLockFileEntriesMax entries. Unknown fields are ignored.
Result<LockFile> parse_lock_file(std::string_view bytes);

// A time as other tools write it: ISO 8601 with any zone, including "+0100" and "+01", without
// seconds, with a comma, without '-' and ':'. Without a zone it may be local or UTC: the later one
// counts.
Result<std::int64_t> parse_iso_time(std::string_view text);

// "2026-01-17T15:30:00Z".
std::string iso_seconds(std::int64_t wall_ms);

// The lease as a lock file. Globs and logical keys cannot be shown and are left out; their texts go
// to `unmirrored` if it is not null.
LockFile lock_file_of(const core::Lease& lease, std::vector<std::string>* unmirrored = nullptr);

// Is the agent's name valid as a file name? invalid_input names the rule: not empty, at most
// kLockNameBytesMax bytes, UTF-8, no control character, no space at either end, no '/', '\', quote,
// '$' or pattern character, no '.' or '-' at its beginning, not like mirror_name().
Result<void> check_lock_name(std::string_view agent);
// "frontend-developer.lock".
std::string lock_name(std::string_view agent);

// The file name of a lease that was not taken through this dialect: "frontend.lk-1a2b3c4d.lock",
// from the agent's safe characters and the end of the lease's id.
std::string mirror_name(const core::Lease& lease);
bool is_mirror_name(std::string_view name);

}  // namespace lockkeeper::dialect::workflow
