// Table: acquire, and the life of a request in the queue (poll, cancel).
#include <algorithm>
#include <string>

#include "base/assert.h"
#include "base/bytes.h"
#include "core/history.h"
#include "core/presence.h"
#include "core/table.h"

namespace lockkeeper::core {
namespace {

constexpr std::size_t kSweptPerAcquire = 4;
constexpr std::uint64_t kTrimEvery = 64;
constexpr std::uint64_t kTrimOftenEvery = 16;  // where a commit takes only a few rows
constexpr std::size_t kTrimmedAtOnce = 256;
constexpr std::size_t kParentDepthMax = 8;

std::unexpected<Error> too_much(const std::string& what, std::size_t limit, std::string hint) {
  return fail(Code::kLimitExceeded, what + "; the limit is " + std::to_string(limit),
              std::move(hint));
}

Result<void> check_limits(const AcquireRequest& request, const Limits& limits) {
  if (request.claims.empty()) return fail(Code::kInvalidInput, "no resource was asked for");
  if (request.claims.size() > limits.claims_per_request) {
    return too_much(std::to_string(request.claims.size()) + " resources in one request",
                    limits.claims_per_request, "ask for a folder or a pattern instead");
  }
  if (request.owner.agent.empty()) return fail(Code::kInvalidInput, "the agent has no name");
  for (const std::string* name :
       {&request.owner.agent, &request.owner.session, &request.terms.request_id,
        &request.terms.agent_type, &request.terms.worktree, &request.call}) {
    if (name->size() > limits.name_bytes) {
      return too_much("a name of " + std::to_string(name->size()) + " bytes", limits.name_bytes,
                      "use a shorter agent, session, request id, agent type, worktree or call");
    }
  }
  if (const std::size_t depth = wholes_of(request.owner).size(); depth > kSessionDepthMax) {
    return too_much("a session nested " + std::to_string(depth) + " deep", kSessionDepthMax,
                    "use a session with fewer parts");
  }
  for (const std::string* text : {&request.terms.reason, &request.terms.task}) {
    if (text->size() > limits.text_bytes) {
      return too_much("a reason or task of " + std::to_string(text->size()) + " bytes",
                      limits.text_bytes, "shorten it");
    }
  }
  return {};
}

// The request as one number: the same id with other arguments is an error, not a replay.
std::uint64_t digest(const AcquireRequest& request) {
  RecordWriter out;
  for (const Claim& claim : request.claims) {
    out.number(static_cast<std::uint64_t>(claim.mode));
    out.number(static_cast<std::uint64_t>(claim.resource.kind()));
    out.text(claim.resource.text());
  }
  out.signed_number(request.terms.ttl_ms);
  out.text(request.terms.task);
  if (!request.terms.worktree.empty()) out.text(request.terms.worktree);
  return hash64(out.take());
}

bool in_order(const Claim& a, const Claim& b) {
  if (a.resource.text() != b.resource.text()) return a.resource.text() < b.resource.text();
  if (a.resource.kind() != b.resource.kind()) return a.resource.kind() < b.resource.kind();
  return a.mode > b.mode;
}

// A resource that is named twice counts once, in the stronger mode. The claims are sorted, so that
// equal requests have equal lists.
std::vector<Claim> without_duplicates(const std::vector<Claim>& claims) {
  std::vector<Claim> unique = claims;
  std::stable_sort(unique.begin(), unique.end(), in_order);
  const auto same = [](const Claim& a, const Claim& b) { return a.resource == b.resource; };
  unique.erase(std::unique(unique.begin(), unique.end(), same), unique.end());
  for (std::size_t i = 0; i < unique.size(); ++i) unique[i].slot = static_cast<std::uint16_t>(i);
  return unique;
}

AcquireReply answer(Outcome outcome, Lease lease, std::vector<Conflict> conflicts = {},
                    std::vector<CycleStep> cycle = {}, std::size_t position = 0) {
  AcquireReply reply;
  reply.outcome = outcome;
  reply.lease = std::move(lease);
  reply.conflicts = std::move(conflicts);
  reply.cycle = std::move(cycle);
  reply.position = position;
  return reply;
}

// This commit is full of work that others left. It is committed first, then the request is decided.
AcquireReply ask_again() {
  AcquireReply reply;
  reply.again = true;
  return reply;
}

// What is in the way of an owner that holds the place itself: its part or its child works there.
bool is_of_a_part(const Conflict& conflict) {
  return !conflict.waiting && !conflict.holder.foreign;
}

std::size_t waiters_in(const std::vector<Conflict>& conflicts) {
  std::set<LeaseId> ids;
  for (const Conflict& conflict : conflicts) {
    if (conflict.waiting) ids.insert(conflict.holder.id);
  }
  return ids.size();
}

// Only told, so nothing is guarded.
Result<std::vector<Conflict>> held_elsewhere(State& state, const Lease& lease) {
  if (lease.terms.worktree.empty()) return std::vector<Conflict>{};
  const State::Mark before = state.mark();
  const Lease request = lease;  // NOLINT(performance-unnecessary-copy-initialization)
  LK_ASSIGN(Findings findings, find_conflicts(state, request, {.look = false}));
  state.forget_reads(before);
  return std::move(findings.elsewhere);
}

std::unexpected<Error> beyond_the_store() {
  return fail(Code::kLimitExceeded,
              "granting this takes more guards than one commit of this store has",
              "ask for fewer resources at a time");
}

std::unexpected<Error> parent_gone(const LeaseId& id) {
  return fail(Code::kLost, "the lease to work under, " + id.text() + ", has ended",
              "stop working on what it covered, then ask for a lease of your own");
}

}  // namespace

Result<AcquireReply> Table::acquire(const AcquireRequest& asked) {
  LK_CHECK(check_limits(asked, context_.limits));
  LOCKKEEPER_ASSERT(!asked.wait || asked.waiting_process.attached());
  if (asked.claims.size() == 1 && asked.claims.front().slot == 0) return decide(asked);
  AcquireRequest request = asked;
  request.claims = without_duplicates(asked.claims);
  return decide(request);
}

// REQUIRES: the request is within the limits, its claims are sorted and unique.
Result<AcquireReply> Table::decide(const AcquireRequest& request) {
  LK_CHECK(check_still_kept(state_, request.through));
  LK_ASSIGN(std::optional<AcquireReply> earlier, replay(request));
  if (earlier) return std::move(*earlier);
  LK_CHECK(settler_.sweep(kSweptPerAcquire));
  if (settler_.worked() && !settler_.room_left()) return ask_again();
  const bool few = state_.txn().left().writes < kTrimmedAtOnce;
  if (context_.ticket % (few ? kTrimOftenEvery : kTrimEvery) == 0) {
    LK_CHECK(trim_history(state_, kTrimmedAtOnce));
  }
  auto drafted = draft(request);
  // What was ended just now, and may be what it works under, is committed before anybody is told.
  if (!drafted && drafted.error().code == Code::kLost && settler_.worked()) return ask_again();
  if (!drafted) return fail(std::move(drafted.error()));
  Lease lease = std::move(*drafted);
  for (;;) {
    const State::Mark before = state_.mark();
    if (!lease.parent.empty()) {
      LK_ASSIGN(const bool gone, parent_over(state_, lease));
      if (gone && !request.under.empty()) return ask_again();
      if (gone) lease.parent = {};
    }
    LK_ASSIGN(Findings findings, find_conflicts(state_, lease, {}));
    // A grant depends on all that was looked at, a refusal on nothing, and a place in the queue on
    // what stands before it, which is read again. So is everything after clearing away.
    const bool cluttered = !findings.over.empty();
    if (cluttered || !findings.conflicts.empty()) state_.forget_reads(before);
    bool full = false;
    LK_ASSIGN(const bool reaped, reap_all(findings, full));
    if (full) return ask_again();
    if (reaped || cluttered) continue;
    LK_ASSIGN(std::optional<AcquireReply> renewed, renew_exact(request, lease, findings));
    if (renewed) return std::move(*renewed);
    if (!findings.host.empty()) {
      // Looked at again, because the grant depends on it: whoever lets us in must still be there.
      LK_ASSIGN(const bool let_in, works_under(state_, request.owner, findings.host));
      if (!let_in) continue;
      // What that lease lies in is then on our side too.
      lease.parent = findings.host;
      LK_CHECK(check_depth(lease.parent));
      continue;
    }
    const bool free = all_give_way(findings.conflicts);
    if (free || request.wait) {
      LK_ASSIGN(const bool cleared, check_quota(lease, before));
      if (cleared && !settler_.room_left()) return ask_again();
      if (cleared) continue;
    }
    if (free) {
      LK_ASSIGN(const bool fits, clear_the_way(lease, findings, before));
      if (!fits) return ask_again();
      lease.overtook = findings.overtook;
      LK_ASSIGN(AcquireReply granted, grant(request, std::move(lease)));
      granted.elsewhere = std::move(findings.elsewhere);
      return granted;
    }
    lease.overtook = findings.overtook;
    if (!request.wait) return refuse(lease, std::move(findings));
    return enqueue(request, std::move(lease), std::move(findings));
  }
}

// Ends the edits that give way to it. Whoever else waits for them comes after this request, and
// could end what it works under: that is left to the next commit. False: this one has no room.
Result<bool> Table::clear_the_way(const Lease& lease, Findings& findings,
                                  const State::Mark& before) {
  if (findings.conflicts.empty()) return !too_full(before);
  LK_CHECK(settler_.make_way(findings.conflicts, lease.owner));
  bool fits = settler_.room_left();
  if (fits) {
    const State::Mark ended = state_.mark();
    LK_ASSIGN(findings, find_conflicts(state_, lease, {}));
    fits = findings.conflicts.empty() && settler_.spare_left();
    if (!fits) state_.forget_reads(ended);
  }
  LK_CHECK(fits ? settler_.leave_to_next() : settler_.settle());
  return fits;
}

// Its guards do not fit beside what was ended before. In a commit of their own they may.
bool Table::too_full(const State::Mark& since) {
  if (!settler_.worked() || settler_.spare_left()) return false;
  state_.forget_reads(since);
  return true;
}

Result<std::optional<AcquireReply>> Table::replay(const AcquireRequest& request) {
  if (request.terms.request_id.empty()) return std::nullopt;
  LK_ASSIGN(const std::optional<kv::Row> row,
            state_.txn().get(request_key(request.owner, request.terms.request_id)));
  if (!row) return std::nullopt;
  LK_ASSIGN(const RememberedRequest known, decode_request(row->value));
  if (known.request_id != request.terms.request_id || known.arguments != digest(request)) {
    return fail(Code::kInvalidInput,
                "request id " + request.terms.request_id + " was used before with other arguments",
                "use a new request id");
  }
  LK_ASSIGN(const Lease* held, state_.lease(known.lease));
  if (held != nullptr) {
    LK_ASSIGN(const Condition now, condition(state_, *held));
    if (!now.over && is_confirmed(*held)) {
      // The lease has another request's id: it was there before, and this request renewed it.
      const bool renewal = held->terms.request_id != request.terms.request_id;
      AcquireReply reply = answer(renewal ? Outcome::kRenewed : Outcome::kGranted, *held);
      reply.replayed = reply.existed_before = true;
      LK_ASSIGN(reply.elsewhere, held_elsewhere(state_, *held));
      // If its processes are gone the requester gets it back, or it is lost (rule 8).
      if (is_orphan(*held, now)) {
        LK_ASSIGN(const std::vector<Lease> reclaimed,
                  renew(request.owner, {known.lease}, std::nullopt, request.attachment));
        reply.lease = reclaimed.front();
      } else if (known.lease != request.under) {
        LK_CHECK(add_hold(request, reply.lease));
      }
      return reply;
    }
  }
  if (held != nullptr && !is_confirmed(*held)) {
    // An unconfirmed handoff now belongs to the process that asks.
    Lease after = *held;
    after.then = request.attachment;
    LK_CHECK(state_.change_lease(Lease(*held), after));
  }
  LK_ASSIGN(const std::optional<Waiter> waiter, state_.waiter(known.lease));
  if (held == nullptr && !waiter) {
    return fail(Code::kLost, "the lease of request " + request.terms.request_id + " has ended",
                "ask again with a new request id");
  }
  LK_ASSIGN(AcquireReply reply, waiter ? resume(request, *waiter) : poll(known.lease));
  reply.replayed = true;
  return reply;
}

// The request is in the queue already; it now belongs to the process that asks.
Result<AcquireReply> Table::resume(const AcquireRequest& request, Waiter waiter) {
  if (!request.wait) return cancel(waiter.request.id, "replaced");
  const Waiter before = waiter;
  waiter.request.then = request.attachment;
  waiter.wake = request.wake;
  const LeaseId id = waiter.request.id;
  LK_CHECK(refile(before, std::move(waiter), request.waiting_process));
  return poll(id);
}

Result<void> Table::refile(const Waiter& before, Waiter after, const Attachment& process) {
  after.request.holds = {process};
  after.request.epoch = context_.epoch.id;
  LK_CHECK(state_.refile_waiter(before, after));
  // If the process before was dead, others wait for this owner only from now on: a cycle may close
  // that this request is no part of (L5).
  if (before.request.holds == after.request.holds) return {};
  return wake_waiting_of(after.request.owner);
}

Result<Lease> Table::draft(const AcquireRequest& request) {
  Lease lease;
  lease.id = make_id(request.owner, context_.ticket);
  lease.owner = request.owner;
  lease.claims = request.claims;
  lease.terms = request.terms;
  if (!can_come_back(request.owner)) lease.terms.orphan_grace_ms = 0;
  lease.holds = {request.attachment};
  lease.then = request.attachment;
  lease.acquired_wall_ms = context_.now.wall_ms;
  lease.epoch = context_.epoch.id;
  lease.fence_offset = context_.epoch.fence_offset;
  if (!request.call.empty()) lease.edit = Edit{{request.call}, false, context_.now.mono_ms};
  extend(lease, request.terms.ttl_ms, context_);
  if (request.under.empty()) return lease;
  LK_ASSIGN(const Lease* parent, state_.lease(request.under));
  bool current = parent != nullptr && parent->fence() == request.under_fence;
  if (current) {
    LK_ASSIGN(const Condition now, condition(state_, *parent));
    current = !now.over;
  }
  if (!current) return parent_gone(request.under);
  LK_CHECK(check_depth(request.under));
  lease.parent = request.under;
  return lease;
}

Result<std::size_t> Table::depth_of(const LeaseId& id) {
  LK_ASSIGN(const Lease* up, state_.lease(id));
  std::size_t depth = 0;
  for (; up != nullptr && !up->parent.empty(); ++depth) {
    LK_ASSIGN(up, state_.lease(up->parent));
  }
  return depth;
}

// May something lie in this lease?
Result<void> Table::check_depth(const LeaseId& parent) {
  LK_ASSIGN(const std::size_t above, depth_of(parent));
  const std::size_t depth = above + 1;
  if (depth <= kParentDepthMax) return {};
  return too_much("leases nested " + std::to_string(depth) + " deep", kParentDepthMax,
                  "release an inner lease first");
}

// The dead and the expired are ended before anything is decided (rule 6).
Result<bool> Table::reap_all(const Findings& findings, bool& full) {
  bool any = false;
  // A commit that is full of clearing away goes out as it is; the request is looked at afterwards.
  const auto is_full = [&] { return full = any && !settler_.room_left(); };
  for (const LeaseId& id : findings.over) {
    if (is_full()) break;
    LK_ASSIGN(const bool gone, settler_.reap(id));
    any |= gone;
  }
  std::set<LeaseId> seen;
  for (const Conflict& conflict : findings.conflicts) {
    if (!seen.insert(conflict.holder.id).second) continue;
    if (is_full()) break;
    LK_ASSIGN(const bool gone, conflict.waiting ? settler_.reap_waiter(conflict.holder.id)
                                                : settler_.reap(conflict.holder.id));
    any |= gone;
  }
  LK_CHECK(settler_.settle());
  return any;
}

Result<std::optional<AcquireReply>> Table::renew_exact(const AcquireRequest& request,
                                                       const Lease& draft,
                                                       const Findings& findings) {
  if (request.anew) return std::nullopt;
  for (const LeaseId& id : findings.own) {
    LK_ASSIGN(const Lease* own, state_.lease(id));
    if (own == nullptr || own->claims != draft.claims) continue;
    // An edit is another thing than a lease on purpose: each has its own end.
    if (own->terms.worktree != draft.terms.worktree) continue;
    if (own->edit.has_value() != draft.edit.has_value()) continue;
    // An orphan that cannot be reclaimed stays an orphan; the request becomes a new lease.
    LK_ASSIGN(const Condition now, condition_confirmed(state_, *own));
    if (now.over || (is_orphan(*own, now) && !may_reclaim(*own, request.attachment))) continue;
    LK_ASSIGN(std::vector<Lease> renewed,
              renew(request.owner, {id}, request.terms.ttl_ms, request.attachment));
    Lease& lease = renewed.front();
    if (id != request.under) LK_CHECK(add_hold(request, lease));
    const Lease before = lease;
    const bool other_reason =
        !request.terms.reason.empty() && request.terms.reason != before.terms.reason;
    if (other_reason) lease.terms.reason = request.terms.reason;
    if (lease.edit) LK_CHECK(begin_on(lease, request.call));
    if (other_reason || lease.edit) LK_CHECK(state_.change_lease(before, lease));
    LK_CHECK(remember_request(request, id));
    if (!request.terms.request_id.empty()) {
      // The end is recorded under the first request's id, so this one checks for itself.
      const std::string key = request_key(request.owner, request.terms.request_id);
      LK_CHECK(state_.file_due(remembered_until(context_), Due::kRequest, key.substr(1)));
    }
    AcquireReply reply = answer(Outcome::kRenewed, std::move(lease));
    if (other_reason) reply.reason_before = before.terms.reason;
    reply.elsewhere = findings.elsewhere;
    std::ranges::copy_if(findings.conflicts, std::back_inserter(reply.conflicts), is_of_a_part);
    return reply;
  }
  return std::nullopt;
}

// Whoever asks for what its owner holds already keeps it as well (rule 4). Not from inside: what is
// done under a lease ends with it, so it cannot keep it.
Result<void> Table::add_hold(const AcquireRequest& request, Lease& lease) {
  const Lease before = lease;
  LK_CHECK(join(state_, lease, request.attachment, request.terms.orphan_grace_ms));
  const bool same = lease.epoch == before.epoch && lease.holds == before.holds &&
                    lease.due_mono_ms == before.due_mono_ms &&
                    lease.terms.orphan_grace_ms == before.terms.orphan_grace_ms;
  return same ? Result<void>() : state_.change_lease(before, lease);
}

// Counts what the agent holds and what it waits for. True if some of that had to be cleared away:
// then everything is to be looked at again.
Result<bool> Table::check_quota(const Lease& lease, const State::Mark& since) {
  const std::size_t limit = context_.limits.claims_per_agent;
  LK_ASSIGN(std::size_t held, state_.claims_counted(lease.owner));
  if (held + lease.claims.size() <= limit) return false;
  state_.forget_reads(since);
  // What is over but was not looked at yet does not count, of whichever session of the agent.
  bool cleared = false;
  for (const Holding holding : {Holding::kLease, Holding::kWaiter}) {
    LK_ASSIGN(const std::vector<LeaseId> ids, state_.ids_of_agent(holding, lease.owner));
    for (const LeaseId& id : ids) {
      if (!settler_.room_left()) break;
      LK_ASSIGN(const bool gone,
                holding == Holding::kLease ? settler_.reap(id) : settler_.reap_waiter(id));
      cleared |= gone;
    }
  }
  LK_CHECK(settler_.settle());
  LK_ASSIGN(held, state_.claims_counted(lease.owner));
  const bool full = cleared && !settler_.room_left();
  if (full || held + lease.claims.size() <= limit) return cleared;
  return too_much("agent " + lease.owner.agent + " holds " + std::to_string(held) +
                      " resources and asks for " + std::to_string(lease.claims.size()) + " more",
                  limit, "release some, or ask for a folder or a pattern");
}

Result<void> Table::remember_request(const AcquireRequest& request, const LeaseId& id) {
  if (request.terms.request_id.empty()) return {};
  return state_.txn().put(request_key(request.owner, request.terms.request_id),
                          encode_request({request.terms.request_id, digest(request), id}));
}

Result<AcquireReply> Table::grant(const AcquireRequest& request, Lease lease) {
  LK_ASSIGN(const Lease* taken, state_.lease(lease.id));
  if (taken != nullptr) {
    return fail(Code::kFailed, "the id " + lease.id.text() + " is taken", "try again");
  }
  LK_CHECK(state_.add_lease(lease));
  if (lease.edit) LK_CHECK(note_begun(lease.owner, {request.call}, lease.terms.worktree));
  ++context_.ticket;
  LK_CHECK(remember_request(request, lease.id));
  LK_CHECK(state_.append(Event::granted(lease)));
  LK_CHECK(settler_.settle());
  LK_ASSIGN(const bool any_waiters, state_.any_waiters());
  if (any_waiters) LK_CHECK(settler_.wake_waiting(lease));
  return answer(Outcome::kGranted, std::move(lease));
}

// At most one event a minute for refusals of one owner and the same resources. Of an edit, whoever
// asks for it says what became of the call (ReportRequest::notes).
Result<AcquireReply> Table::refuse(const Lease& draft, Findings findings) {
  if (draft.edit) return answer(Outcome::kHeld, draft, std::move(findings.conflicts));
  std::string wanted;
  for (const Claim& claim : draft.claims) wanted += claim.resource.text() + '\n';
  const std::string key = refusal_key(draft.owner, wanted);
  LK_ASSIGN(const std::optional<kv::Row> known, state_.txn().get(key, kv::Read::kPeek));
  if (!known) {
    LK_CHECK(state_.txn().put(key, "", kRefusalWindowMs));
    LK_CHECK(state_.file_due(refusal_until(context_), Due::kRefusal, key.substr(1)));
    Event event = Event::refused(draft, "held");
    event.by = findings.conflicts.front().holder.owner;
    LK_CHECK(state_.append(std::move(event)));
  }
  return answer(Outcome::kHeld, draft, std::move(findings.conflicts));
}

Result<AcquireReply> Table::enqueue(const AcquireRequest& request, Lease draft, Findings findings) {
  const std::size_t before = waiters_in(findings.conflicts);
  if (before >= context_.limits.queue_length) {
    return too_much(std::to_string(before) + " requests are waiting for the same",
                    context_.limits.queue_length, "try again later, without --wait");
  }
  const State::Mark walk = state_.mark();
  LK_ASSIGN(std::optional<std::vector<CycleStep>> cycle,
            find_cycle(state_, draft, findings.conflicts));
  if (cycle) {
    state_.forget_reads(walk);
    LK_CHECK(state_.append(Event::refused(draft, "deadlock")));
    return answer(Outcome::kDeadlock, std::move(draft), std::move(findings.conflicts),
                  std::move(*cycle));
  }
  if (too_full(walk)) return ask_again();
  // More owners wait for each other than one commit can guard. Then whoever closes a cycle at this
  // moment is seen by the look that follows: each does that before it sleeps. (L5)
  const bool unguarded = !settler_.spare_left();
  if (unguarded) state_.forget_reads(walk);
  LK_ASSIGN(const Blocker blocker, choose_blocker(state_, findings.conflicts));
  LK_CHECK(state_.guard(blocker.id));
  const bool alone = blocker.alone && !draft.overtook;
  LK_ASSIGN(std::vector<std::string> wholes, wholes_behind(state_, draft));
  Waiter waiter{std::move(draft), blocker.id, alone, request.wake, std::move(wholes)};
  waiter.request.holds = {request.waiting_process};
  LK_CHECK(state_.add_waiter(waiter));
  LK_CHECK(remember_request(request, waiter.request.id));
  LK_CHECK(state_.append(Event::of_request(waiter.request, "queued")));
  AcquireReply queued = answer(Outcome::kQueued, std::move(waiter.request),
                               std::move(findings.conflicts), {}, before + 1);
  queued.unguarded = unguarded;
  return queued;
}

Result<AcquireReply> Table::confirm(const Lease& lease) {
  Lease confirmed = lease;
  if (!is_confirmed(lease)) {
    confirm_handoff(confirmed, context_);
    if (confirmed.edit) {
      confirmed.edit->touched_mono_ms = context_.now.mono_ms;
      LK_CHECK(note_begun(lease.owner, confirmed.edit->calls, lease.terms.worktree));
    }
    LK_CHECK(state_.change_lease(lease, confirmed));
  }
  return answer(Outcome::kGranted, std::move(confirmed));
}

Result<AcquireReply> Table::poll(const LeaseId& id, Poll how) {
  LK_ASSIGN(const Lease* granted, state_.lease(id));
  bool fits = true;
  if (granted == nullptr) {
    LK_ASSIGN(const Considered considered, settler_.consider(id, true));
    fits = considered != Considered::kTooLarge;
    // It may not fit beside what was ended, but fit alone: then it is decided once more.
    if (!fits && !settler_.worked()) return beyond_the_store();
    LK_CHECK(settler_.settle());
  }
  LK_ASSIGN(granted, state_.lease(id));
  if (granted != nullptr) {
    const Lease lease = *granted;
    LK_ASSIGN(const Condition now, condition_confirmed(state_, lease));
    if (!now.over) return how == Poll::kLooks ? answer(Outcome::kGranted, lease) : confirm(lease);
    LK_CHECK(settler_.end_over(lease, now));
    LK_CHECK(settler_.settle());
  }
  LK_ASSIGN(const std::optional<Waiter> waiter, state_.waiter(id));
  if (!waiter) {
    // What has just ended its parent must be on record before it is called lost.
    if (settler_.worked() && granted == nullptr) return ask_again();
    return fail(Code::kLost, "request " + id.text() + " is no longer in the queue", "ask again");
  }
  const State::Mark before = state_.mark();
  LK_ASSIGN(Findings findings,
            find_conflicts(state_, waiter->request, {true, waiter->request.created}));
  // The handoff may have cleared its way, by granting what it waited for to its own side.
  if (all_give_way(findings.conflicts) && fits && settler_.room_left()) return poll(id, how);
  const std::size_t ahead = waiters_in(findings.conflicts);
  LK_ASSIGN(std::optional<std::vector<CycleStep>> cycle,
            find_cycle(state_, waiter->request, findings.conflicts));
  if (cycle) {
    // Or two of its members would leave. Where even the cycle alone does not fit, they may.
    if (!settler_.room_left()) {
      state_.forget_reads(before);
      LK_CHECK(guard_cycle(state_, *cycle));
      if (!settler_.room_left()) state_.forget_reads(before);
    }
    LK_CHECK(settler_.drop(*waiter, "cancelled", "deadlock"));
    LK_CHECK(settler_.settle());
    return answer(Outcome::kDeadlock, waiter->request, std::move(findings.conflicts),
                  std::move(*cycle));
  }
  state_.forget_reads(before);  // nothing was decided
  return answer(Outcome::kQueued, waiter->request, std::move(findings.conflicts), {}, ahead + 1);
}

Result<AcquireReply> Table::cancel(const LeaseId& id, const std::string& cause) {
  LK_ASSIGN(const Lease* granted, state_.lease(id));
  if (granted != nullptr) return poll(id);
  LK_ASSIGN(const std::optional<Waiter> waiter, state_.waiter(id));
  if (!waiter) {
    return fail(Code::kLost, "request " + id.text() + " is no longer in the queue", "ask again");
  }
  LK_CHECK(settler_.drop(*waiter, "cancelled", cause));
  // What remains is only reported.
  const State::Mark before = state_.mark();
  LK_ASSIGN(Findings findings,
            find_conflicts(state_, waiter->request, {true, waiter->request.created}));
  state_.forget_reads(before);
  LK_CHECK(settler_.settle());
  return answer(Outcome::kHeld, waiter->request, std::move(findings.conflicts));
}

}  // namespace lockkeeper::core
