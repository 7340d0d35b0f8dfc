// Giving back, keeping, breaking.
#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "core/conflicts.h"
#include "core/foreign.h"
#include "core/history.h"
#include "layout/mirror.h"
#include "service/local/local_service.h"
#include "service/local/spelling.h"
#include "service/report.h"
#include "service/wire/codec.h"

namespace lockkeeper::service::local {
namespace {

constexpr std::size_t kPurgedAtOnce = 1'000;

std::unexpected<Error> no_lease(const core::LeaseId& id) {
  return fail(Code::kNotFound, "there is no lease " + id.text(), "see: lockkeeper list");
}

std::unexpected<Error> holds_none(const core::Owner& owner, const key::Resource& resource) {
  return fail(Code::kNotFound, shown(owner.agent) + " holds no lease on " + shown(resource.text()),
              "see: lockkeeper list --agent " + shell_quote(owner.agent));
}

Result<void> expect_lease(core::Table& table, const core::LeaseId& id) {
  LK_ASSIGN(const core::Lease* lease, table.state().lease(id));
  if (lease != nullptr) return {};
  LK_ASSIGN(const std::optional<core::LostLease> lost, table.lost(id));
  if (lost && lost->cause == "released") {
    return fail(Code::kNotFound, "lease " + id.text() + " was released before",
                "nothing is left to release");
  }
  if (lost) {
    return fail(Code::kLost, "lease " + id.text() + " was lost before (" + lost->cause + ")",
                "nothing is left to release");
  }
  return no_lease(id);
}

// Where there is no store, and none is made for this.
Result<core::ReleaseReply> nothing_to_release(const ReleaseCall& call) {
  if (!call.leases.empty()) return no_lease(call.leases.front());
  core::ReleaseReply reply;
  for (const key::Resource& resource : call.resources) reply.not_held.push_back(resource.text());
  return reply;
}

// Takes the ids of other tools' locks out of the list.
Result<std::vector<core::LeaseId>> take_foreign(core::Table& table,
                                                std::vector<core::LeaseId>& ids) {
  std::vector<core::LeaseId> own, others;
  for (const core::LeaseId& id : ids) {
    LK_ASSIGN(const core::Lease* lease, table.state().lease(id));
    (lease != nullptr && lease->foreign ? others : own).push_back(id);
  }
  ids = std::move(own);
  return others;
}

template <typename T>
void append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

using service::add;

void add(std::vector<core::Lease>& to, const std::vector<core::Lease>& more) {
  append(to, more);
}

bool is_orphan_of(const core::Owner& owner, const core::Lease& lease, const core::Condition& now) {
  return lease.terms.orphan_grace_ms != 0 && lease.held_by(owner) && !now.over &&
         core::is_orphan(lease, now);
}

Result<std::vector<core::LeaseId>> orphans_of(core::Table& table, const core::Owner& owner) {
  std::vector<core::LeaseId> orphans;
  LK_ASSIGN(const std::vector<core::Lease> held, table.state().held_by(owner));
  for (const core::Lease& lease : held) {
    LK_ASSIGN(const core::Condition now, core::condition(table.state(), lease));
    if (is_orphan_of(owner, lease, now)) orphans.push_back(lease.id);
  }
  return orphans;
}

Result<std::vector<core::LeaseId>> leases_to_release(core::Table& table, const ReleaseCall& call) {
  std::vector<core::LeaseId> ids = call.leases;
  if (!call.all && call.task.empty()) return ids;
  LK_ASSIGN(const std::vector<core::Lease> own, table.state().held_by(call.caller.owner));
  for (const core::Lease& lease : own) {
    const bool host = lease.id == call.caller.parent.lease;
    if ((call.all && !host) || (!call.task.empty() && lease.terms.task == call.task)) {
      ids.push_back(lease.id);
    }
  }
  return ids;
}

// What the owner holds under this name. lost: it held it, and does not any more.
Result<std::vector<core::LeaseId>> own_leases_on(core::Table& table, const core::Owner& owner,
                                                 const key::Resource& resource) {
  LK_ASSIGN(std::vector<core::LeaseId> own, own_holders(table, owner, resource));
  if (!own.empty()) return own;
  LK_ASSIGN(const std::vector<core::LostLease> lost, table.take_lost_notices(owner));
  for (const core::LostLease& one : lost) {
    if (std::ranges::find(one.resources, resource.text()) != one.resources.end()) {
      return fail(Code::kLost, lost_text(one), "stop changing it and ask for it again");
    }
  }
  LK_ASSIGN(const std::vector<core::LeaseId> others, table.holders_of(resource));
  for (const core::LeaseId& id : others) {
    LK_ASSIGN(const core::Lease* lease, table.state().lease(id));
    const std::string kin = lease == nullptr ? "" : kin_text(*lease, owner);
    if (kin.empty()) continue;
    return fail(Code::kNotOwner,
                shown(resource.text()) + " is held by " + kin + ", which alone may renew it",
                "leave it alone; see: lockkeeper list --mine");
  }
  return holds_none(owner, resource);
}

Result<std::vector<core::LeaseId>> leases_to_renew(core::Table& table, const RenewCall& call) {
  const core::Owner& owner = call.caller.owner;
  std::vector<core::LeaseId> ids = call.leases;
  if (call.all) {
    LK_ASSIGN(ids, table.state().leases_of(owner));
  }
  for (const key::Resource& resource : call.resources) {
    LK_ASSIGN(const std::vector<core::LeaseId> own, own_leases_on(table, owner, resource));
    append(ids, own);
  }
  return ids;
}

Result<std::vector<core::LeaseId>> leases_to_break(core::Table& table, const BreakCall& call,
                                                   std::vector<core::LeaseId> ids) {
  for (const key::Resource& resource : call.resources) {
    LK_ASSIGN(const std::vector<core::LeaseId> holders, table.holders_of(resource));
    append(ids, holders);
  }
  return ids;
}

// The answer of a call that takes as many commits as it needs. A repetition of a call that was cut
// short goes on where that one was.
template <typename Answer>
class Total {
 public:
  Total(Change& change, const Clock& clock) : change_(change), clock_(clock) {}

  const Answer& so_far() const { return so_far_; }
  // What a call means is decided in its first commit: what the later ones find under the same name
  // may be somebody else's, handed over by the first.
  bool is_first() const { return first_; }
  // `step` puts what one commit does into its second argument; true: there is more.
  Result<Answer> write(const std::function<Result<bool>(core::Table&, Answer&)>& step) {
    Answer now;
    const auto work = [&](core::Table& table) -> Result<bool> {
      if (first_ && change_.has_earlier()) {
        LK_ASSIGN(so_far_, change_.earlier<Answer>());
      }
      now = {};
      return step(table, now);
    };
    const auto committed = [&] {
      add(so_far_, now);
      first_ = false;
    };
    const auto with_now = [&] {
      Answer sum = so_far_;
      add(sum, now);
      return wire::text_of(sum, clock_);
    };
    LK_CHECK(change_.write(work, {committed, with_now, true}));
    return change_.is_repeated() ? change_.earlier<Answer>() : so_far_;
  }

 private:
  Change& change_;
  const Clock& clock_;
  Answer so_far_;
  bool first_ = true;
};

}  // namespace

// Giving back and keeping make no store: an empty folder stays empty.
Result<Reply<core::ReleaseReply>> LocalService::release(const ReleaseCall& call) {
  Change change(table_, call.caller, wire::digest(call, clock()));
  return answer(call.caller, change, release(call, change));
}

namespace {

// An owner that gives back a lease and one that lies in it loses neither, so what is held in the
// inner one comes first.
Result<std::vector<key::Resource>> inner_first(core::Table& table, const core::Owner& owner,
                                               std::vector<key::Resource> resources) {
  if (resources.size() == 1) return resources;
  std::vector<std::pair<std::size_t, key::Resource>> filed;
  for (key::Resource& resource : resources) {
    LK_ASSIGN(const std::vector<core::LeaseId> ids, own_holders(table, owner, resource));
    std::size_t deepest = 0;
    for (const core::LeaseId& id : ids) {
      LK_ASSIGN(const std::size_t depth, table.depth_of(id));
      deepest = std::max(deepest, depth);
    }
    filed.emplace_back(deepest, std::move(resource));
  }
  std::ranges::stable_sort(filed, std::greater{}, [](const auto& one) { return one.first; });
  resources.clear();
  for (auto& [depth, resource] : filed) resources.push_back(std::move(resource));
  return resources;
}

}  // namespace

Result<core::ReleaseReply> LocalService::release(const ReleaseCall& call, Change& change) {
  const bool by_id = !call.leases.empty() || !call.task.empty() || call.all;
  if (call.resources.empty() == !by_id) return nothing_named("release");
  const core::Owner& owner = call.caller.owner;
  LK_ASSIGN(const bool there, table_.has_store());
  if (!there) return nothing_to_release(call);
  layout::Mirror mirror(table_);
  LK_ASSIGN(const bool mirrored, mirror.open_to_write());
  Total<core::ReleaseReply> total(change, clock());
  std::vector<key::Resource> asked;
  const auto named = [&](core::Table& table, core::ReleaseReply& now) -> Result<bool> {
    if (total.is_first()) {
      LK_ASSIGN(auto spelled, with_other_spellings(table, owner, call.resources));
      LK_ASSIGN(asked, inner_first(table, owner, std::move(spelled)));
    }
    std::vector<key::Resource> rest;
    for (std::size_t i = total.so_far().size(); i < asked.size(); ++i) {
      LK_ASSIGN(key::Resource held, as_held(table, asked[i]));
      rest.push_back(std::move(held));
    }
    LK_ASSIGN(now, table.release(owner, rest, call.by));
    if (mirrored) LK_CHECK(mirror.trim(table, owner));
    return now.again;
  };
  std::vector<core::LeaseId> ids;
  const auto leases = [&](core::Table& table, core::ReleaseReply& now) -> Result<bool> {
    for (const core::LeaseId& id : call.leases) {
      if (total.so_far().size() == 0) LK_CHECK(expect_lease(table, id));
    }
    if (total.is_first()) {
      LK_ASSIGN(ids, leases_to_release(table, call));
    }
    LK_ASSIGN(now, call.only_own_hold ? table.give_back(owner, ids, call.by)
                                      : table.release_leases(owner, ids, call.by));
    return now.again;
  };
  LK_ASSIGN(core::ReleaseReply released, by_id ? total.write(leases) : total.write(named));
  if (mirrored && !by_id) static_cast<void>(mirror.refresh_all(owner));
  // It is released. What shows it to other tools is removed now, or by the next call (I9).
  if (mirrored || mirror.have_appeared()) static_cast<void>(mirror.clean());
  return released;
}

Result<Reply<std::vector<core::Lease>>> LocalService::renew(const RenewCall& call) {
  Change change(table_, call.caller, wire::digest(call, clock()));
  return answer(call.caller, change, renew(call, change));
}

Result<std::vector<core::Lease>> LocalService::renew(const RenewCall& call, Change& change) {
  if (call.resources.empty() && call.leases.empty() && !call.all && !call.orphans) {
    return nothing_named("renew");
  }
  std::optional<std::int64_t> ttl_ms;
  if (call.ttl_ms) {
    LK_ASSIGN(ttl_ms, realm::lease_ttl(table_.settings(), call.ttl_ms));
  }
  std::vector<core::Lease> renewed;
  LK_ASSIGN(const bool there, table_.has_store());
  if (!there && !call.leases.empty()) return no_lease(call.leases.front());
  if (!there && !call.resources.empty()) return holds_none(call.caller.owner, call.resources[0]);
  if (!there) return renewed;
  const auto work = [&](core::Table& table) -> Result<bool> {
    LK_ASSIGN(const std::vector<core::LeaseId> ids, leases_to_renew(table, call));
    LK_ASSIGN(renewed, table.renew(call.caller.owner, ids, ttl_ms, {}));
    if (!call.orphans || call.caller.owner.session.empty()) return false;
    LK_ASSIGN(const std::vector<core::LeaseId> orphans, orphans_of(table, call.caller.owner));
    LK_ASSIGN(const std::vector<core::Lease> taken_back,
              table.renew(call.caller.owner, orphans, ttl_ms, call.attachment));
    append(renewed, taken_back);
    return false;
  };
  LK_CHECK(change.write(work, {{}, [&] { return wire::text_of(renewed, clock()); }, true}));
  if (change.is_repeated()) return change.earlier<std::vector<core::Lease>>();
  layout::Mirror mirror(table_);
  LK_ASSIGN(const bool mirrored, mirror.open());
  if (mirrored) {
    // Renewed it is; a file that could not be made younger is, by the next renewal.
    const auto refreshed = mirror.refresh(renewed);
    if (!refreshed && refreshed.error().code != Code::kStoreBusy) return fail(refreshed.error());
  }
  return renewed;
}

Result<Reply<std::vector<core::Lease>>> LocalService::break_leases(const BreakCall& call) {
  Change change(table_, call.caller, wire::digest(call, clock()));
  return answer(call.caller, change, break_leases(call, change));
}

Result<std::vector<core::Lease>> LocalService::break_leases(const BreakCall& call, Change& change) {
  if (call.resources.empty() && call.leases.empty() && call.agent.empty()) {
    return nothing_named("break");
  }
  if (call.reason.empty()) {
    return fail(Code::kUsage, "break needs a reason: it goes on record", "add --reason TEXT");
  }
  layout::Mirror mirror(table_);
  LK_ASSIGN(const bool mirrored, mirror.open_to_write());
  // A lock that nobody has looked at yet can be meant, too. What cannot be read is not in the way.
  if (mirrored) static_cast<void>(mirror.tick());
  std::vector<core::LeaseId> named = call.leases;
  if (!call.agent.empty()) {
    ListCall of_agent;
    of_agent.agent = call.agent;
    of_agent.with_waiters = false;
    LK_ASSIGN(const Reply<ListReply> all, list(of_agent));
    for (const ListedLease& listed : all.value.leases) named.push_back(listed.lease.id);
  }
  std::vector<core::Lease> broken;
  if (call.foreign) {
    LK_ASSIGN(broken, break_foreign(call, named, change));
  } else {
    LK_ASSIGN(broken, break_ours(call, named, change));
  }
  if (mirrored) static_cast<void>(mirror.clean());
  if (broken.empty()) {
    if (!call.agent.empty()) {
      return fail(Code::kNotFound, shown(call.agent) + " holds nothing here that could be broken",
                  "see: lockkeeper list");
    }
    return fail(Code::kNotFound, "no lease matches: nothing was broken",
                call.resources.empty()
                    ? "see: lockkeeper list"
                    : "break takes the key exactly as held; see: lockkeeper list");
  }
  return broken;
}

Result<std::vector<core::Lease>> LocalService::break_ours(const BreakCall& call,
                                                          const std::vector<core::LeaseId>& named,
                                                          Change& change) {
  bool others = false;  // of other tools
  const core::BreakRequest how{call.caller.owner, call.reason, call.only_expired, call.only_dead,
                               call.cause};
  Total<std::vector<core::Lease>> total(change, clock());
  std::vector<core::LeaseId> ids;
  const auto work = [&](core::Table& table, std::vector<core::Lease>& now) -> Result<bool> {
    if (total.is_first()) {
      LK_ASSIGN(ids, leases_to_break(table, call, named));
      LK_ASSIGN(const std::vector<core::LeaseId> foreign, take_foreign(table, ids));
      others = !foreign.empty();
    }
    LK_ASSIGN(now, table.break_leases(how, ids));
    // Ids that are gone are passed over, so asking again with the same list goes on where it was.
    return !now.empty() && now.size() < ids.size();
  };
  LK_ASSIGN(std::vector<core::Lease> broken, total.write(work));
  if (broken.empty() && others) {
    return fail(Code::kOperationNotPermitted, "that lock is another tool's: nothing was broken",
                "to remove it from the disk, on record, add --foreign");
  }
  return broken;
}

Result<std::vector<core::Lease>> LocalService::break_foreign(
    const BreakCall& call, const std::vector<core::LeaseId>& named, Change& change) {
  LK_CHECK(change.look_for_earlier());
  if (change.is_repeated()) return change.earlier<std::vector<core::Lease>>();
  std::vector<core::Lease> meant;
  LK_CHECK(table_.read([&](core::Table& table) -> Result<void> {
    LK_ASSIGN(const std::vector<core::LeaseId> ids, leases_to_break(table, call, named));
    for (const core::LeaseId& id : ids) {
      LK_ASSIGN(const core::Lease* lease, table.state().lease(id));
      if (lease != nullptr && lease->foreign) meant.push_back(*lease);
    }
    return {};
  }));
  layout::Mirror mirror(table_);
  LK_ASSIGN(const bool mirrored, mirror.open_to_write());
  std::vector<core::Lease> broken;
  for (const core::Lease& lease : meant) {
    if (!mirrored || mirror.find(lease.terms.layout) == nullptr) continue;
    LK_CHECK(mirror.remove_foreign(lease));
    broken.push_back(lease);
    const core::KnownForeign known{lease.terms.layout, core::foreign_artefact(lease), lease.id, 0};
    const auto end = [&](core::Table& table) -> Result<bool> {
      LK_CHECK(
          core::end_foreign(table, known, {"broken", "foreign", call.reason, call.caller.owner}));
      return false;
    };
    const bool last = broken.size() == meant.size();
    LK_CHECK(change.write(end, {{}, [&] { return wire::text_of(broken, clock()); }, last}));
  }
  return broken;
}

// A lease whose processes are dead is not due yet: it ends when somebody looks.
Result<void> LocalService::end_dead(Change& change) {
  ListCall everything;
  everything.with_waiters = everything.scan_layouts = false;
  LK_ASSIGN(const Reply<ListReply> all, list(everything));
  std::vector<core::LeaseId> dead;
  for (const ListedLease& each : all.value.leases) {
    if (each.condition.over || each.condition.newly_orphaned) dead.push_back(each.lease.id);
  }
  if (dead.empty()) return {};
  std::size_t done = 0;
  std::size_t next = 0;  // `done`, once this commit has succeeded
  const auto end = [&](core::Table& table) -> Result<bool> {
    for (next = done; next < dead.size() && table.settler().room_left(); ++next) {
      LK_CHECK(table.settler().reap(dead[next]));
    }
    LK_CHECK(table.settler().settle());
    return next < dead.size();
  };
  LK_CHECK(change.write(end, {[&] { done = next; }, {}, false}));
  return {};
}

Result<Reply<Done>> LocalService::purge(const PurgeCall& call) {
  Change change(table_, call.caller);
  LK_ASSIGN(const bool there, table_.has_store());
  if (!there) return Reply<Done>{};
  LK_CHECK(end_dead(change));
  LK_CHECK(change.write([&](core::Table& table) -> Result<bool> {
    LK_ASSIGN(const bool again, table.maintain(kPurgedAtOnce));
    if (!call.history) return again;
    LK_ASSIGN(const bool more, core::forget_history(table.state(), kPurgedAtOnce));
    if (again || more) return true;
    LK_CHECK(table.state().append(
        core::Event::unseen(call.caller.owner, {}, {"purged", "history", {}, {}})));
    return false;
  }));
  return Reply<Done>{{}, deliver(call.caller, change)};
}

}  // namespace lockkeeper::service::local
