#include "core/mend.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/conflicts.h"
#include "core/settle.h"
#include "core/shown.h"

namespace lockkeeper::core {
namespace {

// The kinds of rows that are made anew; what is kept: leases, events, request ids, lost leases.
constexpr std::string_view kDerived = "SXbcfgqstwx";
constexpr std::size_t kLeaseKeyBytes = 17;

struct Kept {
  std::vector<std::string> keys;  // to be removed
  std::map<LeaseId, Lease> leases;
  std::map<LeaseId, std::set<std::string>> claimed;
  std::vector<Shown> shown;             // what shows leases to other tools
  std::vector<std::string> remembered;  // request ids and lost leases, to be forgotten in time
};

Result<Kept> read_all(kv::Txn& txn, Mended& mended) {
  Kept kept;
  const auto look = [&](const kv::Row& row) {
    const char kind = row.key[0];
    if (kind == 'l' && row.key.size() == kLeaseKeyBytes) {
      const LeaseId id{std::string(row.key.substr(1))};
      auto lease = decode_lease(id, row.value, row.created);
      if (lease && !lease->claims.empty()) {
        kept.leases.emplace(id, std::move(*lease));
        return true;
      }
      ++mended.leases_damaged;
    } else if (kind == 'x' || kind == 's') {
      if (auto claim = decode_claim(row.value); claim && row.key.size() > kLeaseKeyBytes + 3) {
        kept.claimed[id_in_claim_key(row.key)].insert(claim->text());
      }
    } else if (kind == 'w') {
      ++mended.waiters_dropped;
    } else if (kind != 'l' && kDerived.find(kind) == std::string_view::npos) {
      if (kind == 'r' || kind == 'd' || kind == 'a') kept.remembered.emplace_back(row.key);
      if (kind != 'o') return true;
      if (auto shown = read_shown(row)) {
        kept.shown.push_back(std::move(*shown));
        return true;
      }
    }
    kept.keys.emplace_back(row.key);
    return true;
  };
  LK_CHECK(txn.scan({std::string(1, '\1'), std::string(1, '\x7f')}, look, kv::Read::kPeek));
  return kept;
}

// What showed a lease that could not be kept is still ours to remove.
Result<void> keep_removable(State& state, const std::vector<Shown>& shown) {
  for (const Shown& one : shown) {
    LK_ASSIGN(const Lease* lease, state.lease(one.lease));
    const std::string place = shown_place(one.layout, one.artefact);
    if (lease != nullptr && std::ranges::find(lease->shown, place) != lease->shown.end()) continue;
    LK_CHECK(to_be_removed(state, one.lease, {place}));
  }
  return {};
}

}  // namespace

Result<Mended> mend(kv::Txn& txn, const Context& context) {
  Mended mended;
  LK_ASSIGN(Kept kept, read_all(txn, mended));
  for (const std::string& key : kept.keys) LK_CHECK(txn.erase(key));
  State state(txn, context);
  for (auto& [id, lease] : kept.leases) {
    kept.claimed.erase(id);
    // A repair begins an epoch without a reboot: who lives is carried over. The detached have their
    // full length again (never early, I6); the dead stay behind and end as after a reboot.
    const bool attached = lease.attachment.attached();
    const bool dead = attached && context.prober->probe(lease.attachment) == Alive::kDead;
    if (!dead) bring_along(lease, context);
    lease.due_mono_ms = due_of(lease);
    LK_CHECK(state.restore_lease(lease));
    ++mended.leases;
  }
  LK_CHECK(keep_removable(state, kept.shown));
  for (const std::string& key : kept.remembered) {
    LK_CHECK(state.file_due(remembered_until(context), static_cast<Due>(key[0]),
                            std::string_view(key).substr(1)));
  }
  for (const auto& [id, resources] : kept.claimed) {
    mended.locks_lost.insert(mended.locks_lost.end(), resources.begin(), resources.end());
  }
  Event event = Event::of_program("repaired", "doctor");
  event.resources = mended.locks_lost;
  LK_CHECK(state.append(std::move(event)));
  return mended;
}

}  // namespace lockkeeper::core
