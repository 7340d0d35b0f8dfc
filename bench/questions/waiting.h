// One path that everybody wants, for the questions about waiters.
#pragma once

#include <cstdint>
#include <optional>

#include "bench/peers/ours.h"

namespace lockkeeper::bench {

std::int64_t now_ns();

// Takes it, waiting as long as it takes. kAttached: it is free when this process is dead.
enum class Bound { kDetached, kAttached };
void take_it(service::Locks& locks, Bound bound = Bound::kDetached);
void free_it(service::Locks& locks);

// How many requests stand in the queue.
std::size_t waiters_of(service::Locks& locks);

}  // namespace lockkeeper::bench
