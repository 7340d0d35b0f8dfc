#include "machines_judge.h"

#include <algorithm>

#include "core/edit.h"

namespace lockkeeper::sim {

using core::Event;
using core::Lease;
using core::LeaseId;

void MachinesJudge::fail(const std::string& what) const {
  throw Violation(what + "\n  committed by " + by_.hub + " at " + std::to_string(by_.now) +
                  ", version " + std::to_string(version_));
}

std::int64_t MachinesJudge::elapsed(const LeaseId& id) const {
  return by_clock(by_.now, by_.per_mille) - by_clock(written_at_.at(id), by_.per_mille);
}

bool MachinesJudge::conflict(const Lease& a, const Lease& b) const {
  for (const core::Claim& one : a.claims) {
    for (const core::Claim& other : b.claims) {
      const bool meet =
          world_.overlap(world_.index_of(one.resource), world_.index_of(other.resource));
      if (meet && core::conflict(one.mode, other.mode)) return true;
    }
  }
  return false;
}

void MachinesJudge::read_rows(kv::Txn& reader, kv::Version version, Leases& leases, Leases& waiters,
                              std::vector<LeaseId>& written) {
  constexpr std::size_t kKeyBytes = 17;
  bool readable = true;
  const auto look = [&](const kv::Row& row) {
    if (row.key.size() != kKeyBytes) return true;
    const LeaseId id{row.key.substr(1)};
    if (row.key[0] == 'l') {
      auto lease = core::decode_lease(id, row.value, row.created);
      readable = readable && lease.has_value();
      if (lease) leases.emplace(id, std::move(*lease));
      if (row.modified == version) written.push_back(id);
    } else {
      auto waiter = core::decode_waiter(id, row.value, row.created);
      readable = readable && waiter.has_value();
      if (waiter) waiters.emplace(id, std::move(waiter->request));
    }
    return true;
  };
  for (const char* const kind : {"l", "w"}) {
    readable = reader.scan(kv::prefix_range(kind), look, kv::Read::kPeek).has_value() && readable;
  }
  if (!readable) throw Violation("I10: a record cannot be read");
}

void MachinesJudge::committed(kv::Txn& reader, kv::Version version, const Committer& by) {
  reader_ = &reader;
  version_ = version;
  by_ = by;
  Leases leases;
  Leases waiters;
  std::vector<LeaseId> written;
  read_rows(reader, version, leases, waiters, written);
  std::vector<Event> events;
  const auto read = reader.scan_appended("e", last_event_, [&](const kv::Appended& row) {
    auto event = core::decode_event(row);
    if (!event) throw Violation("I10: an event cannot be read");
    if (row.created != version) throw Violation("I11: an event appeared out of its turn");
    last_event_ = row.number;
    events.push_back(std::move(*event));
    return true;
  });
  if (!read) throw Violation("cannot read the history");
  const Leases before = leases_;
  for (const Event& event : events) happened(event, leases, waiters);
  for (const LeaseId& id : written) {
    const auto known = before.find(id);
    if (known != before.end()) rewritten(known->second, leases.at(id));
    written_at_[id] = by.now;
  }
  const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
  require(std::ranges::equal(leases_, leases, same), "I5: rows and events disagree about leases");
  require(std::ranges::equal(waiters_, waiters, same), "rows and events disagree about waiters");
  leases_ = std::move(leases);
  waiters_ = std::move(waiters);
}

void MachinesJudge::happened(const Event& event, const Leases& now_there,
                             const Leases& now_waiting) {
  if (event.what == "granted") {
    granted(event, now_there);
  } else if (event.what == "queued") {
    const auto row = now_waiting.find(event.lease);
    require(row != now_waiting.end(), "queued, and has no row");
    waiters_.insert(*row);
    probe("queued");
  } else if (event.what == "expired" || event.what == "ended" || event.what == "released") {
    ended(event);
  } else if (event.what == "orphaned") {
    const auto lease = leases_.find(event.lease);
    require(lease != leases_.end() && really_dead(lease->second), "I5: orphaned, and it lives");
    probe("orphaned");
  } else if (event.what == "reclaimed") {
    require(event.owner == by_.owner, "rule 8: reclaimed by somebody else");
    probe("reclaimed");
  } else if (event.what == "cancelled") {
    cancelled(event);
  } else {
    require(event.what == "refused", "I11: an event of an unknown kind: " + event.what);
  }
}

// Nobody may hold what conflicts (I1), and nobody who came before may wait for it (L4), unless he
// waits for what the owner itself holds (rule 2).
void MachinesJudge::check_way(const Lease& lease, kv::Version place) const {
  for (const auto& [id, other] : leases_) {
    if (other.owner == lease.owner || !conflict(other, lease)) continue;
    fail("I1: granted " + lease.owner.agent + " what " + other.owner.agent + " holds");
  }
  for (const auto& [id, waiter] : waiters_) {
    const bool earlier = place == 0 || waiter.created < place;
    if (id == lease.id || !earlier || waiter.owner == lease.owner) continue;
    if (!conflict(waiter, lease)) continue;
    const bool passed = std::ranges::any_of(leases_, [&](const auto& own) {
      return own.second.owner == lease.owner && conflict(own.second, waiter);
    });
    if (!passed) fail("L4: granted " + lease.owner.agent + " before " + waiter.owner.agent);
  }
}

void MachinesJudge::granted(const Event& event, const Leases& now_there) {
  const auto row = now_there.find(event.lease);
  require(row != now_there.end(), "I9: granted, and has no row");
  const Lease& lease = row->second;
  const auto waited = waiters_.find(event.lease);
  require((event.cause == "handoff") == (waited != waiters_.end()), "granted in another way");
  check_way(lease, waited == waiters_.end() ? 0 : waited->second.created);
  const bool shared = event.fence == highest_fence_ && highest_fence_at_ == version_;
  require(event.fence > highest_fence_ || shared, "I3: a fence that does not grow");
  require(lease.epoch == epoch_, "I3: granted in an epoch that is over");
  highest_fence_ = event.fence;
  highest_fence_at_ = version_;
  const std::int64_t left = lease.deadline_mono_ms - lease.written.mono_ms;
  require(lease.terms.ttl_ms == kNoEnd || left >= lease.terms.ttl_ms, "I6: granted for less");
  probe(waited == waiters_.end() ? "granted" : "handoff");
  if (waited != waiters_.end()) waiters_.erase(waited);
  leases_.insert(*row);
}

void MachinesJudge::expired(const Lease& lease) const {
  require(lease.terms.ttl_ms != kNoEnd, "I6: what never ends has expired");
  if (lease.epoch != epoch_) {
    const std::int64_t passed =
        by_clock(by_.now, by_.per_mille) - by_clock(by_.epoch_seen, by_.per_mille);
    require(passed > lease.terms.ttl_ms, "I6: expired early after an epoch began");
    return;
  }
  const std::int64_t left = lease.deadline_mono_ms - lease.written.mono_ms;
  if (elapsed(lease.id) <= left) {
    fail("I6: expired early: written " + std::to_string(elapsed(lease.id)) + " ms ago with " +
         std::to_string(left) + " ms left");
  }
}

// Of all that keep it: its process has ended, or its session has no row.
bool MachinesJudge::really_dead(const Lease& lease) {
  return std::ranges::all_of(lease.holds, [&](const core::Attachment& hold) {
    if (!hold.attached()) return false;
    if (is_dead_(hold.start_ticks)) return true;
    const auto row = reader_->get(core::session_key(hold.session()), kv::Read::kPeek);
    const bool gone = row.has_value() && !row->has_value();
    if (gone) probe("its session had gone");
    return gone;
  });
}

void MachinesJudge::died(const Lease& lease) {
  require(really_dead(lease), "I5: ended as dead, and it lives");
  const bool at_once = lease.terms.orphan_grace_ms == 0 || lease.confirm_by_mono_ms != 0;
  if (at_once) return probe("died");
  require(lease.orphaned_mono_ms != 0, "rule 8: ended without its grace");
  const std::int64_t left =
      lease.orphaned_mono_ms + lease.terms.orphan_grace_ms - lease.written.mono_ms;
  require(elapsed(lease.id) > left, "rule 8: its grace was cut short");
  probe("its grace passed");
}

void MachinesJudge::ended(const Event& event) {
  const auto found = leases_.find(event.lease);
  require(found != leases_.end(), "I5: the end of what is no lease");
  const Lease& lease = found->second;
  const std::int64_t written = lease.written.mono_ms;
  if (event.what == "released") {
    require(event.owner == by_.owner, "I5: released by somebody else");
  } else if (event.cause == "expired") {
    expired(lease);
    if (lease.written.clock != by_.clock) probe("expired by another hub");
  } else if (event.cause == "unconfirmed") {
    require(lease.confirm_by_mono_ms != 0 && elapsed(lease.id) > lease.confirm_by_mono_ms - written,
            "rule 5: withdrawn early");
    probe("withdrawn");
  } else if (event.cause == "died") {
    died(lease);
  } else if (event.cause == "reboot") {
    require(lease.epoch != epoch_ && lease.attached(),
            "rule 9: ended by an epoch that is not over");
    probe("ended by a new epoch");
  } else if (event.cause == "yielded") {
    require(lease.edit.has_value(), "rule 16: what is no edit gave way");
    const std::int64_t left = lease.edit->touched_mono_ms + core::kUnreportedMs - written;
    require(lease.epoch != epoch_ || elapsed(lease.id) > left, "rule 16: gave way early");
    probe("gave way");
  } else {
    fail("I11: an end of an unknown cause: " + event.cause);
  }
  leases_.erase(found);
}

void MachinesJudge::cancelled(const Event& event) {
  const auto found = waiters_.find(event.lease);
  require(found != waiters_.end(), "cancelled what did not wait");
  if (event.cause == "died") {
    require(really_dead(found->second), "L6: dropped as dead, and it lives");
    probe("dead waiter dropped");
  } else if (event.cause == "reboot") {
    require(found->second.epoch != epoch_, "rule 9: dropped by an epoch that is not over");
  } else if (event.cause != "deadlock" && event.cause != "limit_exceeded") {
    require(event.owner == by_.owner, "cancelled by somebody else");
  }
  waiters_.erase(found);
}

// Whoever writes a row again passes on what was left, or more.
void MachinesJudge::rewritten(const Lease& before, const Lease& after) const {
  require(before.created == after.created, "rule 4: another fence");
  if (before.epoch != after.epoch) return;
  const std::int64_t passed = elapsed(after.id);
  const auto left = [](const Lease& lease, std::int64_t time) {
    return time - lease.written.mono_ms;
  };
  const bool confirmed = before.confirm_by_mono_ms != 0 && after.confirm_by_mono_ms == 0;
  if (!confirmed && before.deadline_mono_ms != kNoEnd && after.deadline_mono_ms != kNoEnd) {
    require(left(after, after.deadline_mono_ms) >= left(before, before.deadline_mono_ms) - passed,
            "I6: shortened by whoever wrote it again");
  }
  if (before.orphaned_mono_ms != 0 && after.orphaned_mono_ms != 0) {
    require(left(after, after.orphaned_mono_ms) >= left(before, before.orphaned_mono_ms) - passed,
            "rule 8: a grace was shortened");
  }
  if (before.edit && after.edit) {
    require(left(after, after.edit->touched_mono_ms) >=
                left(before, before.edit->touched_mono_ms) - passed,
            "rule 16: an edit was made older");
  }
}

void MachinesJudge::check_renewed(const LeaseId& id, std::int64_t ttl_ms) const {
  const auto lease = leases_.find(id);
  require(lease != leases_.end(), "I9: renewed what is no lease");
  const std::int64_t left = lease->second.deadline_mono_ms - lease->second.written.mono_ms;
  require(lease->second.deadline_mono_ms == kNoEnd || left >= ttl_ms, "I6: renewed for less");
}

}  // namespace lockkeeper::sim
