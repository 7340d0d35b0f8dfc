// The public face of a realm in memory; embed::MemoryTable does the work.
#include <lockkeeper/memory.h>

#include "embed/boundary.h"
#include "embed/memory_table.h"
#include "embed/owner.h"

namespace lockkeeper {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::system_clock;

ManualClock::ManualClock(system_clock::time_point start)
    : time_(std::make_shared<embed::ManualTime>(
          duration_cast<milliseconds>(start.time_since_epoch()).count())) {}

ManualClock::ManualClock() : ManualClock(std::chrono::sys_days(std::chrono::year(2026) / 1 / 1)) {}

ManualClock::~ManualClock() = default;

system_clock::time_point ManualClock::now() const {
  return system_clock::time_point(milliseconds(time_->now().wall_ms));
}

void ManualClock::advance(milliseconds by) {
  time_->advance(by.count());
}

MemoryRealm::MemoryRealm(const ManualClock& clock)
    : table_(embed::MemoryTable::make(clock.time_)) {}

MemoryRealm::~MemoryRealm() = default;

Answer<Realm> MemoryRealm::open(const RealmOptions& options) const {
  return embed::answer<Realm>([&]() -> Result<Realm> {
    LK_ASSIGN(auto owner, embed::Owner::open_in_memory(table_, options));
    return Realm(std::move(owner));
  });
}

}  // namespace lockkeeper
