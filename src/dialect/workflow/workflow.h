// The workflow protocol's operations over the lock table: one lock for each agent of a workflow, in
// the file `{OUTPUT}/locks/{agent}.lock`.
//
// The owner of such a lock is (agent, OUTPUT): every user of this OUTPUT may renew, change and
// unlock it, as anyone who can write the folder could by hand. `by` is recorded.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dialect/workflow/workflow_layout.h"
#include "plan/resolutions.h"
#include "service/locks.h"

namespace lockkeeper::dialect::workflow {

inline constexpr std::int64_t kDefaultTtlMs = 3'600'000;  // the protocol's hour

// A request for one agent's lock. Paths are literal, from the repository's root.
struct Request {
  std::string agent;
  std::vector<std::string> files;
  std::vector<std::string> directories;
  std::string task_description;
  std::string task;
  std::optional<std::int64_t> ttl_ms;  // nullopt: kDefaultTtlMs; kNoEnd: endless
};

// A change of a live scope. A path that ends in '/', or is a folder on disk, is a directory.
struct Update {
  std::string agent;
  std::vector<std::string> add;
  std::vector<std::string> remove;
  std::optional<std::int64_t> ttl_ms;  // nullopt: the same ttl as before, from now
};

// The result of one agent's request.
struct Locked {
  std::string agent;
  std::string path;  // of its lock file
  service::AcquireResult result;
  bool name_taken = false;               // refused because of a live lock of that name
  std::vector<key::Resource> not_in_it;  // then: what was asked and that lock does not cover
  std::vector<plan::Clash> overlaps;
  std::vector<std::string> held_by;           // the holder of each overlap
  std::vector<std::string> held_in;           // its workflow, if its agent has our agent's name
  std::vector<plan::Resolution> resolutions;  // of a refusal
};

enum class HowEnded { kReleased, kBroken, kOver };  // kOver: it had expired
struct Unlocked {
  std::string agent;
  std::string path;
  HowEnded how = HowEnded::kReleased;
};

// One existing lock file.
struct Standing {
  std::string name;  // of the file
  std::string path;
  std::optional<LockFile> file;  // nullopt: unreadable, see `error`
  std::optional<Error> error;
  std::optional<core::LeaseId> lease;  // nullopt: another tool's lock
  bool ours = false;                   // it shows a lease of ours, which may be over
  bool through = false;  // ours, taken through this dialect; otherwise only shown here
  bool expired = false;
  std::vector<key::Resource> resources;
};
struct StandingOverlap {
  std::string a;  // names of the files
  std::string b;
  plan::Clash overlap;
};
struct Status {
  std::vector<Standing> locks;
  std::vector<StandingOverlap> overlaps;  // of live locks
  std::vector<std::string> others;        // what else is in the folder
};

struct Cleaned {
  std::vector<Unlocked> unlocked;
  std::vector<std::string> left;  // paths that are not locks of this workflow, and the folder
  bool folder_found = false;
  bool folder_removed = false;
};

class Workflow {
 public:
  // `output` is absolute and physical, `by` the caller. `table` must outlive it. Registers nothing
  // yet. invalid_config as load_layouts().
  static Result<std::unique_ptr<Workflow>> open(service::Site& table, std::string output,
                                                core::Owner by, service::ParentLease under);

  // All or none, in one commit. A live lock of that name is a refusal, or is renewed with `renew`
  // (with the same scope, or none). An expired one is replaced, with a warning. invalid_input: an
  // unsafe name, no scope, `renew` with a different scope.
  Result<std::vector<Locked>> lock(const std::vector<Request>& requests, bool renew);
  // In one commit: the old scope is held until the new one is granted. not_found: no live lock;
  // not_owner: another tool's.
  Result<Locked> update(const Update& update);
  // Deletes the file. not_found; not_owner for a lease that is only shown here.
  Result<Unlocked> unlock(const std::string& agent);
  // Changes nothing.
  Result<Status> status();
  // Unlocks all and deletes the folder, unless it contains something else.
  Result<Cleaned> clean();

  std::string path_of(const std::string& name) const;

 private:
  Workflow(service::Site& table, layout::LayoutEntry entry, core::Owner by,
           service::ParentLease under);
  Result<void> use();
  service::Locks locks_of(const std::string& agent) const;
  Result<Standing> standing(const std::string& name);
  Result<std::optional<core::Lease>> live_lease(const std::string& name);
  Result<void> stand_in_table(Standing& standing);
  enum class Spellings { kFirst, kAll };  // behind a symlink a text has two
  Result<std::vector<key::Resource>> resolve(const std::vector<std::string>& texts,
                                             Spellings spellings = Spellings::kFirst);
  Result<Locked> name_taken(const Request& request, const Standing& standing);
  Result<Locked> renew(const Request& request, const core::Lease& lease);
  Result<std::optional<Locked>> before_lock(const Request& request, bool may_renew);
  // Expired locks, with what they covered.
  Result<std::vector<Standing>> expired_locks();
  Result<std::vector<std::string>> overwriting(const std::string& agent,
                                               const std::vector<std::string>& texts,
                                               const std::vector<Standing>& expired);
  std::string workflow_of(const core::Owner& owner, const std::string& asker) const;
  Result<std::optional<core::Lease>> older_namesake(const Locked& locked);
  Result<void> give_back(const Locked& locked);
  Result<bool> give_way(std::vector<Locked>& replies, const std::vector<std::size_t>& places,
                        bool may_renew);
  Result<Locked> explained(Locked locked, const std::vector<std::string>& wanted,
                           const std::string& task_description);
  Result<Unlocked> end_lease(const Standing& standing);
  Result<Unlocked> end_foreign(const Standing& standing);
  service::AcquireCommand command(const Request& request) const;

  service::Site& site_;
  const layout::LayoutEntry entry_;
  const core::Owner by_;
  const service::ParentLease under_;
  WorkflowLayout layout_;
};

}  // namespace lockkeeper::dialect::workflow
