// Requests that are granted together or not at all; usually one. From the table's decision through
// the queue to the moment at which other tools see the grant. Internal to the room; Locks is the
// door.
//
//   1. look      what other tools hold is brought into the table
//   2. decide    one commit grants all parts, or refuses (or queues, if there is one part)
//   3. verify    what refused it may be gone from the disk already: then decide again
//   4. wait      in the queue, if the one part asked for that
//   5. publish   other tools see it. If one of them was first, all is taken back and 1 follows
//
// Thread safety: none; one for each call.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/foreign.h"
#include "core/table.h"
#include "layout/mirror.h"
#include "service/commands.h"

namespace lockkeeper::service {

class Acquisition {
 public:
  struct Part {
    AcquireCommand command;
    core::AcquireRequest request;
    AcquireResult result;
  };
  // REQUIRES: at least one part; a part that waits is the only one. `table` must outlive it.
  Acquisition(layout::LockTable& table, layout::LockTable::Write write, std::vector<Part> parts)
      : table_(table),
        write_(std::move(write)),
        mirror_(table),
        parts_(std::move(parts)),
        asked_wait_ms_(parts_.front().command.wait_ms) {}

  // One result for each part, in their order. If one of several is refused, all are: those that
  // would have been granted alone say kHeld without conflicts.
  Result<std::vector<AcquireResult>> run();
  // Takes over another tool's lock, whose artefact has this identity: its lease ends in the commit
  // that grants the one part. held: somebody else holds some of it, or it changed hands.
  Result<AcquireResult> take_over(const core::KnownForeign& foreign, const std::string& identity);

 private:
  bool together() const { return parts_.size() > 1; }
  Result<void> clear_the_way();
  Result<void> decide();
  Result<void> decide_once();
  Result<bool> decide_in(core::Table& table);
  Result<void> record_grant(core::Table& table, const Part& part, const core::AcquireReply& reply);
  Result<bool> conflicts_changed();
  Result<void> wait(Part& part, core::AcquireReply queued);
  Result<bool> publish_all();
  Result<bool> publish(AcquireResult& result);
  Result<void> take_back(const AcquireResult& result, const core::ForeignLock& first);
  void shorten_the_wait();

  layout::LockTable& table_;
  const layout::LockTable::Write write_;
  layout::Mirror mirror_;
  std::vector<Part> parts_;
  const std::optional<std::int64_t> asked_wait_ms_;
  std::vector<core::AcquireReply> replies_;  // of the last decision
  std::vector<core::LostLease> lost_;        // told by the commit that is being made
};

}  // namespace lockkeeper::service
