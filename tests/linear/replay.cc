// Rule 12: a request id that was used before.
#include "linear/move.h"

namespace lockkeeper::linear {

using core::LeaseId;
using sim::Entry;

void Move::remember_request(const LeaseId& lease) {
  if (part_.is_repeated(step_.entry.id)) s_.requests[step_.entry.id] = {lease, step_.arguments};
}

// nullopt: nothing is known of it, so it is decided like any other request.
std::optional<bool> Move::replay() {
  const auto known = s_.requests.find(step_.entry.id);
  if (known == s_.requests.end()) return std::nullopt;
  const LeaseId id = known->second.lease;
  const bool other_arguments = known->second.arguments != step_.arguments;
  const bool queued = step_.call->queued != kNever;
  decided_ = true;
  const auto sleeper = std::ranges::find(
      s_.sleepers, id, [](const Sleeper& one) -> const LeaseId& { return one.entry.id; });
  if (sleeper != s_.sleepers.end()) {
    const Sleeper found = *sleeper;
    const bool still_there = choices_.pick(2) == 1;
    if (!still_there && found.waited) {  // it was cleared away, and forgotten
      s_.sleepers.erase(sleeper);
      s_.requests.erase(known);
      return std::nullopt;
    }
    if (!other_arguments) {
      s_.sleepers.erase(sleeper);
      if (still_there && !awaken(found)) return false;
    }
  }
  if (other_arguments) return !queued && is("misused");
  if (s_.model.leases.contains(id)) return !queued && replay_lease(id);
  if (s_.model.waiters.contains(id)) return resume(id);
  return !queued && is("lost");
}

// Nobody has cleared it away.
bool Move::awaken(const Sleeper& sleeper) {
  const Entry& entry = sleeper.entry;
  if (!entry.parent.empty() && !s_.model.leases.contains(entry.parent)) return false;
  if (!sleeper.waited) {
    const bool replaced = std::ranges::any_of(s_.model.leases, [&](const auto& lease) {
      return s_.model.conflict(lease.second, entry) && !s_.model.may_both_hold(lease.second, entry);
    });
    if (replaced) return false;
  }
  std::erase_if(s_.ghosts, [&](const Entry& old) { return old.id == entry.id; });
  std::erase_if(s_.formers, [&](const Former& former) { return former.entry.id == entry.id; });
  s_.fatherless.erase(entry.id);
  s_.lives[entry.id] = sleeper.life;
  (sleeper.waited ? s_.model.waiters : s_.model.leases).insert_or_assign(entry.id, entry);
  return true;
}

// It is in the queue already, and belongs to the process that asks now. Without `wait` it leaves.
bool Move::resume(const LeaseId& id) {
  if (!asked_.wait) {
    leave_queue(id);
    return is_or_unanswered("held") && hand_off();
  }
  decided_ = false;
  if (is("renewed") || is("held")) return false;
  wait_in(s_.lives.at(id));
  return true;
}

// The answer is the first one: the same lease, which is not extended.
bool Move::replay_lease(const LeaseId& id) {
  Life& life = s_.lives.at(id);
  if (life.handed) return is_or_unanswered("granted") && recognize(id) && begin_length(id);
  const bool renewal = id != step_.entry.id;
  if (life.orphaned) {
    if (!may_reclaim(id)) return is("lost");
    life.holds = {{asked_.attach, part_.keeper(asked_.attach)}};
    life.orphaned = false;
    life.orphan_to = kNever;
    return is_or_unanswered(renewal ? "renewed" : "granted") && recognize(id) &&
           extend(id, s_.model.leases.at(id).ttl_ms);
  }
  // What works under it ends with it, and does not keep it.
  if (id != s_.real(part_, step_.under)) join(life);
  return is_or_unanswered(renewal ? "renewed" : "granted") && recognize(id) && ends_as_told(life);
}

}  // namespace lockkeeper::linear
