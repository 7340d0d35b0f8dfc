// The part of the audit (audit.h) that is about layouts: foreign locks (foreign.h) and mirrored
// leases (mirrored.h). Every foreign lease is known under its artefact and the other way round,
// unless its own time has ended. Every place where a lease is mirrored has its row. Every such row
// belongs to a lease that is mirrored there, or to one whose artefacts are still to be removed.
#pragma once

#include <functional>
#include <string>

#include "kv/store.h"

namespace lockkeeper::core {

// Calls `say` with one sentence for each problem. Reads all rows of layouts and all leases.
Result<void> audit_layouts(kv::Txn& txn, const std::function<void(std::string)>& say);

}  // namespace lockkeeper::core
