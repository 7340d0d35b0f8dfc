// What the simulated agents do next, and what they make of the answers.
#include <algorithm>

#include "episode.h"

namespace lockkeeper::sim {

using core::LeaseId;
using core::Outcome;
using Kind = Op::Kind;

namespace {
constexpr std::size_t kSeenMax = 48;
}

void Episode::add_actors() {
  const core::Owner owners[] = {
      {"backend", "s1"},    {"backend", "s1/x"},    {"frontend", "s1/y"},
      {"frontend", "s2"},   {"tester", ""},         {"tester", "-/run"},
      {"writer", "s2/sub"}, {"reader", "s2/sub/z"}, {"backend", "s2/run-0000000a"}};
  for (const core::Owner& owner : owners) {
    auto actor = std::make_unique<Actor>();
    actor->owner = owner;
    actor->pid_namespace = 1 + below(2);
    actor->view = std::make_unique<View>(processes_, actor->pid_namespace);
    open_store(*actor);
    actor->process = processes_.start();
    actors_.push_back(std::move(actor));
  }
}

void Episode::open_store(Actor& actor) {
  Actor* self = &actor;
  actor.store = std::make_unique<kv::FaultyStore>(
      watch_.store(), [this, self](const kv::CallInfo& info) { return decide(*self, info); });
  // With the promise of kv/store.h about late commits, and without it.
  if (options_.seed % 4 == 1) actor.store->never_settle();
}

void Episode::died(Actor& actor) {
  if (processes_.alive(actor.process)) processes_.kill(actor.process);
  actor.dead = true;
  if (chance(50)) actor.leases.clear();
  actor.waiting.clear();
  // Whoever started it may know its request and ask again.
  if (chance(30)) actor.retry.reset();
}

void Episode::restart(Actor& actor) {
  actor.dead = false;
  actor.process = processes_.start();
  if (actor.store->crashed()) actor.store->revive();
  if (actor.retry) use_process(actor, actor.retry->request);
}

// A request asked again by a new process is bound to that one.
void Episode::use_process(const Actor& actor, core::AcquireRequest& request) {
  if (request.attachment.attached()) request.attachment = Processes::by_slot(actor.process);
  request.waiting_process = Processes::by_slot(actor.process);
  request.wake = ++wake_words_;
}

Op Episode::simple(const Actor& actor, Kind kind, std::vector<LeaseId> ids) const {
  Op op;
  op.kind = kind;
  op.owner = actor.owner;
  op.ids = std::move(ids);
  return op;
}

core::Attachment Episode::some_attachment(Actor& actor) {
  switch (below(5)) {
    case 0:
      return Processes::by_slot(actor.process);
    case 1:
      return Processes::by_pid(actor.process, actor.pid_namespace);
    case 2: {
      if (actor.commands.size() < 2 || chance(20)) actor.commands.push_back(processes_.start());
      return Processes::by_slot(actor.commands[below(actor.commands.size())]);
    }
    default:
      return {};
  }
}

Op Episode::choose(Actor& actor) {
  if (actor.retry && chance(60)) {
    Op op = *actor.retry;
    if (chance(90)) actor.retry.reset();
    if (chance(15)) op.request.wait = !op.request.wait;
    if (chance(6)) op.request.terms.ttl_ms = 12'345;  // other arguments
    return op;
  }
  if (!actor.waiting.empty() && chance(45)) {
    const LeaseId id = actor.waiting[below(actor.waiting.size())];
    return simple(actor, chance(12) ? Kind::kCancel : Kind::kPoll, {id});
  }
  if (chance(10)) return choose_report(actor);
  const std::uint64_t dice = below(100);
  if (dice < 52) return choose_acquire(actor);
  if (dice < 60) {
    Op op = choose_acquire(actor);
    op.kind = Kind::kCheck;
    op.request.terms.request_id.clear();
    if (!seen_.empty() && chance(60)) op.fence = seen_[below(seen_.size())].fence;
    return op;
  }
  if (dice < 72) {
    Op op = simple(actor, Kind::kRelease);
    for (std::uint64_t i = 1 + below(3); i > 0; --i) {
      op.resources.push_back(static_cast<int>(below(static_cast<std::uint64_t>(world_.size()))));
    }
    for (const auto& [id, entry] : model_.leases) {
      if (entry.owner == actor.owner && chance(40)) {
        op.resources.back() = entry.wants[below(entry.wants.size())].resource;
      }
    }
    return op;
  }
  if (dice < 76) return choose_on_leases(actor, Kind::kReleaseLeases);
  if (dice < 80) return choose_on_leases(actor, Kind::kGiveBack);
  if (dice < 90) return choose_on_leases(actor, Kind::kRenew);
  if (dice < 92) return choose_on_leases(actor, Kind::kBreak);
  if (dice < 94) return simple(actor, Kind::kNotices);
  if (dice < 95 && !seen_.empty()) {
    return simple(actor, Kind::kPoll, {seen_[below(seen_.size())].id});
  }
  Op op = simple(actor, Kind::kMaintain);
  op.most = 1 + below(20);
  return op;
}

// Of the leases heard of, one that lies inside the most others.
const Episode::Held& Episode::deepest() const {
  const Held* found = &seen_.back();
  std::size_t most = 0;
  for (const Held& held : seen_) {
    const auto lease = model_.leases.find(held.id);
    const std::size_t depth = lease == model_.leases.end() ? 0 : model_.depth(lease->second);
    if (depth > most) found = &held;
    most = std::max(most, depth);
  }
  return *found;
}

Op Episode::choose_acquire(Actor& actor) {
  Op op = simple(actor, Kind::kAcquire);
  core::AcquireRequest& request = op.request;
  request.owner = actor.owner;
  std::uint64_t claims = chance(70) ? 1 : 2 + below(2);
  // In some episodes, as much as one commit of a store with a budget hardly takes.
  if (options_.seed % 8 == 3 && chance(20)) claims = 8 + below(14);
  const bool shared = chance(35);
  for (std::uint64_t i = 0; i < claims; ++i) {
    std::uint64_t resource = below(static_cast<std::uint64_t>(world_.size()));
    if (resource == 0 && chance(70)) resource = 3;  // the whole root, but not all the time
    const core::Mode mode = shared != chance(10) ? core::Mode::kShared : core::Mode::kExclusive;
    request.claims.push_back({world_.resource(static_cast<int>(resource)), mode});
  }
  for (const auto& [id, own] : model_.leases) {
    if (own.owner != actor.owner || !chance(10)) continue;
    request.claims.clear();  // one more keeps what its owner has already
    for (const Want& want : own.wants) {
      request.claims.push_back({world_.resource(want.resource), want.mode});
    }
  }
  const std::int64_t lengths[] = {0, 40, 800, 5'000, 15'000, 60'000, kNoEnd};
  request.terms.ttl_ms = lengths[1 + below(6)];
  if (chance(3)) request.terms.ttl_ms = 0;
  if (request.terms.ttl_ms == kNoEnd && chance(60)) request.terms.ttl_ms = 30'000;
  request.attachment = some_attachment(actor);
  if (request.attachment.attached() && chance(40)) request.terms.orphan_grace_ms = 3'000;
  if (chance(35)) request.terms.request_id = "r" + std::to_string(++request_ids_);
  const bool nests = options_.seed % 8 < 2;
  if (!seen_.empty() && chance(nests ? 30 : 15)) {
    const Held& held = nests ? deepest() : seen_[below(seen_.size())];
    if (nests) request.terms.ttl_ms = 60'000;
    request.under = held.id;
    request.under_fence = held.fence + (chance(8) ? 1 : 0);
  }
  request.wait = chance(55) && actor.waiting.size() < 2;
  use_process(actor, request);
  if (chance(20)) make_edit(actor, request);
  if (!request.attachment.attached()) return op;
  if (chance(50)) request.attachment = some_attachment(actor);
  if (!request.attachment.attached()) request.terms.orphan_grace_ms = 0;
  return op;
}

// A call of a coding agent, or, now and then, a lease of one worktree.
void Episode::make_edit(Actor& actor, core::AcquireRequest& request) {
  const char* const worktrees[] = {"/w", "/v", ""};
  request.terms.worktree = worktrees[below(3)];
  if (chance(20)) return;
  const bool again = !actor.calls.empty() && chance(10);
  request.call = again ? actor.calls.back() : "c" + std::to_string(++request_ids_);
  if (!again) actor.calls.push_back(request.call);
  if (actor.calls.size() > 6) actor.calls.erase(actor.calls.begin());
  request.terms.request_id.clear();
  if (chance(80)) request.terms.ttl_ms = chance(50) ? kNoEnd : 3'600'000;
}

Op Episode::choose_report(Actor& actor) {
  using Then = core::ReportRequest::Then;
  Op op = simple(actor, Kind::kReport);
  core::ReportRequest& report = op.report;
  report.owner = actor.owner;
  report.worktree = "/w";
  for (const std::string& call : actor.calls) {
    if (chance(40)) (chance(75) ? report.done : report.failed).push_back(call);
  }
  std::erase_if(actor.calls, [&](const std::string& call) {
    return std::ranges::count(report.done, call) + std::ranges::count(report.failed, call) != 0;
  });
  if (chance(25)) {
    report.begun.push_back("c" + std::to_string(++request_ids_));
    actor.calls.push_back(report.begun.back());
  }
  report.no_call_left = chance(10);
  report.turn_begins = chance(10);
  report.parts_go_on = chance(20);
  if (chance(10)) report.changed.push_back({"src/a.c", {below(9), 1, 1, 1}, ""});
  const std::uint64_t dice = below(100);
  if (dice < 10) report.then = Then::kIdle;
  if (dice >= 10 && dice < 20) report.then = Then::kTurnOver;
  if (dice >= 20 && dice < 30) report.then = Then::kPassedOn;
  return op;
}

Op Episode::choose_on_leases(Actor& actor, Kind kind) {
  Op op = simple(actor, kind);
  if (kind == Kind::kReleaseLeases && chance(20)) {
    for (const auto& [id, entry] : model_.leases) {
      if (entry.owner == actor.owner) op.ids.push_back(id);
    }
  }
  while (op.ids.empty() || chance(25)) {
    const bool own = !actor.leases.empty() && kind != Kind::kBreak && chance(85);
    if (!own && seen_.empty()) break;
    op.ids.push_back(own ? actor.leases[below(actor.leases.size())].id
                         : seen_[below(seen_.size())].id);
  }
  std::sort(op.ids.begin(), op.ids.end());
  op.ids.erase(std::unique(op.ids.begin(), op.ids.end()), op.ids.end());
  if (chance(50)) op.ttl_ms = chance(10) ? kNoEnd : static_cast<std::int64_t>(below(20'000));
  if (chance(60)) op.attachment = Processes::by_slot(actor.process);
  if (kind == Kind::kGiveBack) {
    const auto lease = op.ids.empty() ? model_.leases.end() : model_.leases.find(op.ids.front());
    op.attachment = some_attachment(actor);
    if (lease != model_.leases.end() && chance(80)) {
      op.attachment = lease->second.holds[below(lease->second.holds.size())];
    }
  }
  op.how = {actor.owner, "in the way", chance(20), chance(20)};
  return op;
}

void Episode::learn(Actor& actor, const Op& op, const Answer& answer) {
  if (op.kind == Kind::kReleaseLeases) {
    std::erase_if(actor.leases, [&](const Held& held) {
      return std::find(op.ids.begin(), op.ids.end(), held.id) != op.ids.end();
    });
  }
  const auto* reply = std::get_if<core::AcquireReply>(&answer);
  if (reply == nullptr) return;
  const LeaseId& id = reply->lease.id;
  if (reply->outcome == Outcome::kQueued) {
    if (op.kind == Kind::kAcquire) {
      std::erase(actor.waiting, id);
      actor.waiting.push_back(id);
    }
    return;
  }
  std::erase(actor.waiting, id);
  if (op.kind == Kind::kAcquire && !op.request.terms.request_id.empty() &&
      &actor == actors_.front().get()) {
    last_named_ = op;
    last_named_->request.under = {};
  }
  if (reply->outcome != Outcome::kGranted && reply->outcome != Outcome::kRenewed) return;
  std::erase_if(actor.leases, [&](const Held& held) { return held.id == id; });
  actor.leases.push_back({id, reply->lease.fence()});
  if (seen_.size() == kSeenMax) seen_.erase(seen_.begin());
  seen_.push_back(actor.leases.back());
  if (actor.leases.size() > 6) actor.leases.erase(actor.leases.begin());
  // The caller never got the answer, although we did: it asks again (F7).
  if (faults_ && op.kind == Kind::kAcquire && !op.request.terms.request_id.empty() && chance(20)) {
    actor.retry = op;
  }
}

void Episode::learn_error(Actor& actor, const Op& op, Code code) {
  const bool maybe = code == Code::kUnknown || code == Code::kStoreUnavailable ||
                     code == Code::kNoSpace || code == Code::kStoreBusy;
  if (maybe) {
    if (op.kind == Kind::kAcquire && !op.request.terms.request_id.empty()) actor.retry = op;
    return;
  }
  // Its request is too large for this store: it leaves the queue.
  if (code == Code::kLimitExceeded && op.kind == Kind::kPoll) {
    return perform(actor, simple(actor, Kind::kCancel, op.ids));
  }
  if (code != Code::kLost && code != Code::kNotFound && code != Code::kNotOwner) return;
  for (const LeaseId& id : op.ids) {
    std::erase(actor.waiting, id);
    std::erase_if(actor.leases, [&](const Held& held) { return held.id == id; });
  }
}

}  // namespace lockkeeper::sim
