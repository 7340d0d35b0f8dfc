#include "episode.h"

#include "base/bytes.h"
#include "core/audit.h"

namespace lockkeeper::sim {

using core::Event;
using core::LeaseId;
using Kind = Op::Kind;
using Fault = kv::Decision::Kind;

namespace {

constexpr int kDepthMax = 2;
constexpr int kAfterwards = -2;  // of the safety phase
constexpr int kLivenessRounds = 400;
constexpr std::uint64_t kFullAuditEvery = 64;

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
  return limits;
}

bool is_of_the_store(Code code) {
  return code == Code::kStoreUnavailable || code == Code::kStoreBusy || code == Code::kNoSpace ||
         code == Code::kUnknown;
}

}  // namespace

Episode::Episode(const World& world, Probes& probes, EpisodeOptions options)
    : world_(world),
      probes_(probes),
      options_(options),
      seeded_(options.seed),
      random_(options.random != nullptr ? *options.random : seeded_),
      flavour_(flavour_of(options.seed)),
      epoch_{1, 1'000'000, 500},
      limits_(limits_of(options.seed)),
      model_(world, processes_),
      judge_(model_, limits_, flavour_ == kv::Flavour::kOptimistic, probes),
      store_({flavour_, epoch_, 0}) {
  model_.epoch = epoch_;
  model_.now = epoch_.start_mono_ms;
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
  }
  step_ = kAfterwards;
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
  wall_ += static_cast<std::int64_t>(below(20'000)) - 10'000;
}

void Episode::reboot() {
  processes_.kill_all();
  store_.crash();
  epoch_.id += 1 + below(3);
  epoch_.fence_offset += static_cast<std::int64_t>(below(1'000));
  epoch_.start_mono_ms = static_cast<std::int64_t>(below(5'000));
  store_.reopen(epoch_);
  judge_.reboot(epoch_);
  for (auto& actor : actors_) {
    died(*actor);
    actor->commands.clear();
  }
  ++probes_["reboot"];
  if (options_.trace != nullptr) *options_.trace += "reboot\n";
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
  if (flavour_ == kv::Flavour::kOptimistic && faults_ && depth_ < kDepthMax && chance(30)) {
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
    plan.at_commit.error = {chance(50) ? Code::kStoreUnavailable : Code::kNoSpace, "injected", ""};
  }
}

kv::Decision Episode::decide(Actor& actor, const kv::CallInfo& info) {
  Plan& plan = actor.plan;
  ++plan.calls;
  if (plan.calls == plan.nest_at || plan.calls == plan.nest_again_at) nest();
  actor.version_at_commit = store_.version();
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
  perform(other, choose(other));
}

core::Context Episode::context_of(const Actor& actor) {
  return {{model_.now, wall_}, epoch_, ++ticket_, actor.view.get(), limits_};
}

Result<Answer> Episode::call(core::Table& table, const Op& op) {
  const auto wrap = [](auto result) -> Result<Answer> {
    if (!result) return std::unexpected(std::move(result.error()));
    return Answer(std::move(*result));
  };
  std::vector<key::Resource> resources;
  for (const int resource : op.resources) resources.push_back(world_.resource(resource));
  switch (op.kind) {
    case Kind::kAcquire:
      return wrap(table.acquire(op.request));
    case Kind::kPoll:
      return wrap(table.poll(op.ids.front()));
    case Kind::kCancel:
      return wrap(table.cancel(op.ids.front(), "given up"));
    case Kind::kRelease:
      return wrap(table.release(op.owner, resources));
    case Kind::kReleaseLeases:
      return wrap(table.release_leases(op.owner, op.ids));
    case Kind::kRenew:
      return wrap(table.renew(op.owner, op.ids, op.ttl_ms, op.attachment));
    case Kind::kCheck:
      return wrap(table.check(op.request, op.fence));
    case Kind::kBreak:
      return wrap(table.break_leases(op.how, op.ids));
    case Kind::kMaintain:
      return wrap(table.maintain(op.most));
    case Kind::kNotices:
      return wrap(table.take_lost_notices(op.owner));
  }
  return fail(Code::kFailed, "no such operation");
}

bool Episode::attempt(Actor& actor, const Op& op) {
  ++operations_;
  const std::uint64_t deaths = processes_.deaths();
  const kv::Version begun = store_.version();
  const auto access = op.kind == Kind::kCheck ? kv::Access::kRead : kv::Access::kWrite;
  auto txn = actor.store->begin(access);
  if (!txn) {
    note(actor, op, "begin: " + txn.error().message);
    learn_error(actor, op, txn.error().code);
    return false;
  }
  const core::Context context = context_of(actor);
  std::vector<std::uint64_t> wake;
  Result<Answer> answer = fail(Code::kFailed, "");
  {
    core::Table table(**txn, context);
    answer = call(table, op);
    wake = table.wake();
  }
  if (!answer) {
    const Error error = answer.error();
    txn->reset();
    note(actor, op, "error: " + error.message);
    if (!is_of_the_store(error.code)) {
      const bool strict = deaths == processes_.deaths() && begun == store_.version();
      judge_.refused(op, error, *actor.view, strict);
    }
    learn_error(actor, op, error.code);
    return false;
  }
  bool retry = false;
  commit(actor, op, *answer, std::move(*txn), std::move(wake), deaths, begun, retry);
  return retry && !actor.store->crashed();
}

void Episode::commit(Actor& actor, const Op& op, Answer& answer, std::unique_ptr<kv::Txn> txn,
                     std::vector<std::uint64_t> wake, std::uint64_t deaths, kv::Version begun,
                     bool& retry) {
  actor.version_at_commit = store_.version();
  const Result<kv::CommitResult> done = txn->commit();
  txn.reset();
  const kv::Version version = store_.version();
  const bool applied = version > actor.version_at_commit;
  const bool refused = done && done->fate == kv::Fate::kConflict;
  auto* acquired = std::get_if<core::AcquireReply>(&answer);
  if (applied || (done && !refused)) {
    if (acquired != nullptr) acquired->stamp(applied ? version : done->version);
    // What was read without writing is true of when it was read.
    const bool fresh = applied || begun == version;
    Done what{op,
              answer,
              applied ? version : 0,
              {},
              std::move(wake),
              *actor.view,
              deaths == processes_.deaths() && fresh,
              begun == version - (applied ? 1 : 0)};
    auto reader = store_.begin(kv::Access::kRead);
    if (!reader) throw Violation("cannot read the store: " + reader.error().message);
    if (applied) what.events = events_of(**reader, version);
    note(actor, op, applied ? "committed " + std::to_string(version) : "read");
    if (options_.trace != nullptr) {
      for (const Event& event : what.events) {
        *options_.trace += "      " + event.what + " " + event.lease.text() + " of " +
                           event.owner.agent + "(" + event.owner.session + ") " + event.cause +
                           "\n";
      }
    }
    observe(op, what.events);
    judge_.committed(what);
    if (applied) check_table(**reader, actor);
  } else {
    note(actor, op, refused ? "conflict" : "commit: " + done.error().message);
  }
  if (!done) {
    if (done.error().code == Code::kUnknown) ++probes_[applied ? "reply lost" : "request lost"];
    return learn_error(actor, op, done.error().code);
  }
  const bool again = acquired != nullptr && acquired->again;
  retry = refused || again;
  if (refused) ++probes_["refused commit"];
  if (!retry) learn(actor, op, answer);
}

std::vector<Event> Episode::events_of(kv::Txn& txn, kv::Version version) {
  std::string prefix(core::kEventPrefix);
  append_be64(prefix, version);
  std::vector<Event> events;
  const auto read = txn.scan(kv::prefix_range(prefix), [&](const kv::Row& row) {
    auto event = core::decode_event(row.key, row.value);
    if (!event) throw Violation("I10: an event cannot be read");
    events.push_back(std::move(*event));
    return true;
  });
  if (!read) throw Violation("cannot read the history");
  return events;
}

// Branches that show in what was there before the commit.
void Episode::observe(const Op& op, const std::vector<Event>& events) {
  std::map<LeaseId, std::size_t> followers;
  for (const auto& [key, row] : waiter_rows_) ++followers[row.record.blocker];
  for (const Event& event : events) {
    const bool ends = event.what == "released" || event.what == "ended" ||
                      event.what == "expired" || event.what == "broken";
    if (!ends) continue;
    const auto found = followers.find(event.lease);
    if (found != followers.end() && found->second > limits_.grants_per_commit) {
      ++probes_["a page of followers"];
    }
    const bool swept = op.kind == Kind::kMaintain || op.kind == Kind::kAcquire;
    if (!swept && event.what != "released" && event.what != "broken" &&
        event.cause != "parent_ended") {
      ++probes_["reaped while handing off"];
    }
  }
}

void Episode::check_table(kv::Txn& txn, const Actor& actor) {
  ++checks_;
  const auto take = [&](auto& mirror, const kv::Row& row, auto decode) {
    auto place = mirror.find(row.key);
    if (place == mirror.end()) place = mirror.try_emplace(std::string(row.key)).first;
    place->second.seen = checks_;
    if (place->second.modified != row.modified) {
      auto record = decode(LeaseId{std::string(row.key.substr(1))}, row.value, row.created);
      if (!record) throw Violation("I10: a record cannot be read");
      place->second.modified = row.modified;
      place->second.record = std::move(*record);
    }
    return true;
  };
  bool read = true;
  read &= txn.scan(kv::prefix_range("l"),
                   [&](const kv::Row& row) {
                     return row.key.size() == 5 || take(lease_rows_, row, core::decode_lease);
                   })
              .has_value();
  read &= txn.scan(kv::prefix_range("w"),
                   [&](const kv::Row& row) { return take(waiter_rows_, row, core::decode_waiter); })
              .has_value();
  if (!read) throw Violation("cannot read the table");
  std::erase_if(lease_rows_, [&](const auto& row) { return row.second.seen != checks_; });
  std::erase_if(waiter_rows_, [&](const auto& row) { return row.second.seen != checks_; });
  if (lease_rows_.size() != model_.leases.size()) throw Violation("I5: a lease has no row");
  if (waiter_rows_.size() != model_.waiters.size()) throw Violation("a waiter has no row");
  for (const auto& [key, row] : lease_rows_) judge_.compare(row.record);
  for (const auto& [key, row] : waiter_rows_) {
    judge_.compare(row.record);
    if (!row.record.alone) ++probes_["filed not alone"];
  }
  const bool full = checks_ % kFullAuditEvery == 0;
  core::Context context{{model_.now, wall_}, epoch_, 0, actor.view.get(), limits_};
  const auto problems = core::audit(txn, context, {full, full, 5});
  if (!problems) throw Violation("the audit failed: " + problems.error().message);
  for (const std::string& problem : *problems) throw Violation("audit: " + problem);
  const std::string later = core::due_key(0, 0, core::Due::kHandoff, "");
  const auto left = txn.scan(kv::prefix_range(later), [&](const kv::Row&) {
    ++probes_["handoff left for later"];
    return false;
  });
  if (!left) throw Violation("cannot read the due rows");
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

// L8: what is remembered of the past goes away some day, and nothing else is left.
void Episode::everything_is_forgotten() {
  for (int round = 0; round < 60; ++round) {
    model_.now += limits_.remember_ms / 4;
    Op upkeep = simple(*actors_.front(), Kind::kMaintain);
    upkeep.most = 1'000;
    perform(*actors_.front(), upkeep);
  }
  auto txn = store_.begin(kv::Access::kRead);
  if (!txn) throw Violation("cannot read the store");
  const auto read = (*txn)->scan({"\x01", "\x7f"}, [&](const kv::Row& row) {
    if (!row.key.starts_with(core::kEventPrefix)) {
      throw Violation("L8: a row is left for ever: " + to_hex(row.key));
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
