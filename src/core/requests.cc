#include "core/requests.h"

#include "core/condition.h"

namespace lockkeeper::core {

bool is_handoff(Outcome outcome, const Lease& lease) {
  return outcome == Outcome::kGranted && !is_confirmed(lease);
}

void AcquireReply::stamp(kv::Version version) {
  if (lease.created == 0 && outcome != Outcome::kHeld) lease.created = version;
  // What this very commit handed off to others may conflict too.
  for (Conflict& conflict : conflicts) {
    if (conflict.holder.created == 0) conflict.holder.created = version;
  }
}

}  // namespace lockkeeper::core
