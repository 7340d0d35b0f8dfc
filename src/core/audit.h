// Are the table's rows consistent? Reads everything, changes nothing, and says in words what is
// wrong. `doctor` uses it, and the simulator after every step. It checks that:
//   - every lease has its claims, its due row, its place under its parent and its share of the
//     agent's counter;
//   - every waiter has its claims, and its place under a blocker that exists and conflicts with it,
//     or whose handoff is still to come;
//   - no row refers to something that is not there, and every record can be read;
//   - no two leases conflict (I1), unless they belong to one owner, to a parent and its child, or
//     to a session and its subagent;
//   - layouts are as audit_layouts.h says.
// Cost: linear in the rows. About 100 bytes of memory for each row of a lease or a waiter.
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

// One sentence for each inconsistency, in any order; empty: consistent. A damaged record is an
// inconsistency; an error comes from the store. All reads are peeks of one snapshot, so a read
// transaction is enough.
Result<std::vector<std::string>> audit(kv::Txn& txn, const Context& context, AuditScope scope = {});

}  // namespace lockkeeper::core
