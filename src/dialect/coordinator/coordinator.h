// The coordinator's three operations, acquire_lock, release_lock and check_locks, with the results
// of the original system, over the realm's one table. The command line and MCP call these and print
// what to_json() returns. docs/dialects/coordinator.md says what differs from the original.
//
// A file_path is a path from the realm's root or a logical key, with its native meaning: a folder,
// a glob and a file exclude each other if they overlap.
//
// Thread safety: none; one per call.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "service/locks.h"
#include "service/report.h"

namespace lockkeeper::dialect::coordinator {

inline constexpr std::int64_t kMinuteMs = 60'000;
inline constexpr std::int64_t kTtlMinutesLeast = 1;
inline constexpr std::int64_t kTtlMinutesMost = 480;
inline constexpr std::int64_t kTtlMinutesDefault = 120;
inline constexpr std::string_view kAgentTypeDefault = "claude_code";  // the original's default

// One lock of any holder.
struct Lock {
  std::string file_path;  // as held: it may be a folder or glob
  std::string locked_by;
  std::string agent_type;  // as its holder said, or "unknown"
  std::string session_id;  // empty: none
  std::int64_t locked_at_ms = 0;
  std::int64_t expires_at_ms = 0;  // kNoEnd: never
  std::string reason;
  core::Mode mode = core::Mode::kExclusive;
  std::uint64_t fence = 0;   // 0: another tool's lock, which has none
  std::string foreign_path;  // of another tool's lock
  bool mine = false;
};

// On success `action` says what was done. Otherwise `reason` is the original's word for why not,
// and `error` has our code, message and hint.
struct AcquireResult {
  bool success = false;
  std::string action;     // acquired, refreshed
  std::string file_path;  // canonical
  std::string reason;     // locked_by_other, ttl_out_of_range, invalid_file_path, invalid_agent_id,
                          // operation_not_permitted, or the code of `error`
  std::int64_t expires_at_ms = 0;
  std::uint64_t fence = 0;
  std::optional<Lock> holder;         // locked_by_other: always
  std::vector<core::LostLease> lost;  // what the caller lost since its last call
  std::vector<std::string> warnings;
  std::optional<Error> error;
};

struct ReleaseResult {
  bool success = false;
  std::string action;          // released
  std::string file_path;       // canonical
  std::string reason;          // lock_not_found_or_not_owner, or as above
  std::optional<Lock> holder;  // if another holds exactly that
  std::vector<core::LostLease> lost;
  std::optional<Error> error;
};

struct CheckResult {
  std::vector<Lock> locks;     // newest first
  std::optional<Error> error;  // they could not be read, so `locks` is empty
};

struct AcquireLock {
  std::string file_path;
  std::string reason;
  std::optional<std::int64_t> ttl_minutes;  // 0 is out of range, not the default
};

class Coordinator {
 public:
  // Acts for locks.owner(), an agent of type `agent_type`. `locks` must outlive it.
  Coordinator(service::Locks& locks, std::string agent_type)
      : locks_(locks), agent_type_(std::move(agent_type)) {}

  AcquireResult acquire_lock(const AcquireLock& wanted);
  ReleaseResult release_lock(const std::string& file_path);
  // The locks that overlap any of the paths, including the caller's own; nullopt, or no path: all.
  CheckResult check_locks(const std::optional<std::vector<std::string>>& file_paths);

 private:
  Result<std::vector<Lock>> look(const std::vector<std::string>& file_paths);
  Result<std::vector<Lock>> all();

  service::Locks& locks_;
  const std::string agent_type_;
};

// The result of a call that was refused before it reached the table.
template <class Answer = AcquireResult>
Answer refused(std::string reason, Error error) {
  Answer result;
  result.reason = std::move(reason);
  result.error = std::move(error);
  return result;
}
// ttl_out_of_range; `given` is what was written.
AcquireResult ttl_refused(std::string_view given);

service::Json to_json(const AcquireResult& result);
service::Json to_json(const ReleaseResult& result);
service::Json to_json(const Lock& lock);
// An array; REQUIRES: no error.
service::Json to_json(const CheckResult& result);
// {"count","truncated","items","next_steps"}: the original command line's form of a list.
service::Json to_envelope(const CheckResult& result);

}  // namespace lockkeeper::dialect::coordinator
