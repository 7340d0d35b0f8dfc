// The coordinator's three operations (seed 001): acquire_lock, release_lock, check_locks, with the
// results of the real system, over the realm's one table. The command line, the MCP and the HTTP
// door call these and print what to_json() gives. docs/dialects/coordinator.md says what differs
// from the original, and why.
//
// A file_path is a path from the realm's root or a logical key, and means exactly what it means
// natively: a folder, a glob and a file exclude each other as they overlap.
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
inline constexpr std::string_view kAgentTypeDefault = "claude_code";  // as the original has it

// One lock, held by anybody.
struct Lock {
  std::string file_path;  // as held: a folder or glob may be what stands in the way
  std::string locked_by;
  std::string agent_type;  // as its holder said; "unknown" for who never did
  std::string session_id;  // empty: none
  std::int64_t locked_at_ms = 0;
  std::int64_t expires_at_ms = 0;  // kNoEnd: never
  std::string reason;
  core::Mode mode = core::Mode::kExclusive;
  std::uint64_t fence = 0;   // 0: another tool's lock, which has none
  std::string foreign_path;  // of another tool's lock
  bool mine = false;
};

// With success `action` says what was done; else `reason` why not, and `error` the same in the
// words of this house: code, message, one thing to do next.
struct AcquireResult {
  bool success = false;
  std::string action;     // acquired, refreshed
  std::string file_path;  // canonical
  std::string reason;     // locked_by_other, ttl_out_of_range, invalid_file_path, invalid_agent_id,
                          // operation_not_permitted, else the code of `error`
  std::int64_t expires_at_ms = 0;
  std::uint64_t fence = 0;
  std::optional<Lock> holder;         // locked_by_other: always
  std::vector<core::LostLease> lost;  // what the caller lost since it last asked
  std::vector<std::string> warnings;
  std::optional<Error> error;
};

struct ReleaseResult {
  bool success = false;
  std::string action;          // released
  std::string file_path;       // canonical
  std::string reason;          // lock_not_found_or_not_owner, else as above
  std::optional<Lock> holder;  // if another holds exactly that
  std::vector<core::LostLease> lost;
  std::optional<Error> error;
};

struct CheckResult {
  std::vector<Lock> locks;     // newest first
  std::optional<Error> error;  // they could not be read: that is not "no locks"
};

struct AcquireLock {
  std::string file_path;
  std::string reason;
  std::optional<std::int64_t> ttl_minutes;  // 0 is out of range, not the default
};

class Coordinator {
 public:
  // In the name of locks.owner(), who calls itself an `agent_type`. `locks` must outlive it.
  Coordinator(service::Locks& locks, std::string agent_type)
      : locks_(locks), agent_type_(std::move(agent_type)) {}

  AcquireResult acquire_lock(const AcquireLock& wanted);
  ReleaseResult release_lock(const std::string& file_path);
  // What overlaps any of the paths, the caller's own included; none: every lock of the realm.
  CheckResult check_locks(const std::optional<std::vector<std::string>>& file_paths);

 private:
  Result<std::vector<Lock>> look(const std::vector<std::string>& file_paths);
  Result<std::vector<Lock>> all();

  service::Locks& locks_;
  const std::string agent_type_;
};

// A call that was refused before it came to the table, by who found out why.
AcquireResult refused(std::string reason, Error error);
// ttl_out_of_range; `given` is what was written.
AcquireResult ttl_refused(std::string_view given);

service::Json to_json(const AcquireResult& result);
service::Json to_json(const ReleaseResult& result);
service::Json to_json(const Lock& lock);
// An array; REQUIRES: no error.
service::Json to_json(const CheckResult& result);
// {"count","truncated","items","next_steps"}: as the original's command line has lists.
service::Json to_envelope(const CheckResult& result);

}  // namespace lockkeeper::dialect::coordinator
