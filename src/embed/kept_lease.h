// One lease as this process keeps it, and each Lease object's share in it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/clock.h"
#include "core/encoding.h"
#include "core/types.h"

namespace lockkeeper::embed {

// What one Lease object has of an KeptLease. Protected by the LeaseKeeper's mutex.
struct Share {
  std::function<void(const Error&)> on_lost;
  bool calling = false;  // the watching thread is in on_lost
};

struct KeptLease {
  explicit KeptLease(const core::Lease& lease)
      : id(lease.id),
        id_text(lease.id.text()),
        resources(core::resource_texts(lease)),
        fence(lease.fence()),
        ttl_ms(lease.terms.ttl_ms) {}

  // From this moment on it counts as lost: two thirds of its ttl without an acknowledged renewal.
  std::int64_t silent_at_ms() const {
    const std::int64_t ttl = ttl_ms.load();
    return ttl == kNoEnd ? INT64_MAX : acknowledged_ms.load() + ttl / 3 * 2;
  }

  // Constant after it was made.
  const core::LeaseId id;
  const std::string id_text;
  const std::vector<std::string> resources;
  const std::uint64_t fence;

  // Written under the LeaseKeeper's mutex, read by any thread.
  std::atomic<std::int64_t> ttl_ms;               // kNoEnd: never ends by time
  std::atomic<std::int64_t> acknowledged_ms = 0;  // when the store last granted its full ttl
  std::atomic<bool> lost = false;                 // stays true

  std::stop_source stop;

  // Protected by the LeaseKeeper's mutex.
  bool borrowed = false;  // it was there already: no thread here is known to have been granted it
  Error loss;
  bool announced = false;
  std::int64_t next_renewal_ms = INT64_MAX;
  std::string trouble;  // why the last renewal failed; empty: it did not
  std::vector<std::shared_ptr<Share>> shares;
};

}  // namespace lockkeeper::embed
