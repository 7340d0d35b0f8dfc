// One lease as this process keeps it, and each Lease object's part in it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/clock.h"
#include "core/types.h"

namespace lockkeeper::embed {

// What one Lease object has of an Entry. Protected by the Keeper's mutex.
struct Share {
  std::function<void(const Error&)> on_lost;
  bool calling = false;  // the watching thread is in on_lost
};

struct Entry {
  explicit Entry(const core::Lease& lease)
      : id(lease.id),
        id_text(lease.id.text()),
        fence(lease.fence()),
        length_ms(lease.terms.ttl_ms) {
    for (const core::Claim& claim : lease.claims) resources.push_back(claim.resource.text());
  }

  // Two thirds of its length without an acknowledged renewal (I7).
  std::int64_t silent_at_ms() const {
    return length_ms == kNoEnd ? INT64_MAX : acknowledged_ms.load() + length_ms / 3 * 2;
  }

  // Constant after it was made.
  const core::LeaseId id;
  const std::string id_text;
  const std::uint64_t fence;
  const std::int64_t length_ms;  // kNoEnd: never ends by time
  std::vector<std::string> resources;

  // Written under the Keeper's mutex, read by anybody.
  std::atomic<std::int64_t> acknowledged_ms = 0;  // when the store last granted its full length
  std::atomic<bool> lost = false;                 // for ever

  std::stop_source stop;

  // Protected by the Keeper's mutex.
  bool borrowed = false;  // it was there before us, and is not ours to release
  Error loss;
  bool announced = false;
  std::int64_t next_renewal_ms = INT64_MAX;
  std::string trouble;  // why the last renewal failed; empty: it did not
  std::vector<std::shared_ptr<Share>> shares;
};

}  // namespace lockkeeper::embed
