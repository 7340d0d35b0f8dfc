// One request's time in the queue: sleep, look, sleep again. Part of Acquisition.
//
// Thread safety: none.
#pragma once

#include <cstdint>

#include "core/table.h"
#include "host/waker.h"
#include "layout/lock_table.h"

namespace lockkeeper::layout {
class Mirror;
}

namespace lockkeeper::service::local {

class Waiting {
 public:
  // `queued` is the table's answer; `word` is the waker's word that the request sleeps on.
  // `mirror` records a grant, to be published later. Both references must outlive it.
  Waiting(layout::LockTable& table, core::AcquireReply queued, std::uint64_t word,
          layout::Mirror& mirror);

  // Returns after `at_most_ms` (0: at once, having looked if there was a reason), or as soon as
  // reply() has changed, a signal came or the request's word was woken. True: it is still in the
  // queue. After an error it is not, unless the store could not be reached for that either: then
  // the table drops it when nobody confirms its grant.
  //
  // If it only looks, a grant is not confirmed. It counts as queued, and reply() says kGranted.
  Result<bool> run(std::int64_t at_most_ms, bool looks);
  // Leaves the queue. reply() is kHeld, or the grant that came before it could leave.
  Result<void> leave(core::Outcome why, const layout::LockTable::Write& write);

  const core::LeaseId& id() const { return id_; }
  const core::AcquireReply& reply() const { return reply_; }  // the last look's, stamped

 private:
  // What it watches between two looks at the table.
  struct WatchPlan {
    std::vector<core::Conflict> blockers;  // whose death it can notice itself
    core::LeaseId ahead;                   // far back: while this one waits, nothing has changed
    std::int64_t probe_ms = 0;
    std::int64_t look_ms = 0;       // how soon it looks whether that is still so
    std::int64_t full_look_ms = 0;  // how soon it looks at everything again
  };
  enum class Woken { kToLook, kToReturn };

  std::int64_t now_ms() const { return table_.runtime().clock->now().mono_ms; }
  WatchPlan plan_watch() const;
  std::int64_t sleep_ms(std::int64_t now) const;
  bool any_dead() const;
  bool still_behind(const core::LeaseId& ahead);
  Result<bool> look(core::Table::Poll how);
  Result<bool> scan_layouts();
  Result<void> leave_after_error();
  bool may_retry(const Error& error) const;
  Result<void> record_grant(core::Table& table) const;
  Woken glance(const host::Waker& waker);
  Woken due(std::int64_t now);
  Woken sleep(const host::Waker& waker, std::int64_t& left_ms);

  layout::LockTable& table_;
  core::AcquireReply reply_;
  const core::LeaseId id_;
  const std::uint64_t word_;
  layout::Mirror& mirror_;
  std::uint32_t seen_ = 0;  // the word before the last look
  bool must_look_ = true;   // before it may sleep (core::AcquireReply::unguarded)
  WatchPlan plan_;          // since the last look
  std::int64_t look_by_ = 0;
  std::int64_t looked_ms_;  // when the table was last seen in full
};

}  // namespace lockkeeper::service::local
