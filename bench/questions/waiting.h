// One path that everybody wants, for the questions about waiters.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "bench/peers/ours.h"

namespace lockkeeper::bench {

std::int64_t now_ns();

// Takes it, waiting as long as it takes. kAttached: it is free when this process is dead.
enum class Bound { kDetached, kAttached };
void take_it(service::Locks& locks, Bound bound = Bound::kDetached);
void free_it(service::Locks& locks);

// How many requests stand in the queue.
std::size_t waiters_of(service::Locks& locks);

// Processes that wait, each as `wait` says with its number. Killed and waited for with this object.
class Waiting {
 public:
  Waiting(int count, const std::function<void(int)>& wait);
  ~Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  // False: it took too long, or one of them gave up. That one says why on stderr.
  bool in_time(const std::function<bool()>& ready) const;
  bool all_queued(service::Locks& locks) const;

 private:
  bool any_failed() const;

  std::vector<pid_t> pids_;
};

}  // namespace lockkeeper::bench
