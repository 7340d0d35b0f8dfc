#include "hub/door.h"

#include <algorithm>

#include "base/text.h"
#include "core/rows.h"
#include "layout/keep_up.h"
#include "layout/sessions.h"
#include "realm/server.h"
#include "service/commands.h"

namespace lockkeeper::hub {
namespace {

using service::AcquireCall;
using service::AcquireResult;
using service::Reply;
using service::Service;

constexpr std::int64_t kAwaitMostMs = 1'000;

// Is there more in the table than before?
bool takes(core::Outcome outcome) {
  return outcome == core::Outcome::kGranted || outcome == core::Outcome::kQueued;
}

Result<service::ListReply> everything_in(Service& table) {
  service::ListCall call;
  call.scan_layouts = false;
  LK_ASSIGN(Reply<service::ListReply> all, table.list(call));
  return std::move(all.value);
}

bool changes(Role role) {
  return role != Role::kRead;
}

}  // namespace

void Desk::rows_changed(const std::vector<std::string>& keys) {
  std::vector<core::LeaseId> ids;
  bool happened = keys.empty();  // some may not have been heard
  for (const std::string& key : keys) {
    if (auto id = core::id_in_row_key(key)) ids.push_back(*id);
    happened = happened || key.starts_with(core::kEventPrefix);
  }
  if (!ids.empty()) waits.changed(ids);
  if (happened) changed();
}

core::Alive remote_alive(const Desk& desk, const core::Attachment& client) {
  const std::uint64_t number = client.start_ticks;
  if (!client.has_session()) {
    const auto of_relay = desk.sessions.alive(number);
    return of_relay ? *of_relay : desk.waits.alive(number);
  }
  if (desk.shared == nullptr) return core::Alive::kUnknown;
  const Presence& here = *desk.shared->presence();
  const auto since = here.kept_since(client.session());
  if (!since) return core::Alive::kUnknown;
  if (const auto process = here.probe(client)) return *process;
  if (const auto of_relay = desk.sessions.alive(number)) return *of_relay;
  if (const auto waiting = desk.waits.seen(number)) return *waiting;
  // It has come from another hub, or with a call to another hub: it is heard of within a minute.
  const bool new_here = desk.clock.now().mono_ms - *since < realm::kSessionMs;
  return new_here ? core::Alive::kAlive : core::Alive::kDead;
}

void bury(Desk& desk, HubRealms& realms) {
  const Sessions::Deaths deaths = desk.sessions.take_deaths();
  if (!deaths.any()) return;
  for (HubRealm* const realm : realms.all()) {
    if (!deaths.anywhere && !deaths.realms.contains(realm->name)) continue;
    if (const auto service = realm->site.service()) {
      static_cast<void>((*service)->purge({}));  // whoever comes next does it otherwise
    }
  }
  desk.changed();
}

void keep_up(HubRealms& realms) {
  for (HubRealm* const realm : realms.all()) {
    if (realm->is_kept_up.exchange(true)) continue;
    static_cast<void>(realm->keep_presence());  // tried again in a second, as is the next
    static_cast<void>(layout::keep_up(realm->site.table()));
    realm->is_kept_up = false;
  }
}

// --- who -----------------------------------------------------------------------------------------

Result<service::Caller> Door::caller(Role role, const service::Caller& sent) {
  service::Caller caller = sent;
  if (role == Role::kRead && sent.owner.agent.empty()) return caller;  // nobody in particular
  LK_ASSIGN(caller.owner, person_.signed_owner(sent.owner));
  LK_CHECK(check_parent(sent.parent));
  if (!person_.has(Role::kLock)) caller.tell = {};  // what is told counts as told: a change
  return caller;
}

// Lease ids and fences are no secret, so only an owner's own lease opens what lies in it.
Result<void> Door::check_parent(const service::ParentLease& parent) {
  if (parent.lease.empty() || person_.name.empty()) return {};
  LK_ASSIGN(Service* const inner, realm_.site.service());
  service::ListCall call;
  call.leases = {parent.lease};
  call.with_waiters = call.scan_layouts = false;
  LK_ASSIGN(const Reply<service::ListReply> found, inner->list(call));
  for (const service::ListedLease& listed : found.value.leases) {
    if (person_.owns(listed.lease.owner)) return {};
  }
  return fail(Code::kNotOwner, "the lease " + parent.lease.text() + " is not one of yours",
              "work under a lease of your own");
}

template <typename Answer, typename Call>
Result<Answer> Door::pass(Role role, Call call, Result<Answer> (Service::*method)(const Call&)) {
  LK_CHECK(person_.must_have(role));
  if constexpr (std::same_as<Call, service::Caller>) {
    LK_ASSIGN(call, caller(role, call));
  } else {
    LK_ASSIGN(call.caller, caller(role, call.caller));
  }
  LK_ASSIGN(Service* const inner, realm_.site.service());
  auto answer = (inner->*method)(call);
  if (changes(role)) desk_.changed();
  return answer;
}

Result<service::OpenReply> Door::open(const service::OpenCall& call) {
  LK_CHECK(person_.must_have(Role::kRead));
  // A mistake in them refuses what takes a lock. What is held can be given back.
  static_cast<void>(realm_.follow_settings());
  LK_ASSIGN(Service* const inner, realm_.site.service());
  return inner->open(call);
}

// --- asking for leases ---------------------------------------------------------------------------

// In a table that several hubs serve, processes name their session: that of their relay, or this
// hub's own.
std::uint64_t Door::session() const {
  if (relay_.empty()) return realm_.presence()->own();
  return Presence::row_of(person_.name, Sessions::session_in(relay_));
}

// A process as the table knows it.
core::Attachment Door::as_known(const core::Attachment& sent) const {
  const Presence* const presence = realm_.presence();
  if (from_ == From::kHere) return presence == nullptr ? sent : presence->in_own_session(sent);
  if (!sent.is_remote()) return {};
  if (presence == nullptr) return core::Attachment::remote(sent.start_ticks);
  return core::Attachment::remote(sent.start_ticks, session());
}

// Its relay answers for that process: here, or at another hub, which then keeps the session.
Result<void> Door::check_answered_for(std::uint64_t number) {
  Presence* const presence = realm_.presence();
  if (presence == nullptr || presence->kept_since(session())) {
    return desk_.sessions.attach(person_.name, relay_, realm_.name, number);
  }
  LK_CHECK(Sessions::check_mark(person_.name, number));
  LK_ASSIGN(const bool there, presence->is_there(session()));
  if (there) return {};
  return fail(Code::kLost, "the session between this machine and the hubs has ended",
              "ask again: the relay begins another one");
}

// A process of another machine means nothing here, unless its relay answers for it.
Result<core::Attachment> Door::attached(const core::Attachment& sent) {
  if (from_ == From::kNetwork && (relay_.empty() || !sent.is_remote())) return core::Attachment{};
  if (from_ == From::kNetwork) LK_CHECK(check_answered_for(sent.start_ticks));
  return as_known(sent);
}

// Not of its relay's session: a relay that only waits does not beat.
core::Attachment Door::as_waiting(std::uint64_t number) const {
  const Presence* const presence = realm_.presence();
  return presence == nullptr ? core::Attachment::remote(number) : presence->in_own_session(number);
}

// Who waits, where the caller keeps its own wait.
Result<core::Attachment> Door::waiting_here(const AcquireCall& call) {
  if (realm_.presence() == nullptr || !call.wait || call.attachment.attached()) return call.waiter;
  LK_ASSIGN(const core::Attachment own, realm_.site.table().own_slot());
  return as_known(own);
}

Result<AcquireCall> Door::prepared(const AcquireCall& sent) {
  LK_CHECK(person_.must_have(Role::kLock));
  AcquireCall call = sent;
  LK_ASSIGN(call.caller, caller(Role::kLock, sent.caller));
  LK_ASSIGN(call.attachment, attached(sent.attachment));
  const Presence* const presence = realm_.presence();
  if (presence != nullptr && Sessions::meets_first(relay_)) {
    call.through = presence->seen(session());
  }
  if (from_ == From::kHere) {
    LK_ASSIGN(call.waiter, waiting_here(call));
  } else {
    call.wake = 0;
    call.terms.layout.clear();
    call.terms.artefact.clear();
  }
  return call;
}

// Whoever holds all of it only makes it last longer.
Result<void> Door::check_drain(const AcquireCall& call, Service& inner) {
  if (!desk_.draining) return {};
  LK_ASSIGN(const auto now, inner.check({call.caller, call.claims}));
  if (now.value.mine) return {};
  return fail(Code::kStoreUnavailable, "the hub is draining: it grants nothing new",
              "finish what you hold, and ask again when the drain is over");
}

// The table has the same limit for each agent.
Result<std::optional<Quotas::Asking>> Door::check_quota(std::size_t more, Service& inner) {
  if (person_.name.empty()) return std::nullopt;
  const auto count = [&]() -> Result<std::size_t> {
    LK_ASSIGN(const service::ListReply all, everything_in(inner));
    std::size_t claims = 0;
    const auto add = [&](const core::Lease& lease) {
      if (!lease.foreign && person_.owns(lease.owner)) claims += lease.claims.size();
    };
    for (const service::ListedLease& listed : all.leases) add(listed.lease);
    for (const core::Waiter& waiter : all.waiters) add(waiter.request);
    return claims;
  };
  const auto most = static_cast<std::size_t>(realm_.site.settings().resources_per_agent.value);
  LK_ASSIGN(Quotas::Asking asking, desk_.quotas.ask(realm_.name, person_.name, more, most,
                                                    desk_.clock.now().mono_ms, count));
  return std::optional(std::move(asking));
}

Result<Reply<AcquireResult>> Door::acquire(const AcquireCall& sent) {
  return acquire(sent, service::kWaitForever);
}

Result<Reply<AcquireResult>> Door::acquire(const AcquireCall& sent, std::int64_t wait_ms) {
  LK_ASSIGN(AcquireCall call, prepared(sent));
  LK_CHECK(realm_.follow_settings());
  LK_ASSIGN(Service* const inner, realm_.site.service());
  LK_CHECK(check_drain(call, *inner));
  LK_ASSIGN(auto asking, check_quota(call.claims.size(), *inner));
  const bool kept_here = call.wait && from_ == From::kNetwork;
  Wait wait{&realm_, call.caller, {}, 0};
  if (kept_here) {
    call.wake = wait.number = realm_.site.table().new_ticket();
    call.waiter = as_waiting(wait.number);
    if (wait_ms != service::kWaitForever) wait.until_ms = desk_.clock.now().mono_ms + wait_ms;
    desk_.waits.announce(wait.number);
  }
  auto reply = inner->acquire(call);
  if (asking && (!reply || takes(reply->value.outcome))) asking->granted();
  const bool queued = reply && reply->value.outcome == core::Outcome::kQueued;
  if (kept_here && queued) {
    wait.id = reply->value.lease.id;
    wait.caller.tell = {};
    wait.caller.request_id.clear();
    desk_.waits.add(std::move(wait));
  } else if (kept_here) {
    desk_.waits.forget(wait.number);
  }
  if (reply) desk_.metrics.answered(reply->value.outcome);
  desk_.changed();
  return reply;
}

Result<Reply<std::vector<AcquireResult>>> Door::acquire_together(
    const std::vector<AcquireCall>& calls) {
  LK_CHECK(realm_.follow_settings());
  LK_ASSIGN(Service* const inner, realm_.site.service());
  std::vector<AcquireCall> all;
  std::size_t claims = 0;
  for (const AcquireCall& sent : calls) {
    LK_ASSIGN(all.emplace_back(), prepared(sent));
    LK_CHECK(check_drain(all.back(), *inner));
    claims += sent.claims.size();
  }
  LK_ASSIGN(auto asking, check_quota(claims, *inner));
  auto reply = inner->acquire_together(all);
  const auto took = [](const AcquireResult& each) { return takes(each.outcome); };
  if (asking && (!reply || std::ranges::any_of(reply->value, took))) asking->granted();
  if (reply) {
    for (const AcquireResult& each : reply->value) desk_.metrics.answered(each.outcome);
  }
  desk_.changed();
  return reply;
}

// Its client has asked another hub until now.
Result<void> Door::move_here(const core::Waiter& waiter) {
  const Presence* const presence = realm_.presence();
  if (presence == nullptr) return {};
  const core::Attachment& waiting = waiter.request.holds.front();
  if (presence->kept_since(waiting.session())) return {};
  const std::uint64_t number = waiter.wake;
  return layout::move_waiter(realm_.site.table(), waiter.request.id, as_waiting(number), number);
}

Result<std::optional<AcquireResult>> Door::find_wait(const core::LeaseId& id) {
  LK_CHECK(person_.must_have(Role::kLock));
  const auto not_yours = [&] {
    return fail(Code::kNotFound, "no request of yours waits under the id " + id.text(),
                "ask for the resources again");
  };
  if (const auto known = desk_.waits.find(id)) {
    if (known->realm != &realm_ || !person_.owns(known->caller.owner)) return not_yours();
    return std::nullopt;
  }
  LK_ASSIGN(Service* const inner, realm_.site.service());
  LK_ASSIGN(const service::ListReply all, everything_in(*inner));
  for (const core::Waiter& waiter : all.waiters) {
    const core::Lease& request = waiter.request;
    if (request.id != id || !person_.owns(request.owner)) continue;
    if (!request.holds.front().is_remote()) return not_yours();
    LK_CHECK(move_here(waiter));
    desk_.waits.add({&realm_, {request.owner, {}, {}, {}}, id, waiter.wake});
    return std::nullopt;
  }
  for (const service::ListedLease& listed : all.leases) {
    if (listed.lease.id != id || !person_.owns(listed.lease.owner)) continue;
    // Handed over meanwhile; awaiting it confirms that.
    LK_ASSIGN(Reply<AcquireResult> reply, inner->await({{listed.lease.owner, {}, {}, {}}, id, 0}));
    return std::move(reply.value);
  }
  return not_yours();
}

Result<std::uint64_t> Door::ask(const core::LeaseId& id, std::int64_t at_most_ms, Waits::Then then,
                                bool looks) {
  for (;;) {  // each time the table has moved on
    LK_ASSIGN(auto before, find_wait(id));
    if (before) {
      then(Waits::Outcome(std::move(*before)));
      return 0;
    }
    if (const auto asker = desk_.waits.ask(id, at_most_ms, then, looks)) return *asker;
  }
}

Result<Reply<AcquireResult>> Door::await(const service::AwaitCall& sent) {
  service::AwaitCall call = sent;
  LK_CHECK(person_.must_have(Role::kLock));
  LK_ASSIGN(call.caller, caller(Role::kLock, sent.caller));
  call.at_most_ms = std::clamp<std::int64_t>(sent.at_most_ms, 0, kAwaitMostMs);
  LK_ASSIGN(Service* const inner, realm_.site.service());
  auto reply = inner->await(call);
  if (reply && reply->value.outcome != core::Outcome::kQueued) {
    desk_.metrics.answered(reply->value.outcome);
  }
  return reply;
}

// As if the table had seen the process die: its place is free, and so is what was handed over to it
// and not taken.
Result<void> Door::bury_waiter(const core::LeaseId& id) {
  LK_CHECK(person_.must_have(Role::kLock));
  LK_ASSIGN(Service* const inner, realm_.site.service());
  LK_ASSIGN(const service::ListReply all, everything_in(*inner));
  std::optional<core::Attachment> waiting;
  const auto look_at = [&](const core::Lease& request) {
    const core::Attachment& process = request.holds.front();
    if (request.id == id && person_.owns(request.owner) && process.is_remote()) waiting = process;
  };
  for (const core::Waiter& waiter : all.waiters) look_at(waiter.request);
  for (const service::ListedLease& listed : all.leases) {
    if (listed.lease.confirm_by_mono_ms != 0) look_at(listed.lease);
  }
  if (waiting) desk_.waits.died(waiting->start_ticks);
  if (waiting && realm_.presence() != nullptr) {  // another hub may have known it
    LK_CHECK(layout::bury_waiter(realm_.site.table(), id, *waiting));
  }
  LK_CHECK(inner->purge({}));
  desk_.changed();
  return {};
}

Result<Reply<AcquireResult>> Door::leave(const service::LeaveCall& sent) {
  if (from_ == From::kHere) return pass(Role::kLock, sent, &Service::leave);
  if (sent.gone && !relay_.empty()) {
    LK_CHECK(bury_waiter(sent.id));
    AcquireResult left;
    left.outcome = sent.why;
    return Reply<AcquireResult>{std::move(left), {}};
  }
  auto before = find_wait(sent.id);
  // It left before, and its relay asks again because the answer was lost; or what it was granted
  // has ended. The table knows.
  const bool over = !before && before.error().code == Code::kNotFound && !relay_.empty();
  if (over) return pass(Role::kLock, sent, &Service::leave);
  if (!before) return fail(std::move(before.error()));
  if (*before) return Reply<AcquireResult>{std::move(**before), {}};
  service::LeaveCall call = sent;
  if (!relay_.empty()) {
    LK_ASSIGN(call.caller, caller(Role::kLock, sent.caller));
  }
  LK_ASSIGN(AcquireResult left, desk_.waits.leave(call));
  desk_.changed();
  return Reply<AcquireResult>{std::move(left), {}};
}

// --- the rest ------------------------------------------------------------------------------------

Result<Reply<core::ReleaseReply>> Door::release(const service::ReleaseCall& sent) {
  service::ReleaseCall call = sent;
  const bool kept_there = !relay_.empty() && sent.by.is_remote();
  call.by = as_known(sent.by);
  if (from_ == From::kNetwork && !kept_there) {
    call.by = {};
    call.only_own_hold = false;
  }
  const bool whole = from_ == From::kNetwork && !call.only_own_hold;
  const std::uint64_t begun = desk_.quotas.begin_release(realm_.name, person_.name);
  auto reply = pass(Role::kLock, std::move(call), &Service::release);
  // Another process may keep what one gave back.
  if (reply && whole) {
    desk_.quotas.end_release(realm_.name, person_.name, begun, reply->value.released.size());
  }
  return reply;
}

Result<Reply<std::vector<core::Lease>>> Door::renew(const service::RenewCall& sent) {
  service::RenewCall call = sent;
  LK_ASSIGN(call.attachment, attached(sent.attachment));
  return pass(Role::kLock, std::move(call), &Service::renew);
}

Result<Reply<core::CheckReply>> Door::check(const service::CheckCall& call) {
  LK_CHECK(realm_.follow_settings());
  return pass(Role::kRead, call, &Service::check);
}

Result<Reply<service::ListReply>> Door::list(const service::ListCall& call) {
  return pass(Role::kRead, call, &Service::list);
}

Result<Reply<std::vector<core::Lease>>> Door::break_leases(const service::BreakCall& call) {
  return pass(Role::kBreak, call, &Service::break_leases);
}

// The other tool's lock is a file on the hub's machine; its holder is told as little as of a break.
Result<Reply<AcquireResult>> Door::adopt(const service::AdoptCall& sent) {
  LK_CHECK(person_.must_have(Role::kLock));
  service::AdoptCall call = sent;
  LK_ASSIGN(call.attachment, attached(sent.attachment));
  if (from_ == From::kNetwork) {
    call.terms.layout.clear();
    call.terms.artefact.clear();
  }
  return pass(Role::kBreak, std::move(call), &Service::adopt);
}

Result<Reply<core::ReportReply>> Door::report(const service::ReportCall& call) {
  return pass(Role::kLock, call, &Service::report);
}

Result<Reply<std::vector<core::Trace>>> Door::unseen(const service::UnseenCall& call) {
  return pass(Role::kLock, call, &Service::unseen);
}

Result<Reply<service::LookReply>> Door::look(const service::LookCall& call) {
  return pass(Role::kRead, call, &Service::look);
}

Result<Reply<service::Done>> Door::forget(const service::ForgetCall& call) {
  return pass(Role::kLock, call, &Service::forget);
}

Result<Reply<std::vector<core::Message>>> Door::send(const service::SendCall& call) {
  return pass(Role::kLock, call, &Service::send);
}

Result<Reply<std::vector<core::Message>>> Door::messages(const service::MessagesCall& call) {
  const bool looks = call.peek && !call.mark_read;
  return pass(looks ? Role::kRead : Role::kLock, call, &Service::messages);
}

Result<service::Notices> Door::notices(const service::Caller& sent) {
  return pass(Role::kLock, sent, &Service::notices);
}

Result<Reply<std::vector<core::Event>>> Door::events(const service::EventsCall& call) {
  return pass(Role::kRead, call, &Service::events);
}

Result<Reply<service::Done>> Door::purge(const service::PurgeCall& call) {
  return pass(Role::kAdmin, call, &Service::purge);
}

}  // namespace lockkeeper::hub
