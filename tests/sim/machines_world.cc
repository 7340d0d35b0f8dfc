#include "machines_world.h"

#include <algorithm>

#include "core/audit.h"

namespace lockkeeper::sim {

using core::Table;
using Fault = kv::Decision::Kind;

namespace {

constexpr std::size_t kHubs = 3;
constexpr int kSteps = 400;
constexpr int kDepthMax = 2;
constexpr std::int64_t kOffsetPerEpoch = 1'000'000;

}  // namespace

MachinesWorld::MachinesWorld(std::uint64_t seed, MachinesJudge::Probes& probes, std::string* trace)
    : seed_(seed),
      probes_(probes),
      trace_(trace),
      random_(seed),
      store_(std::make_unique<kv::MemoryStore>(
          kv::MemoryOptions{.flavour = kv::Flavour::kOptimistic,
                            .epoch = {.id = 1, .fence_offset = kOffsetPerEpoch},
                            .start_version = 10})),
      judge_(world_, probes, [this](std::uint64_t number) { return bool{dead_[number]}; }),
      judged_(store_->version()) {
  dead_.push_back(false);
  for (std::size_t i = 0; i < kHubs; ++i) {
    auto hub = std::make_unique<Hub>();
    hub->name = "hub " + std::to_string(i);
    hub->per_mille = kSlowest + static_cast<std::int64_t>(below(kFastest - kSlowest + 1));
    hub->view = std::make_unique<Hears>(clients_, dead_, i);
    start(*hub);
    hubs_.push_back(std::move(hub));
  }
  const char* const names[] = {"ann", "bob", "cat", "dan", "eve"};
  for (const char* const name : names) {
    Client client;
    client.owner = {name, name == names[0] ? "" : std::string("s-") + name};
    client.hub = below(kHubs);
    client.process = dead_.size();
    dead_.push_back(false);
    clients_.push_back(std::move(client));
  }
}

void MachinesWorld::note(const std::string& what) {
  if (trace_ != nullptr) *trace_ += "[" + std::to_string(now_) + "] " + what + "\n";
}

std::int64_t MachinesWorld::local(const Hub& hub) const {
  return hub.offset + now_ * hub.per_mille / 1'000;
}

bool MachinesWorld::answers(const Hub& hub) const {
  return hub.store != nullptr && !hub.busy && now_ >= hub.stopped_until;
}

// A new boot: its clock has nothing to do with the one before.
void MachinesWorld::start(Hub& hub) {
  hub.offset = static_cast<std::int64_t>(below(chance(50) ? 1'000 : 100'000'000));
  hub.opened_at = now_;
  hub.store = store_->open_another(local(hub));
  Hub* const self = &hub;
  hub.faulty = std::make_shared<kv::FaultyStore>(
      *hub.store, [this, self](const kv::CallInfo& info) { return decide(*self, info); });
  if (seed_ % 2 == 1) hub.faulty->never_settle();
  hub.sightings = std::make_unique<core::Sightings>(++numbers_);
  hub.next_upkeep = now_;
  note(hub.name + " starts");
}

void MachinesWorld::kill(Hub& hub) {
  hub.faulty->crash();
  hub.faulty.reset();  // what it has sent is kept by whoever waits for it
  hub.store.reset();
  hub.sightings.reset();
  hub.view->kept.clear();
  hub.stopped_until = 0;
  probe("a hub was killed");
  note(hub.name + " is killed");
}

void MachinesWorld::make_plan(Hub& hub, bool faulty) {
  hub.plan = {};
  if (!faults_) return;
  if (depth_ < kDepthMax && chance(30)) hub.plan.nest_at = 1 + below(chance(50) ? 20 : 60);
  if (!faulty) return;
  if (chance(2)) {
    hub.plan.fault_at = 1 + below(40);
    const Fault kinds[] = {Fault::kDie, Fault::kDieAfter, Fault::kFail};
    hub.plan.fault.kind = kinds[below(3)];
    hub.plan.fault.error = {Code::kStoreUnavailable, "injected", ""};
  }
  if (!chance(12)) return;
  const Fault kinds[] = {Fault::kConflict, Fault::kLoseReply, Fault::kLoseRequest,
                         Fault::kArriveLate};
  hub.plan.at_commit.kind = kinds[below(4)];
}

kv::Decision MachinesWorld::decide(Hub& hub, const kv::CallInfo& info) {
  Plan& plan = hub.plan;
  ++plan.calls;
  if (plan.calls == plan.nest_at) {
    ++depth_;
    if (chance(20)) pass(static_cast<std::int64_t>(below(15'000)));  // a slow store call
    Client& other = clients_[below(clients_.size())];
    if (answers(*hubs_[other.hub])) act(other);
    --depth_;
    probe("interleaved");
  }
  if (plan.calls == plan.fault_at) return plan.fault;
  if (info.call == kv::Call::kCommit) return plan.at_commit;
  return {};
}

core::Context MachinesWorld::context(Hub& hub) {
  core::Context context;
  context.now = {local(hub), 1'700'000'000'000 + now_};
  context.epoch = hub.store->epoch();
  context.ticket = ticket_ += 10;
  context.prober = hub.view.get();
  context.sightings = hub.sightings.get();
  context.limits.events_kept = 100;
  return context;
}

Result<void> MachinesWorld::perform(Hub& hub, const core::Owner& owner, const Work& work) {
  if (faults_) ++operations_;
  hub.busy = true;
  Result<void> outcome;
  for (int tries = 0; tries < 40; ++tries) {
    make_plan(hub, tries == 0);
    const Result<bool> again = attempt(hub, owner, work);
    outcome = again ? Result<void>() : fail(again.error());
    if (!again || !*again) break;
  }
  hub.busy = false;
  if (!outcome) {
    const bool new_epoch = outcome.error().message.find("new epoch") != std::string::npos;
    if (new_epoch) probe("a commit of an epoch that is over");
    if (hub.faulty->crashed() || new_epoch) kill(hub);
  }
  return outcome;
}

Result<bool> MachinesWorld::attempt(Hub& hub, const core::Owner& owner, const Work& work) {
  const std::shared_ptr<kv::FaultyStore> through = hub.faulty;
  LK_ASSIGN(std::unique_ptr<kv::Txn> txn, through->begin(kv::Access::kWrite));
  const core::Context now = context(hub);
  const Committer by{hub.name, hub.sightings->own_clock(), now_, hub.per_mille, hub.opened_at,
                     owner};
  bool again = false;
  {
    Table table(*txn, now);
    LK_ASSIGN(again, work(table));
  }
  const std::size_t under_way = through->under_way();
  const auto done = txn->commit();
  txn.reset();
  if (through->under_way() > under_way) sent_.push_back({through, by});
  judge(by);
  if (!done) {
    if (done.error().code == Code::kUnknown) probe("an unknown outcome");
    return fail(done.error());
  }
  if (done->fate == kv::Fate::kConflict) probe("a conflict");
  return again || done->fate == kv::Fate::kConflict;
}

// Looks at the newest version, if it is one that nobody has looked at.
void MachinesWorld::judge(const Committer& by) {
  const kv::Version version = store_->version();
  if (version == judged_) return;
  judged_ = version;
  const auto reader = store_->begin(kv::Access::kRead);
  judge_.committed(**reader, version, by);
  if (++commits_ % 16 != 0) return;
  core::Context now;
  now.now.mono_ms = 0;
  now.epoch = store_->epoch();
  const Hears nobody(clients_, dead_, kHubs);
  now.prober = &nobody;
  const auto problems = core::audit(**reader, now, {commits_ % 256 == 0, false, 5});
  if (!problems) throw Violation("the audit failed: " + problems.error().message);
  for (const std::string& problem : *problems) throw Violation("audit: " + problem);
}

void MachinesWorld::arrive() {
  if (sent_.empty()) return;
  const Sent sent = std::move(sent_.front());
  sent_.pop_front();
  const auto done = sent.through->arrive();
  judge(sent.by);
  const bool happened = done && done->fate == kv::Fate::kCommitted;
  probe(happened ? "a late commit arrived" : "a late commit came too late");
  note("a commit of " + sent.by.hub + (happened ? " arrives" : " comes too late"));
}

void MachinesWorld::vanish(std::uint64_t percent) {
  const std::size_t gone = store_->vanish([&](std::string_view) { return chance(percent); });
  probes_["vanished"] += gone;
  judged_ = store_->version();
}

void MachinesWorld::pass(std::int64_t ms) {
  now_ += ms;
  store_->pass(ms);
}

void MachinesWorld::run() {
  try {
    for (int i = 0; i < kSteps; ++i) step();
    liveness();
    everything_is_forgotten();
  } catch (const Violation& violation) {
    throw Violation(std::string(violation.what()) + "\n  at " + std::to_string(now_));
  }
}

void MachinesWorld::step() {
  const std::uint64_t dice = below(1'000);
  const std::uint64_t most = dice < 5 ? 100'000 : dice < 40 ? 15'000 : dice < 200 ? 2'000 : 200;
  pass(static_cast<std::int64_t>(below(most)));
  disturb();
  for (const auto& hub : hubs_) {
    if (answers(*hub) && now_ >= hub->next_upkeep && chance(80)) upkeep(*hub);
  }
  act(clients_[below(clients_.size())]);
}

void MachinesWorld::disturb() {
  for (const auto& hub : hubs_) {
    if (hub->store == nullptr && chance(10)) start(*hub);
    if (hub->store == nullptr) continue;
    if (below(300) == 0) kill(*hub);
    if (below(150) == 0) {
      hub->stopped_until = now_ + static_cast<std::int64_t>(below(chance(30) ? 90'000 : 20'000));
      probe("a hub was stopped");
    }
  }
  if (below(400) == 0) {
    epoch_ += 1 + below(2);
    const auto offset = static_cast<std::int64_t>(epoch_) * kOffsetPerEpoch;
    store_->begin_epoch({.id = epoch_, .fence_offset = offset});
    judge_.begin_epoch(epoch_);
    probe("a new epoch");
    note("a new epoch begins");
  }
  if (chance(10)) arrive();
  if (chance(20)) vanish(40);
  for (Client& client : clients_) {
    if (client.alive && below(250) == 0) die(client);
    if (below(250) == 0) client.away_until = now_ + static_cast<std::int64_t>(below(150'000));
  }
}

void MachinesWorld::die(Client& client) {
  dead_[client.process] = true;
  client.alive = false;
  if (chance(40)) client.leases.clear();  // or its session knows of them
  client.waiting.clear();
  probe("a process was killed");
}

void MachinesWorld::upkeep(Hub& hub) {
  hub.next_upkeep = now_ + 1'000;
  const auto done = perform(hub, {}, [](Table& table) { return table.maintain(20); });
  if (!done) note(hub.name + " upkeep: " + done.error().message);
  if (hub.store != nullptr) end_silent(hub);
}

}  // namespace lockkeeper::sim
