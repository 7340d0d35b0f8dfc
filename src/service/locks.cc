#include "service/locks.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/text.h"
#include "core/condition.h"
#include "host/process.h"
#include "key/path.h"
#include "layout/mirror.h"
#include "realm/disk_path.h"
#include "realm/store_url.h"
#include "service/questions.h"
#include "service/report.h"

namespace lockkeeper::service {
namespace {

constexpr std::int64_t kAwaitMs = 1'000;  // so often a command's on_wait is called

// A hub that is restarted, or a network that is away for a moment: the place in the queue is kept
// for longer than this.
constexpr auto kComeBackTime = std::chrono::milliseconds(200);
bool may_come_back(const Site& site, const Error& error, std::int64_t heard_ms) {
  const bool away = error.code == Code::kStoreUnavailable || error.code == Code::kUnknown;
  const bool soon = site.now().mono_ms - heard_ms < realm::kOutOfContactMs;
  return site.server() != nullptr && away && soon;
}

Result<core::Attachment> attachment_of(int pid) {
  auto process = host::identify(pid);
  if (!process) {
    Error error = process.error();
    if (error.code == Code::kNotFound) {
      error.code = Code::kInvalidInput;
      error.hint = "give the pid of a process that is running";
    }
    return fail(std::move(error));
  }
  core::Attachment attachment;
  attachment.pid_namespace = process->pid_namespace;
  attachment.pid = process->pid;
  attachment.start_ticks = process->start_ticks;
  return attachment;
}

// Brackets alone are common in names of files.
bool is_pattern_in_vain(const realm::Realm& realm, const std::string& text,
                        const key::Resource& resource) {
  if (text.find_first_of("*?") == std::string::npos || !resource.is_path()) return false;
  const std::string path = realm::join_path(realm.root, key::path_body(resource.text()));
  return ::access(path.c_str(), F_OK) != 0;
}

// What was named is held under another name, or is not what --expired and --dead ask for.
void explain_missed_break(Site& site, const BreakCall& call, Error& error) {
  const auto near = overlapping_claims(site, call.resources);
  if (!near || near->empty()) return;
  const OverlappingClaim& held = near->front();
  const std::string name = shown(held.claim.resource.text());
  const std::string holder = owner_text(held.lease.owner);
  for (const key::Resource& asked : call.resources) {
    if (asked == held.claim.resource) {
      const char* const spared = call.foreign        ? " is not another tool's"
                                 : call.only_expired ? " has not expired"
                                                     : " is not that of a dead process";
      error.message = "nothing was broken: the lease of ";
      error.message.append(holder).append(" on ").append(name).append(spared);
      error.hint = "wait for it: lockkeeper acquire " + shell_quote(asked.text()) + " --wait=10m";
      return;
    }
  }
  error.message = "nothing was broken: " + holder + " holds " + name + ", which only overlaps it";
  error.hint = "break that: lockkeeper break " + shell_quote(held.claim.resource.text()) +
               " --reason " + shell_quote(call.reason);
}

// It may hold something larger, which is renewed by its own name.
void explain_missed_renewal(Site& site, const RenewCall& call, Error& error) {
  const auto near = overlapping_claims(site, call.resources);
  if (!near) return;
  for (const OverlappingClaim& held : *near) {
    if (held.lease.owner != call.caller.owner) continue;
    error.message += "; you hold " + shown(held.claim.resource.text()) + ", which overlaps it";
    error.hint = "renew that: lockkeeper renew " + shell_name(held.claim.resource.text());
    return;
  }
}

}  // namespace

Result<std::vector<core::LeaseId>> Locks::find_ids(const std::vector<std::string>& texts) {
  std::vector<core::LeaseId> ids;
  for (const std::string& text : texts) {
    LK_ASSIGN(ids.emplace_back(), find_id(text));
  }
  return ids;
}

Result<core::LeaseId> Locks::find_id(const std::string& part) {
  if (const auto whole = core::LeaseId::from_text(part)) return *whole;
  constexpr std::size_t kLeast = 4;
  const bool digits = part.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!digits || part.size() < kLeast) {
    return fail(Code::kNotFound, quote(part) + " is not the id of a lease",
                "ids are 32 hexadecimal digits, or at least 4 from the beginning or the end; "
                "see: lockkeeper list");
  }
  ListCall call;
  call.caller = caller();
  call.with_waiters = false;
  LK_ASSIGN(const ListReply all, ask(&Service::list, call));
  std::vector<std::string> fitting;
  core::LeaseId found;
  for (const ListedLease& listed : all.leases) {
    const std::string text = listed.lease.id.text();
    if (!text.starts_with(part) && !text.ends_with(part)) continue;
    fitting.push_back(text);
    found = listed.lease.id;
  }
  if (fitting.size() == 1) return found;
  if (fitting.empty()) {
    return fail(Code::kNotFound, "no lease has an id that begins or ends with " + quote(part),
                "see: lockkeeper list");
  }
  return fail(
      Code::kInvalidInput,
      quote(part) + " fits " + counted(fitting.size(), "lease") + ": " + shown_list(fitting, 3),
      "write more digits");
}

Result<Resolved> Locks::resolve(const Wanted& wanted) const {
  Resolved resolved;
  const key::Rules rules = site_->key_rules();
  realm::Resolver resolver(site_->realm(), rules, wanted.base, site_->runtime().env,
                           {wanted.convert_backslash});
  for (const std::string& text : wanted.texts) {
    LK_ASSIGN(const std::vector<key::Parsed> all, resolver.resolve_all(text, wanted.syntax));
    std::vector<key::Resource>& word = resolved.words.emplace_back();
    for (const key::Parsed& parsed : all) word.push_back(parsed.resource);
    const std::vector<std::string>& warnings = all.front().warnings;
    resolved.warnings.insert(resolved.warnings.end(), warnings.begin(), warnings.end());
    if (wanted.no_patterns && is_pattern_in_vain(site_->realm(), text, word.front())) {
      resolved.warnings.push_back(quote(text) +
                                  " is locked as the name of one file, because this protocol has "
                                  "no patterns; to lock what it matches: lockkeeper acquire " +
                                  shell_name(text));
    }
  }
  for (const key::Resource& resource : wanted.resources) resolved.words.push_back({resource});
  return resolved;
}

std::vector<key::Resource> Resolved::resources() const {
  std::vector<key::Resource> all;
  for (const auto& word : words) all.insert(all.end(), word.begin(), word.end());
  return all;
}

std::vector<core::Claim> Resolved::claims(core::Mode mode) const {
  std::vector<core::Claim> claims;
  for (const key::Resource& resource : resources()) claims.push_back({resource, mode, 0});
  return claims;
}

Result<std::vector<key::Resource>> Locks::held_of(const Resolved& resolved,
                                                  const std::optional<core::Owner>& owner) {
  std::vector<key::Resource> held;
  for (const auto& word : resolved.words) {
    const std::size_t before = held.size();
    for (const key::Resource& resource : word) {
      if (word.size() == 1) break;
      ListCall call;
      call.caller = caller();
      call.owner = owner;
      call.exact = {resource};
      call.with_waiters = call.scan_layouts = false;
      LK_ASSIGN(const ListReply found, ask(&Service::list, call));
      if (!found.leases.empty()) held.push_back(resource);
    }
    if (held.size() == before) held.push_back(word.front());
  }
  return held;
}

Locks Locks::part(const std::string& name) const {
  return {*site_, core::part_of(owner_, name), parent_};
}

Caller Locks::caller() const {
  return {owner_, parent_, tell_, {}};
}

Result<AcquireCall> Locks::call(const AcquireCommand& command,
                                std::vector<std::string>& warnings) const {
  LK_CHECK(site_->table().follow_settings());
  AcquireCall call;
  call.caller = caller();
  call.caller.request_id = command.terms.request_id;
  LK_ASSIGN(Resolved resolved, resolve(command.wanted));
  warnings = std::move(resolved.warnings);
  call.claims = resolved.claims(command.wanted.mode);
  call.terms = command.terms;
  call.ttl_ms = command.ttl_ms;
  call.attachment = command.attachment;
  if (command.attach_pid) {
    LK_ASSIGN(call.attachment, attachment_of(*command.attach_pid));
  }
  call.wake = command.wake;
  call.replaces = command.replaces;
  call.anew = command.anew;
  call.call = command.call;
  call.worktree = command.worktree;
  call.traced = command.traced;
  return call;
}

Result<AcquireResult> Locks::acquire(const AcquireCommand& command) {
  std::vector<std::string> warnings;
  LK_ASSIGN(AcquireCall call, this->call(command, warnings));
  call.caller.tell.losses = true;
  call.wait = command.wait_ms.value_or(0) != 0;
  LK_CHECK(check_plain_neighbours(*site_, owner_, call.claims));
  LK_ASSIGN(Service* const service, site_->service());
  const std::int64_t began_ms = site_->now().mono_ms;
  auto reply = service->acquire(call);
  untold_ = !reply;
  if (!reply) return fail(std::move(reply.error()));
  LK_ASSIGN(AcquireResult result, wait(*service, command, began_ms, std::move(*reply)));
  result.warnings = std::move(warnings);
  if (result.outcome == core::Outcome::kRenewed) {
    std::ranges::move(part_warnings(result), std::back_inserter(result.warnings));
  }
  if (command.wait_ms && result.outcome == core::Outcome::kHeld) {
    result.outcome = core::Outcome::kTimeout;
  }
  note_grant(command, result);
  return result;
}

// What it replaces, its owner had before.
void Locks::note_grant(const AcquireCommand& command, const AcquireResult& result) const {
  const bool news = result.outcome == core::Outcome::kGranted && !result.existed_before &&
                    command.replaces.empty() && command.terms.request_id.empty();
  const Runtime& runtime = site_->runtime();
  if (!news || !runtime.on_grant) return;
  runtime.on_grant({site_->realm(), result.lease.owner, result.lease.id, result.lease.then});
}

// While the request is in the queue.
Result<AcquireResult> Locks::wait(Service& service, const AcquireCommand& command,
                                  std::int64_t began_ms, Reply<AcquireResult> reply) {
  std::int64_t waited_ms = 0;
  std::int64_t heard_ms = began_ms;
  for (;;) {
    notices_.add(std::move(reply.notices));
    AcquireResult& result = reply.value;
    if (result.outcome != core::Outcome::kQueued) break;
    waited_ms = site_->now().mono_ms - began_ms;
    const bool endless = *command.wait_ms == kWaitForever;
    const std::int64_t left_ms = endless ? kAwaitMs : *command.wait_ms - waited_ms;
    const bool interrupted =
        command.on_wait && !command.on_wait({result.conflicts, result.position, waited_ms});
    const bool goes_on = !interrupted && left_ms > 0;
    auto next =
        goes_on
            ? service.await({caller(), result.lease.id, std::min(kAwaitMs, left_ms)})
            : service.leave({caller(), result.lease.id,
                             interrupted ? core::Outcome::kInterrupted : core::Outcome::kTimeout});
    untold_ = !next;
    if (!next && goes_on && may_come_back(*site_, next.error(), heard_ms)) {
      std::this_thread::sleep_for(kComeBackTime);
      continue;
    }
    if (!next) return fail(std::move(next.error()));
    reply = std::move(*next);
    heard_ms = site_->now().mono_ms;
    waited_ms = heard_ms - began_ms;
  }
  reply.value.waited_ms = waited_ms;
  reply.value.lost = std::exchange(notices_.lost, {});
  return std::move(reply.value);
}

Result<std::vector<AcquireResult>> Locks::acquire_together(const std::vector<Member>& members) {
  std::vector<AcquireCall> calls;
  std::vector<std::vector<std::string>> warnings(members.size());
  for (const Member& member : members) {
    Locks locks(*site_, member.owner, parent_);
    LK_ASSIGN(AcquireCall call, locks.call(member.command, warnings[calls.size()]));
    calls.push_back(std::move(call));
  }
  if (!calls.empty()) calls.front().caller.tell = tell_;
  LK_ASSIGN(std::vector<AcquireResult> results, ask(&Service::acquire_together, calls));
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i].warnings = std::move(warnings[i]);
    note_grant(members[i].command, results[i]);
  }
  return results;
}

Result<core::ReleaseReply> Locks::release(const ReleaseCommand& command) {
  LK_ASSIGN(Resolved resolved, resolve(command.wanted));
  LK_ASSIGN(std::vector<core::LeaseId> named, find_ids(command.lease_ids));
  ReleaseCall by_id{caller(), {}, std::move(named), command.task, command.all, command.by, false};
  LK_ASSIGN(std::vector<key::Resource> held, held_of(resolved, owner_));
  ReleaseCall by_name{caller(), std::move(held), {}, {}, false, command.by, false};
  const bool any_ids = !by_id.leases.empty() || !by_id.task.empty() || by_id.all;
  if (!any_ids && by_name.resources.empty()) return nothing_named("release");
  core::ReleaseReply total;
  if (any_ids) {
    LK_ASSIGN(total, ask(&Service::release, by_id));
  }
  if (!by_name.resources.empty()) {
    LK_ASSIGN(const core::ReleaseReply named_reply, ask(&Service::release, by_name));
    add(total, named_reply);
  }
  return total;
}

Result<core::ReleaseReply> Locks::give_back(const core::LeaseId& id, const core::Attachment& by) {
  return ask(&Service::release, {caller(), {}, {id}, {}, false, by, true});
}

Result<std::vector<core::Lease>> Locks::renew(const RenewCommand& command) {
  RenewCall call;
  call.caller = caller();
  LK_ASSIGN(const Resolved resolved, resolve(command.wanted));
  LK_ASSIGN(call.resources, held_of(resolved, owner_));
  LK_ASSIGN(call.leases, find_ids(command.lease_ids));
  call.all = command.all;
  call.ttl_ms = command.ttl_ms;
  auto renewed = ask(&Service::renew, call);
  if (!renewed && renewed.error().code == Code::kNotFound) {
    explain_missed_renewal(*site_, call, renewed.error());
  }
  return renewed;
}

Result<core::CheckReply> Locks::check(const CheckCommand& command) {
  LK_CHECK(site_->table().follow_settings());
  LK_ASSIGN(const Resolved resolved, resolve(command.wanted));
  return check(command, resolved);
}

// All of each word must be free, as for an acquire. What one holds of it is then enough to have it.
Result<core::CheckReply> Locks::check(const CheckCommand& command, const Resolved& resolved) {
  if (resolved.words.empty()) return nothing_named("check");
  const core::Mode mode = command.wanted.mode;
  core::LeaseId lease;
  if (!command.lease_id.empty()) {
    LK_ASSIGN(lease, find_id(command.lease_id));
  }
  LK_ASSIGN(core::CheckReply reply, ask(&Service::check, {caller(), resolved.claims(mode),
                                                          command.fence, lease, command.worktree}));
  const auto has_several = [](const auto& word) { return word.size() > 1; };
  if (reply.mine || std::ranges::none_of(resolved.words, has_several)) return reply;
  // What another holds is not the caller's, whatever each word stands for.
  if (!reply.free && command.fence == 0) return reply;
  reply.mine = reply.free;
  reply.fence_current = command.fence != 0;
  for (const auto& word : resolved.words) {
    bool mine = false;
    bool current = false;
    for (const key::Resource& resource : word) {
      LK_ASSIGN(const core::CheckReply one,
                ask(&Service::check,
                    {caller(), {{resource, mode, 0}}, command.fence, lease, command.worktree}));
      mine |= one.mine;
      current |= one.fence_current;
    }
    reply.mine &= mine;
    reply.fence_current &= current;
  }
  return reply;
}

Result<std::vector<core::Lease>> Locks::break_leases(const BreakCommand& command) {
  BreakCall call;
  call.caller = caller();
  LK_ASSIGN(const Resolved resolved, resolve(command.wanted));
  LK_ASSIGN(call.resources, held_of(resolved, std::nullopt));
  LK_ASSIGN(call.leases, find_ids(command.lease_ids));
  call.agent = command.agent;
  call.reason = command.reason;
  call.cause = command.cause;
  call.only_expired = command.only_expired;
  call.only_dead = command.only_dead;
  call.foreign = command.foreign;
  auto broken = ask(&Service::break_leases, call);
  const bool missed = !broken && broken.error().code == Code::kNotFound;
  if (missed) explain_missed_break(*site_, call, broken.error());
  return broken;
}

Result<ListReply> Locks::list(const ListCommand& command) {
  ListCall call;
  call.caller = caller();
  call.agent = command.agent;
  call.task = command.task;
  LK_ASSIGN(const Resolved resolved, resolve(command.under));
  call.overlapping = resolved.resources();
  call.scan_layouts = command.scan_layouts;
  LK_ASSIGN(ListReply reply, ask(&Service::list, call));
  std::erase_if(reply.leases, [](const ListedLease& listed) { return listed.condition.over; });
  return reply;
}

Result<EventsCall> Locks::call(const LogCommand& command) const {
  EventsCall call{caller(), command.since_seq, command.since_wall_ms, command.agent, {}};
  LK_ASSIGN(const Resolved resolved, resolve(command.under));
  if (!resolved.words.empty()) call.overlapping = resolved.words.front().front();
  return call;
}

Result<std::vector<core::Event>> Locks::log(const LogCommand& command) {
  LK_ASSIGN(const EventsCall call, this->call(command));
  return ask(&Service::events, call);
}

Result<void> Locks::purge(bool history) {
  LK_CHECK(ask(&Service::purge, {caller(), history}));
  return {};
}

Remarks Locks::remarks(const Wanted& wanted, const Resolved& resolved, bool names,
                       core::Owner starter) const {
  Remarks remarks;
  if (names) add_unmatched(remarks, *site_, owner_, wanted, resolved.words);
  const std::vector<key::Resource> resources = resolved.resources();
  add_nested(remarks, *site_, owner_, wanted.mode, resources);
  if (!parent_.lease.empty()) {
    const auto parent = find_lease(*site_, parent_.lease);
    if (parent && *parent) starter = (*parent)->lease.owner;
  }
  add_inside(remarks, *site_, owner_, starter, wanted.mode, resources);
  return remarks;
}

std::vector<std::string> Locks::doubts(const Resolved& resolved) const {
  std::vector<std::string> reasons = resolved.warnings;
  for (const auto& word : resolved.words) {
    for (const key::Resource& resource : word) {
      const auto allowed = realm::check_allowed(site_->settings(), owner_.agent, resource);
      if (allowed) continue;
      reasons.push_back("a request would be refused: " + allowed.error().message);
      break;
    }
  }
  return reasons;
}

std::map<std::string, std::string> Locks::typed(const Wanted& wanted) const {
  std::map<std::string, std::string> typed;
  const auto resolved = resolve(wanted);
  if (!resolved) return typed;
  for (std::size_t i = 0; i < wanted.texts.size(); ++i) {
    for (const key::Resource& resource : resolved->words[i]) {
      typed.try_emplace(resource.text(), wanted.texts[i]);
    }
  }
  return typed;
}

std::string Locks::own_outside(const Wanted& wanted) const {
  const auto resolved = resolve(wanted);
  return resolved ? own_outer_lease(*site_, owner_, resolved->resources()) : "";
}

Result<AcquireResult> Locks::adopt(const Wanted& wanted, const AcquireCommand& how) {
  AdoptCall call;
  std::vector<std::string> warnings;
  LK_ASSIGN(const AcquireCall asked, this->call(how, warnings));
  call.caller = asked.caller;
  call.terms = asked.terms;
  call.ttl_ms = asked.ttl_ms;
  call.attachment = asked.attachment;
  const std::string& typed = wanted.texts.front();
  call.paths = {typed, wanted.base.folder + "/" + typed};
  const auto resolved = resolve(wanted);
  if (resolved && !resolved->words.empty()) call.resource = resolved->words.front().front();
  LK_ASSIGN(AcquireResult result, ask(&Service::adopt, call));
  result.warnings = std::move(warnings);
  return result;
}

Result<void> Locks::scan_layouts() {
  if (site_->server() != nullptr) return {};  // they are the hub's
  layout::Mirror mirror(site_->table());
  LK_ASSIGN(const bool mirrored, mirror.open_to_write());
  return mirrored ? mirror.tick() : Result<void>();
}

Result<Notices> Locks::notices() {
  if (tell_.any() && untold_) {
    LK_ASSIGN(Service* const service, site_->service());
    LK_ASSIGN(Notices now, service->notices(caller()));
    notices_.add(std::move(now));
    untold_ = false;
  }
  return std::exchange(notices_, {});
}

Result<std::vector<core::LostLease>> Locks::take_lost_notices() {
  Caller who = caller();
  who.tell = {.losses = true, .messages = false, .waiting = false};
  LK_ASSIGN(Service* const service, site_->service());
  LK_ASSIGN(Notices now, service->notices(who));
  return std::move(now.lost);
}

Result<bool> Locks::has_orphans() {
  LK_ASSIGN(const std::vector<ListedLease> own, leases_of(*site_, owner_));
  return std::ranges::any_of(own, [](const ListedLease& listed) {
    const auto& [lease, now] = listed;
    return lease.terms.orphan_grace_ms != 0 && !now.over && core::is_orphan(lease, now);
  });
}

Result<void> Locks::reclaim(const core::Attachment& attachment) {
  RenewCall call;
  call.caller = {owner_, parent_, {}, {}};
  call.orphans = true;
  call.attachment = attachment;
  LK_ASSIGN(Service* const service, site_->service());
  LK_CHECK(service->renew(call));
  return {};
}

Result<std::vector<core::LostLease>> Locks::resume_session(const core::Attachment& attachment) {
  LK_CHECK(purge(false));
  if (!owner_.session.empty()) LK_CHECK(reclaim(attachment));
  return take_lost_notices();
}

Result<bool> Locks::is_current(const core::LeaseId& id, std::uint64_t fence) {
  const auto found = find_lease(*site_, id);
  if (!found && site_->store_is_gone()) return false;
  if (!found) return fail(found.error());
  const std::optional<ListedLease>& listed = *found;
  return listed && listed->lease.fence() == fence && !listed->condition.over;
}

Result<ParentLease> parent_lease_from(const realm::Environment& env, const realm::Realm& realm) {
  realm::FindRealm where;
  where.explicit_dir = realm::variable(env, "LOCKKEEPER_REALM").value_or("");
  where.env = env;
  if (where.explicit_dir.empty() || realm.in_memory) return parent_lease_from(env);
  auto of_lease = realm::find_realm(where);
  const bool known = of_lease && realm::choose_store(*of_lease, "", env);
  if (known && !of_lease->same_table(realm)) return ParentLease{};
  return parent_lease_from(env);
}

Result<ParentLease> parent_lease_from(const realm::Environment& env) {
  const std::optional<std::string> lease = realm::variable(env, "LOCKKEEPER_LEASE");
  const std::optional<std::string> fence = realm::variable(env, "LOCKKEEPER_FENCE");
  if (!lease && !fence) return ParentLease{};
  const std::optional<core::LeaseId> id = lease ? core::LeaseId::from_text(*lease) : std::nullopt;
  ParentLease parent;
  if (id) parent.lease = *id;
  const std::string digits = fence.value_or("");
  for (const char c : digits) {
    if (c < '0' || c > '9' || digits.size() > 16)
      return fail(Code::kInvalidInput,
                  "LOCKKEEPER_FENCE is " + quote(digits) + ", which is not a fence",
                  "unset LOCKKEEPER_LEASE and LOCKKEEPER_FENCE, or run under: lockkeeper run");
    parent.fence = parent.fence * 10 + static_cast<std::uint64_t>(c - '0');
  }
  if (!id || digits.empty()) {
    return fail(Code::kInvalidInput,
                "LOCKKEEPER_LEASE is " + quote(lease.value_or("")) + " and LOCKKEEPER_FENCE is " +
                    quote(digits) + ": they come together, as `lockkeeper run` sets them",
                "unset both, or run under: lockkeeper run");
  }
  return parent;
}

}  // namespace lockkeeper::service
