#include "core/rebuild.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/conflicts.h"
#include "core/mirrored.h"
#include "core/settle.h"

namespace lockkeeper::core {
namespace {

// The kinds of rows that are rebuilt. Kept: leases, events, request ids, lost leases.
constexpr std::string_view kDerived = "SXbcfgqstwx";
constexpr std::size_t kLeaseKeyBytes = 17;

struct Kept {
  std::vector<std::string> keys;  // to be removed
  std::map<LeaseId, Lease> leases;
  std::map<LeaseId, std::set<std::string>> claimed;
  std::vector<MirrorArtefact> mirrored;  // what shows leases to other tools
  std::vector<std::string> remembered;   // request ids and lost leases, to be forgotten in time
};

Result<Kept> read_all(kv::Txn& txn, RebuildReport& rebuilt) {
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
      ++rebuilt.leases_damaged;
    } else if (kind == 'x' || kind == 's') {
      if (auto claim = decode_claim(row.value); claim && row.key.size() > kLeaseKeyBytes + 3) {
        kept.claimed[id_in_claim_key(row.key)].insert(claim->text());
      }
    } else if (kind == 'w') {
      ++rebuilt.waiters_dropped;
    } else if (kind != 'l' && kDerived.find(kind) == std::string_view::npos) {
      if (kind == 'r' || kind == 'd' || kind == 'a') kept.remembered.emplace_back(row.key);
      if (kind != 'o') return true;
      if (auto artefact = read_mirror_row(row)) {
        kept.mirrored.push_back(std::move(*artefact));
        return true;
      }
    }
    kept.keys.emplace_back(row.key);
    return true;
  };
  LK_CHECK(txn.scan({std::string(1, '\1'), std::string(1, '\x7f')}, look, kv::Read::kPeek));
  return kept;
}

// The artefacts of a lease that could not be kept are still ours to remove.
Result<void> keep_removable(State& state, const std::vector<MirrorArtefact>& mirrored) {
  for (const MirrorArtefact& one : mirrored) {
    LK_ASSIGN(const Lease* lease, state.lease(one.lease));
    const std::string place = mirror_place(one.layout, one.artefact);
    if (lease != nullptr &&
        std::ranges::find(lease->mirrored_at, place) != lease->mirrored_at.end())
      continue;
    LK_CHECK(schedule_removal(state, one.lease, {place}));
  }
  return {};
}

}  // namespace

Result<RebuildReport> rebuild(kv::Txn& txn, const Context& context) {
  RebuildReport rebuilt;
  LK_ASSIGN(Kept kept, read_all(txn, rebuilt));
  for (const std::string& key : kept.keys) LK_CHECK(txn.erase(key));
  State state(txn, context);
  for (auto& [id, lease] : kept.leases) {
    kept.claimed.erase(id);
    // A repair begins an epoch without a reboot, so living leases are carried over. Detached ones
    // get their full ttl again (never early, I6). Dead ones stay behind and end as after a reboot.
    const bool attached = lease.attachment.attached();
    const bool dead = attached && context.prober->probe(lease.attachment) == Alive::kDead;
    if (!dead) bring_along(lease, context);
    lease.due_mono_ms = due_of(lease);
    LK_CHECK(state.restore_lease(lease));
    ++rebuilt.leases;
  }
  LK_CHECK(keep_removable(state, kept.mirrored));
  for (const std::string& key : kept.remembered) {
    LK_CHECK(state.file_due(remembered_until(context), static_cast<Due>(key[0]),
                            std::string_view(key).substr(1)));
  }
  for (const auto& [id, resources] : kept.claimed) {
    rebuilt.locks_lost.insert(rebuilt.locks_lost.end(), resources.begin(), resources.end());
  }
  Event event = Event::of_program("repaired", "doctor");
  event.resources = rebuilt.locks_lost;
  LK_CHECK(state.append(std::move(event)));
  return rebuilt;
}

}  // namespace lockkeeper::core
