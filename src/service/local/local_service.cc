// Asking for leases, waiting for them and taking over other tools' locks.
#include "service/local/local_service.h"

#include <algorithm>

#include "base/text.h"
#include "core/foreign.h"
#include "service/local/change.h"
#include "service/wire/codec.h"

namespace lockkeeper::service::local {
namespace {

std::string owner_name(const core::Owner& owner) {
  return owner.agent + '\0' + owner.session;
}

bool same_rules(const key::Rules& a, const key::Rules& b) {
  return a.fold_case == b.fold_case && a.extra_prefixes == b.extra_prefixes;
}

std::unexpected<Error> no_resource() {
  return fail(Code::kUsage, "no resource was named", "name at least one path or key");
}

std::unexpected<Error> not_waiting(const core::LeaseId& id) {
  return fail(Code::kNotFound, "no request of yours waits under the id " + id.text(),
              "ask for the resources again");
}

// The lock of another tool that is meant: by the path of its artefact, or by what it holds.
const core::Lease* find_foreign(const ListReply& all, const AdoptCall& call) {
  for (const ListedLease& listed : all.leases) {
    const core::Lease& lease = listed.lease;
    if (!lease.foreign) continue;
    const std::string path = core::foreign_path(lease);
    if (std::ranges::find(call.paths, path) != call.paths.end()) return &lease;
    const auto is_named = [&](const core::Claim& claim) {
      return call.resource && claim.resource == *call.resource;
    };
    if (std::ranges::any_of(lease.claims, is_named)) return &lease;
  }
  return nullptr;
}

// Its artefacts, the named one first: a tool may show one lock twice.
std::vector<const core::Lease*> shown_with(const ListReply& all, const core::Lease& named) {
  std::vector<const core::Lease*> found{&named};
  for (const ListedLease& listed : all.leases) {
    const core::Lease& lease = listed.lease;
    const bool same = lease.foreign && lease.id != named.id &&
                      lease.terms.layout == named.terms.layout &&
                      lease.owner.agent == named.owner.agent && lease.claims == named.claims;
    if (same) found.push_back(&lease);
  }
  return found;
}

// A name that can be read as several paths is adopted as one of them: that which the caller named,
// or the most usual.
std::vector<core::Claim> claims_to_adopt(const core::Lease& adopted, const layout::Sighting& there,
                                         const AdoptCall& call) {
  if (!there.readings) return adopted.claims;
  for (const core::Claim& claim : adopted.claims) {
    if (call.resource && claim.resource == *call.resource) return {claim};
  }
  return {there.lock.claims.front()};
}

}  // namespace

std::unique_ptr<Service> make_service(layout::LockTable& table) {
  return std::make_unique<LocalService>(table);
}

Result<OpenReply> LocalService::open(const OpenCall& call) {
  const key::Rules ours = rules();
  if (!same_rules(call.rules, ours)) {
    return fail(Code::kInvalidInput,
                "this client's key rules differ from the realm's: it would lock other names",
                "use the realm's settings: core.ignorecase of git and [keys] of lockkeeper.toml");
  }
  return OpenReply{ours};
}

Result<core::AcquireRequest> LocalService::request(const AcquireCall& call) const {
  core::AcquireRequest request;
  request.owner = call.caller.owner;
  request.claims = call.claims;
  for (const core::Claim& claim : call.claims) {
    LK_CHECK(realm::check_allowed(table_.settings(), request.owner.agent, claim.resource));
  }
  request.terms = call.terms;
  LK_ASSIGN(request.terms.ttl_ms, realm::lease_ttl(table_.settings(), call.ttl_ms));
  request.terms.request_id = call.caller.request_id;
  request.attachment = call.attachment;
  request.anew = call.anew;
  request.call = call.call;
  request.through = call.through;
  request.under = call.caller.parent.lease;
  request.under_fence = call.caller.parent.fence;
  return request;
}

// What a call has taken for its owner and cannot deliver goes along with the owner's next reply.
void LocalService::deliver_later(const Caller& caller, Notices notices) {
  const std::lock_guard<std::mutex> hold(mutex_);
  undelivered_[owner_name(caller.owner)].add(std::move(notices));
}

Notices LocalService::deliver(const Caller& caller, Change& change) {
  Notices all;
  if (!caller.tell.any()) return all;
  const std::lock_guard<std::mutex> hold(mutex_);
  if (auto found = undelivered_.extract(owner_name(caller.owner))) all = std::move(found.mapped());
  all.add(std::move(change.notices()));
  return all;
}

// Keeps an acquisition that waits, under the id to await next.
Result<Reply<AcquireResult>> LocalService::finish(const Caller& caller, Change& change,
                                                  std::unique_ptr<Acquisition> acquisition,
                                                  Result<Acquisition::Results> results) {
  if (!results) {
    deliver_later(caller, std::move(change.notices()));
    return fail(std::move(results.error()));
  }
  AcquireResult& result = results->front();
  if (result.outcome == core::Outcome::kQueued || core::is_handoff(result.outcome, result.lease)) {
    const std::lock_guard<std::mutex> hold(mutex_);
    auto& kept = waiting_[result.lease.id];
    // Another thread may have asked for the same again: then its word is the one to sleep on.
    if (!kept || kept->order < acquisition->order) kept = std::move(acquisition);
  }
  return Reply<AcquireResult>{std::move(result), deliver(caller, change)};
}

Result<Reply<AcquireResult>> LocalService::acquire(const AcquireCall& call) {
  if (call.claims.empty()) return no_resource();
  LK_ASSIGN(core::AcquireRequest request, this->request(call));
  request.wait = call.wait;
  if (call.wait) {
    request.waiting_process = call.waiter.attached() ? call.waiter : call.attachment;
    if (!call.waiter.attached() && call.attachment.slot == 0) {
      LK_ASSIGN(request.waiting_process, table_.own_slot());
    }
    request.wake = call.wake != 0 ? call.wake : table_.new_ticket();
  }
  Change change(table_, call.caller);
  auto acquisition = std::make_unique<Acquisition>(
      table_, std::vector<Acquisition::Part>{{std::move(request), call.replaces}});
  acquisition->order = ++asked_;
  auto results = acquisition->begin(change.writer());
  auto reply = finish(call.caller, change, std::move(acquisition), std::move(results));
  const bool has_it = reply && (reply->value.outcome == core::Outcome::kGranted ||
                                reply->value.outcome == core::Outcome::kRenewed);
  if (has_it && !call.traced.empty()) {
    // What is granted stays so, whatever becomes of this.
    if (auto seen = look({call.caller, call.worktree, call.traced})) {
      reply->value.traces = std::move(seen->value.traces);
    }
  }
  return reply;
}

Result<Reply<std::vector<AcquireResult>>> LocalService::acquire_together(
    const std::vector<AcquireCall>& calls) {
  std::vector<Acquisition::Part> parts;
  for (const AcquireCall& call : calls) {
    LK_ASSIGN(core::AcquireRequest request, this->request(call));
    parts.push_back({std::move(request), call.replaces});
  }
  if (parts.empty()) return Reply<std::vector<AcquireResult>>{};
  const Caller& caller = calls.front().caller;
  Change change(table_, caller);
  auto results = Acquisition(table_, std::move(parts)).begin(change.writer());
  return answer(caller, change, std::move(results));
}

// The acquisition that waits under this id. Where this process has none, another one, or an
// earlier life of this one, has queued it: then it goes on from what the table knows.
Result<std::unique_ptr<Acquisition>> LocalService::take_waiting(const core::Owner& owner,
                                                                const core::LeaseId& id) {
  {
    const std::lock_guard<std::mutex> hold(mutex_);
    const auto found = waiting_.find(id);
    if (found != waiting_.end() && found->second->owner() != owner) return not_waiting(id);
    if (found != waiting_.end()) return std::move(waiting_.extract(found).mapped());
  }
  LK_ASSIGN(const std::optional<core::Waiter> waiter,
            table_.get([&](core::Table& table) { return table.state().waiter(id); }));
  if (!waiter) return nullptr;
  if (waiter->request.owner != owner) return not_waiting(id);
  core::AcquireRequest request;
  request.owner = waiter->request.owner;
  request.claims = waiter->request.claims;
  request.terms = waiter->request.terms;
  request.attachment = waiter->request.then;
  if (waiter->request.edit && !waiter->request.edit->calls.empty()) {
    request.call = waiter->request.edit->calls.back();
  }
  request.under = waiter->request.parent;
  request.wait = true;
  request.waiting_process = waiter->request.holds.front();
  request.wake = waiter->wake;
  core::AcquireReply queued;
  queued.outcome = core::Outcome::kQueued;
  queued.lease = waiter->request;
  auto acquisition = std::make_unique<Acquisition>(
      table_, std::vector<Acquisition::Part>{{std::move(request), {}}});
  LK_CHECK(acquisition->resume(std::move(queued)));
  return acquisition;
}

// Neither kept here nor in the queue: the table handed it over, or it has ended.
Result<Reply<AcquireResult>> LocalService::handed_over(const Caller& caller,
                                                       const core::LeaseId& id, Change& change) {
  AcquireResult result;
  core::AcquireReply reply;
  LK_ASSIGN(const kv::Version version, change.write([&](core::Table& table) -> Result<bool> {
    LK_ASSIGN(const core::Lease* const lease, table.state().lease(id));
    LK_ASSIGN(const auto waiter, table.state().waiter(id));
    const bool other = (lease != nullptr && lease->owner != caller.owner) ||
                       (waiter && waiter->request.owner != caller.owner);
    if (other) return not_waiting(id);
    LK_ASSIGN(reply, table.poll(id));
    return reply.again;
  }));
  reply.stamp(version);
  result.outcome = reply.outcome;
  result.lease = std::move(reply.lease);
  result.existed_before = true;
  return Reply<AcquireResult>{std::move(result), deliver(caller, change)};
}

Result<Reply<AcquireResult>> LocalService::await(const AwaitCall& call) {
  Change change(table_, call.caller);
  LK_ASSIGN(std::unique_ptr<Acquisition> acquisition, take_waiting(call.caller.owner, call.id));
  if (!acquisition) return handed_over(call.caller, call.id, change);
  auto results = acquisition->await(change.writer(), call.at_most_ms, call.looks);
  return finish(call.caller, change, std::move(acquisition), std::move(results));
}

Result<Reply<AcquireResult>> LocalService::leave(const LeaveCall& call) {
  if (call.why != core::Outcome::kInterrupted && call.why != core::Outcome::kTimeout) {
    return fail(Code::kInvalidInput, "a request leaves the queue as interrupted or timeout",
                "give one of these as \"why\"");
  }
  Change change(table_, call.caller, wire::digest(call, clock()));
  LK_ASSIGN(std::unique_ptr<Acquisition> acquisition, take_waiting(call.caller.owner, call.id));
  if (!acquisition) {
    // It left before, or was granted before it could leave.
    LK_CHECK(change.write([](core::Table&) -> Result<bool> { return false; }));
    if (!change.is_repeated()) return handed_over(call.caller, call.id, change);
    LK_ASSIGN(AcquireResult result, change.earlier<AcquireResult>());
    return Reply<AcquireResult>{std::move(result), deliver(call.caller, change)};
  }
  const auto write = [&](const layout::LockTable::Work& work, const std::function<void()>& done) {
    const auto answer = [&] {
      AcquireResult left = acquisition->last_look();
      if (left.outcome == core::Outcome::kGranted) return std::string();
      left.outcome = call.why;
      return wire::text_of(left, clock());
    };
    return change.write(work, {done, answer, true});
  };
  auto results = acquisition->leave(write, call.why);
  return finish(call.caller, change, std::move(acquisition), std::move(results));
}

Result<Reply<AcquireResult>> LocalService::adopt(const AdoptCall& call) {
  if (call.paths.empty() && !call.resource) return no_resource();
  LK_CHECK(scan_layouts());
  if (!call.caller.request_id.empty()) {
    ListCall own;
    own.owner = call.caller.owner;
    own.scan_layouts = false;
    LK_ASSIGN(Reply<ListReply> held, list(own));
    for (ListedLease& listed : held.value.leases) {
      if (listed.lease.terms.request_id != call.caller.request_id) continue;
      AcquireResult result;
      result.outcome = core::Outcome::kGranted;
      result.lease = std::move(listed.lease);
      result.existed_before = true;
      return Reply<AcquireResult>{std::move(result), {}};
    }
  }
  Change change(table_, call.caller);
  return answer(call.caller, change, adopt_lock(call, change));
}

Result<AcquireResult> LocalService::adopt_lock(const AdoptCall& call, Change& change) {
  ListCall everything;
  everything.with_waiters = false;
  LK_ASSIGN(const Reply<ListReply> all, list(everything));
  const core::Lease* const adopted = find_foreign(all.value, call);
  if (adopted == nullptr) {
    const std::string name = call.paths.empty() ? call.resource->text() : call.paths.front();
    return fail(Code::kNotFound, "no other tool's lock is at " + quote(name),
                "name its lock file, or what it holds; see: lockkeeper list");
  }
  layout::Mirror mirror(table_);
  LK_CHECK(mirror.open_to_write());
  layout::Layout* const layout = mirror.find(adopted->terms.layout);
  if (layout == nullptr) {
    return fail(Code::kNotFound,
                "the layout of " + quote(core::foreign_path(*adopted)) + " was removed",
                "see: lockkeeper layout list");
  }
  std::vector<Acquisition::Foreign> artefacts;
  AcquireCall wanted;
  for (const core::Lease* const one : shown_with(all.value, *adopted)) {
    const std::string name = core::foreign_artefact(*one);
    LK_ASSIGN(const layout::ScanResult seen, layout->scan_source(layout::source_of(name)));
    const layout::Sighting* const there = seen.find(name);
    if (there == nullptr && one == adopted) {
      return fail(Code::kNotFound, quote(core::foreign_path(*adopted)) + " is not there any more",
                  "ask for it: lockkeeper acquire");
    }
    if (there == nullptr) continue;
    artefacts.push_back({{layout->id(), name, one->id, 0}, there->identity});
    if (one == adopted) wanted.claims = claims_to_adopt(*adopted, *there, call);
  }
  wanted.caller = call.caller;
  wanted.terms = call.terms;
  wanted.ttl_ms = call.ttl_ms;
  wanted.attachment = call.attachment;
  LK_ASSIGN(core::AcquireRequest request, this->request(wanted));
  request.terms.layout = layout->id();
  request.terms.artefact = core::foreign_artefact(*adopted);
  if (request.terms.reason.empty()) request.terms.reason = adopted->terms.reason;
  if (request.terms.task.empty()) request.terms.task = adopted->terms.task;
  return Acquisition(table_, {{std::move(request), {}}}).take_over(change.writer(), artefacts);
}

}  // namespace lockkeeper::service::local
