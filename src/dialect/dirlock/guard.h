// The directory lock of one folder (docs/dialects/dirlock.md), held by this process. It is in three
// places: the lock file that other tools see, `dir:<folder>` in the machine realm, and, inside a
// repository, that folder in the repository's realm.
//
//   auto guard = Guard::open(runtime, who, request, say);
//   if (guard && *(*guard)->take()) { … (*guard)->lost() every second … (*guard)->give_back(); }
//
// Thread safety: none; one thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dialect/dirlock/dirlock_layout.h"
#include "dialect/dirlock/guard_lines.h"
#include "dialect/dirlock/staleness.h"
#include "service/locks.h"

namespace lockkeeper::dialect::dirlock {

struct GuardRequest {
  std::string folder;                               // absolute, any spelling
  std::int64_t stale_timeout_ms = kStaleTimeoutMs;  // 0 clears whatever lock is there
  std::string stale_timeout = "20";                 // as written, for the output line
  std::vector<std::string> agents;                  // named in the lock; empty: the caller
  std::string store;                                // of the repository, as for choose_store()
};

struct Refused {
  std::optional<LockRecord> holder;       // of a lock file
  std::string path;                       // of the lock file
  std::vector<core::Conflict> conflicts;  // in the table
  Error error;                            // as one error
};

class Guard {
 public:
  using Say = std::function<void(const Line&)>;

  // Finds the folder, the realms and the lock file's path; takes nothing. `who` gets its own
  // session, so that two guards always exclude each other. `runtime` must outlive it.
  static Result<std::unique_ptr<Guard>> open(const service::Runtime& runtime,
                                             const realm::Identity& who, service::ParentLease under,
                                             const GuardRequest& request, Say say);

  // False: it is held; refused() says by whom, and the lines were printed. An Error: it failed for
  // another reason, and nothing is held.
  Result<bool> take();
  const Refused& refused() const { return refused_; }

  // Renews if needed and checks that the lock is still ours in all places. nullopt: it is.
  // Otherwise why not, and the same at every later call.
  std::optional<std::string> lost();
  // Releases it and prints that. lost: it was no longer ours; another's lock stays.
  Result<void> give_back();

  const LockRecord& record() const { return record_; }  // REQUIRES: taken
  const std::string& path() const { return path_; }     // of the lock file
  const std::string& folder() const { return request_.folder; }
  // The table of the folder's realm, and the lease there. REQUIRES: taken
  service::Locks& locks() { return repository_ ? repository_->locks : machine_->locks; }
  const core::Lease& lease() const { return leases_.back().lease; }

 private:
  struct Place {
    Place(const service::Runtime& runtime, realm::Realm realm, realm::Settings settings,
          const core::Owner& owner, service::ParentLease under)
        : site(runtime, std::move(realm), std::move(settings)),
          locks(site, owner, std::move(under)) {}
    service::Site site;
    service::Locks locks;
  };
  struct Held {
    Place* place;
    core::Lease lease;
    std::int64_t acknowledged_ms;
    std::int64_t next_renewal_ms;
  };
  enum class Step { kDone, kRefused, kAgain };

  Guard(const service::Runtime& runtime, GuardRequest request, Say say)
      : runtime_(runtime), request_(std::move(request)), say_(std::move(say)) {}
  Result<void> find_folders();
  Result<void> open_places(const core::Owner& owner, service::ParentLease under);

  Result<Step> clear_the_way();
  Result<Step> clear_unclear(const FoundLock& found);
  Result<Step> clear_stale(const FoundLock& found, const Judged& judged);
  Result<Step> clear(const FoundLock& found);
  Result<std::vector<core::Lease>> shown_by(const LockRecord& record);
  Result<void> break_ours(const LockRecord& record, const std::vector<core::Lease>& shown);
  Result<void> record_break(const LockRecord& record);
  Result<Step> take_leases();
  Result<Step> take_in(Place& place, const std::string& resource, bool shown);
  Result<Step> judge_conflicts(Place& place, const std::vector<core::Conflict>& conflicts);
  Result<Step> refuse(const LockRecord& holder);
  Step refuse(std::vector<core::Conflict> conflicts);
  void release_all();
  std::optional<std::string> lost_file();
  std::optional<std::string> lost_lease(Held& held);
  std::optional<std::string> broken_by() const;

  std::int64_t wall_ms() const { return runtime_.clock->now().wall_ms; }
  std::int64_t mono_ms() const { return runtime_.clock->now().mono_ms; }
  Place& shown_place() { return repository_ ? *repository_ : *machine_; }

  const service::Runtime& runtime_;
  GuardRequest request_;  // its folder physical
  const Say say_;
  layout::LayoutEntry entry_;  // its root is the folder for temporary files
  std::string name_;           // of the lock file there
  std::string path_;
  std::unique_ptr<Place> machine_;
  std::unique_ptr<Place> repository_;  // null if the folder is not in a repository
  std::vector<Held> leases_;           // the one with the lock file last
  LockRecord record_;
  Refused refused_;
  std::optional<std::string> lost_;
};

}  // namespace lockkeeper::dialect::dirlock
