// Reads many rows without blocking anybody: one page at a time, each in a short transaction.
#pragma once

#include <string>
#include <vector>

#include "core/state.h"

namespace lockkeeper::core {

inline constexpr std::size_t kPageRows = 1'000;

// `next` is where the following page begins; empty: there is none. Peeks only.
struct LeasePage {
  std::vector<Lease> leases;
  std::string next;
};
Result<LeasePage> lease_page(State& state, const std::string& from);

struct WaiterPage {
  std::vector<Waiter> waiters;
  std::string next;
};
Result<WaiterPage> waiter_page(State& state, const std::string& from);

}  // namespace lockkeeper::core
