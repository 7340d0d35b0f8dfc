// Do the table's rows hang together? Reads everything, changes nothing, and says in words what is
// wrong: for `doctor`, and for the simulator after every step.
//
// What must be: every lease has its claims, its due row, its place under its parent and its share
// of the agent's counter, every waiter its claims and its place under a blocker that exists and
// conflicts with it (or whose handoff is still to come); no row speaks of something that is not
// there; no two leases conflict (I1) unless one owner, a parent and its child, or a session and its
// subagent hold them; every record can be read; layouts as in audit_layouts.h.
//
// Cost: one pass over the rows, and for exclusion one probe of each claim's ancestors, so linear in
// the rows; memory about 100 bytes for each row that belongs to a lease or a waiter.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/types.h"

namespace lockkeeper::core {

struct AuditScope {
  bool exclusion = true;            // I1, by the index
  bool history = true;              // read every event
  std::size_t problems_max = 1000;  // stop there
};

// One sentence for each inconsistency, in no promised order; empty: sound. A damaged record is a
// problem, not an error; an error is the store's. All reads are peeks: of one snapshot, and a
// transaction begun for reading will do.
Result<std::vector<std::string>> audit(kv::Txn& txn, const Context& context, AuditScope scope = {});

}  // namespace lockkeeper::core
