// A store that does not outlive the boot starts empty. The leases held before end on record with
// the cause `reboot`, and their holders can be told.
#pragma once

#include "core/types.h"

namespace lockkeeper::core {

// Reads the leases of the former store and records their ends in the first transaction of the new
// one. Beyond 4,000 leases, one event counts the rest.
Result<void> end_by_reboot(kv::Txn& former, kv::Txn& txn, const Context& context);

}  // namespace lockkeeper::core
