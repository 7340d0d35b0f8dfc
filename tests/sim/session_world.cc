#include "session_world.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "core/table.h"
#include "realm/server.h"

namespace lockkeeper::sim {
namespace {

constexpr const char* kPerson = "ann";
constexpr int kBeatAnswerMs = 8'000;  // relay.cc
constexpr int kCallAnswerMs = 6'000;
constexpr std::int64_t kTickMs = 100;
constexpr std::int64_t kGraceMs = 10'000;  // of `run`, between asking a command and killing it
constexpr kv::Epoch kSessionEpoch{7, 1'000'000, 500};

}  // namespace

// The hub's judgement of processes, as its tables ask for it.
class SessionWorld::HubView final : public core::Prober {
 public:
  explicit HubView(const std::unique_ptr<hub::Desk>& desk) : desk_(desk) {}
  core::Alive probe(const core::Attachment& attachment) const override {
    if (!desk_ || !attachment.is_remote()) return core::Alive::kUnknown;
    return hub::remote_alive(*desk_, attachment);
  }

 private:
  const std::unique_ptr<hub::Desk>& desk_;
};

SessionWorld::SessionWorld(std::uint64_t seed, Probes& probes)
    : seed_(seed),
      probes_(probes),
      random_(seed),
      store_({.flavour = kv::Flavour::kPessimistic, .epoch = kSessionEpoch}),
      view_(std::make_unique<HubView>(desk_)) {
  clock_.at.mono_ms = 1'000'000;
  desk_ = std::make_unique<hub::Desk>(clock_);
  machines_.resize(2 + below(2));
  for (std::size_t i = 0; i < machines_.size(); ++i) {
    machines_[i].session = std::string(32, static_cast<char>('a' + i));
    machines_[i].per_mille = 980 + static_cast<std::int64_t>(below(41));
    for (int n = 0; n < 2; ++n) start_process(i);
    tick(i);
  }
}

SessionWorld::~SessionWorld() = default;

void SessionWorld::note(const std::string& what) const {
  static const bool wanted = std::getenv("LOCKKEEPER_SESSION_TRACE") != nullptr;
  if (wanted) std::printf("%lld %s\n", static_cast<long long>(now()), what.c_str());
}

void SessionWorld::broken(const std::string& what) const {
  throw Violation("seed " + std::to_string(seed_) + " at " + std::to_string(now()) +
                  " ms: " + what);
}

std::size_t SessionWorld::start_process(std::size_t machine) {
  processes_.push_back({machine, true, {}, {}, {}});
  return processes_.size() - 1;
}

// --- time and network ----------------------------------------------------------------------------

void SessionWorld::later(std::int64_t ms, std::function<void()> happen) {
  events_.push({now() + ms, ++order_, std::move(happen)});
}

void SessionWorld::run_until(std::int64_t time) {
  while (!events_.empty() && events_.top().at <= time) {
    const Event next = events_.top();
    events_.pop();
    clock_.at.mono_ms = next.at;
    look_at_clocks();
    next.happen();
  }
  clock_.at.mono_ms = time;
}

void SessionWorld::send(std::size_t machine, std::function<void()> arrives) {
  if (machines_[machine].cut || (faults_ && chance(3))) return;
  std::int64_t ms = static_cast<std::int64_t>(below(40));
  if (faults_ && chance(10)) ms = static_cast<std::int64_t>(below(12'000));
  later(ms, [this, machine, arrives = std::move(arrives)] {
    if (!machines_[machine].cut) arrives();
  });
}

// What each process makes of the silence: it looks at the beat's file several times a second.
void SessionWorld::look_at_clocks() {
  for (Process& process : processes_) {
    const Machine& machine = machines_[process.machine];
    if (process.until && local(machine) >= *process.until) {
      process.works_on.clear();
      process.until.reset();
    }
    const std::int64_t silent = age(machine);
    if (process.until || process.works_on.empty() || silent < realm::kOutOfContactMs) continue;
    ++probes_["a process gave up what it held"];
    note("machine " + std::to_string(process.machine) + ": a process gives up");
    const std::int64_t left = std::max<std::int64_t>(realm::kKilledAfterMs - silent, 0);
    const auto grace = static_cast<std::int64_t>(below(kGraceMs));
    process.until = local(machine) + std::min(grace, left);
  }
}

// --- relays --------------------------------------------------------------------------------------

void SessionWorld::start_relay(Machine& machine) {
  const std::uint64_t life = machine.relay.life + 1;
  machine.relay = {};
  machine.relay.up = true;
  machine.relay.life = life;
}

void SessionWorld::tick(std::size_t at) {
  later(kTickMs, [this, at] { tick(at); });
  Machine& machine = machines_[at];
  Relay& relay = machine.relay;
  if (!relay.up || relay.stopped) return;
  const std::size_t before = relay.gone.size();
  std::erase_if(machine.attached, [&](const auto& each) {
    if (processes_[each.first].alive) return false;
    relay.gone.insert(each.second);
    return true;
  });
  const bool somebody = !machine.attached.empty() || !relay.gone.empty();
  if (somebody && (relay.gone.size() > before || now() >= relay.next_beat)) beat(at);
}

bool SessionWorld::relay_answers(const Relay& relay, std::uint64_t life, std::int64_t sent,
                                 int most) const {
  return relay.up && !relay.stopped && relay.life == life && now() - sent <= most;
}

void SessionWorld::beat(std::size_t at) {
  Machine& machine = machines_[at];
  if (now() < machine.relay.busy_until) return;  // one at a time
  machine.relay.busy_until = now() + kBeatAnswerMs;
  machine.relay.next_beat = now() + kBeatAnswerMs + 1'000;
  hub::Sessions::Beat report{kPerson, machine.session, {}, {}, local(machine)};
  for (const auto& [process, number] : machine.attached) report.living.push_back(number);
  report.gone.assign(machine.relay.gone.begin(), machine.relay.gone.end());
  const std::int64_t sent = now();
  const std::int64_t sent_local = local(machine);
  send(at, [this, at, report, sent, sent_local, life = machine.relay.life] {
    if (!desk_) return;
    const auto lost = desk_->sessions.beat(report);
    if (!lost) broken("a beat was refused: " + lost.error().message);
    heard_[report.session] = now();
    note("hub: beat of " + report.session.substr(0, 1) + " from " + std::to_string(sent) + ", " +
         std::to_string(report.living.size()) + " live, " + std::to_string(report.gone.size()) +
         " gone, " + std::to_string(lost->size()) + " lost");
    bury();
    send(at, [this, at, report, sent, sent_local, life, lost = *lost] {
      Machine& here = machines_[at];
      if (!relay_answers(here.relay, life, sent, kBeatAnswerMs)) return;
      here.relay.met = true;
      here.relay.busy_until = 0;
      here.contact = std::max(here.contact, sent_local);
      here.relay.next_beat = now() + realm::kBeatEveryMs;
      for (const std::uint64_t number : report.gone) here.relay.gone.erase(number);
      std::erase_if(here.attached, [&](const auto& each) {
        const auto confirmed = here.relay.confirmed.find(each.second);
        const bool known = confirmed != here.relay.confirmed.end() && confirmed->second < sent;
        return known && std::ranges::find(lost, each.second) != lost.end();
      });
    });
  });
}

// --- processes -----------------------------------------------------------------------------------

void SessionWorld::acquire(std::size_t process, int resource) {
  const std::size_t at = processes_[process].machine;
  Machine& machine = machines_[at];
  const bool stops = processes_[process].until.has_value();
  if (stops || processes_[process].gave_back.contains(resource)) return;
  if (!machine.relay.up) start_relay(machine);
  if (machine.relay.stopped) return;
  // Before somebody is attached there is contact.
  if (!machine.relay.met || age(machine) >= 2 * realm::kBeatEveryMs) return beat(at);
  auto [found, first] = machine.attached.try_emplace(process, 0);
  if (first) {
    const std::uint64_t own = random_.next() >> (64 - hub::Sessions::kOwnBits);
    found->second = hub::Sessions::mark_of(kPerson) << hub::Sessions::kOwnBits | own;
  }
  const std::int64_t sent = now();
  const std::string mark = machine.session + "@" + std::to_string(local(machine));
  send(at, [this, at, process, resource, number = found->second, sent, mark,
            life = machine.relay.life] {
    if (!desk_) return;
    const std::string& session = machines_[at].session;
    if (!desk_->sessions.attach(kPerson, mark, "app", number)) return;
    heard_[session] = now();
    const bool granted = hub_acquire(process, number, resource);
    ++probes_[granted ? "granted" : "refused"];
    send(at, [this, at, process, resource, sent, life, granted, number] {
      Process& self = processes_[process];
      Relay& relay = machines_[at].relay;
      if (!relay_answers(relay, life, sent, kCallAnswerMs)) return;
      relay.confirmed.try_emplace(number, now());
      const bool hears = granted && self.alive && !self.gave_back.contains(resource);
      if (hears && !self.until && age(machines_[at]) < realm::kOutOfContactMs) {
        self.works_on.insert(resource);
        note("p" + std::to_string(process) + " works on " + std::to_string(resource));
      }
    });
  });
}

void SessionWorld::release(std::size_t process, int resource) {
  const std::size_t at = processes_[process].machine;
  processes_[process].works_on.erase(resource);
  processes_[process].gave_back.insert(resource);
  note("p" + std::to_string(process) + " gives back " + std::to_string(resource));
  if (!machines_[at].relay.up) start_relay(machines_[at]);
  if (machines_[at].relay.stopped) return;
  send(at, [this, process, resource] {
    if (desk_) hub_release(process, resource);
  });
}

// --- the hub -------------------------------------------------------------------------------------

core::Context SessionWorld::context() {
  return {clock_.at, kSessionEpoch, ++ticket_, view_.get(), {}};
}

bool SessionWorld::hub_acquire(std::size_t process, std::uint64_t number, int resource) {
  core::AcquireRequest request;
  request.owner = owner_of(process);
  request.claims = {{world_.resource(resource), core::Mode::kExclusive}};
  request.terms.ttl_ms = kNoEnd;
  request.attachment = core::Attachment::remote(number);
  for (;;) {
    const auto txn = store_.begin(kv::Access::kWrite);
    if (!txn) broken(txn.error().message);
    core::Table table(**txn, context());
    const auto reply = table.acquire(request);
    if (!reply) broken(reply.error().message);
    if (const auto done = (*txn)->commit(); !done) broken(done.error().message);
    if (reply->again) continue;
    const bool granted = reply->outcome == core::Outcome::kGranted;
    note("hub: p" + std::to_string(process) + " asks for " + std::to_string(resource) +
         (granted ? ", granted" : ", not granted"));
    if (!granted) return reply->outcome == core::Outcome::kRenewed;
    for (std::size_t other = 0; other < processes_.size(); ++other) {
      const Process& holder = processes_[other];
      if (other == process || !holder.alive || !holder.works_on.contains(resource)) continue;
      broken("I1: p" + std::to_string(process) + " gets what p" + std::to_string(other) +
             " works on");
    }
    return true;
  }
}

void SessionWorld::hub_release(std::size_t process, int resource) {
  const auto txn = store_.begin(kv::Access::kWrite);
  if (!txn) broken(txn.error().message);
  core::Table table(**txn, context());
  const auto reply = table.release(owner_of(process), {world_.resource(resource)}, {});
  if (!reply) broken(reply.error().message);
  if (const auto done = (*txn)->commit(); !done) broken(done.error().message);
}

// As hub::bury does.
void SessionWorld::bury() {
  check_nobody_is_forgotten();
  if (!desk_->sessions.take_deaths().any()) return;
  const auto txn = store_.begin(kv::Access::kWrite);
  if (!txn) broken(txn.error().message);
  core::Table table(**txn, context());
  if (const auto more = table.maintain(100); !more) broken(more.error().message);
  if (const auto done = (*txn)->commit(); !done) broken(done.error().message);
}

// A process that lives, and whose machine this hub has heard lately, is not dead.
void SessionWorld::check_nobody_is_forgotten() {
  for (const Machine& machine : machines_) {
    const auto heard = heard_.find(machine.session);
    if (heard == heard_.end() || now() - heard->second >= realm::kSessionMs) continue;
    for (const auto& [process, number] : machine.attached) {
      const auto judged = desk_->sessions.alive(number);
      const bool dead = judged && *judged == core::Alive::kDead;
      if (dead && processes_[process].alive) {
        broken("I5: p" + std::to_string(process) + " lives, and the hub takes it for dead");
      }
    }
  }
}

// --- what happens --------------------------------------------------------------------------------

void SessionWorld::disturb() {
  const std::size_t at = below(machines_.size());
  const std::uint64_t what = below(7);
  note("disturbed: machine " + std::to_string(at) + ", " + std::to_string(what));
  Machine& machine = machines_[at];
  switch (what) {
    case 0:
      machine.cut = !machine.cut;
      break;
    case 1:
      if (machine.relay.up) ++probes_["a relay was killed"];
      machine.relay.up = false;
      break;
    case 2:
      machine.relay.stopped = !machine.relay.stopped;
      if (machine.relay.stopped) ++probes_["a relay was stopped"];
      break;
    case 3:
    case 4:
      if (desk_) ++probes_["the hub was killed"];
      desk_.reset();
      heard_.clear();
      later(static_cast<std::int64_t>(below(chance(70) ? 5'000 : 90'000)), [this] {
        if (!desk_) desk_ = std::make_unique<hub::Desk>(clock_);
      });
      break;
    default: {
      Process& process = processes_[below(processes_.size())];
      if (!process.alive) break;
      ++probes_["a process was killed"];
      process.alive = false;
      process.works_on.clear();
      start_process(process.machine);
    }
  }
}

void SessionWorld::chance_event() {
  const std::size_t process = below(processes_.size());
  const int resource = static_cast<int>(below(static_cast<std::uint64_t>(world_.size())));
  const bool alive = processes_[process].alive;
  if (alive && std::cmp_equal(processes_[process].gave_back.size(), world_.size())) {
    processes_[process].alive = false;
    start_process(processes_[process].machine);
  } else if (alive && chance(75)) {
    const bool mine = processes_[process].works_on.contains(resource);
    mine ? release(process, resource) : acquire(process, resource);
  } else if (chance(20)) {
    disturb();
  }
}

void SessionWorld::heal() {
  faults_ = false;
  for (Machine& machine : machines_) {
    machine.cut = false;
    machine.relay.stopped = false;
    if (!machine.relay.up) start_relay(machine);
  }
  if (!desk_) desk_ = std::make_unique<hub::Desk>(clock_);
}

void SessionWorld::run() {
  constexpr int kSteps = 400;
  for (int step = 0; step < kSteps; ++step) {
    chance_event();
    run_until(now() + static_cast<std::int64_t>(below(chance(90) ? 1'500 : 25'000)));
  }
  // L1: whatever went wrong, what nobody works on is free again, two sessions later.
  heal();
  for (Process& process : processes_) {
    process.alive = false;
    process.works_on.clear();
  }
  run_until(now() + 2 * realm::kSessionMs + 10'000);
  const std::size_t last = start_process(0);
  for (int resource = 0; resource < world_.size(); ++resource) {
    for (int tries = 0; tries < 10; ++tries) {
      acquire(last, resource);
      run_until(now() + 1'000);
    }
    if (!processes_[last].works_on.contains(resource)) {
      broken("L1: " + world_.resource(resource).text() + " is held for nobody");
    }
  }
}

}  // namespace lockkeeper::sim
