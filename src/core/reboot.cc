#include "core/reboot.h"

#include "core/browse.h"
#include "core/mirrored.h"
#include "core/settle.h"
#include "core/traces.h"

namespace lockkeeper::core {
namespace {

constexpr std::size_t kLinesMax = 4'000;

// Carries over what outlives the leases: artefacts that are still there and ours to remove, and
// unread messages.
Result<void> take_over_rows(State& former, State& state) {
  for (const char* const rows : {"o", "u", "m", "n"}) {
    std::vector<std::pair<std::string, std::string>> found;
    LK_CHECK(former.txn().scan(
        kv::prefix_range(rows),
        [&](const kv::Row& row) {
          found.emplace_back(row.key, row.value);
          return true;
        },
        kv::Read::kPeek));
    for (const auto& [key, value] : found) LK_CHECK(state.txn().put(key, value));
  }
  return {};
}

Result<void> take_over_traces(State& former, State& state) {
  std::vector<Trace> traces;
  LK_CHECK(former.txn().scan(
      kv::prefix_range(kTracePrefix),
      [&](const kv::Row& row) {
        auto trace = decode_trace(row.value);
        if (trace) traces.push_back(std::move(*trace));
        return true;
      },
      kv::Read::kPeek));
  for (const Trace& trace : traces) LK_CHECK(restore_trace(state, trace));
  return {};
}

Result<void> record_end(State& state, const Lease& lease) {
  if (lease.foreign) return {};  // if it is still there, the next scan sees it
  const EndedBy reboot{"ended", "reboot", "", {}};
  LK_CHECK(state.append(Event::of(lease, reboot)));
  return remember_lost(state, lease, reboot);
}

}  // namespace

Result<void> end_by_reboot(kv::Txn& former, kv::Txn& txn, const Context& context) {
  State before(former, context);
  State state(txn, context);
  LK_CHECK(take_over_rows(before, state));
  LK_CHECK(take_over_traces(before, state));
  std::size_t lines = 0;
  std::size_t beyond = 0;
  std::string from;
  do {
    LK_ASSIGN(const LeasePage page, lease_page(before, from));
    for (const Lease& lease : page.leases) {
      LK_CHECK(schedule_removal(state, lease.id, lease.mirrored_at));
      if (lines == kLinesMax) {
        ++beyond;
        continue;
      }
      LK_CHECK(record_end(state, lease));
      ++lines;
    }
    from = page.next;
  } while (!from.empty());
  if (beyond == 0) return {};
  Event event = Event::of_program("ended", "reboot");
  event.reason = "and " + std::to_string(beyond) + " more leases";
  return state.append(std::move(event));
}

}  // namespace lockkeeper::core
