// A store that does not outlive the boot begins anew: what was held before ends with the cause
// `reboot`, on record, and its holders can be told.
#pragma once

#include "core/types.h"

namespace lockkeeper::core {

// Reads the leases of the former store and writes their ends into the first transaction of the new
// one. Beyond 4,000 leases one line counts the rest.
Result<void> end_by_reboot(kv::Txn& former, kv::Txn& txn, const Context& context);

}  // namespace lockkeeper::core
