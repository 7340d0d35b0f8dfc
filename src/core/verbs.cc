// Table: release, renew, check, break, maintain.
#include <algorithm>
#include <map>
#include <string>

#include "base/assert.h"
#include "core/history.h"
#include "core/table.h"

namespace lockkeeper::core {
namespace {

constexpr std::size_t kNoticesAtOnce = 50;

std::unexpected<Error> no_lease(const LeaseId& id) {
  return fail(Code::kNotFound, "there is no lease " + id.text(), "run: lockkeeper list");
}

std::unexpected<Error> not_yours(const Lease& lease) {
  return fail(Code::kNotOwner,
              "lease " + lease.id.text() + " belongs to agent " + lease.owner.agent +
                  (lease.owner.session.empty() ? "" : " (session " + lease.owner.session + ")"),
              "only its owner may do that; to end it on record: lockkeeper break --lease " +
                  lease.id.text() + " --reason TEXT");
}

std::unexpected<Error> gone(const LostLease& lost) {
  std::string message = "lease " + lost.id.text() + " was lost (" + lost.cause + ")";
  if (!lost.by.agent.empty()) message += ", by " + lost.by.agent;
  if (!lost.reason.empty()) message += ": " + lost.reason;
  return fail(Code::kLost, message, "stop changing what it covered and ask for it again");
}

// Of the live leases that cover a claim in sufficient mode: is one on the requester's side? Has one
// that fence (I4)? `whose`: see Table::check.
struct Cover {
  bool mine = false;
  bool current = false;
};
Result<Cover> cover_of(State& state, const Lease& wanted, const Claim& claim, const Side& side,
                       std::uint64_t fence, const std::optional<LeaseId>& whose) {
  const Owner& owner = side.owners.front();
  const bool alone = side.parents.empty() && wholes_of(owner).empty();
  std::set<LeaseId> covering;
  const auto collect = [&](const State::Hit& hit) {
    if (key::covers(hit.resource, claim.resource)) covering.insert(hit.id);
  };
  State::Look look;
  if (fence == 0 && alone) look.only_of = &owner;
  LK_CHECK(state.overlapping(claim.resource, look, collect));
  look.mode = Mode::kShared;
  if (claim.mode == Mode::kShared) LK_CHECK(state.overlapping(claim.resource, look, collect));
  Cover cover;
  for (const LeaseId& id : covering) {
    LK_ASSIGN(const Lease* lease, state.lease(id));
    if (lease == nullptr) continue;
    LK_ASSIGN(const Condition now, condition(state, *lease));
    if (now.over || !worktree_suffices(*lease, wanted)) continue;
    const bool own = side.has(*lease);
    cover.mine |= own;
    const bool meant = !whose || (whose->empty() ? own : *whose == id);
    cover.current |= meant && fence != 0 && !lease->foreign && lease->fence() == fence;
  }
  return cover;
}

// The owner's own claim that covers the resource. Only told, so nothing is guarded.
Result<std::optional<std::string>> covered_by_own(State& state, const Owner& owner,
                                                  const key::Resource& resource) {
  std::optional<std::string> outer;
  for (const Mode mode : {Mode::kExclusive, Mode::kShared}) {
    State::Look look{.mode = mode, .only_of = &owner, .read = kv::Read::kPeek};
    LK_CHECK(state.overlapping(resource, look, [&](const State::Hit& hit) {
      if (key::covers(hit.resource, resource)) outer = hit.resource.text();
    }));
  }
  return outer;
}

// Why it is over; empty: it is not. Only told, so nothing is guarded.
Result<std::string> why_over(State& state, const Lease& lease) {
  const State::Mark before = state.mark();
  LK_ASSIGN(const Condition now, condition(state, lease));
  state.forget_reads(before);
  return now.over ? now.cause : "";
}

}  // namespace

Result<std::vector<LeaseId>> Table::holders_of(const key::Resource& resource) {
  std::vector<LeaseId> ids;
  const key::Place place(resource);
  for (const Mode mode : {Mode::kExclusive, Mode::kShared}) {
    std::vector<std::pair<LeaseId, std::string>> rows;
    LK_CHECK(state_.txn().scan(
        exactly_at(Holding::kLease, mode, place.space_and_segments), [&](const kv::Row& row) {
          rows.emplace_back(id_in_claim_key(row.key), std::string(row.value));
          return true;
        }));
    for (auto& [id, value] : rows) {
      LK_ASSIGN(const key::Resource held, decode_claim(value));
      if (held == resource && (ids.empty() || ids.back() != id)) ids.push_back(std::move(id));
    }
  }
  return ids;
}

// An owner that gives back a lease and one that lies in it loses neither, so the inner one ends
// first.
Result<void> Table::inner_first(std::vector<Lease>& leases) {
  if (std::ranges::all_of(leases, [](const Lease& lease) { return lease.parent.empty(); }))
    return {};
  const State::Mark before = state_.mark();
  std::map<LeaseId, std::size_t> depths;
  for (const Lease& lease : leases) {
    LK_ASSIGN(depths[lease.id], depth_of(lease.id));
  }
  state_.forget_reads(before);
  std::ranges::stable_sort(leases, std::greater{},
                           [&](const Lease& lease) { return depths.at(lease.id); });
  return {};
}

// Ends it at its owner's wish. Processes that keep it, beside the one that asks, were not asked.
Result<void> Table::release_one(const Lease& lease, const Attachment& by) {
  const bool others = std::ranges::any_of(
      lease.holds, [&](const Attachment& hold) { return hold.attached() && hold != by; });
  const EndedBy how{"released", "", "", {}};
  LK_CHECK(settler_.end(lease, how, false));
  return others ? note_loss(state_, lease, how) : Result<void>();
}

Result<ReleaseReply> Table::release(const Owner& owner, const std::vector<key::Resource>& resources,
                                    const Attachment& by) {
  ReleaseReply reply;
  for (const key::Resource& resource : resources) {
    if (!settler_.room_left()) {
      reply.again = true;
      break;
    }
    LK_CHECK(release_resource(owner, resource, by, reply));
  }
  LK_CHECK(settler_.settle());
  return reply;
}

Result<void> Table::release_resource(const Owner& owner, const key::Resource& resource,
                                     const Attachment& by, ReleaseReply& reply) {
  // The end depends only on the owner's leases, however many others hold the same.
  const State::Mark before = state_.mark();
  LK_ASSIGN(const std::vector<LeaseId> holders, holders_of(resource));
  state_.forget_reads(before);
  std::vector<Lease> mine;
  std::optional<Owner> other;
  for (const LeaseId& id : holders) {
    const State::Mark unread = state_.mark();
    LK_ASSIGN(const Lease* held, state_.lease(id));
    if (held == nullptr) continue;
    const Lease lease = *held;
    if (lease.held_by(owner)) {
      mine.push_back(lease);
      continue;
    }
    LK_ASSIGN(const std::string over, why_over(state_, lease));
    if (over.empty()) other = lease.owner;
    state_.forget_reads(unread);
  }
  LK_CHECK(inner_first(mine));
  bool live = false;
  std::string ended;
  for (const Lease& lease : mine) {
    LK_ASSIGN(ended, why_over(state_, lease));
    live |= ended.empty();
    LK_CHECK(lease.claims.size() == 1 ? release_one(lease, by) : release_part(lease, resource));
  }
  if (!mine.empty()) {
    reply.released.push_back(resource.text());
    if (!live) reply.ended_before.emplace_back(resource.text(), ended);
    return {};
  }
  if (other) {
    reply.not_owner.emplace_back(resource.text(), *other);
  } else {
    reply.not_held.push_back(resource.text());
  }
  LK_ASSIGN(const std::optional<std::string> outer, covered_by_own(state_, owner, resource));
  if (outer) reply.covered.emplace_back(resource.text(), *outer);
  return {};
}

Result<void> Table::release_part(const Lease& lease, const key::Resource& resource) {
  const auto claim = std::ranges::find(lease.claims, resource, &Claim::resource);
  LOCKKEEPER_ASSERT(claim != lease.claims.end());
  Lease rest;
  LK_CHECK(
      state_.remove_claim(lease, static_cast<std::size_t>(claim - lease.claims.begin()), rest));
  Event event = Event::of(lease, {"released", "part", "", {}});
  event.resources = {resource.text()};
  LK_CHECK(state_.append(std::move(event)));
  settler_.shrunk(lease.id);
  return {};
}

// Those of the ids that are leases of the owner's, inner ones first.
Result<std::vector<Lease>> Table::own_leases(const Owner& owner, const std::vector<LeaseId>& ids) {
  std::vector<Lease> own;
  for (const LeaseId& id : ids) {
    LK_ASSIGN(const Lease* held, state_.lease(id));
    if (held == nullptr) continue;
    if (!held->held_by(owner)) return not_yours(*held);
    own.push_back(*held);
  }
  LK_CHECK(inner_first(own));
  return own;
}

Result<ReleaseReply> Table::release_leases(const Owner& owner, const std::vector<LeaseId>& ids,
                                           const Attachment& by) {
  ReleaseReply reply;
  LK_ASSIGN(const std::vector<Lease> own, own_leases(owner, ids));
  for (const Lease& lease : own) {
    if (!settler_.room_left()) {
      reply.again = true;
      break;
    }
    LK_ASSIGN(const std::string ended, why_over(state_, lease));
    for (const std::string& text : resource_texts(lease)) {
      reply.released.push_back(text);
      if (!ended.empty()) reply.ended_before.emplace_back(text, ended);
    }
    LK_CHECK(release_one(lease, by));
  }
  LK_CHECK(settler_.settle());
  return reply;
}

Result<ReleaseReply> Table::give_back(const Owner& owner, const std::vector<LeaseId>& ids,
                                      const Attachment& by) {
  ReleaseReply reply;
  LK_ASSIGN(const std::vector<Lease> own, own_leases(owner, ids));
  for (const Lease& before : own) {
    Lease after = before;
    if (!before.attached()) carry_over(after, context_);
    // A handoff that is not confirmed yet is kept by whoever waits for it.
    const bool handoff = !is_confirmed(before) && before.then == by;
    if (std::erase(after.holds, by) == 0 && !handoff) continue;
    // Without a grace, the dead keep nothing.
    LK_ASSIGN(const Alive alive, alive_of(state_, after));
    const bool kept =
        !after.holds.empty() && (after.terms.orphan_grace_ms > 0 || alive != Alive::kDead);
    if (kept && !handoff) {
      LK_CHECK(state_.change_lease(before, after));
      continue;
    }
    if (!settler_.room_left()) {
      reply.again = true;
      break;
    }
    for (std::string& text : resource_texts(before)) reply.released.push_back(std::move(text));
    LK_CHECK(settler_.end(before, {"released", "", "", {}}, false));
  }
  LK_CHECK(settler_.settle());
  return reply;
}

Result<std::vector<Lease>> Table::renew(const Owner& owner, const std::vector<LeaseId>& ids,
                                        std::optional<std::int64_t> ttl_ms,
                                        const Attachment& attachment) {
  std::vector<Lease> renewed;
  for (const LeaseId& id : ids) {
    LK_ASSIGN(const Lease* held, state_.lease(id));
    if (held == nullptr) {
      LK_ASSIGN(const std::optional<LostLease> was, lost(id));
      if (was && was->owner == owner) return gone(*was);
      return no_lease(id);
    }
    const Lease before = *held;
    if (!before.held_by(owner)) return not_yours(before);
    LK_ASSIGN(const Condition now, condition_confirmed(state_, before));
    // A dead process's lease may be reclaimed by its own session while the grace lasts (rule 8).
    const bool orphan = is_orphan(before, now);
    const bool given_back = orphan && may_reclaim(before, attachment);
    if (now.over || (orphan && !given_back)) {
      return fail(Code::kLost,
                  "lease " + id.text() + " has ended (" +
                      (now.over ? now.cause : std::string("died")) + ")",
                  "stop changing what it covered and ask for it again");
    }
    Lease after = before;
    carry_over(after, context_);
    // Whoever renews a handoff knows of it; withdrawing it later would be early (I6).
    if (!is_confirmed(before)) keep_handoff(after);
    if (given_back) {
      reclaim(after, attachment);
      LK_CHECK(state_.append(Event::of(before, "reclaimed")));
    }
    const bool endless = before.terms.ttl_ms == kNoEnd;
    extend(after, endless ? kNoEnd : ttl_ms.value_or(before.terms.ttl_ms), context_);
    LK_CHECK(state_.change_lease(before, after));
    renewed.push_back(std::move(after));
  }
  return renewed;
}

Result<CheckReply> Table::check(const AcquireRequest& request, std::uint64_t fence,
                                const std::optional<LeaseId>& whose) {
  CheckReply reply;
  LK_ASSIGN(Lease wanted, draft(request));
  LK_ASSIGN(Findings findings, find_conflicts(state_, wanted, {}));
  if (!findings.host.empty()) {
    wanted.parent = findings.host;
    LK_ASSIGN(findings, find_conflicts(state_, wanted, {}));
  }
  for (Conflict& conflict : findings.conflicts) {
    bool over = false;
    if (conflict.waiting) {
      LK_ASSIGN(const Condition now, condition(state_, Waiter{conflict.holder, {}, false, 0}));
      over = now.over;
    } else {
      LK_ASSIGN(const Condition now, condition(state_, conflict.holder));
      over = now.over;
    }
    if (!over) reply.conflicts.push_back(std::move(conflict));
  }
  if (all_give_way(reply.conflicts)) reply.conflicts.clear();
  reply.mine = !wanted.claims.empty();
  reply.fence_current = reply.mine;
  LK_ASSIGN(const Side side, side_of(state_, wanted));
  for (const Claim& claim : wanted.claims) {
    LK_ASSIGN(const Cover cover, cover_of(state_, wanted, claim, side, fence, whose));
    reply.mine &= cover.mine;
    reply.fence_current &= cover.current;
  }
  reply.free = reply.conflicts.empty();
  return reply;
}

Result<std::vector<Lease>> Table::break_leases(const BreakRequest& how,
                                               const std::vector<LeaseId>& ids) {
  std::vector<Lease> broken;
  for (const LeaseId& id : ids) {
    if (!settler_.room_left()) break;
    LK_ASSIGN(const Lease* held, state_.lease(id));
    if (held == nullptr) continue;
    const Lease lease = *held;
    LK_ASSIGN(const Condition now, condition(state_, lease));
    const bool dead = now.alive == Alive::kDead || now.cause == "died" || now.cause == "reboot";
    const bool wanted = (!how.only_expired && !how.only_dead) ||
                        (how.only_expired && now.cause == "expired") || (how.only_dead && dead);
    if (!wanted) continue;
    LK_CHECK(settler_.end(lease, {"broken", now.over ? now.cause : how.cause, how.reason, how.by},
                          true));
    broken.push_back(lease);
  }
  LK_CHECK(settler_.settle());
  return broken;
}

Result<bool> Table::move_waiter(const LeaseId& id, const Attachment& process, std::uint64_t wake) {
  LK_ASSIGN(const std::optional<Waiter> waiter, state_.waiter(id));
  if (!waiter) return false;
  Waiter after = *waiter;
  after.wake = wake;
  LK_CHECK(refile(*waiter, std::move(after), process));
  return true;
}

Result<void> Table::bury_waiter(const LeaseId& id, const Attachment& process) {
  LK_ASSIGN(const std::optional<Waiter> waiter, state_.waiter(id));
  if (waiter && waiter->request.holds == Holds{process}) {
    LK_CHECK(settler_.drop(*waiter, "cancelled", "died"));
    return settler_.settle();
  }
  LK_ASSIGN(const Lease* const handed, state_.lease(id));
  if (handed == nullptr || is_confirmed(*handed) || handed->holds != Holds{process}) return {};
  LK_CHECK(settler_.end(Lease(*handed), {"ended", "died", "", {}}, true));
  return settler_.settle();
}

Result<void> Table::note_deaths(const std::vector<LeaseId>& ids) {
  for (const LeaseId& id : ids) {
    if (!settler_.room_left()) break;
    LK_CHECK(settler_.reap(id));
  }
  return settler_.settle();
}

Result<bool> Table::maintain(std::size_t most) {
  LK_ASSIGN(const bool more, settler_.sweep(most));
  LK_ASSIGN(const bool more_of_others, settler_.walk(most));
  LK_CHECK(trim_history(state_, most));
  return more || more_of_others;
}

Result<std::optional<LostLease>> Table::lost(const LeaseId& id) {
  LK_ASSIGN(const std::optional<kv::Row> row, state_.txn().get(lost_key(id)));
  if (!row) return std::nullopt;
  LK_ASSIGN(LostLease lost, decode_lost(id, row->value));
  return lost;
}

// Those told already stay for a day and must not hide the others.
Result<std::vector<LostLease>> Table::untold_losses(const Owner& owner, std::size_t most) {
  std::vector<LostLease> notices;
  const std::string prefix = lost_key(LeaseId{owner_tag(owner)});
  Result<void> readable;
  LK_CHECK(state_.txn().scan(
      kv::prefix_range(prefix),
      [&](const kv::Row& row) {
        const LeaseId id{row.key.substr(1)};
        auto lost = decode_lost(id, row.value);
        if (!lost) {
          readable = fail(std::move(lost.error()));
          return false;
        }
        const bool ours = lost->owner == owner || is_part_of(lost->owner, owner);
        if (ours && !lost->told) notices.push_back(std::move(*lost));
        return notices.size() < most;
      },
      kv::Read::kPeek));
  LK_CHECK(readable);
  return notices;
}

Result<bool> Table::has_lost_notices(const Owner& owner) {
  LK_ASSIGN(const std::vector<LostLease> first, untold_losses(owner, 1));
  return !first.empty();
}

Result<std::vector<LostLease>> Table::take_lost_notices(const Owner& owner) {
  LK_ASSIGN(std::vector<LostLease> notices, untold_losses(owner, kNoticesAtOnce));
  for (LostLease& lost : notices) {
    LK_CHECK(state_.txn().get(lost_key(lost.filed)));  // guarded: it may be forgotten meanwhile
    lost.told = true;
    LK_CHECK(
        state_.txn().put(lost_key(lost.filed), encode_lost(lost), context_.limits.remember_ms));
  }
  return notices;
}

}  // namespace lockkeeper::core
