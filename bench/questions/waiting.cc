#include "bench/questions/waiting.h"

#include <chrono>

#include "base/assert.h"

namespace lockkeeper::bench {

std::int64_t now_ns() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

void take_it(service::Locks& locks, Bound bound) {
  service::AcquireCommand command;
  command.wanted.texts = {"src/api/users.py"};
  command.wait_ms = service::kWaitForEver;
  if (bound == Bound::kAttached) {
    const auto slot = locks.table().own_slot();
    LOCKKEEPER_ASSERT(slot);
    command.attachment = *slot;
  }
  const auto got = locks.acquire(command);
  LOCKKEEPER_ASSERT(got && got->outcome == service::Ended::kGranted);
}

void free_it(service::Locks& locks) {
  service::ReleaseCommand command;
  command.all = true;
  LOCKKEEPER_ASSERT(locks.release(command));
}

std::size_t waiters_of(service::Locks& locks) {
  const auto listed = locks.list({});
  LOCKKEEPER_ASSERT(listed);
  return listed->waiters.size();
}

}  // namespace lockkeeper::bench
