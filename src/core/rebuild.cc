#include "core/rebuild.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/deadlock.h"
#include "core/mirrored.h"
#include "core/settle.h"

namespace lockkeeper::core {
namespace {

// The kinds of rows that are rebuilt. Kept: leases, events, request ids, lost leases.
constexpr std::string_view kDerived = "FSXbcfgqstvwx";
constexpr std::size_t kLeaseKeyBytes = 17;

struct Kept {
  std::vector<std::string> keys;  // to be removed
  std::map<LeaseId, Lease> leases;
  std::map<LeaseId, std::set<std::string>> claimed;
  std::vector<Waiter> waiters;
  std::map<std::string, kv::Version> waiter_claims;  // when they were made: the waiter's place
  std::vector<MirrorArtefact> mirrored;              // what shows leases to other tools
  std::vector<std::string> remembered;  // request ids and lost leases, to be forgotten in time
};

Result<Kept> read_all(kv::Txn& txn, const Context& context, RebuildReport& rebuilt) {
  Kept kept;
  const auto look = [&](const kv::Row& row) {
    const char kind = row.key[0];
    if (kind == 'l' && row.key.size() == kLeaseKeyBytes) {
      const LeaseId id{std::string(row.key.substr(1))};
      auto lease = decode_lease(id, row.value, row.created);
      if (lease && !lease->claims.empty()) {
        to_own_clock(*lease, row, context);
        kept.leases.emplace(id, std::move(*lease));
        return true;
      }
      ++rebuilt.leases_damaged;
    } else if (kind == 'x' || kind == 's') {
      if (auto claim = decode_claim(row.value); claim && row.key.size() > kLeaseKeyBytes + 3) {
        kept.claimed[id_in_claim_key(row.key)].insert(claim->text());
      }
    } else if (kind == 'w') {
      auto waiter = decode_waiter(LeaseId{std::string(row.key.substr(1))}, row.value, row.created);
      if (waiter && !waiter->request.claims.empty()) {
        kept.waiters.push_back(std::move(*waiter));
        return true;
      }
      ++rebuilt.waiters_dropped;
    } else if (kind == 'X' || kind == 'S') {
      kept.waiter_claims.emplace(row.key, row.created);
      return true;
    } else if (kind != 'l' && kDerived.find(kind) == std::string_view::npos) {
      if (std::string_view("adhjr").contains(kind)) kept.remembered.emplace_back(row.key);
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

std::vector<std::string> claim_keys(const Lease& request) {
  std::vector<std::string> keys;
  for (const Claim& claim : request.claims) {
    keys.push_back(claim_key(Holding::kWaiter, claim.mode, key::Place(claim.resource), request.id,
                             claim.slot));
  }
  return keys;
}

// Its claims are all there, made together with it: it keeps them, and so its place.
bool keeps_its_claims(const Waiter& waiter, std::map<std::string, kv::Version>& claims) {
  const std::vector<std::string> keys = claim_keys(waiter.request);
  const bool whole = std::ranges::all_of(keys, [&](const std::string& key) {
    const auto found = claims.find(key);
    return found != claims.end() && found->second == waiter.request.created;
  });
  if (!whole) return false;
  for (const std::string& key : keys) claims.erase(key);
  return true;
}

// Whatever it waits behind may be gone: then the next commit evaluates it.
Result<void> keep_waiter(State& state, Waiter waiter, const std::set<LeaseId>& queue) {
  waiter.request.epoch = state.context().epoch.id;
  LK_ASSIGN(waiter.wholes, wholes_behind(state, waiter.request));
  LK_CHECK(state.add_waiter(waiter));
  LK_ASSIGN(const Lease* blocker, state.lease(waiter.blocker));
  if (blocker != nullptr || queue.contains(waiter.blocker)) return {};
  return state.txn().put(due_key(0, 0, Due::kHandoff, waiter.blocker.bytes), "");
}

// REQUIRES: the leases have been restored.
Result<void> keep_waiters(State& state, Kept& kept, RebuildReport& rebuilt) {
  std::set<LeaseId> queue;
  std::vector<Waiter> whole;
  for (Waiter& waiter : kept.waiters) {
    bool has_parent = true;
    if (!waiter.request.parent.empty()) {
      LK_ASSIGN(const Lease* parent, state.lease(waiter.request.parent));
      has_parent = parent != nullptr;
    }
    if (has_parent && keeps_its_claims(waiter, kept.waiter_claims)) {
      queue.insert(waiter.request.id);
      whole.push_back(std::move(waiter));
    } else {
      LK_CHECK(state.txn().erase(waiter_key(waiter.request.id)));
      ++rebuilt.waiters_dropped;
    }
  }
  for (const auto& [key, created] : kept.waiter_claims) LK_CHECK(state.txn().erase(key));
  for (Waiter& waiter : whole) LK_CHECK(keep_waiter(state, std::move(waiter), queue));
  rebuilt.waiters = whole.size();
  return {};
}

}  // namespace

Result<RebuildReport> rebuild(kv::Txn& txn, const Context& context) {
  RebuildReport rebuilt;
  LK_ASSIGN(Kept kept, read_all(txn, context, rebuilt));
  for (const std::string& key : kept.keys) LK_CHECK(txn.erase(key));
  State state(txn, context);
  for (auto& [id, lease] : kept.leases) {
    kept.claimed.erase(id);
    // A repair begins an epoch without a reboot, so living leases are carried over. Detached ones
    // get their full ttl again (never early, I6). Dead ones stay behind and end as after a reboot.
    LK_ASSIGN(const Alive alive, alive_of(state, lease));
    if (alive != Alive::kDead) bring_along(lease, context);
    lease.due_mono_ms = due_of(lease);
    LK_CHECK(state.restore_lease(lease));
    ++rebuilt.leases;
  }
  LK_CHECK(keep_waiters(state, kept, rebuilt));
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
