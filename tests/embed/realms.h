// Realms and leases that a test needs to go on: it ends at once if it does not get them.
#pragma once

#include <gtest/gtest.h>
#include <lockkeeper/lockkeeper.h>
#include <lockkeeper/memory.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace lockkeeper::stage {

inline Realm opened(lockkeeper::Answer<Realm> realm) {
  if (!realm) {
    ADD_FAILURE() << realm.error().message;
    std::abort();
  }
  return *std::move(realm);
}

inline Lease granted(const Realm& realm, const std::vector<std::string>& resources,
                     const AcquireOptions& options = {}) {
  auto acquired = realm.acquire(resources, options);
  if (!acquired) {
    ADD_FAILURE() << acquired.error().message;
    std::abort();
  }
  return *std::move(acquired);
}

// Until that many requests wait, seen by `realm`.
inline void await_waiters(const Realm& realm, std::size_t count) {
  for (;;) {
    const auto listing = realm.list();
    if (!listing) {
      ADD_FAILURE() << listing.error().message;
      std::abort();
    }
    if (listing->waiters.size() == count) return;
    std::this_thread::yield();
  }
}

class MemoryTest : public testing::Test {
 protected:
  Realm realm(const std::string& agent = "embedder") const {
    return opened(memory_.open({.agent = agent}));
  }

  ManualClock clock_;
  MemoryRealm memory_{clock_};
};

}  // namespace lockkeeper::stage
