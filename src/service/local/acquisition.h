// Requests that are granted together or not at all; usually one. From the table's decision through
// the queue to the moment at which other tools see the grant.
//
//   1. look      what other tools hold is brought into the table
//   2. decide    one commit grants all parts, or refuses (or queues, if there is one part)
//   3. verify    what refused it may be gone from the disk already: then decide again
//   4. wait      in the queue, if the one part asked for that
//   5. publish   other tools see it. If one of them was first, all is taken back and 1 follows
//
// While the one part waits, await() and leave() go on with it.
//
// Thread safety: none.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/foreign.h"
#include "core/table.h"
#include "layout/mirror.h"
#include "service/local/waiting.h"
#include "service/replies.h"

namespace lockkeeper::service::local {

class Acquisition {
 public:
  struct Part {
    core::AcquireRequest request;
    std::vector<core::LeaseId> replaces;  // end in the commit that grants it
    AcquireResult result = {};
  };
  using Write = layout::LockTable::Write;
  using Results = std::vector<AcquireResult>;

  // REQUIRES: at least one part; a part that waits is the only one. `table` must outlive it.
  Acquisition(layout::LockTable& table, std::vector<Part> parts)
      : table_(table), mirror_(table), parts_(std::move(parts)) {}

  // One result for each part, in their order. If one of several is refused, all are: those that
  // would have been granted alone say kHeld without conflicts. kQueued: await() follows. `write` is
  // LockTable::write, or does more in the same commit; it is not kept.
  Result<Results> begin(const Write& write);
  // REQUIRES: the last result was kQueued, or a handoff that is not confirmed. See AwaitCall and
  // LeaveCall.
  Result<Results> await(const Write& write, std::int64_t at_most_ms, bool looks);
  Result<Results> leave(const Write& write, core::Outcome why);
  AcquireResult last_look() const;  // what the queue said last
  const core::Owner& owner() const { return parts_.front().request.owner; }
  // Goes on with a request that another process, or an earlier life of this one, has queued.
  Result<Results> resume(core::AcquireReply queued);
  // Takes over another tool's lock, which all these artefacts show: their leases end in the commit
  // that grants the one part. held: somebody else holds some of it, or it changed hands.
  struct Foreign {
    core::KnownForeign known;
    std::string identity;  // of the artefact, as it is now
  };
  Result<AcquireResult> take_over(const Write& write, const std::vector<Foreign>& artefacts);

  std::uint64_t order = 0;  // of those that ask for one request, the higher is the newer

 private:
  bool together() const { return parts_.size() > 1; }
  Result<Results> decide_and_publish();
  Result<Results> publish_waited();
  Results results() const;
  Result<void> clear_the_way();
  Result<void> decide();
  Result<void> decide_once();
  Result<bool> decide_in(core::Table& table);
  Result<void> record_grant(core::Table& table, const Part& part, const core::AcquireReply& reply);
  Result<bool> conflicts_changed();
  Result<bool> publish_all();
  Result<bool> publish(AcquireResult& result);
  void remove_taken_over(const std::vector<Foreign>& artefacts);
  Result<void> take_back(const AcquireResult& result, const core::ForeignLock& first);

  layout::LockTable& table_;
  layout::Mirror mirror_;
  std::vector<Part> parts_;
  const Write* write_ = nullptr;             // of the step that runs
  std::optional<Waiting> waiting_;           // the one part is in the queue
  int tries_ = 0;                            // grants taken back
  std::vector<core::AcquireReply> replies_;  // of the last decision
};

}  // namespace lockkeeper::service::local
