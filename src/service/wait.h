// One request's time in the queue: sleep, look, sleep again, until it is granted, out of time,
// interrupted or in a ring. Internal to the room; Locks::acquire is the door.
#pragma once

#include <cstdint>
#include <optional>

#include "core/table.h"
#include "host/waker.h"
#include "layout/lock_table.h"
#include "service/commands.h"

namespace lockkeeper::layout {
class Mirror;
}

namespace lockkeeper::service {

struct Waited {
  core::AcquireReply reply;           // the last look's, stamped
  std::optional<core::Outcome> left;  // why it left the queue itself (timeout, interrupted)
  std::int64_t ms = 0;
};

class Waiting {
 public:
  // `queued` is the table's answer, `word` what the request's wake was. REQUIRES: command.wait_ms.
  // `mirror`: where a grant is recorded, to be published. Never null.
  Waiting(layout::LockTable& table, const AcquireCommand& command, core::AcquireReply queued,
          std::uint64_t word, layout::Mirror* mirror);

  // An error means that the request is not in the queue any more, unless the store could not be
  // reached for that either: then the table drops it when nobody confirms its grant.
  Result<Waited> run();

 private:
  // What it has an eye on between two looks at the table.
  struct Vigil {
    std::vector<core::Conflict> blockers;  // whose death it can notice itself
    core::LeaseId ahead;                   // far back: while this one waits, nothing has changed
    std::int64_t probe_ms = 0;
    std::int64_t look_ms = 0;       // how soon it looks whether that is still so
    std::int64_t full_look_ms = 0;  // how soon it looks at everything again
  };

  std::int64_t now_ms() const { return table_.runtime().clock->now().mono_ms; }
  Vigil vigil() const;
  std::int64_t sleep_ms(const Vigil& vigil, std::int64_t now) const;
  bool any_dead(const Vigil& vigil) const;
  bool stands_behind(const core::LeaseId& ahead);
  Result<bool> look();
  Result<bool> look_at_layouts();
  bool patient(const Error& error) const;
  Result<void> record(core::Table& table) const;
  Result<std::optional<core::Outcome>> sleep(const host::Waker& waker, std::uint32_t seen);
  Result<Waited> leave(core::Outcome why);

  layout::LockTable& table_;
  const AcquireCommand& command_;
  core::AcquireReply reply_;
  const core::LeaseId id_;
  const std::uint64_t word_;
  layout::Mirror* const mirror_;
  const std::int64_t began_ms_;
  std::int64_t looked_ms_;  // when the table was last seen in full
};

}  // namespace lockkeeper::service
