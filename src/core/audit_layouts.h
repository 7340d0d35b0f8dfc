// The part of the audit (audit.h) that is about layouts: foreign locks (foreign.h) and shown leases
// (shown.h). Every foreign lease is known under its artefact and the other way round, unless it has
// ended by its own time; every place in which a lease is shown has its row; every such row belongs
// to a lease that is shown there or to one whose artefacts are still to be removed.
#pragma once

#include <functional>
#include <string>

#include "kv/store.h"

namespace lockkeeper::core {

// Says each problem in a sentence. Reads everything of layouts and all leases.
Result<void> audit_layouts(kv::Txn& txn, const std::function<void(std::string)>& say);

}  // namespace lockkeeper::core
