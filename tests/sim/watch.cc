#include "watch.h"

#include <algorithm>

#include "core/audit.h"
#include "core/reboot.h"

namespace lockkeeper::sim {

using core::Event;
using core::LeaseId;
using Kind = Op::Kind;

namespace {

constexpr kv::Epoch kFirstEpoch{1, 1'000'000, 500};
constexpr std::uint64_t kHistoryEvery = 16;

bool is_of_the_store(Code code) {
  return code == Code::kStoreUnavailable || code == Code::kStoreBusy || code == Code::kNoSpace ||
         code == Code::kUnknown;
}

// The model's clock as an operation was told it, while that one is judged.
class AsOf {
 public:
  AsOf(Model& model, std::int64_t now) : model_(model), real_(model.now) { model.now = now; }
  ~AsOf() { model_.now = real_; }
  AsOf(const AsOf&) = delete;
  AsOf& operator=(const AsOf&) = delete;

 private:
  Model& model_;
  const std::int64_t real_;
};

kv::MemoryOptions store_options(kv::Flavour flavour, const kv::Epoch& epoch,
                                const Watching& watching) {
  return {.flavour = flavour, .epoch = epoch, .guards_max = watching.guards_max};
}

}  // namespace

Watch::Watch(const World& the_world, Probes& the_probes, kv::Flavour the_flavour,
             const core::Limits& the_limits, Watching watching)
    : world(the_world),
      probes(the_probes),
      flavour(the_flavour),
      limits(the_limits),
      model(the_world, processes),
      judge(model, the_limits, the_flavour == kv::Flavour::kOptimistic, the_probes),
      epoch(kFirstEpoch),
      watching_(watching),
      store_(std::make_unique<kv::MemoryStore>(store_options(the_flavour, kFirstEpoch, watching))) {
  model.epoch = epoch;
  model.now = epoch.start_mono_ms;
  passed_to_ = model.now;
}

// The store's clock goes as fast as everybody's, and no reboot of ours sets it back.
void Watch::pass() {
  const std::int64_t ms = std::max<std::int64_t>(0, model.now - passed_to_);
  store_->pass(ms);
  model.store_ms += ms;
  passed_to_ = model.now;
}

void Watch::vanish(const std::function<bool()>& chosen) {
  pass();
  const std::size_t gone = store_->vanish([&](std::string_view) { return chosen(); });
  probes["vanished"] += gone;
}

core::Context Watch::context(const core::Prober& view) {
  ticket_ += 37;  // a report may use several
  return {{model.now, wall_ms}, epoch, ticket_, &view, limits};
}

Result<Answer> Watch::call(core::Table& table, const Op& op) {
  const auto wrap = [](auto result) -> Result<Answer> {
    if (!result) return std::unexpected(std::move(result.error()));
    return Answer(std::move(*result));
  };
  std::vector<key::Resource> resources;
  for (const int resource : op.resources) resources.push_back(world.resource(resource));
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
    case Kind::kGiveBack:
      return wrap(table.give_back(op.owner, op.ids, op.attachment));
    case Kind::kReport:
      return wrap(table.report(op.report));
  }
  return fail(Code::kFailed, "no such operation");
}

Result<Watch::Open> Watch::open(kv::Store& through, const Op& op, const core::Prober& view) {
  pass();
  Open open;
  open.deaths = processes.deaths();
  open.begun = store_->version();
  LK_ASSIGN(open.txn,
            through.begin(op.kind == Kind::kCheck ? kv::Access::kRead : kv::Access::kWrite));
  open.now = model.now;
  const core::Context now = context(view);
  Result<Answer> answer = fail(Code::kFailed, "");
  {
    core::Table table(*open.txn, now);
    answer = call(table, op);
    open.wake = table.wake();
  }
  if (answer) {
    open.answer = std::move(*answer);
    return open;
  }
  open.txn.reset();
  if (!is_of_the_store(answer.error().code)) {
    const AsOf then(model, open.now);
    const bool strict = open.deaths == processes.deaths() && open.begun == store_->version();
    judge.refused(op, answer.error(), view, strict);
  }
  return fail(answer.error());
}

Result<Watch::Fate> Watch::finish(Open& open, const Op& op, const core::Prober& view,
                                  const kv::Version& before) {
  const Result<kv::CommitResult> done = open.txn->commit();
  open.txn.reset();
  LK_CHECK(settled(open, op, view, before, done));
  const bool refused = done->fate == kv::Fate::kConflict;
  if (refused) ++probes["refused commit"];
  const auto* const acquired = std::get_if<core::AcquireReply>(&open.answer);
  const bool again = acquired != nullptr && acquired->again;
  return refused || again ? Fate::kTryAgain : Fate::kDone;
}

// What has come of a commit, whoever hears of it.
Result<void> Watch::settled(Open& open, const Op& op, const core::Prober& view, kv::Version before,
                            const Result<kv::CommitResult>& done) {
  const kv::Version version = store_->version();
  const bool applied = version > before;
  const bool committed = done && done->fate == kv::Fate::kCommitted;
  auto* const acquired = std::get_if<core::AcquireReply>(&open.answer);
  if (applied || committed) {
    if (acquired != nullptr) acquired->stamp(applied ? version : done->version);
    judge_commit(open, op, view, version, applied);
  }
  if (done) return {};
  if (done.error().code == Code::kUnknown) ++probes[applied ? "reply lost" : "request lost"];
  if (done.error().code == Code::kLimitExceeded) judge.refused(TooLarge{op, open.answer});
  return fail(done.error());
}

void Watch::arrived(Open& open, const Op& op, const core::Prober& view, kv::FaultyStore& through) {
  const kv::Version before = store_->version();
  const Result<kv::CommitResult> done = through.arrive();
  const bool applied = settled(open, op, view, before, done) && store_->version() > before;
  ++probes[applied ? "a late commit arrived" : "a late commit came too late"];
}

void Watch::judge_commit(Open& open, const Op& op, const core::Prober& view, kv::Version version,
                         bool applied) {
  // What was read without writing is true of when it was read.
  const bool fresh = applied || open.begun == version;
  Done what{op,
            open.answer,
            applied ? version : 0,
            {},
            std::move(open.wake),
            view,
            open.deaths == processes.deaths() && fresh,
            open.begun == version - (applied ? 1 : 0),
            open.begun};
  auto reader = store_->begin(kv::Access::kRead);
  if (!reader) throw Violation("cannot read the store: " + reader.error().message);
  if (applied) what.events = events_of(**reader, version);
  for (const Event& event : what.events) {
    note("      " + event.what + " " + event.lease.text() + " of " + event.owner.agent + "(" +
         event.owner.session + ") " + event.cause + "\n");
  }
  observe(op, what.events);
  {
    const AsOf then(model, open.now);
    judge.committed(what);
  }
  // A commit may arrive late: whether there is a cycle is a question of now.
  if (applied) check_table(**reader, view);
}

void Watch::reboot(const kv::Epoch& next) {
  for (const auto& [id, lease] : model.leases) {
    const bool timed = !lease.attached() && lease.ttl_ms != kNoEnd;
    if (timed) ++probes["reboot with a detached lease"];
  }
  processes.kill_all();
  store_->crash();
  epoch = next;
  store_->reopen(epoch);
  pass();
  judge.reboot(epoch);
  passed_to_ = model.now;
  ++probes["reboot"];
  note("reboot\n");
}

void Watch::recreate(const kv::Epoch& next) {
  processes.kill_all();
  auto former = std::move(store_);
  epoch = next;
  store_ = std::make_unique<kv::MemoryStore>(store_options(flavour, epoch, watching_));
  model.now = epoch.start_mono_ms;
  passed_to_ = model.now;
  const View nobody(processes, 0);
  auto old_rows = former->begin(kv::Access::kRead);
  auto txn = store_->begin(kv::Access::kWrite);
  if (!old_rows || !txn) throw Violation("cannot open the stores");
  const auto ended = core::end_by_reboot(**old_rows, **txn, context(nobody));
  if (!ended || !(*txn)->commit()) throw Violation("the leases of before could not be ended");
  txn->reset();
  old_rows->reset();
  auto reader = store_->begin(kv::Access::kRead);
  if (!reader) throw Violation("cannot read the store");
  history_.clear();
  judge.recreated(epoch, events_of(**reader, store_->version()));
  lease_rows_.clear();
  waiter_rows_.clear();
  check_table(**reader, nobody);
  ++probes["store set aside at a reboot"];
  note("store set aside\n");
}

std::vector<Event> Watch::events_of(kv::Txn& txn, kv::Version version) {
  std::vector<Event> events;
  const std::uint64_t last = history_.empty() ? 0 : *history_.rbegin();
  const auto read = txn.scan_appended(core::kEventPrefix, last, [&](const kv::Appended& row) {
    auto event = core::decode_event(row);
    if (!event) throw Violation("I10: an event cannot be read");
    if (row.created != version) throw Violation("I11: an event appeared out of its turn");
    history_.insert(event->seq);
    events.push_back(std::move(*event));
    return true;
  });
  if (!read) throw Violation("cannot read the history");
  return events;
}

// Branches that show in what was there before the commit.
void Watch::observe(const Op& op, const std::vector<Event>& events) {
  std::map<LeaseId, std::size_t> followers;
  for (const auto& [key, row] : waiter_rows_) ++followers[row.record.blocker];
  bool ended = false;
  bool handed = false;
  for (const Event& event : events) {
    const bool ends = event.what == "released" || event.what == "ended" ||
                      event.what == "expired" || event.what == "broken";
    handed |= event.what == "granted" && event.cause == "handoff";
    ended |= ends || event.what == "cancelled";
    if (!ends) continue;
    const auto found = followers.find(event.lease);
    if (found != followers.end() && found->second > limits.grants_per_commit) {
      ++probes["a page of followers"];
    }
    const bool swept = op.kind == Kind::kMaintain || op.kind == Kind::kAcquire;
    if (!swept && event.what != "released" && event.what != "broken" &&
        event.cause != "parent_ended") {
      ++probes["reaped while handing off"];
    }
  }
  if (handed && !ended && op.kind != Kind::kPoll) ++probes["handoff continued by a later commit"];
}

void Watch::read_rows(kv::Txn& txn) {
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
  read &= txn.scan(
                 kv::prefix_range("l"),
                 [&](const kv::Row& row) {
                   return row.key.size() == 5 || take(lease_rows_, row, core::decode_lease);
                 },
                 kv::Read::kPeek)
              .has_value();
  read &= txn.scan(
                 kv::prefix_range("w"),
                 [&](const kv::Row& row) { return take(waiter_rows_, row, core::decode_waiter); },
                 kv::Read::kPeek)
              .has_value();
  if (!read) throw Violation("cannot read the table");
  std::erase_if(lease_rows_, [&](const auto& row) { return row.second.seen != checks_; });
  std::erase_if(waiter_rows_, [&](const auto& row) { return row.second.seen != checks_; });
}

void Watch::check_table(kv::Txn& txn, const core::Prober& view) {
  ++checks_;
  read_rows(txn);
  if (lease_rows_.size() != model.leases.size()) throw Violation("I5: a lease has no row");
  if (waiter_rows_.size() != model.waiters.size()) throw Violation("a waiter has no row");
  std::set<LeaseId> looking;
  for (const auto& [key, row] : lease_rows_) judge.compare(row.record);
  for (const auto& [key, row] : waiter_rows_) {
    judge.compare(row.record);
    if (!row.record.alone) ++probes["filed not alone"];
    if (core::must_look_for_cycles(row.record.request)) looking.insert(row.record.request.id);
  }
  judge.check_cycles(looking, view);
  if (checks_ % kHistoryEvery == 0) check_history(txn);
  if (checks_ % watching_.audit_every != 0) return;
  audit(txn, view, checks_ % watching_.full_audit_every == 0);
  const std::string later = core::due_key(0, 0, core::Due::kHandoff, "");
  const auto left = txn.scan(
      kv::prefix_range(later),
      [&](const kv::Row& row) {
        ++probes["handoff left for later"];
        if (!row.value.empty()) ++probes["handoff left for later by a part given back"];
        return true;
      },
      kv::Read::kPeek);
  if (!left) throw Violation("cannot read the due rows");
}

void Watch::audit(kv::Txn& txn, const core::Prober& view, bool full) {
  const core::Context now{{model.now, wall_ms}, epoch, 0, &view, limits};
  const auto problems = core::audit(txn, now, {full, full, 5});
  if (!problems) throw Violation("the audit failed: " + problems.error().message);
  for (const std::string& problem : *problems) throw Violation("audit: " + problem);
}

// I11, L8: the last ones are there, each once, and nothing that never was; the rest goes away.
void Watch::check_history(kv::Txn& txn) {
  std::set<std::uint64_t> there;
  const auto read = txn.scan_appended(core::kEventPrefix, 0, [&](const kv::Appended& row) {
    there.insert(row.number);
    return true;
  });
  if (!read) throw Violation("cannot read the history");
  std::uint64_t younger = 0;
  for (auto number = history_.rbegin(); number != history_.rend(); ++number, ++younger) {
    if (there.contains(*number)) continue;
    if (younger < limits.events_kept) {
      throw Violation("I11: the history has lost an event that is to be kept");
    }
    ++probes["history trimmed"];
  }
  if (!std::ranges::includes(history_, there)) {
    throw Violation("I11: an event appeared afterwards");
  }
  // The newest stays known: what comes next is behind it.
  while (history_.size() > 1 && !there.contains(*history_.begin())) {
    history_.erase(history_.begin());
  }
}

}  // namespace lockkeeper::sim
