// How long a lease lasts, and who keeps it (rules 4, 7, 8 and 9).
#include "linear/move.h"

namespace lockkeeper::linear {
namespace {

using core::LeaseId;
using sim::Entry;

constexpr std::int64_t kConfirmMs = 10'000;  // rule 5 of core/README.md

}  // namespace

// The answer names this lease, with its fence. Of one that nobody was told of until now both are
// learned.
bool Move::recognize(const LeaseId& id) {
  if (unanswered()) return true;
  if (!told_.lease.empty() && named() != id) {
    const auto known = [&](const auto& name) { return name.second == id; };
    const bool unknown = part_.is_name(step_.named) && !s_.names.contains(step_.named);
    if (!unknown || part_.is_told(id) || std::ranges::any_of(s_.names, known)) return false;
    s_.names[step_.named] = id;
  }
  if (told_.fence == 0) return true;
  // Who was served with this fence, or a smaller one, was so in the same commit, or before.
  const bool learned = s_.model.leases.at(id).fence == 0;
  if (learned && (!hand_over_before(told_.fence) || !s_.model.leases.contains(id))) return false;
  Entry& lease = s_.model.leases.at(id);
  if (learned) {
    const Life& life = s_.lives.at(id);
    if (told_.fence <= life.fence_above || told_.fence >= life.fence_below) return false;
    lease.fence = told_.fence;
    s_.fence = std::max(s_.fence, told_.fence);
  }
  return told_.fence == lease.fence;
}

// A lease begins now, or is taken now by the process it was handed to.
bool Move::begin_length(const LeaseId& id) {
  Life& life = s_.lives.at(id);
  life.handed = false;
  life.holds = {{asked_.attach, part_.keeper(asked_.attach)}};
  life.grace_ms = asked_.grace_ms;
  return ends_after(life, asked_.ttl_ms);
}

// The end is a length from now, as told or as far as it can be known.
bool Move::ends_after(Life& life, std::int64_t ttl_ms) {
  if (ttl_ms == kNoEnd) {
    life.end_from = life.end_to = kNever;
    return unanswered() || !told_.until_ms || *told_.until_ms == kNoEnd;
  }
  if (unanswered() || !told_.until_ms) {
    life.end_from = moment_after(step_.invoked, ttl_ms);
    life.end_to = moment_after(latest_, ttl_ms);
    return true;
  }
  const std::int64_t began = (*told_.until_ms - ttl_ms) * kMs;
  // The clock is read when the transaction begins; what else it sees may be later than that.
  const std::int64_t earliest = std::max(step_.invoked, s_.now - kSlackNs);
  if (*told_.until_ms == kNoEnd || began > latest_ || began + kMs <= earliest) return false;
  if (began < by_time_) return false;  // I6: by this very clock what made way was not over
  s_.now = std::max(s_.now, began);
  life.end_from = life.end_to = (*told_.until_ms + 1) * kMs;
  return true;
}

// The end that it has already.
bool Move::ends_as_told(Life& life) const {
  if (unanswered() || !told_.until_ms) return true;
  const std::int64_t end = *told_.until_ms == kNoEnd ? kNever : (*told_.until_ms + 1) * kMs;
  if (end < life.end_from || end > life.end_to) return false;
  life.end_from = life.end_to = end;
  return true;
}

// Whoever renews a handoff knows of it. It keeps the end that bridged the time to its confirmation.
void Move::confirm(const LeaseId& id) {
  Life& life = s_.lives.at(id);
  const Asked& waited = life.asker->call->asked;
  life.handed = false;
  life.holds = {{waited.attach, part_.keeper(waited.attach)}};
  life.grace_ms = waited.grace_ms;
  const std::int64_t ttl_ms = s_.model.leases.at(id).ttl_ms;
  const std::int64_t bridge_ms = std::max(ttl_ms, kConfirmMs);
  life.end_from = ttl_ms == kNoEnd ? kNever : moment_after(life.handed_from, bridge_ms);
  life.end_to = ttl_ms == kNoEnd ? kNever : moment_after(life.handed_to, bridge_ms);
}

// Rule 8: a process of the same, named session.
bool Move::may_reclaim(const LeaseId& id) const {
  return s_.lives.at(id).grace_ms > 0 && !step_.entry.owner.session.empty() &&
         !asked_.attach.empty();
}

// Rule 7: whoever asks keeps it too, and those known to be dead no longer do.
void Move::join(Life& life) {
  if (!life.holds.contains(asked_.attach)) {
    std::erase_if(life.holds,
                  [&](const auto& hold) { return hold.second.death.to <= step_.invoked; });
    for (auto& [process, keeper] : life.holds) {
      keeper.perhaps_forgotten |= keeper.death.from <= latest_;
    }
    life.holds[asked_.attach] = part_.keeper(asked_.attach);
  }
  life.grace_ms = std::max(life.grace_ms, asked_.grace_ms);
  life.orphaned = false;
  life.orphan_to = kNever;
}

// Rule 4: never shortened. A length that would end it earlier changes nothing: the next renewal has
// the old one.
bool Move::extend(const LeaseId& id, std::int64_t ttl_ms) {
  Entry& lease = s_.model.leases.at(id);
  Life& life = s_.lives.at(id);
  const Life before = life;
  const bool exact = before.end_from == before.end_to;
  const bool told_end = !unanswered() && told_.until_ms && *told_.until_ms != kNoEnd;
  const std::int64_t end = told_end ? (*told_.until_ms + 1) * kMs : kNever;
  const bool same = told_end && before.end_from <= end && end <= before.end_to &&
                    ttl_ms != kNoEnd && moment_after(step_.invoked, ttl_ms) <= before.end_to;
  if (same && (exact || choices_.pick(2) == 0)) {
    life.end_from = life.end_to = end;
    return true;
  }
  // What the clock said is told with the new end: nothing is renewed after its old one.
  if (told_end && (*told_.until_ms - ttl_ms) * kMs >= before.end_to) return false;
  if (!ends_after(life, ttl_ms)) return false;
  if (life.end_from < before.end_from && told_end) return false;
  const bool may_be_longer = ttl_ms == kNoEnd || life.end_to > before.end_from;
  const bool may_be_shorter = ttl_ms != kNoEnd && life.end_from <= before.end_to && !told_end;
  if (!may_be_longer || (may_be_shorter && choices_.pick(2) == 1)) {
    life.end_from = before.end_from;
    life.end_to = before.end_to;
    return true;
  }
  life.end_from = std::max(life.end_from, before.end_from);
  life.end_to = std::max(life.end_to, before.end_to);
  lease.ttl_ms = ttl_ms;
  return true;
}

bool Move::renew_by_asking(const LeaseId& id) {
  if (s_.lives.at(id).handed) confirm(id);
  const bool endless = s_.model.leases.at(id).ttl_ms == kNoEnd;
  if (!recognize(id) || !extend(id, endless ? kNoEnd : asked_.ttl_ms)) return false;
  Life& life = s_.lives.at(id);
  // What works under it ends with it, and does not keep it.
  if (id == s_.real(part_, step_.under) && !life.orphaned) return true;
  if (life.orphaned) life.holds.clear();
  join(life);
  return true;
}

}  // namespace lockkeeper::linear
