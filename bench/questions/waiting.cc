#include "bench/questions/waiting.h"

#include <chrono>

#include "base/assert.h"
#include "bench/must.h"

namespace lockkeeper::bench {

std::int64_t now_ns() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

void take_it(service::Locks& locks, Bound bound) {
  service::AcquireCommand command;
  command.wanted.texts = {"src/api/users.py"};
  command.wait_ms = service::kWaitForever;
  if (bound == Bound::kAttached) {
    command.attachment = must(locks.site().table().own_slot());
  }
  const service::AcquireResult got = must(locks.acquire(command));
  LOCKKEEPER_ASSERT(got.outcome == core::Outcome::kGranted);
}

void free_it(service::Locks& locks) {
  service::ReleaseCommand command;
  command.all = true;
  must(locks.release(command));
}

std::size_t waiters_of(service::Locks& locks) {
  return must(locks.list({})).waiters.size();
}

}  // namespace lockkeeper::bench
