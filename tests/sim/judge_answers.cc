// What the table answers: is it true?
#include <algorithm>

#include "base/text.h"
#include "judge.h"

namespace lockkeeper::sim {

using core::AcquireReply;
using core::LeaseId;
using core::Outcome;
using Kind = Op::Kind;

void Judge::fail(const std::string& what) const {
  throw Violation(what + "\n  in: " + (current_ == nullptr ? "?" : describe(*current_)));
}

std::vector<Want> Judge::wants_of(const std::vector<core::Claim>& claims) const {
  std::map<int, core::Mode> strongest;
  for (const core::Claim& claim : claims) {
    core::Mode& mode =
        strongest.try_emplace(model_.world().index_of(claim.resource), claim.mode).first->second;
    mode = std::max(mode, claim.mode);
  }
  std::vector<Want> wants;
  for (const auto& [resource, mode] : strongest) wants.push_back({resource, mode});
  return wants;
}

Entry Judge::entry_of(const Op& op, const core::Lease& lease) const {
  Entry entry;
  entry.id = lease.id;
  entry.owner = op.owner;
  entry.wants = wants_of(op.request.claims);
  entry.ttl_ms = op.request.terms.ttl_ms;
  entry.deadline = entry.ttl_ms == kNoEnd ? kNoEnd : model_.now + entry.ttl_ms;
  entry.holds = {op.request.attachment};
  entry.then = op.request.attachment;
  if (!op.owner.session.empty()) entry.grace_ms = op.request.terms.orphan_grace_ms;  // rule 8
  entry.parent = lease.parent;
  entry.request_id = op.request.terms.request_id;
  entry.worktree = op.request.terms.worktree;
  if (!op.request.call.empty()) entry.edit = core::Edit{{op.request.call}, false, model_.now};
  return entry;
}

// Rule 11: the lease it presents, or one in its way that its own side already works under.
void Judge::check_parent(const Op& op, const Entry& entry, const core::Prober& view) const {
  const core::AcquireRequest& request = op.request;
  if (!request.under.empty()) require(entry.parent == request.under, "rule 11: another parent");
  const auto parent = model_.leases.find(entry.parent);
  if (!entry.parent.empty()) {
    require(parent != model_.leases.end(), "rule 11: a child of nobody");
    require(model_.over_lease(parent->second, view).empty(), "rule 11: a child of the dead");
  }
  if (!request.under.empty()) {
    require(parent->second.fence == request.under_fence, "I4: worked under an old fence");
    return;
  }
  if (!entry.parent.empty()) {
    require(model_.conflict(parent->second, entry), "rule 11: a child of what is not in its way");
    require(model_.works_under(entry, entry.parent, view), "rule 11: a child of a stranger");
  }
  for (const auto& [id, held] : model_.leases) {
    if (model_.on_side(entry, held) || !model_.conflict(held, entry)) continue;
    if (!entry.parent.empty() && !model_.descends(held, entry.parent)) continue;  // one host
    if (model_.over_lease(held, view).empty() && model_.works_under(entry, id, view)) {
      fail("rule 11: not let into " + describe(held, model_.world()) + ", under which it works");
    }
  }
}

std::string Judge::arguments_of(const core::AcquireRequest& request) const {
  std::string text = std::to_string(request.terms.ttl_ms) + "|" + request.terms.task + "|" +
                     request.terms.worktree;
  for (const Want& want : wants_of(request.claims)) {
    text += "|" + std::to_string(want.resource) + "," + std::to_string(static_cast<int>(want.mode));
  }
  return text;
}

void Judge::remember(const Op& op, const LeaseId& id, bool renewal) {
  if (op.request.terms.request_id.empty()) return;
  known_[{key_of(op.owner), op.request.terms.request_id}] = {arguments_of(op.request), id,
                                                             std::nullopt, renewal};
}

// I8: the same request again has the effect and the answer of one.
void Judge::check_replay(const Op& op, const AcquireReply& reply) {
  if (op.request.terms.request_id.empty()) {
    require(!reply.replayed, "I8: a replay without a request id");
    return;
  }
  const auto known = known_.find({key_of(op.owner), op.request.terms.request_id});
  if (known == known_.end()) {
    require(!reply.replayed, "I8: a replay of what was never asked");
    return;
  }
  const Known& before = known->second;
  if (!reply.replayed && before.forget_after && model_.now > *before.forget_after) {
    probe("request id forgotten");
    known_.erase(known);
    return;
  }
  require(reply.replayed, "I8: the same request id was served twice");
  if (reply.again) return;  // what has ended it is committed first
  require(before.arguments == arguments_of(op.request), "I8: other arguments were accepted");
  require(!before.forget_after, "I8: a replay after the end");
  require(reply.lease.id == before.lease, "I8: the replay's answer is another lease");
  require((reply.outcome == Outcome::kRenewed) == before.renewal,
          "I8: the replay has another answer");
  probe(before.renewal ? "replay of a renewal" : "replay");
}

void Judge::check_answer(const Done& done) {
  if (const auto* acquired = std::get_if<AcquireReply>(&done.answer)) {
    check_acquire(done, *acquired);
  } else if (const auto* checked = std::get_if<core::CheckReply>(&done.answer)) {
    if (done.strict) check_check(done, *checked);
  } else if (const auto* notices = std::get_if<std::vector<core::LostLease>>(&done.answer)) {
    check_notices(done, *notices);
  } else if (done.op.kind == Kind::kBreak) {
    for (const core::Lease& lease : std::get<std::vector<core::Lease>>(done.answer)) {
      require(!model_.leases.contains(lease.id), "I9: broken, and still there");
    }
  } else if (done.op.kind == Kind::kRenew && done.strict) {
    const bool dead = done.view.probe(done.op.attachment) == core::Alive::kDead;
    for (const core::Lease& lease : std::get<std::vector<core::Lease>>(done.answer)) {
      const std::string over = model_.over_lease(model_.leases.at(lease.id), done.view);
      if (!over.empty() && !dead) fail("I9: renewed a lease that is over: " + over);
    }
  }
}

namespace {

bool has_joined(const Done& done, const LeaseId& id) {
  return std::ranges::any_of(done.events, [&](const core::Event& event) {
    return event.what == "queued" && event.lease == id;
  });
}

}  // namespace

void Judge::check_acquire(const Done& done, const AcquireReply& reply) {
  if (reply.again) {
    probe("again");
    require(done.version != 0, "asks to commit what it cleared away, and cleared nothing");
    return;
  }
  const auto lease = model_.leases.find(reply.lease.id);
  const auto waiter = model_.waiters.find(reply.lease.id);
  switch (reply.outcome) {
    case Outcome::kGranted:
    case Outcome::kRenewed:
      if (lease == model_.leases.end()) fail("I9: granted a lease that is none");
      require(reply.lease.fence() == lease->second.fence, "I4: answered a wrong fence");
      if (done.op.kind == Kind::kAcquire) {
        require(lease->second.wants == wants_of(done.op.request.claims) ||
                    (reply.replayed && reply.lease.claims.size() == lease->second.wants.size()),
                "I2: granted something else than asked");
      }
      if (done.strict) {
        const std::string over = model_.over_lease(lease->second, done.view);
        // Who asks for a process that is dead gets what was asked for.
        const bool dead = done.op.kind == Kind::kAcquire &&
                          done.view.probe(done.op.request.attachment) == core::Alive::kDead;
        if (!over.empty() && !(dead && over == "died"))
          fail("I9: granted a lease that is over: " + over);
      }
      break;
    case Outcome::kQueued: {
      if (waiter == model_.waiters.end()) fail("I9: queued, and does not wait");
      if (!done.strict) break;
      // Whoever joins the queue has made sure of this. Whoever looks again has only looked, also by
      // repeating the request that has joined it.
      const bool joins = has_joined(done, reply.lease.id) && !reply.unguarded;
      const auto blocks = model_.blocks(waiter->second, waiter->second.created, done.view);
      require(!model_.closes_cycle(waiter->second, blocks, done.view) || (!joins && !is_sure(done)),
              "L5: waits in a deadlock");
      if (!is_sure(done)) break;
      check_conflicts(done, waiter->second, waiter->second.created, reply);
      std::set<LeaseId> before;
      for (const Block& block : blocks) {
        if (block.waiting) before.insert(block.id);
      }
      require(reply.position == before.size() + 1, "a wrong position in the queue");
      break;
    }
    case Outcome::kHeld:
      require(lease == model_.leases.end() && waiter == model_.waiters.end(),
              "I9: refused, and granted or queued all the same");
      if (is_sure(done) && done.op.kind == Kind::kAcquire && !reply.replayed) {
        const Entry entry = entry_of(done.op, reply.lease);
        check_parent(done.op, entry, done.view);
        check_conflicts(done, entry, 0, reply);
        const bool told = std::any_of(done.events.begin(), done.events.end(),
                                      [](const auto& event) { return event.what == "refused"; });
        if (!told) probe("refusal not recorded again");
        for (const Block& block : model_.blocks(entry, 0, done.view)) {
          if (block.waiting) probe("refused behind a waiter");
        }
      }
      break;
    case Outcome::kDeadlock:
      require(lease == model_.leases.end() && waiter == model_.waiters.end(),
              "I9: refused as deadlock, and granted or queued all the same");
      break;
    case Outcome::kTimeout:
    case Outcome::kInterrupted:
      fail("the table says what only somebody who waits can say");
  }
}

void Judge::check_conflicts(const Done& done, const Entry& request, kv::Version before,
                            const AcquireReply& reply) const {
  std::set<Block> named;
  for (const core::Conflict& conflict : reply.conflicts) {
    named.insert({conflict.holder.id, conflict.waiting,
                  model_.world().index_of(conflict.requested.resource),
                  model_.world().index_of(conflict.held.resource)});
  }
  const std::set<Block> real = model_.blocks(request, before, done.view);
  // Where a commit is small a waiter may have to ask once more.
  const bool full = budgeted_ || limits_.grants_per_commit < 32 || limits_.ends_per_commit < 1000;
  const bool looked_again = done.op.kind == Kind::kPoll || reply.replayed;
  require(!model_.gives_way(request, real, done.view) || (looked_again && full),
          "I9: refused, and nothing is in the way");
  if (named != real) {
    std::string text = "rule 3: the conflicts named are not those in the way of " +
                       describe(request, model_.world());
    for (const Block& block : named) {
      if (!real.contains(block)) text += "\n  named, not real: " + block.id.text();
    }
    for (const Block& block : real) {
      if (!named.contains(block)) text += "\n  real, not named: " + block.id.text();
    }
    fail(text);
  }
  for (const core::Conflict& conflict : reply.conflicts) {
    if (conflict.waiting) continue;
    const Entry& held = model_.leases.at(conflict.holder.id);
    require(conflict.holder.fence() == held.fence, "rule 3: a conflict names a wrong fence");
    require(conflict.alive == model_.seen(held, done.view) || held.rebooted || held.carried ||
                !held.parent.empty(),
            "rule 3: alive or not, wrongly");
  }
}

// L5: it is a cycle, and the steps named are steps of it.
void Judge::check_cycle(const Done& done, const Entry& request, const AcquireReply& reply) const {
  if (!done.strict) return;
  const bool waits = model_.waiters.contains(request.id);
  const auto blocks = model_.blocks(request, waits ? request.created : 0, done.view);
  require(model_.closes_cycle(request, blocks, done.view), "L5: a deadlock that is none");
  require(!reply.cycle.empty(), "rule 6: a deadlock without its cycle");
  require(model_.for_sake_of(request, key_of(reply.cycle.front().owner)),
          "rule 6: the cycle begins elsewhere");
  for (std::size_t i = 0; i < reply.cycle.size(); ++i) {
    std::set<OwnerKey> targets;
    if (i == 0) {
      for (const Block& block : model_.without_over(blocks, done.view)) {
        targets.insert(key_of(block.waiting ? model_.waiters.at(block.id).owner
                                            : model_.leases.at(block.id).owner));
      }
    } else {
      targets = model_.waits_for(key_of(reply.cycle[i].owner), done.view);
    }
    bool ok = false;
    if (i + 1 < reply.cycle.size()) {
      ok = targets.contains(key_of(reply.cycle[i + 1].owner));
    } else {
      for (const OwnerKey& owner : targets) ok = ok || model_.for_sake_of(request, owner);
    }
    require(ok, "rule 6: the cycle has a step that nobody waits");
  }
  probe(reply.cycle.size() >= 3   ? "deadlock of three or more"
        : reply.cycle.size() == 2 ? "deadlock of two"
                                  : "deadlock with its own side");
  if (model_.owners_behind(request).size() > 1) probe("deadlock through a parent");
  if (request.owner.session.find('/') != std::string::npos) probe("deadlock of a part");
}

// Rule 11: its own leases, those it works inside, those of the session it is a subagent of.
bool Judge::is_mine(const Entry& request, const Want& want, const core::Prober& view) const {
  for (const auto& [id, held] : model_.leases) {
    if (!model_.on_side(request, held) || !model_.over_lease(held, view).empty()) continue;
    if (!held.worktree.empty() && held.worktree != request.worktree) continue;
    for (const Want& has : held.wants) {
      if (has.mode >= want.mode && model_.world().covers(has.resource, want.resource)) return true;
    }
  }
  return false;
}

void Judge::check_check(const Done& done, const core::CheckReply& reply) const {
  const Op& op = done.op;
  std::set<Block> named;
  for (const core::Conflict& conflict : reply.conflicts) {
    named.insert({conflict.holder.id, conflict.waiting,
                  model_.world().index_of(conflict.requested.resource),
                  model_.world().index_of(conflict.held.resource)});
  }
  Entry entry = entry_of(op, {});
  const auto agrees = [&](const LeaseId& parent) {
    entry.parent = parent;
    bool mine = true;
    for (const Want& want : entry.wants) mine = mine && is_mine(entry, want, done.view);
    std::set<Block> real = model_.without_over(model_.blocks(entry, 0, done.view), done.view);
    if (model_.gives_way(entry, real, done.view)) real.clear();
    return mine == reply.mine && named == real;
  };
  bool right = agrees(op.request.under);
  // Without a lease to present, it may stand inside one that its side works under.
  for (auto held = model_.leases.begin(); !right && held != model_.leases.end(); ++held) {
    entry.parent = {};
    const bool host =
        model_.conflict(held->second, entry) && model_.works_under(entry, held->first, done.view);
    if (op.request.under.empty() && host) right = agrees(held->first);
  }
  require(right, "I9: check names other conflicts than those in the way, or says mine wrongly");
  require(reply.free == named.empty(), "I9: check says free, or held, wrongly");
  if (reply.mine && !entry.parent.empty()) probe("check inside a lease one works under");
  bool current = op.fence != 0;
  for (const Want& want : entry.wants) {
    bool fenced = false;
    for (const auto& [id, held] : model_.leases) {
      if (held.fence != op.fence || !model_.over_lease(held, done.view).empty()) continue;
      if (!held.worktree.empty() && held.worktree != entry.worktree) continue;
      for (const Want& has : held.wants) {
        fenced =
            fenced || (has.mode >= want.mode && model_.world().covers(has.resource, want.resource));
      }
    }
    current = current && fenced;
  }
  require(reply.fence_current == current, "I4: check takes a fence for current, or not, wrongly");
  if (op.fence != 0) probe(current ? "check of a current fence" : "check of an old fence");
}

void Judge::check_notices(const Done& done, const std::vector<core::LostLease>& notices) {
  for (const core::LostLease& notice : notices) {
    const auto lost = lost_.find(notice.id);
    require(lost != lost_.end(), "told of what was not lost");
    const bool own = lost->second.owner == done.op.owner;
    require(own || lost->second.whole == done.op.owner, "told of what somebody else lost");
    bool& told = own ? lost->second.told : lost->second.told_whole;
    require(!told || !done.alone, "told twice");
    told = true;
    probe(own ? "told of a lost lease" : "told of what a part has lost");
  }
  if (notices.size() >= 50 || !done.strict || !done.alone) return;
  for (const auto& [id, lost] : lost_) {
    const bool gone = budgeted_ && model_.store_ms > lost.vanishes_ms;
    const bool told = lost.owner == done.op.owner ? lost.told : lost.told_whole;
    const bool whole = lost.whole && *lost.whole == done.op.owner;
    const bool due =
        (whole || lost.owner == done.op.owner) && !told && model_.now <= lost.forget_after;
    if (due && !gone) fail("I7: not told that lease " + id.text() + " was lost");
  }
}

void Judge::expect_release(const Done& done, const core::ReleaseReply& reply) const {
  core::ReleaseReply expected;
  std::set<int> gone;
  std::set<LeaseId> ended;
  for (const int resource : done.op.resources) {
    bool mine = false;
    bool other = false;
    for (const auto& [id, held] : model_.leases) {
      const bool has = std::any_of(held.wants.begin(), held.wants.end(),
                                   [&](const Want& want) { return want.resource == resource; });
      if (!has || (held.owner == done.op.owner && gone.contains(resource))) continue;
      if (held.owner == done.op.owner) {
        mine = true;
      } else if (model_.over_lease(held, done.view).empty()) {
        other = true;
      }
    }
    if (mine) gone.insert(resource);
    const std::string& text = model_.world().resource(resource).text();
    if (mine) {
      expected.released.push_back(text);
    } else if (other) {
      expected.not_owner.emplace_back(text, core::Owner{});
    } else {
      expected.not_held.push_back(text);
    }
  }
  const auto is_part = [&](const auto& part, const auto& whole) {
    return part.size() <= whole.size() && (reply.again || part.size() == whole.size());
  };
  // A lease that ends takes its children with it: what of others was there may be gone by then.
  const bool simple = done.op.resources.size() == 1;
  require(is_part(reply.released, expected.released) || !simple, "I9: released, wrongly");
  require(is_part(reply.not_held, expected.not_held) || !simple, "I9: not held, wrongly");
  require(is_part(reply.not_owner, expected.not_owner) || !simple, "I9: not owner, wrongly");
  if (!reply.not_owner.empty()) probe("release of somebody else's");
  if (reply.again) probe("release in several commits");
}

void Judge::compare(const core::Lease& lease) const {
  const auto found = model_.leases.find(lease.id);
  if (found == model_.leases.end())
    fail("I5: a lease that the history does not know: " + lease.id.text());
  const Entry& entry = found->second;
  const std::string name = " of " + describe(entry, model_.world());
  if (lease.owner != entry.owner || wants_of(lease.claims) != entry.wants)
    fail("I2: claims" + name);
  if (lease.fence() != entry.fence || lease.created != entry.created) fail("I3: fence" + name);
  if (lease.parent != entry.parent) fail("parent" + name);
  if (lease.terms.ttl_ms != entry.ttl_ms) fail("I6: length" + name);
  const std::int64_t deadline = core::effective_deadline(lease, model_.epoch);
  if (deadline != entry.deadline) {
    fail("I6: deadline " + std::to_string(deadline) + " instead of " +
         std::to_string(entry.deadline) + name);
  }
  if (entry.rebooted) return;
  // What a reboot has ended is taken from the record when somebody renews it.
  const bool of_this_boot = lease.epoch == model_.epoch.id;
  if (of_this_boot && lease.holds != entry.holds) fail("rule 7: holds" + name);
  if (lease.confirm_by_mono_ms != entry.confirm_by) fail("rule 5: confirmation" + name);
  if (lease.orphaned_mono_ms != entry.orphaned_at.value_or(0)) fail("rule 8: orphaned" + name);
  if (lease.terms.worktree != entry.worktree) fail("rule 15: worktree" + name);
  if (!of_this_boot) return;
  Entry& known = found->second;
  if (known.edit_or && lease.edit == known.edit_or) known.edit = known.edit_or;
  known.edit_or.reset();
  if (lease.edit != known.edit) fail("rule 16: edit" + name);
}

void Judge::compare(const core::Waiter& waiter) const {
  const auto found = model_.waiters.find(waiter.request.id);
  if (found == model_.waiters.end()) {
    fail("a waiter that the history does not know: " + waiter.request.id.text());
  }
  const Entry& entry = found->second;
  const std::string name = " of waiter " + describe(entry, model_.world());
  if (waiter.request.owner != entry.owner || wants_of(waiter.request.claims) != entry.wants) {
    fail("I2: claims" + name);
  }
  if (waiter.request.created != entry.created) fail("L4: place" + name);
  if (waiter.request.parent != entry.parent) fail("parent" + name);
  if (waiter.request.holds != entry.holds) fail("rule 7: holds" + name);
  if (waiter.request.then != entry.then) fail("rule 7: later attachment" + name);
  if (waiter.wake != entry.wake) fail("rule 10: wake word" + name);
  if (waiter.request.terms.worktree != entry.worktree) fail("rule 15: worktree" + name);
  if (waiter.request.edit != entry.edit) fail("rule 16: edit" + name);
}

void Judge::refused_acquire(const Op& op, const Error& error, const core::Prober& view) const {
  const core::AcquireRequest& request = op.request;
  const auto known = known_.find({key_of(op.owner), request.terms.request_id});
  const bool replay = !request.terms.request_id.empty() && known != known_.end();
  if (error.code == Code::kInvalidInput) {
    require(replay && known->second.arguments != arguments_of(request),
            "I8: refused the same arguments");
    probe("request id with other arguments");
    return;
  }
  require(error.code == Code::kLost, "an error that has no reason");
  if (replay) {
    require(may_be_lost(known->second.lease, view), "I8: said lost of what is not");
    probe("replay after the end");
    return;
  }
  if (!request.under.empty()) {
    const auto parent = model_.leases.find(request.under);
    const bool current = parent != model_.leases.end() &&
                         parent->second.fence == request.under_fence &&
                         model_.over_lease(parent->second, view).empty();
    if (!current) {
      probe("worked under a lease that is gone");
      return;
    }
  }
  fail("said lost of what is not");
}

// A waiter that is over, or would be bound to a process that is dead by now.
bool Judge::may_be_lost(const LeaseId& id, const core::Prober& view) const {
  const auto waiter = model_.waiters.find(id);
  const auto lease = model_.leases.find(id);
  const Entry* entry = waiter != model_.waiters.end() ? &waiter->second
                       : lease != model_.leases.end() ? &lease->second
                                                      : nullptr;
  if (entry == nullptr) return true;
  const bool waits = waiter != model_.waiters.end();
  const bool unbound = waits || entry->confirm_by != 0;
  return !(waits ? model_.over_waiter(*entry, view) : model_.over_lease(*entry, view)).empty() ||
         (unbound && view.probe(entry->then) == core::Alive::kDead) ||
         (!waits && model_.is_orphan(*entry, view));
}

// A refusal depends on nothing, so no commit is too small for it.
void Judge::refused(const TooLarge& what) {
  current_ = &what.op;
  require(budgeted_, "L8: a limit that is not there");
  require(what.op.kind == Kind::kAcquire || what.op.kind == Kind::kPoll,
          "L8: a limit in the way of what must always work");
  const auto& reply = std::get<core::AcquireReply>(what.answer);
  require(reply.outcome != core::Outcome::kHeld, "L8: refused, and the commit is too small for it");
  require(what.op.kind != Kind::kPoll || reply.outcome != core::Outcome::kQueued,
          "L8: it only looked, and the commit is too small for it");
  probe("budget of the store");
}

void Judge::refused(const Op& op, const Error& error, const core::Prober& view, bool strict) {
  current_ = &op;
  if (error.code == Code::kLimitExceeded) {
    const bool small = limits_.rows_per_glob < 1000 || limits_.comparisons < 1000 ||
                       limits_.queue_length < 1000 || limits_.claims_per_agent < 1000;
    const bool deep = !op.request.under.empty();
    require(budgeted_ || small || deep, "L8: a limit that is not there");
    require(op.kind == Kind::kAcquire || op.kind == Kind::kCheck || op.kind == Kind::kPoll ||
                op.kind == Kind::kBreak,
            "L8: a limit in the way of what must always work");
    require(op.kind == Kind::kAcquire || op.kind == Kind::kCheck || budgeted_,
            "L8: a limit that is not for what waits");
    probe(error.message.find("lie below") != std::string::npos        ? "glob limit"
          : error.message.find("has to compare") != std::string::npos ? "comparison limit"
          : error.message.find("are waiting") != std::string::npos    ? "queue limit"
          : error.message.find("holds") != std::string::npos          ? "quota"
          : error.message.find("nested") != std::string::npos         ? "nesting limit"
                                                                      : "budget of the store");
    return;
  }
  if (!strict) return;
  switch (op.kind) {
    case Kind::kAcquire:
      return refused_acquire(op, error, view);
    case Kind::kCheck:
      if (error.code == Code::kLost && !op.request.under.empty()) return;
      break;
    case Kind::kPoll:
    case Kind::kCancel:
      require(error.code == Code::kLost, "an error that has no reason");
      require(may_be_lost(op.ids.front(), view), "I9: said lost of what is not");
      return;
    case Kind::kReleaseLeases:
    case Kind::kGiveBack:
      for (const LeaseId& id : op.ids) {
        const auto other = model_.leases.find(id);
        if (other != model_.leases.end() && other->second.owner != op.owner) return;
      }
      break;
    case Kind::kRenew:
      for (const LeaseId& id : op.ids) {
        const auto other = model_.leases.find(id);
        if (other == model_.leases.end() || other->second.owner != op.owner ||
            may_be_lost(id, view)) {
          return;
        }
      }
      break;
    default:
      break;
  }
  fail("an error that has no reason: " + error.message);
}

}  // namespace lockkeeper::sim
