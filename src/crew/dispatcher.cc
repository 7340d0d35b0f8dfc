#include "crew/dispatcher.h"

#include "crew/job_orders.h"

namespace lockkeeper::crew {
namespace {

constexpr std::size_t kWaitingMax = 64;  // supervisors that wait for a lock held outside the plan

}  // namespace

Dispatcher::Dispatcher(service::Locks& locks, const plan::Plan& plan, const std::string& session,
                       Roster roster, std::size_t jobs, RunLedger& ledger,
                       std::vector<Worker>& workers)
    : locks_(locks),
      plan_(plan),
      session_(session),
      roster_(std::move(roster)),
      most_(most_at_once(jobs)),
      ledger_(ledger),
      workers_(workers),
      gate_(locks, plan.feature),
      yields_to_(plan.jobs.size()) {}

void Dispatcher::schedule(const std::function<void(std::size_t)>& begin) {
  for (bool again = true; again;) {
    again = false;
    for (std::size_t i = 0; i < plan_.jobs.size(); ++i) again = skip(i) || again;
  }
  const bool paused = is_paused();
  load_ = load();
  checks_.begin();
  for (const std::size_t i : roster_.order()) {
    if (!may_begin(i)) continue;
    if (const auto wait = must_wait(i, paused)) {
      ledger_.wait(agents()[i], wait->what, wait->on);
      continue;
    }
    begin(i);
    ++load_.taken;
    if (ledger_.failed()) return;
  }
}

bool Dispatcher::may_begin(std::size_t agent) const {
  return yet_to_start(ledger_.record().agents[agent]) && workers_[agent].idle();
}

// Skips the agent if it needs one that failed or was skipped.
bool Dispatcher::skip(std::size_t agent) {
  if (!may_begin(agent)) return false;
  AgentRecord& record = agents()[agent];
  for (const std::size_t need : plan_.jobs[agent].needs) {
    const AgentRecord& needed = agents()[need];
    const bool failed = needed.standing == Standing::kFailed;
    if (!failed && needed.standing != Standing::kSkipped) continue;
    ledger_.end_wait(record);
    record.standing = Standing::kSkipped;
    record.why = "it needs " + needed.id + ", which " + (failed ? "failed" : "was skipped");
    ledger_.write(record);
    ledger_.tell(CrewEvent::What::kSkipped, &record, record.why);
    return true;
  }
  return false;
}

bool Dispatcher::is_paused() {
  const FeatureGate::State gate = gate_.read();
  if (gate.trouble) {
    ledger_.problem(gate.why);
  } else if (gate.shut && gate.why != paused_by_) {
    ledger_.tell(CrewEvent::What::kNote, nullptr, gate.why);
  }
  paused_by_ = gate.why;
  return gate.shut;
}

std::optional<Dispatcher::Reason> Dispatcher::must_wait(std::size_t agent, bool paused) {
  for (const std::size_t need : plan_.jobs[agent].needs) {
    if (agents()[need].standing != Standing::kDone) {
      return Reason{Wait::For::kNeed, agents()[need].id};
    }
  }
  if (paused) return Reason{Wait::For::kPause, paused_by_};
  if (yields_to_[agent]) {
    // Until the agent that was let pass has begun, or cannot begin after all.
    const std::size_t first = *yields_to_[agent];
    if (may_begin(first)) return Reason{Wait::For::kAgent, agents()[first].id};
    yields_to_[agent].reset();
  }
  for (const std::size_t rival : roster_.rivals(agent)) {
    if (workers_[rival].idle()) continue;
    let_pass(agent, rival);
    return Reason{Wait::For::kAgent, agents()[rival].id};
  }
  // With so many waiting already, only an agent that could start at once is added.
  const bool crowd =
      load_.waiting >= kWaitingMax && !(checks_.next() && is_free(locks_, plan_.jobs[agent]));
  if (load_.taken >= most_ || crowd) {
    return Reason{Wait::For::kJob, std::to_string(load_.running) + " run"};
  }
  return std::nullopt;
}

Dispatcher::Load Dispatcher::load() const {
  Load load;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    const Worker::Phase phase = workers_[i].phase();
    // A supervisor that was found again may have been told to go already.
    const bool found = workers_[i].adopted() && phase == Worker::Phase::kLeaving;
    if (phase == Worker::Phase::kRunning || found) ++load.running;
    if (phase == Worker::Phase::kAsking) {
      ++(open_wait(ledger_.record().agents[i]) != nullptr ? load.waiting : load.taken);
    }
  }
  load.taken += load.running;
  return load;
}

// Rule 2: if `rival` waits for a lock held outside the plan and `agent` could start at once,
// `rival` leaves the queue; `agent` starts after that.
void Dispatcher::let_pass(std::size_t agent, std::size_t rival) {
  Worker& other = workers_[rival];
  const Wait* const wait = open_wait(agents()[rival]);
  const bool outside = wait != nullptr && wait->what == Wait::For::kLock;
  if (other.phase() != Worker::Phase::kAsking || !outside) return;
  if (is_free(locks_, plan_.jobs[agent], session_of(rival) + ".")) {
    other.send_away(ledger_.now());
    yields_to_[rival] = agent;
  }
}

std::string Dispatcher::session_of(std::size_t agent) const {
  return session_for(session_, plan_.jobs[agent].id, agent);
}

}  // namespace lockkeeper::crew
