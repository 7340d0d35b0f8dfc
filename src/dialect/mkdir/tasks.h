// The mkdir protocol's operations over the lock table: a task's lock and the locks of its files,
// each a separate lease that never expires, shown as the protocol's folders.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dialect/mkdir/mkdir_layout.h"
#include "service/locks.h"

namespace lockkeeper::dialect::mkdir {

inline constexpr std::int64_t kRetryMs = 5'000;  // the protocol's "brief retry"

struct TaskRequest {
  std::string task;
  std::vector<std::string> files;  // as the protocol's scripts write them
  bool take_task = true;           // false: the files alone (`lock-file`)
  std::int64_t retry_ms = kRetryMs;
  std::optional<int> attach_pid;
  std::string reason;
};

struct TaskReply {
  bool acquired = false;                  // false: BUSY
  std::vector<core::Lease> leases;        // of what was requested
  std::vector<core::Conflict> conflicts;  // BUSY: who holds what
  std::vector<std::string> released;      // BUSY for a file: what the task held before
  std::vector<std::string> warnings;
  std::vector<core::LostLease> lost;
};

// One lock of the folder, ours or another tool's.
struct TaskLock {
  std::string name;  // "tasks/T", "files/N", as on disk
  std::string path;
  std::vector<std::string> resources;
  core::Owner owner;
  std::string task;
  std::int64_t since_wall_ms = 0;
  bool foreign = false;
  bool native = false;  // ours, but not taken through this protocol
  core::LeaseId lease;  // empty: foreign
  core::Alive alive = core::Alive::kUnknown;
};

// kReturned: what `task` holds. kDead: locks whose process is gone. kAll: all locks that were taken
// through this protocol, by us or by others.
enum class Sweep { kDead, kReturned, kAll };

struct SweepRequest {
  Sweep what = Sweep::kDead;
  std::string task;
};

struct SweepReply {
  std::vector<std::string> released;  // resources of our own owner
  std::vector<core::Lease> broken;    // others', including foreign ones
  std::size_t kept = 0;               // locks of this folder that remain
};

class Tasks {
 public:
  // `locks` must outlive it; `root` comes from find_root(). Registers nothing yet.
  Tasks(service::Locks& locks, std::string root);

  // All or nothing. Retries a held file for retry_ms; then everything that the task holds is
  // released. A held task, even if held by this owner, is BUSY at once, and nothing is released.
  // invalid_resource: a bad id or path, or a path whose lock would also cover another path.
  Result<TaskReply> acquire(const TaskRequest& request);
  // not_found: the task holds nothing. not_owner: another holds it.
  Result<core::ReleaseReply> release(const std::string& task);
  // Every lock in the folder, by name. Creates nothing.
  Result<std::vector<TaskLock>> list();
  // Releases the caller's own locks and breaks others', on record.
  Result<SweepReply> sweep(const SweepRequest& request);

  const MkdirLayout& layout() const { return layout_; }

 private:
  struct LockRequest {
    key::Resource resource;
    std::string typed;
    std::string artefact;
  };
  Result<LockRequest> request_for_task(const std::string& task) const;
  Result<std::vector<LockRequest>> requests(const TaskRequest& request);
  Result<void> refuse_collision(const std::vector<LockRequest>& earlier, const LockRequest& one);
  Result<std::vector<core::Conflict>> held_by_myself(const TaskRequest& request,
                                                     std::vector<LockRequest>& requests,
                                                     std::vector<core::Lease>& mine);
  service::Member member(const LockRequest& one, const TaskRequest& request) const;
  Result<void> ask(const TaskRequest& request, std::vector<LockRequest> requests, TaskReply& reply);
  Result<void> register_layout();
  bool is_swept(const core::Lease& lease, const SweepRequest& request) const;
  Result<void> break_them(const std::vector<core::LeaseId>& ids, const SweepRequest& request,
                          bool foreign, SweepReply& reply);

  service::Locks& locks_;
  MkdirLayout layout_;
};

// The protocol's `spec/`: `named` (relative to `cwd`), or the nearest folder of that name from
// `cwd` up to the realm's root, or the realm's only registered one, or `spec` in the realm's root,
// which need not exist. invalid_input: not a folder, or a symlink that leads out of the realm.
Result<std::string> find_root(const realm::Realm& realm, const realm::Settings& settings,
                              const std::string& cwd, const std::optional<std::string>& named);

// One line about a conflict for the completion report; `json`: as an object.
std::string report_line(const std::string& task, const core::Conflict& conflict,
                        std::int64_t now_wall_ms, bool json);
// invalid_input if the file cannot be written (no_space on a full disk).
Result<void> append_report(const std::string& path, const std::string& text);

}  // namespace lockkeeper::dialect::mkdir
