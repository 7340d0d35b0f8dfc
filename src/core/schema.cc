#include "core/schema.h"

#include <string>
#include <vector>

#include "core/deadlock.h"

namespace lockkeeper::core {
namespace {

Result<std::vector<LeaseId>> all_waiters(kv::Txn& txn) {
  std::vector<LeaseId> ids;
  LK_CHECK(txn.scan(kv::prefix_range(waiter_key({})), [&](const kv::Row& row) {
    ids.push_back(LeaseId{row.key.substr(1)});
    return true;
  }));
  return ids;
}

}  // namespace

// Leases are read as they are: a record with one hold is still written like that.
Result<void> migrate(std::uint32_t from, kv::Txn& txn) {
  if (from != 1) {
    return fail(Code::kStoreUnavailable,
                "the store has schema " + std::to_string(from) + ", which no release has written",
                "use the program that made it");
  }
  const Context context;
  State state(txn, context);
  LK_ASSIGN(const std::vector<LeaseId> ids, all_waiters(txn));
  for (const LeaseId& id : ids) {
    LK_ASSIGN(std::optional<Waiter> waiter, state.waiter(id));
    if (!waiter) continue;
    LK_ASSIGN(waiter->wholes, wholes_behind(state, waiter->request));
    if (waiter->wholes.empty()) continue;
    LK_CHECK(txn.put(waiter_key(id), encode_waiter(*waiter)));
    for (const std::string& whole : waiter->wholes) LK_CHECK(txn.put(part_key(whole, id), whole));
  }
  return {};
}

}  // namespace lockkeeper::core
