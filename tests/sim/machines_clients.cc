// What the clients of several hubs do, and how a run ends: the faults have stopped (L9).
#include <algorithm>

#include "base/bytes.h"
#include "core/presence.h"
#include "machines_world.h"

namespace lockkeeper::sim {

using core::AcquireReply;
using core::AcquireRequest;
using core::LeaseId;
using core::Outcome;
using core::Table;

namespace {

constexpr std::int64_t kTtlMaxMs = 20'000;
constexpr std::int64_t kGraceMs = 3'000;
constexpr std::int64_t kStepMs = 500;

// The true time in which every clock has counted so much.
std::int64_t for_all_clocks(std::int64_t ms) {
  return ms * 1'000 / kSlowest + 1;
}

template <class T>
Result<bool> finished(const Result<T>& reply) {
  if (!reply) return fail(reply.error());
  return false;
}

}  // namespace

bool MachinesWorld::begin_session(Client& client) {
  const std::uint64_t session = ++numbers_;
  const auto begun = perform(hub_of(client), client.owner, [&](Table& table) {
    return finished(core::begin_session(table.state(), session));
  });
  if (!begun) abandoned_.push_back(session);
  client.session = begun ? session : 0;
  if (begun) {
    client.hub_clock = hub_of(client).sightings->own_clock();
    hub_of(client).view->kept.insert(session);
  }
  client.leases.clear();
  client.waiting.clear();
  return begun.has_value();
}

bool MachinesWorld::move_to(Client& client, std::size_t hub) {
  const std::uint64_t session = client.session;
  Client::Late late{client.hub, {}};
  const auto moved = perform(*hubs_[hub], client.owner, [&](Table& table) -> Result<bool> {
    LK_ASSIGN(late.seen, core::see_session(table.state(), session));
    return finished(core::take_over_session(table.state(), session));
  });
  if (!moved && moved.error().code != Code::kLost) {
    abandoned_.push_back(session);  // that hub may keep its row without hearing of it
    return false;
  }
  client.hub = hub;
  probe(moved ? "a session moved" : "a session came too late");
  if (!moved) return begin_session(client);
  client.hub_clock = hubs_[hub]->sightings->own_clock();
  hubs_[hub]->view->kept.insert(session);
  client.late = late;
  return true;
}

// The client has been answered elsewhere meanwhile.
void MachinesWorld::ask_late(const Client& client) {
  Hub& hub = *hubs_[client.late->hub];
  if (!answers(hub)) return;
  AcquireRequest request = some_request(client);
  request.through = client.late->seen;
  const auto done = perform(hub, client.owner, [&](Table& table) -> Result<bool> {
    LK_ASSIGN(const AcquireReply reply, table.acquire(request));
    if (reply.again) return true;
    throw Violation("I9: a call that its client has taken elsewhere was carried out");
  });
  if (!done && done.error().code == Code::kStoreUnavailable) probe("a late call is void");
}

// Goes to another hub if its own does not answer. Its session goes with it.
bool MachinesWorld::reach_a_hub(Client& client) {
  std::size_t hub = client.hub;
  for (std::size_t tries = 0; tries < hubs_.size() && !answers(*hubs_[hub]); ++tries) {
    hub = (hub + 1) % hubs_.size();
  }
  if (!answers(*hubs_[hub])) return false;
  if (client.session == 0) {
    client.hub = hub;
    return begin_session(client);
  }
  const bool same = hub == client.hub && client.hub_clock == hubs_[hub]->sightings->own_clock();
  return same || move_to(client, hub);
}

void MachinesWorld::act(Client& client) {
  if (now_ < client.away_until) return;
  if (!client.alive) {
    if (!chance(30)) return;
    client.alive = true;
    client.process = dead_.size();
    dead_.push_back(false);
  }
  if (!reach_a_hub(client) || !answers(hub_of(client))) return;
  if (client.late && chance(10)) return ask_late(client);
  const std::uint64_t dice = below(100);
  if (client.retry && dice < 50) {
    AcquireRequest again = *client.retry;
    client.retry.reset();
    if (again.attachment.attached()) again.attachment = client.attachment();
    again.waiting_process = client.attachment();
    return ask(client, again);
  }
  if (!client.waiting.empty() && dice < 40) return poll(client, dice < 6);
  if (!client.leases.empty() && dice < 60) return dice < 52 ? renew(client) : release(client);
  ask(client, some_request(client));
}

AcquireRequest MachinesWorld::some_request(const Client& client) {
  AcquireRequest request;
  request.owner = client.owner;
  const core::Mode mode = chance(30) ? core::Mode::kShared : core::Mode::kExclusive;
  for (std::uint64_t i = chance(75) ? 1 : 2; i > 0; --i) {
    const auto resource = below(static_cast<std::uint64_t>(world_.size()));
    request.claims.push_back({world_.resource(static_cast<int>(resource)), mode});
  }
  const std::int64_t lengths[] = {400, 3'000, 8'000, kTtlMaxMs};
  request.terms.ttl_ms = lengths[below(4)];
  if (chance(50)) {
    request.attachment = client.attachment();
    if (chance(40)) request.terms.ttl_ms = kNoEnd;
    if (chance(40)) request.terms.orphan_grace_ms = kGraceMs;
  } else if (chance(20)) {
    request.call = "c" + std::to_string(ticket_);
    request.terms.ttl_ms = 10 * core::kUnreportedMs;
  }
  if (request.call.empty() && chance(30)) {
    request.terms.request_id = "r" + std::to_string(ticket_);
  }
  request.wait = chance(55) && client.waiting.size() < 2;
  request.waiting_process = client.attachment();
  return request;
}

void MachinesWorld::ask(Client& client, const AcquireRequest& request) {
  std::optional<AcquireReply> reply;
  const auto done = perform(hub_of(client), client.owner, [&](Table& table) -> Result<bool> {
    LK_ASSIGN(reply, table.acquire(request));
    return reply->again;
  });
  note(client.owner.agent + " asks " + hub_of(client).name + " for " +
       request.claims.front().resource.text() + ": " +
       (done ? std::to_string(static_cast<int>(reply->outcome)) : done.error().message));
  if (done && !reply->again) return learn(client, *reply);
  const bool may_be = !done && done.error().code != Code::kLost;
  if (may_be && !request.terms.request_id.empty()) client.retry = request;
}

void MachinesWorld::learn(Client& client, const AcquireReply& reply) {
  const LeaseId& id = reply.lease.id;
  std::erase(client.waiting, id);
  std::erase(client.leases, id);
  if (reply.outcome == Outcome::kQueued) client.waiting.push_back(id);
  if (reply.outcome == Outcome::kGranted || reply.outcome == Outcome::kRenewed) {
    client.leases.push_back(id);
  }
  if (reply.outcome == Outcome::kDeadlock) probe("deadlock");
}

void MachinesWorld::poll(Client& client, bool gives_up) {
  const LeaseId id = client.waiting[below(client.waiting.size())];
  std::optional<AcquireReply> reply;
  const auto done = perform(hub_of(client), client.owner, [&](Table& table) -> Result<bool> {
    LK_ASSIGN(reply, gives_up ? table.cancel(id, "given up") : table.poll(id));
    return reply->again;
  });
  if (done && !reply->again) return learn(client, *reply);
  if (!done && done.error().code == Code::kLost) std::erase(client.waiting, id);
}

void MachinesWorld::renew(Client& client) {
  const LeaseId id = client.leases[below(client.leases.size())];
  const auto ttl_ms = static_cast<std::int64_t>(below(kTtlMaxMs));
  const auto done = perform(hub_of(client), client.owner, [&](Table& table) {
    return finished(table.renew(client.owner, {id}, ttl_ms, client.attachment()));
  });
  if (done) {
    probe("renewed");
    return judge_.check_renewed(id, ttl_ms);
  }
  const Code why = done.error().code;
  if (why == Code::kLost || why == Code::kNotFound) std::erase(client.leases, id);
}

void MachinesWorld::release(Client& client) {
  const LeaseId id = client.leases[below(client.leases.size())];
  const auto done = perform(hub_of(client), client.owner, [&](Table& table) -> Result<bool> {
    LK_ASSIGN(const core::ReleaseReply reply, table.release_leases(client.owner, {id}));
    return reply.again;
  });
  if (done) std::erase(client.leases, id);
}

void MachinesWorld::end_session_of(Hub& hub, std::uint64_t session) {
  const auto done = perform(hub, {}, [&](Table& table) -> Result<bool> {
    const auto taken = core::take_over_session(table.state(), session);
    if (!taken && taken.error().code == Code::kLost) return false;
    LK_CHECK(taken);
    return finished(core::end_session(table.state(), session));
  });
  if (!done) throw Violation("L9: a session cannot be ended: " + done.error().message);
}

// A hub that has heard nothing of a client for long ends its session. The client may be elsewhere.
void MachinesWorld::end_silent(Hub& hub) {
  const std::set<std::uint64_t> kept = hub.view->kept;
  for (const std::uint64_t session : kept) {
    const auto talks = [&](const Client& client) {
      return client.session == session && &hub_of(client) == &hub;
    };
    if (std::ranges::any_of(clients_, talks) || !chance(10)) continue;
    const auto done = perform(
        hub, {}, [&](Table& table) { return finished(core::end_session(table.state(), session)); });
    if (hub.store == nullptr) return;
    if (!done) continue;
    hub.view->kept.erase(session);
    probe("a hub ended a session that it heard no more");
  }
}

// As a hub does that has heard of deaths: it looks at what they kept.
void MachinesWorld::look_at_everything(Hub& hub) {
  std::vector<LeaseId> ids;
  for (const auto& [id, lease] : judge_.leases()) ids.push_back(id);
  const auto done =
      perform(hub, {}, [&](Table& table) { return finished(table.note_deaths(ids)); });
  if (!done) throw Violation("L9: nobody can look: " + done.error().message);
}

// Everything that is still under way arrives. One hub stays down: what it kept goes by itself.
void MachinesWorld::end_all_clients() {
  faults_ = false;
  while (!sent_.empty()) arrive();
  if (chance(50) && hubs_.back()->store != nullptr) kill(*hubs_.back());
  for (const auto& hub : hubs_) {
    const bool stays_down = hub == hubs_.back() && hub->store == nullptr;
    if (hub->store != nullptr && hub->store->epoch().id != epoch_) kill(*hub);
    if (hub->store == nullptr && !stays_down) start(*hub);
    hub->stopped_until = 0;
  }
  for (Client& client : clients_) {
    if (client.alive) die(client);
    const bool heard =
        answers(hub_of(client)) && client.hub_clock == hub_of(client).sightings->own_clock();
    if (client.session != 0 && heard) end_session_of(hub_of(client), client.session);
  }
  for (const std::uint64_t session : abandoned_) end_session_of(*hubs_.front(), session);
}

// Kept by nobody in particular, and never over by time: only its owner can end it.
void MachinesWorld::release_endless() {
  const auto leases = judge_.leases();
  for (const auto& [id, lease] : leases) {
    if (lease.attached() || lease.terms.ttl_ms != kNoEnd) continue;
    const LeaseId endless = id;
    const auto done = perform(*hubs_.front(), lease.owner, [&](Table& table) {
      return finished(table.release_leases(lease.owner, {endless}));
    });
    if (!done) throw Violation("L9: cannot be released: " + done.error().message);
  }
}

void MachinesWorld::go_on_until(std::int64_t time) {
  while (now_ < time) {
    pass(kStepMs);
    vanish(100);
    for (const auto& hub : hubs_) {
      if (!answers(*hub) || now_ < hub->next_upkeep) continue;
      upkeep(*hub);
      look_at_everything(*hub);
    }
  }
}

// The bound of src/core/README.md: a second until it is seen, its ttl, a second until the next
// look, each by the slowest clock.
void MachinesWorld::liveness() {
  end_all_clients();
  release_endless();
  const std::int64_t healed = now_;
  const auto before = judge_.leases();
  const std::int64_t walk = for_all_clocks(core::Sightings::kWalkEveryMs) + kStepMs;
  go_on_until(healed + walk + for_all_clocks(kTtlMaxMs) + walk);
  for (const auto& [id, lease] : before) {
    const std::int64_t left = lease.deadline_mono_ms - lease.written.mono_ms;
    const bool timed = lease.terms.ttl_ms != kNoEnd && left <= kTtlMaxMs;
    if (!timed || lease.confirm_by_mono_ms != 0 || !judge_.leases().contains(id)) continue;
    throw Violation("L2: it should have ended by time: " + lease.owner.agent + ", with " +
                    std::to_string(left) + " ms left when the faults stopped at " +
                    std::to_string(healed));
  }
  const std::int64_t longest = 10 * core::kUnreportedMs;  // of an edit
  go_on_until(healed + for_all_clocks(longest) + for_all_clocks(kGraceMs) + 4 * walk);
  for (const auto& [id, lease] : judge_.leases()) {
    throw Violation("L9: faults have stopped, and this never ended: " + lease.owner.agent + " " +
                    lease.claims.front().resource.text());
  }
  for (const auto& [id, waiter] : judge_.waiters()) {
    throw Violation("L9: faults have stopped, and this waits: " + waiter.owner.agent);
  }
}

// L8: whoever is left forgets what all others have noted.
void MachinesWorld::everything_is_forgotten() {
  for (std::size_t i = 1; i < hubs_.size(); ++i) {
    if (hubs_[i]->store != nullptr) kill(*hubs_[i]);
  }
  constexpr std::int64_t kHourMs = 3'600'000;
  for (int hours = 0; hours < 60; hours += 3) {
    pass(3 * kHourMs);
    vanish(100);
    upkeep(*hubs_.front());
  }
  const auto txn = store_->begin(kv::Access::kRead);
  const auto look = [&](const kv::Row& row) {
    if (!row.key.starts_with("e") && row.key != "t") {
      throw Violation("L8: a row is left forever: " + to_hex(row.key));
    }
    return true;
  };
  if (!(*txn)->scan({"\x01", "\x7f"}, look, kv::Read::kPeek)) throw Violation("cannot read");
}

}  // namespace lockkeeper::sim
