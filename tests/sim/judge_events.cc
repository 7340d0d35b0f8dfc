// What the table says has happened: is it legal?
#include <algorithm>

#include "judge.h"

namespace lockkeeper::sim {

using core::Event;
using core::LeaseId;
using Kind = Op::Kind;

namespace {

// Did its owner ask to release all of it? With several resources, the first of them may have ended
// what it lies in.
bool was_given_back(const Op& op, const Entry& lease) {
  if (op.owner != lease.owner) return false;
  if (op.kind == Kind::kReleaseLeases) return std::ranges::count(op.ids, lease.id) != 0;
  return op.kind == Kind::kRelease && op.resources.size() == 1 && lease.wants.size() == 1 &&
         lease.wants.front().resource == op.resources.front();
}

}  // namespace

void Judge::committed(const Done& done) {
  current_ = &done.op;
  woken_.clear();
  yielded_.clear();
  before_events(done);
  for (const Event& event : done.events) happened(done, event);
  after_events(done);
  check_yielded(done);
  check_answer(done);
  note_looking(done);
  for (const auto& [id, word] : woken_) {
    require(std::find(done.wake.begin(), done.wake.end(), word) != done.wake.end(),
            "L1: a waiter was granted and is not woken");
  }
}

void Judge::reboot(const kv::Epoch& epoch) {
  // What could be forgotten before the reboot may be gone.
  const std::int64_t before = model_.now;
  model_.reboot(epoch);
  const std::int64_t keep = model_.now + limits_.remember_ms;
  for (auto& [key, known] : known_) {
    if (known.forget_after) known.forget_after = before > *known.forget_after ? 0 : keep;
  }
  for (auto& [id, lost] : lost_) lost.forget_after = before > lost.forget_after ? 0 : keep;
}

void Judge::recreated(const kv::Epoch& epoch, const std::vector<Event>& events) {
  std::size_t ended = 0;
  for (const Event& event : events) {
    require(event.what == "ended" && event.cause == "reboot", "F11: ended, not by the reboot");
    require(event.fence == lease_at(event.lease).fence, "I11: a wrong fence in an event");
    ++ended;
  }
  if (ended != model_.leases.size()) fail("F11: a lease of before ended without a word");
  lost_.clear();  // what was to be told before is gone with the store
  for (const auto& [id, lease] : model_.leases) note_lost(id, lease.owner);
  model_.leases.clear();
  model_.waiters.clear();
  model_.activities.clear();
  known_.clear();
  about_to_look_.clear();
  model_.epoch = epoch;
}

// Where several commit at once, each of an agent's sessions is sure of its own claims alone.
void Judge::check_quota(const core::Owner& owner, bool sure) const {
  require(model_.claims_of(owner) <= limits_.claims_per_agent,
          "L8: an owner has more than a limit");
  require((budgeted_ && !sure) || model_.claims_of_agent(owner.agent) <= limits_.claims_per_agent,
          "L8: an agent has more than its limit");
}

Entry& Judge::lease_at(const LeaseId& id) {
  const auto found = model_.leases.find(id);
  if (found == model_.leases.end())
    fail("I5: an event speaks of lease " + id.text() + ", which is none");
  return found->second;
}

void Judge::before_events(const Done& done) {
  if (done.op.kind == Kind::kReport) note_activity(done.op.report);
  if (done.op.kind == Kind::kRelease && done.strict) {
    expect_release(done, std::get<core::ReleaseReply>(done.answer));
  }
  if (done.op.kind != Kind::kAcquire) return;
  const auto& reply = std::get<core::AcquireReply>(done.answer);
  check_replay(done.op, reply);
  // A request in the queue now belongs to the process that asked again.
  const auto waiter = model_.waiters.find(reply.lease.id);
  if (!reply.replayed || waiter == model_.waiters.end() || !done.op.request.wait) return;
  probe("replay of a queued request");
  waiter->second.holds = {done.op.request.waiting_process};
  waiter->second.then = done.op.request.attachment;
  waiter->second.wake = done.op.request.wake;
  waiter->second.rebooted = false;
}

void Judge::happened(const Done& done, const Event& event) {
  if (event.what == "granted") {
    if (event.cause == "handoff") return granted_to_waiter(done, event);
    event.cause == "passed_on" ? passed_on(done, event) : granted(done, event);
  } else if (event.what == "queued") {
    queued(done, event);
  } else if (event.what == "released") {
    released(done, event);
  } else if (event.what == "expired" || event.what == "ended") {
    ended(event);
  } else if (event.what == "broken") {
    broken(done, event);
  } else if (event.what == "orphaned") {
    orphaned(event);
  } else if (event.what == "cancelled") {
    cancelled(done, event);
  } else if (event.what == "refused") {
    refusal(done, event);
  } else if (event.what == "reclaimed") {
    const Entry& lease = lease_at(event.lease);
    require(lease.owner == done.op.owner && !lease.owner.session.empty(),
            "rule 8: only the same known session reclaims");
    require(model_.dead(lease), "rule 8: reclaimed from the living");
    probe("reclaim of an orphan");
    probe(done.op.kind == Kind::kRenew                         ? "reclaim by renewal"
          : std::get<core::AcquireReply>(done.answer).replayed ? "reclaim by a replay"
                                                               : "reclaim by asking for the same");
  } else {
    fail("an event of an unknown kind: " + event.what);
  }
}

// The heart of it. Also what is over but still on record must be ended first.
void Judge::check_grant(const Done& done, const Entry& entry, kv::Version before) const {
  for (const Block& block : model_.blocks(entry, before, done.view)) {
    if (!block.waiting) {
      fail("I1: granted " + describe(entry, model_.world()) + " against lease " +
           describe(model_.leases.at(block.id), model_.world()));
    }
    // With a death in between, whom it might pass cannot be told.
    if (!done.strict) continue;
    fail("L4: granted " + describe(entry, model_.world()) + " before the earlier request " +
         describe(model_.waiters.at(block.id), model_.world()));
  }
}

// Greater than every fence of every commit before; grants of one commit may share it.
void Judge::check_fence(const Done& done, const Event& event) {
  const bool shared = event.fence == highest_fence_ && highest_fence_at_ == done.version;
  require(event.fence > highest_fence_ || shared, "I3: a fence that does not grow");
  const auto offset = static_cast<std::uint64_t>(model_.epoch.fence_offset);
  require(event.fence == done.version + offset, "I3: a fence that is not of this epoch");
  highest_fence_ = event.fence;
  highest_fence_at_ = done.version;
}

void Judge::granted(const Done& done, const Event& event) {
  require(done.op.kind == Kind::kAcquire, "I11: granted without being asked");
  const auto& reply = std::get<core::AcquireReply>(done.answer);
  require(reply.outcome == core::Outcome::kGranted && !reply.replayed && !reply.again,
          "I9: granted, and answered otherwise");
  require(event.lease == reply.lease.id, "I9: granted another lease than answered");
  Entry entry = entry_of(done.op, reply.lease);
  entry.created = done.version;
  entry.fence = event.fence;
  if (done.strict) check_parent(done.op, entry, done.view);
  check_grant(done, entry, 0);
  for (const auto& [id, own] : model_.leases) {
    if (own.owner == entry.owner && own.wants == entry.wants && done.strict &&
        own.worktree == entry.worktree && own.edit.has_value() == entry.edit.has_value() &&
        !may_be_lost(id, done.view)) {
      fail("rule 4: granted anew what lease " + id.text() + " holds exactly");
    }
    if (own.owner == entry.owner && model_.conflict(own, entry)) probe("upgrade or own overlap");
  }
  for (const auto& [id, waiter] : model_.waiters) {
    if (waiter.owner != entry.owner && model_.conflict(waiter, entry)) probe("overtook by rule 2");
  }
  if (!entry.parent.empty()) {
    probe(done.op.request.under.empty() ? "let in as its side was" : "child by fence");
  }
  remember(done.op, entry.id);
  check_fence(done, event);
  if (model_.leases.contains(entry.id)) fail("a lease was granted twice");
  if (entry.edit) begun(entry.owner, entry.edit->calls, entry.worktree);
  for (const auto& [id, other] : model_.leases) {
    if (!Model::meet(other, entry) && other.wants == entry.wants)
      probe("the same in two worktrees");
  }
  model_.leases.emplace(entry.id, std::move(entry));
  check_quota(done.op.owner, done.alone);
}

void Judge::granted_to_waiter(const Done& done, const Event& event) {
  const auto waiter = model_.waiters.find(event.lease);
  if (waiter == model_.waiters.end()) fail("a handoff to nobody: " + event.lease.text());
  Entry entry = waiter->second;
  const bool asked_by_itself =
      (done.op.kind == Kind::kPoll && done.op.ids.front() == entry.id) ||
      (done.op.kind == Kind::kAcquire && std::get<core::AcquireReply>(done.answer).replayed);
  if (done.strict && !asked_by_itself) {
    require(model_.over_waiter(entry, done.view).empty(), "L6: a handoff to the dead");
  }
  check_grant(done, entry, entry.created);
  for (const auto& [id, other] : model_.waiters) {
    if (other.created < entry.created && other.owner != entry.owner &&
        model_.conflict(other, entry)) {
      probe("handoff that overtook by rule 2");
    }
  }
  check_fence(done, event);
  model_.waiters.erase(waiter);
  entry.created = done.version;
  entry.fence = event.fence;
  entry.rebooted = false;
  entry.confirm_by = model_.now + limits_.confirm_ms;
  entry.deadline =
      entry.ttl_ms == kNoEnd ? kNoEnd : model_.now + std::max(entry.ttl_ms, limits_.confirm_ms);
  if (entry.edit) entry.edit->touched_mono_ms = model_.now;
  woken_[entry.id] = entry.wake;
  const core::Owner owner = entry.owner;
  model_.leases.emplace(entry.id, std::move(entry));
  check_quota(owner, false);
  probe("handoff");
  if (woken_.size() > 1) probe("several handoffs in one commit");
}

void Judge::queued(const Done& done, const Event& event) {
  require(done.op.kind == Kind::kAcquire && done.op.request.wait, "queued without being asked");
  const auto& reply = std::get<core::AcquireReply>(done.answer);
  require(reply.outcome == core::Outcome::kQueued && event.lease == reply.lease.id,
          "I9: queued, and answered otherwise");
  Entry entry = entry_of(done.op, reply.lease);
  if (is_sure(done)) check_parent(done.op, entry, done.view);
  entry.holds = {done.op.request.waiting_process};
  entry.wake = done.op.request.wake;
  const std::set<Block> blocks = model_.blocks(entry, 0, done.view);
  if (done.strict) {
    // What it is filed under may have come to wait for its own side in the same moment, and would
    // let it pass now: it finds out when it looks again.
    require(!model_.gives_way(entry, blocks, done.view) || !is_sure(done),
            "rule 2: queued with nothing in the way");
    const bool cycle = model_.closes_cycle(entry, blocks, done.view);
    require(!cycle || reply.unguarded, "L5: queued into a deadlock");
    if (cycle) probe("queued into a cycle that it is about to see");
  }
  if (reply.unguarded) {
    about_to_look_[entry.id] = done.version;
    probe("a walk beyond the guards");
  }
  entry.created = done.version;
  remember(done.op, entry.id);
  model_.waiters.emplace(entry.id, std::move(entry));
  check_quota(done.op.owner, done.alone);
}

void Judge::released(const Done& done, const Event& event) {
  Entry& lease = lease_at(event.lease);
  require(event.fence == lease.fence || lease.created == done.version,
          "I11: a wrong fence in an event");
  if (event.cause == "parent_ended") {
    require(!model_.leases.contains(lease.parent), "I5: ended with a parent that lives");
    require(!was_given_back(done.op, lease), "I7: its owner gave it back, and lost it");
    probe("child ended with its parent");
    return remove_lease(event.lease, true);
  }
  if (done.op.kind == Kind::kReport) return released_by_report(done, event);
  const bool let_go = done.op.kind == Kind::kGiveBack;
  const bool asked =
      let_go || done.op.kind == Kind::kRelease || done.op.kind == Kind::kReleaseLeases;
  require(asked && done.op.owner == lease.owner, "I5: released by somebody else");
  if (let_go) {
    const bool last = std::ranges::all_of(lease.holds, [&](const core::Attachment& hold) {
      return hold == done.op.attachment ||
             (model_.processes().dead(hold) && hold.attached() && lease.grace_ms == 0);
    });
    const bool handoff = lease.confirm_by != 0 && lease.then == done.op.attachment;
    require(last || handoff, "rule 7: ended, and somebody else keeps it");
    probe("ended by the last that kept it");
  }
  if (event.cause.empty()) return remove_lease(event.lease, false);
  require(event.cause == "part" && event.resources.size() == 1, "an unknown way to release");
  const int resource = model_.world().index_of(event.resources.front());
  const auto gone =
      std::erase_if(lease.wants, [&](const Want& w) { return w.resource == resource; });
  require(gone == 1 && !lease.wants.empty(), "rule 4: released a part that it did not have");
  probe("part of a lease released");
}

void Judge::ended(const Event& event) {
  const Entry& lease = lease_at(event.lease);
  const bool dead = model_.dead(lease);
  const bool waited = lease.orphaned_at && model_.now > *lease.orphaned_at + lease.grace_ms;
  if (event.cause == "expired") {
    require(event.what == "expired", "I11: expired under another name");
    require(lease.deadline != kNoEnd && model_.now > lease.deadline, "I6: expired early");
    probe("expired");
    if (lease.carried) probe("expired at its full length after a reboot");
  } else if (event.cause == "died") {
    require(dead, "I5: ended as dead, and its process lives");
    require(lease.grace_ms == 0 || lease.confirm_by != 0 || waited, "rule 8: grace cut short");
    probe(waited ? "orphan's grace passed" : "holder died");
    if (lease.confirm_by != 0) probe("granted waiter died before it confirmed");
  } else if (event.cause == "reboot") {
    require(lease.rebooted, "rule 9: ended by a reboot that was not");
    probe("ended by reboot");
  } else if (event.cause == "unconfirmed") {
    require(lease.confirm_by != 0 && model_.now > lease.confirm_by, "rule 5: withdrawn early");
    probe("unconfirmed withdrawn");
  } else if (event.cause == "parent_ended") {
    const auto parent = model_.leases.find(lease.parent);
    const View truth(model_.processes(), 0);
    require(parent == model_.leases.end() || !model_.over_lease(parent->second, truth).empty(),
            "I5: ended with a parent that lives");
    probe("child ended after its parent");
  } else if (event.cause == "yielded") {
    yielded(event, lease);
  } else {
    fail("I11: an end of an unknown cause: " + event.cause);
  }
  remove_lease(event.lease, true);
}

void Judge::broken(const Done& done, const Event& event) {
  const Op& op = done.op;
  const bool named = std::find(op.ids.begin(), op.ids.end(), event.lease) != op.ids.end();
  require(op.kind == Kind::kBreak && named, "I5: broken without being asked");
  require(event.by == op.how.by && event.reason == op.how.reason,
          "I11: broken, not by whom and why");
  const std::string over = model_.over_lease(lease_at(event.lease), done.view);
  if (op.how.only_expired && !op.how.only_dead && done.strict) {
    require(over == "expired", "only the expired were to be broken");
  }
  if (op.how.only_expired && over == "expired") probe("broken because expired");
  if (op.how.only_dead && over == "died") probe("broken because dead");
  remove_lease(event.lease, true);
  probe("broken");
}

void Judge::orphaned(const Event& event) {
  Entry& lease = lease_at(event.lease);
  require(model_.dead(lease), "I5: orphaned, and its process lives");
  require(lease.grace_ms > 0 && !lease.orphaned_at, "rule 8: orphaned without grace, or twice");
  lease.orphaned_at = model_.now;
  probe("orphaned");
}

void Judge::cancelled(const Done& done, const Event& event) {
  const auto found = model_.waiters.find(event.lease);
  if (found == model_.waiters.end()) fail("cancelled what did not wait: " + event.lease.text());
  const Entry& waiter = found->second;
  const Op& op = done.op;
  if (event.cause == "died") {
    require(model_.dead(waiter), "L6: cancelled as dead, and it lives");
    probe("dead waiter dropped");
  } else if (event.cause == "reboot") {
    require(waiter.rebooted, "cancelled by a reboot that was not");
  } else if (event.cause == "parent_ended") {
    const auto parent = model_.leases.find(waiter.parent);
    const View truth(model_.processes(), 0);
    require(parent == model_.leases.end() || !model_.over_lease(parent->second, truth).empty(),
            "cancelled with a parent that lives");
    probe("waiter dropped with its parent");
  } else if (event.cause == "limit_exceeded") {
    require(budgeted_, "L8: a limit that is not there");
    probe("waiter too large for the store");
  } else if (event.cause == "deadlock") {
    const auto& reply = std::get<core::AcquireReply>(done.answer);
    require(reply.outcome == core::Outcome::kDeadlock, "I9: a deadlock, answered otherwise");
    check_cycle(done, waiter, reply);
    probe("deadlock seen while waiting");
  } else {
    const bool asked = op.kind == Kind::kCancel && op.ids.front() == event.lease;
    const bool replaced = op.kind == Kind::kAcquire && !op.request.wait &&
                          op.owner == waiter.owner &&
                          op.request.terms.request_id == waiter.request_id;
    require(asked || (replaced && event.cause == "replaced"), "cancelled without being asked");
    probe(asked ? "cancelled" : "replay that no longer waits");
  }
  if (!waiter.request_id.empty()) known_.erase({key_of(waiter.owner), waiter.request_id});
  model_.waiters.erase(found);
}

void Judge::refusal(const Done& done, const Event& event) const {
  require(done.op.kind == Kind::kAcquire && event.owner == done.op.owner,
          "refused nobody's request");
  const auto& reply = std::get<core::AcquireReply>(done.answer);
  if (event.cause != "deadlock") {
    require(reply.outcome == core::Outcome::kHeld, "I9: refused, and answered otherwise");
    probe("refusal recorded");
    return;
  }
  require(reply.outcome == core::Outcome::kDeadlock, "I9: a deadlock, answered otherwise");
  if (is_sure(done)) check_cycle(done, entry_of(done.op, reply.lease), reply);
}

void Judge::remove_lease(const LeaseId& id, bool lost) {
  const std::int64_t forget_after = model_.now + limits_.remember_ms;
  if (lost) note_lost(id, model_.leases.at(id).owner);
  for (auto& [key, known] : known_) {
    if (known.lease == id) known.forget_after = forget_after;
  }
  model_.leases.erase(id);
}

void Judge::note_lost(const LeaseId& id, const core::Owner& owner) {
  Lost lost;
  lost.owner = owner;
  const std::size_t slash = owner.session.rfind('/');
  if (slash != std::string::npos) {
    const std::string whole = owner.session.substr(0, slash);
    lost.whole = core::Owner{owner.agent, whole == "-" ? "" : whole};
  }
  lost.forget_after = model_.now + limits_.remember_ms;
  lost.vanishes_ms = model_.store_ms + limits_.remember_ms;
  lost_[id] = lost;
}

// Rule 7: those that it does not end keep all holds but this one.
void Judge::let_go(const Op& op, const core::ReleaseReply& reply) {
  for (const LeaseId& id : op.ids) {
    const auto found = model_.leases.find(id);
    if (found == model_.leases.end()) continue;
    std::vector<core::Attachment> rest = found->second.holds;
    const bool handoff = found->second.confirm_by != 0 && found->second.then == op.attachment;
    if (std::erase(rest, op.attachment) == 0 && !handoff) continue;
    if (rest.empty() || handoff) {
      require(reply.again, "rule 7: nobody keeps it, and it has not ended");
      return;
    }
    found->second.holds = rest;
    probe("gave back its hold, others keep theirs");
  }
}

// Rule 4: whoever asks for what its owner holds keeps it as well. The dead may be taken off.
void Judge::joined(const Op& op, const core::Lease& lease) {
  Entry& entry = lease_at(lease.id);
  const core::Attachment& by = op.request.attachment;
  std::vector<core::Attachment> expected = entry.holds;
  const auto lives = [&](const core::Attachment& hold) { return !model_.processes().dead(hold); };
  // Its processes may have died after the table had looked.
  const bool unchanged = lease.holds == expected;
  if (lease.id == op.request.under && (unchanged || std::ranges::any_of(expected, lives))) {
    probe("asked for the lease it works under");
    return;
  }
  if (std::ranges::find(expected, by) == expected.end()) {
    std::erase_if(expected, [&](const core::Attachment& hold) {
      const bool taken_off = std::ranges::find(lease.holds, hold) == lease.holds.end();
      require(!taken_off || model_.processes().dead(hold), "rule 7: taken off, and alive");
      return taken_off;
    });
    expected.push_back(by);
    probe("one more keeps a lease");
  }
  entry.holds = expected;
  if (!op.owner.session.empty()) {
    entry.grace_ms = std::max(entry.grace_ms, op.request.terms.orphan_grace_ms);
  }
  entry.orphaned_at.reset();
}

void Judge::after_events(const Done& done) {
  const Op& op = done.op;
  if (op.kind == Kind::kGiveBack) let_go(op, std::get<core::ReleaseReply>(done.answer));
  if (op.kind == Kind::kReport) reported(done);
  if (op.kind == Kind::kRenew) {
    for (const core::Lease& lease : std::get<std::vector<core::Lease>>(done.answer)) {
      renewed(done, lease);
    }
  }
  if (op.kind != Kind::kAcquire && op.kind != Kind::kPoll && op.kind != Kind::kCancel) return;
  const auto& reply = std::get<core::AcquireReply>(done.answer);
  if (reply.outcome == core::Outcome::kRenewed && !reply.replayed) {
    renewed(done, reply.lease);
    joined(op, reply.lease);
    remember(op, reply.lease.id, true);
    Entry& entry = lease_at(reply.lease.id);
    require(entry.edit.has_value() == !op.request.call.empty(), "rule 16: renewed another kind");
    require(entry.worktree == op.request.terms.worktree, "rule 15: renewed in another worktree");
    if (entry.edit) {
      if (std::ranges::find(entry.edit->calls, op.request.call) == entry.edit->calls.end()) {
        entry.edit->calls.push_back(op.request.call);
      }
      entry.edit->touched_mono_ms = model_.now;
      begun(entry.owner, {op.request.call}, entry.worktree);
      probe("another call on an edit");
    }
  }
  const bool by_id = op.kind != Kind::kAcquire || reply.replayed;
  const bool has_it =
      reply.outcome == core::Outcome::kGranted || reply.outcome == core::Outcome::kRenewed;
  if (!has_it || !by_id) return;
  const auto found = model_.leases.find(reply.lease.id);
  if (found == model_.leases.end()) fail("I9: granted a lease that is none");
  for (const Event& event : done.events) {
    if (event.what == "reclaimed" && event.lease == reply.lease.id)
      return renewed(done, reply.lease);
  }
  if (op.kind == Kind::kAcquire && found->second.confirm_by != 0) {
    found->second.then = op.request.attachment;
    probe("replay confirms a handoff");
  }
  if (found->second.confirm_by != 0) {
    confirmed(reply.lease.id);
  } else if (op.kind == Kind::kAcquire) {
    joined(op, reply.lease);
  }
}

// The length counts from the confirmation.
void Judge::confirmed(const LeaseId& id) {
  Entry& lease = model_.leases.at(id);
  lease.confirm_by = 0;
  lease.holds = {lease.then};
  if (lease.ttl_ms != kNoEnd) lease.deadline = model_.now + lease.ttl_ms;
  if (lease.edit) {
    lease.edit->touched_mono_ms = model_.now;
    begun(lease.owner, lease.edit->calls, lease.worktree);
    probe("an edit that waited");
  }
  probe("handoff confirmed");
}

void Judge::renewed(const Done& done, const core::Lease& renewed) {
  const Op& op = done.op;
  Entry& lease = lease_at(renewed.id);
  require(lease.owner == op.owner, "renewed somebody else's lease");
  require(renewed.fence() == lease.fence, "rule 4: a renewal changed the fence");
  const bool by_verb = op.kind == Kind::kRenew;
  for (const Event& event : done.events) {
    if (event.what != "reclaimed" || event.lease != renewed.id) continue;
    lease.holds = {by_verb ? op.attachment : op.request.attachment};
    lease.orphaned_at.reset();
  }
  if (lease.confirm_by != 0) {
    lease.confirm_by = 0;
    lease.holds = {lease.then};
    probe("renewal confirms a handoff");
  }
  std::int64_t ttl_ms = lease.ttl_ms;
  if (by_verb) ttl_ms = op.ttl_ms.value_or(ttl_ms);
  if (!by_verb && !std::get<core::AcquireReply>(done.answer).replayed)
    ttl_ms = op.request.terms.ttl_ms;
  if (lease.ttl_ms == kNoEnd || ttl_ms == kNoEnd) {
    lease.ttl_ms = kNoEnd;
    lease.deadline = kNoEnd;
  } else if (model_.now + ttl_ms > lease.deadline) {  // never shortened
    lease.ttl_ms = ttl_ms;
    lease.deadline = model_.now + ttl_ms;
  }
}

}  // namespace lockkeeper::sim
