#include "episode.h"

#include <algorithm>

#include "base/bytes.h"

namespace lockkeeper::sim {

using core::LeaseId;
using Kind = Op::Kind;
using Fault = kv::Decision::Kind;

namespace {

constexpr int kDepthMax = 2;
constexpr int kAfterwards = -2;  // of the safety phase
constexpr int kLivenessRounds = 400;

kv::Flavour flavour_of(std::uint64_t seed) {
  return seed % 2 == 0 ? kv::Flavour::kPessimistic : kv::Flavour::kOptimistic;
}

// Small limits in some episodes, so that what happens at a limit is seen often.
core::Limits limits_of(std::uint64_t seed) {
  SeededRandom random(seed ^ 0x11b1);
  core::Limits limits;
  const std::size_t grants[] = {1, 2, 3, 32};
  const std::size_t ends[] = {2, 4, 1000, 1000};
  limits.grants_per_commit = grants[random_below(random, 4)];
  limits.ends_per_commit = ends[random_below(random, 4)];
  limits.events_kept = 40;
  if (random_below(random, 8) == 0) limits.rows_per_glob = 6;
  if (random_below(random, 8) == 0) limits.claims_per_agent = 5;
  if (random_below(random, 8) == 0) limits.queue_length = 2;
  if (random_below(random, 8) == 0) limits.comparisons = 4;
  return limits;
}

// Some stores take less in one commit than others.
std::size_t guards_of(std::uint64_t seed) {
  return seed % 8 == 3 ? kv::kOptimisticGuardsMax * 52 / 100 : kv::kOptimisticGuardsMax;
}

}  // namespace

Episode::Episode(const World& world, Probes& probes, EpisodeOptions options)
    : world_(world),
      probes_(probes),
      options_(options),
      seeded_(options.seed),
      random_(options.random != nullptr ? *options.random : seeded_),
      watch_(world, probes, flavour_of(options.seed), limits_of(options.seed),
             {.guards_max = guards_of(options.seed)}),
      model_(watch_.model),
      processes_(watch_.processes) {
  watch_.trace = options.trace;
  add_actors();
}

void Episode::run() {
  safety();
  liveness();
  everything_is_forgotten();
}

void Episode::safety() {
  for (step_ = 0; step_ < options_.steps; ++step_) {
    advance_clock();
    if (below(400) == 0) reboot();
    for (auto& actor : actors_) {
      if (actor->commands.empty() || below(120) != 0) continue;
      processes_.kill(actor->commands.back());
      actor->commands.pop_back();
    }
    step();
    if (watch_.flavour != kv::Flavour::kOptimistic) continue;
    if (chance(20)) arrive();
    if (chance(5)) watch_.vanish([&] { return chance(50); });
  }
  while (!sent_.empty()) arrive();
  step_ = kAfterwards;
}

void Episode::arrive() {
  if (sent_.empty()) return;
  Sent sent = std::move(sent_.front());
  sent_.pop_front();
  note(*sent.actor, sent.op, "arrives");
  watch_.arrived(sent.open, sent.op, *sent.actor->view, *sent.actor->store);
}

void Episode::step() {
  Actor& actor = *actors_[below(actors_.size())];
  if (actor.dead) return restart(actor);
  if (below(150) == 0) return died(actor);  // killed between two calls
  perform(actor, choose(actor));
}

// Leases are timed on the monotonic clock; the wall clock goes where it likes (F8).
void Episode::advance_clock() {
  const std::uint64_t dice = below(10'000);
  std::uint64_t most = 50;
  if (dice < 5) {
    most = 100'000'000;
  } else if (dice < 100) {
    most = 60'000;
  } else if (dice < 600) {
    most = 12'000;
  } else if (dice < 2'500) {
    most = 1'000;
  }
  model_.now += static_cast<std::int64_t>(below(most));
  watch_.wall_ms += static_cast<std::int64_t>(below(20'000)) - 10'000;
  if (below(100) != 0) return;
  // Stepped by an administrator, wrong at boot, or the lid was closed: the monotonic clock stands
  // still in suspend, the wall clock does not (F10).
  const std::int64_t hour = 3'600'000;
  const std::int64_t steps[] = {hour, -hour, 87'600 * hour, -87'600 * hour, 9 * hour};
  watch_.wall_ms += steps[below(5)];
  ++probes_["wall clock jumped"];
}

void Episode::reboot() {
  kv::Epoch next = watch_.epoch;
  // The machine may go down again before anybody has committed anything (F12).
  for (std::uint64_t boots = 1 + below(2); boots > 0; --boots) {
    next.id += 1 + below(3);
    next.fence_offset += static_cast<std::int64_t>(below(1'000));
    next.start_mono_ms = static_cast<std::int64_t>(below(5'000));
  }
  if (watch_.flavour == kv::Flavour::kPessimistic && chance(25)) {
    // Its versions begin anew, too.
    next.fence_offset += static_cast<std::int64_t>(watch_.store().version());
    for (auto& actor : actors_) actor->store.reset();
    watch_.recreate(next);
    for (auto& actor : actors_) open_store(*actor);
  } else {
    watch_.reboot(next);
  }
  for (auto& actor : actors_) {
    died(*actor);
    actor->commands.clear();
  }
}

void Episode::perform(Actor& actor, const Op& op) {
  actor.busy = true;
  ++depth_;
  bool first = true;
  for (int tries = 0; tries < 8; ++tries) {
    make_plan(actor, first && faults_);
    first = false;
    if (!attempt(actor, op)) break;
  }
  --depth_;
  actor.busy = false;
  if (actor.store->crashed()) died(actor);
}

void Episode::make_plan(Actor& actor, bool faulty) {
  actor.plan = {};
  Plan& plan = actor.plan;
  if (step_ == options_.crash_step && depth_ == 1 && faulty) {
    plan.fault_at = options_.crash_call;
    plan.fault.kind = options_.crash_after ? Fault::kDieAfter : Fault::kDie;
  }
  if (watch_.flavour == kv::Flavour::kOptimistic && faults_ && depth_ < kDepthMax && chance(30)) {
    plan.nest_at = 1 + below(chance(50) ? 20 : 80);
    if (chance(30)) plan.nest_again_at = 1 + below(80);
  }
  if (!faulty) return;
  if (chance(6) && plan.fault_at == 0) {
    plan.fault_at = 1 + below(chance(50) ? 10 : 80);
    const std::uint64_t dice = below(3);
    plan.fault.kind = dice == 0 ? Fault::kDie : dice == 1 ? Fault::kDieAfter : Fault::kFail;
    plan.fault.error = {chance(50) ? Code::kStoreUnavailable : Code::kNoSpace, "injected", ""};
  }
  if (chance(8)) {
    const Fault kinds[] = {Fault::kConflict,  Fault::kConflict,    Fault::kLoseReply,
                           Fault::kLoseReply, Fault::kLoseRequest, Fault::kDie,
                           Fault::kDieAfter,  Fault::kFail};
    plan.at_commit.kind = kinds[below(8)];
    const bool late = watch_.flavour == kv::Flavour::kOptimistic && chance(20);
    if (late) plan.at_commit.kind = Fault::kArriveLate;
    plan.at_commit.error = {chance(50) ? Code::kStoreUnavailable : Code::kNoSpace, "injected", ""};
  }
}

kv::Decision Episode::decide(Actor& actor, const kv::CallInfo& info) {
  Plan& plan = actor.plan;
  ++plan.calls;
  if (plan.calls == plan.nest_at || plan.calls == plan.nest_again_at) nest();
  actor.version_at_commit = watch_.store().version();
  if (plan.calls == plan.fault_at) {
    ++probes_[std::string("fault at ") + std::string(kv::call_name(info.call))];
    crashed_as_told_ |= step_ == options_.crash_step;
    return plan.fault;
  }
  if (info.call == kv::Call::kCommit) return plan.at_commit;
  return {};
}

// Somebody else's whole operation, in the middle of a transaction.
void Episode::nest() {
  Actor& other = *actors_[below(actors_.size())];
  if (other.busy || other.dead) return;
  ++probes_["interleaved"];
  if (chance(15)) {
    // The store call takes its time (F22): what was decided before was decided on an old clock.
    model_.now += static_cast<std::int64_t>(below(chance(50) ? 100 : 15'000));
    ++probes_["slow store call"];
  }
  perform(other, choose(other));
}

bool Episode::attempt(Actor& actor, const Op& op) {
  ++operations_;
  auto open = watch_.open(*actor.store, op, *actor.view);
  if (!open) {
    note(actor, op, "error: " + open.error().message);
    learn_error(actor, op, open.error().code);
    return false;
  }
  actor.version_at_commit = watch_.store().version();
  note(actor, op, "commits");
  const std::size_t under_way = actor.store->under_way();
  const auto fate = watch_.finish(*open, op, *actor.view, actor.version_at_commit);
  if (!fate) {
    note(actor, op, "commit: " + fate.error().message);
    if (actor.store->under_way() > under_way) sent_.push_back({&actor, op, std::move(*open)});
    learn_error(actor, op, fate.error().code);
    return false;
  }
  if (*fate == Watch::Fate::kDone) learn(actor, op, open->answer);
  return *fate == Watch::Fate::kTryAgain && !actor.store->crashed();
}

void Episode::liveness() {
  faults_ = false;
  for (int round = 0; round < kLivenessRounds; ++round) {
    model_.now += 1'000;
    bool anybody = !model_.leases.empty() || !model_.waiters.empty();
    for (auto& actor : actors_) {
      if (actor->dead) restart(*actor);
      if (actor->retry) {
        const Op again = *actor->retry;
        actor->retry.reset();
        perform(*actor, again);
      }
      const std::vector<LeaseId> waiting = actor->waiting;
      for (const LeaseId& id : waiting) perform(*actor, simple(*actor, Kind::kPoll, {id}));
      std::vector<LeaseId> own;
      for (const auto& [id, entry] : model_.leases) {
        if (entry.owner == actor->owner && chance(40)) own.push_back(id);
      }
      if (!own.empty()) perform(*actor, simple(*actor, Kind::kReleaseLeases, own));
      anybody = anybody || !actor->waiting.empty() || actor->retry.has_value();
    }
    release_for_nobody();
    Op upkeep = simple(*actors_.front(), Kind::kMaintain);
    upkeep.most = 100;
    perform(*actors_.front(), upkeep);
    if (!anybody && model_.leases.empty() && model_.waiters.empty()) return;
  }
  std::string left;
  for (const auto& [id, entry] : model_.waiters) left += "\n  " + Judge::describe(entry, world_);
  for (const auto& [id, entry] : model_.leases) left += "\n  " + Judge::describe(entry, world_);
  throw Violation("L9: faults have stopped, and this never ended:" + left);
}

// What a part has passed on may be a session's that is none of the actors.
void Episode::release_for_nobody() {
  for (const auto& [id, entry] : model_.leases) {
    const bool known = std::ranges::any_of(
        actors_, [&](const auto& actor) { return actor->owner == entry.owner; });
    if (known) continue;
    Op op = simple(*actors_.front(), Kind::kReleaseLeases, {LeaseId(id)});
    op.owner = entry.owner;
    return perform(*actors_.front(), op);
  }
}

// L8: what is remembered of the past goes away some day, and nothing else is left.
void Episode::everything_is_forgotten() {
  for (int round = 0; round < 100; ++round) {  // traces are kept for two weeks
    model_.now += watch_.limits.remember_ms / 4;
    Op upkeep = simple(*actors_.front(), Kind::kMaintain);
    upkeep.most = 1'000;
    perform(*actors_.front(), upkeep);
  }
  auto txn = watch_.store().begin(kv::Access::kRead);
  if (!txn) throw Violation("cannot read the store");
  const auto read = (*txn)->scan({"\x01", "\x7f"}, [&](const kv::Row& row) {
    if (!row.key.starts_with(core::kEventPrefix) && row.key != core::kHistoryKey) {
      throw Violation("L8: a row is left forever: " + to_hex(row.key));
    }
    return true;
  });
  if (!read) throw Violation("cannot read the store");
  txn->reset();
  // So a request id may be used again: it is a new request then.
  if (last_named_) perform(*actors_.front(), *last_named_);
}

void Episode::note(const Actor& actor, const Op& op, const std::string& outcome) {
  if (options_.trace == nullptr) return;
  *options_.trace += std::string(static_cast<std::size_t>(depth_) * 2, ' ') + "[" +
                     std::to_string(model_.now) + " p" + std::to_string(actor.process) + "] " +
                     Judge::describe(op) + "  =>  " + outcome + "\n";
}

}  // namespace lockkeeper::sim
