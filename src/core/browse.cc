#include "core/browse.h"

namespace lockkeeper::core {
namespace {

struct RawRow {
  std::string key;
  std::string value;
  kv::Version created;
  kv::Version modified;
};

// One page of rows; the key after the last one if it was full.
Result<std::vector<RawRow>> page(State& state, const kv::Range& range, std::string& next) {
  std::vector<RawRow> rows;
  next.clear();
  LK_CHECK(state.txn().scan(
      range,
      [&](const kv::Row& row) {
        if (rows.size() == kPageRows) {
          next = row.key;
          return false;
        }
        rows.push_back({std::string(row.key), std::string(row.value), row.created, row.modified});
        return true;
      },
      kv::Read::kPeek));
  return rows;
}

kv::Range from_on(std::string_view prefix, const std::string& from) {
  kv::Range range = kv::prefix_range(prefix);
  if (!from.empty()) range.from = from;
  return range;
}

constexpr std::size_t kCounterKeyBytes = 5;

}  // namespace

Result<LeasePage> lease_page(State& state, const std::string& from) {
  LeasePage result;
  LK_ASSIGN(const std::vector<RawRow> rows, page(state, from_on("l", from), result.next));
  for (const RawRow& row : rows) {
    if (row.key.size() == kCounterKeyBytes) continue;
    LK_ASSIGN(Lease lease,
              decode_lease(LeaseId{std::string_view(row.key).substr(1)}, row.value, row.created));
    to_own_clock(lease, {row.key, row.value, row.created, row.modified}, state.context());
    result.leases.push_back(std::move(lease));
  }
  return result;
}

Result<WaiterPage> waiter_page(State& state, const std::string& from) {
  WaiterPage result;
  LK_ASSIGN(const std::vector<RawRow> rows, page(state, from_on("w", from), result.next));
  for (const RawRow& row : rows) {
    LK_ASSIGN(Waiter waiter,
              decode_waiter(LeaseId{std::string_view(row.key).substr(1)}, row.value, row.created));
    result.waiters.push_back(std::move(waiter));
  }
  return result;
}

}  // namespace lockkeeper::core
