#include "crew/foreman.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "crew/brief.h"
#include "crew/feature_gate.h"
#include "crew/job_orders.h"
#include "crew/lock_files.h"
#include "crew/places.h"
#include "crew/record/whole_number.h"
#include "crew/report/report_parts.h"
#include "crew/roster.h"
#include "crew/verdict.h"
#include "host/descendants.h"
#include "host/signals.h"
#include "service/report.h"

namespace lockkeeper::crew {
namespace {

constexpr int kHeard[] = {SIGINT, SIGTERM, SIGHUP};  // and children that end
constexpr int kLookMs = 200;
constexpr std::int64_t kStrayGraceMs = 1'000;  // for what a killed keeper left behind
constexpr std::size_t kWaitingMax = 64;        // keepers that wait for somebody outside
constexpr std::size_t kProblemsMax = 200;

bool is_open(const AgentRecord& agent) {
  return agent.standing == Standing::kPending || agent.standing == Standing::kWaiting;
}

}  // namespace

class Foreman::Impl {
 public:
  Impl(service::Locks& locks, const plan::Plan& plan, OpenRun& run, ForemanOptions options,
       Watch watch)
      : locks_(locks),
        plan_(plan),
        run_(run),
        record_(run.told.record),
        options_(std::move(options)),
        watch_(std::move(watch)),
        most_(most_at_once(options_.jobs)),
        gate_(locks, plan.feature) {}

  Result<void> run() {
    LK_ASSIGN(roster_, Roster::of(plan_));
    // Children that we inherited through exec are not ours to end.
    not_ours_ = host::children_besides({});
    if (auto ready = set_up(); !ready) {
      static_cast<void>(lock_files_.hide(locks_.table(), run_.output));
      return ready;
    }
    host::adopt_orphans();
    while (!over()) {
      if (dirty_ || mono() >= next_schedule_) schedule();
      if (over()) break;
      if (watch_.look) watch_.look();
      wait();
    }
    finish();
    return {};
  }

  const RunRecord& record() const { return record_; }
  int signal() const { return signal_; }

  const Worker* worker_of(const AgentRecord& agent) const {
    const auto index = static_cast<std::size_t>(&agent - record_.agents.data());
    return index < workers_.size() ? &workers_[index] : nullptr;
  }

 private:
  std::int64_t now() const { return locks_.table().runtime().clock->now().wall_ms; }
  // Whatever is set back, the gate is looked at again.
  std::int64_t mono() const { return locks_.table().runtime().clock->now().mono_ms; }

  void tell(CrewEvent::What what, const AgentRecord* agent, std::string text) const {
    if (watch_.told) watch_.told({what, agent, std::move(text)});
  }

  void problem(const std::string& text) {
    if (record_.problems.size() < kProblemsMax &&
        std::ranges::find(record_.problems, text) == record_.problems.end()) {
      record_.problems.push_back(text);
      tell(CrewEvent::What::kNote, nullptr, text);
    }
  }

  // What is written down may happen. REQUIRES: the record is as it is to be.
  bool write_down(const AgentRecord& agent) {
    auto written = run_.journal.agent(agent);
    if (written && !run_.output.is_there()) {
      written = fail(Code::kFailed, quote(run_.output.path()) + " is gone");
    }
    if (written) return true;
    problem("nothing new is started: " + written.error().message);
    unwritable_ = true;
    return false;
  }

  Result<void> set_up() {
    LK_ASSIGN(agents_, run_.output.folder(kAgentsName));
    const bool fresh = record_.agents.empty();
    record_.agents = records_for(plan_, std::move(record_.agents));
    for (AgentRecord& agent : record_.agents) workers_.emplace_back(agent, *agents_);
    yields_to_.assign(record_.agents.size(), std::nullopt);
    LK_CHECK(lock_files_.show(locks_.table(), run_.output));
    if (!fresh) {
      LK_CHECK(go_on());
    }
    return {};
  }

  // After Ctrl-C, after kill -9, or after failures that somebody has repaired.
  Result<void> go_on() {
    ++record_.resumed;
    record_.ended_ms = 0;
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      AgentRecord& agent = record_.agents[i];
      close_wait(agent);
      const bool open = !agent.attempts.empty() && agent.attempts.back().ending == Ending::kNone;
      if (open) {
        LK_ASSIGN(const bool there, workers_[i].find_again(now()));
        if (there) {
          agent.standing = Standing::kRunning;
          tell(CrewEvent::What::kFound, &agent, "is still at work");
          note_start(i);
          continue;
        }
        keeper_gone(i);
        // A failure that is only found out now is not forgiven yet.
        if (agent.standing != Standing::kStopped) continue;
      }
      if (agent.standing == Standing::kDone) continue;
      if (agent.standing == Standing::kFailed || agent.standing == Standing::kStopped) {
        agent.forgiven = agent.attempts.size();  // somebody asked for it to be tried again
      }
      agent.standing = Standing::kPending;
      agent.why.clear();
    }
    return run_.journal.run(record_);
  }

  bool over() const {
    const bool idle = std::ranges::all_of(workers_, [](const Worker& each) { return each.idle(); });
    if (!idle) return false;
    if (stopping()) return true;
    return std::ranges::none_of(record_.agents, is_open);
  }

  bool stopping() const { return signal_ != 0 || unwritable_; }

  // --- who starts ---------------------------------------------------------------------------

  void schedule() {
    dirty_ = false;
    next_schedule_ = mono() + kRescheduleMs;
    if (stopping()) return;
    skip_what_cannot_be();
    const bool paused = is_paused();
    places_ = places();
    probes_.begin();
    for (const std::size_t i : roster_->order()) {
      AgentRecord& agent = record_.agents[i];
      if (!is_open(agent) || !workers_[i].idle()) continue;
      if (const auto wait = must_wait(i, paused)) {
        set_wait(agent, wait->what, wait->on);
        continue;
      }
      begin(i);
      ++places_.taken;
      if (stopping()) return;
    }
  }

  void skip_what_cannot_be() {
    for (bool again = true; again;) {
      again = false;
      for (std::size_t i = 0; i < plan_.jobs.size(); ++i) {
        AgentRecord& agent = record_.agents[i];
        if (!is_open(agent) || !workers_[i].idle()) continue;
        for (const std::size_t need : plan_.jobs[i].needs) {
          const AgentRecord& needed = record_.agents[need];
          if (needed.standing != Standing::kFailed && needed.standing != Standing::kSkipped) {
            continue;
          }
          close_wait(agent);
          agent.standing = Standing::kSkipped;
          agent.why = "it needs " + needed.id + ", which " +
                      (needed.standing == Standing::kFailed ? "failed" : "was skipped");
          write_down(agent);
          tell(CrewEvent::What::kSkipped, &agent, agent.why);
          again = true;
          break;
        }
      }
    }
  }

  struct Reason {
    Wait::For what;
    std::string on;
  };

  std::optional<Reason> must_wait(std::size_t i, bool paused) {
    for (const std::size_t need : plan_.jobs[i].needs) {
      if (record_.agents[need].standing != Standing::kDone) {
        return Reason{Wait::For::kNeed, record_.agents[need].id};
      }
    }
    if (paused) return Reason{Wait::For::kPause, paused_by_};
    if (yields_to_[i]) {
      // Until the one that was let pass has begun, or cannot after all.
      const std::size_t first = *yields_to_[i];
      const bool still = workers_[first].idle() && is_open(record_.agents[first]);
      if (still) return Reason{Wait::For::kAgent, record_.agents[first].id};
      yields_to_[i].reset();
    }
    for (const std::size_t rival : roster_->rivals(i)) {
      if (workers_[rival].idle()) continue;
      if (!may_pass(i, rival)) return Reason{Wait::For::kAgent, record_.agents[rival].id};
    }
    // So many wait for somebody outside that only who can start at once is added to them.
    const bool crowd =
        places_.waiting >= kWaitingMax && !(probes_.next() && is_free(locks_, plan_.jobs[i]));
    if (places_.taken >= most_ || crowd) {
      return Reason{Wait::For::kJob, std::to_string(places_.running) + " run"};
    }
    return std::nullopt;
  }

  // `taken`: who runs, and who is about to; not who waits for somebody outside, perhaps for long.
  struct Places {
    std::size_t running = 0, taken = 0, waiting = 0;
  };

  Places places() const {
    Places places;
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      const Worker::Phase phase = workers_[i].phase();
      const bool waits =
          !record_.agents[i].waits.empty() && record_.agents[i].waits.back().end_ms == 0;
      // One that was found again may have its word to go already.
      const bool found = workers_[i].adopted() && phase == Worker::Phase::kLeaving;
      if (phase == Worker::Phase::kRunning || found) ++places.running;
      if (phase == Worker::Phase::kAsking) ++(waits ? places.waiting : places.taken);
    }
    places.taken += places.running;
    return places;
  }

  // Rule 2: a rival that waits for somebody outside, while this one could start at once.
  bool may_pass(std::size_t i, std::size_t rival) {
    Worker& other = workers_[rival];
    if (other.phase() != Worker::Phase::kAsking) return false;
    const auto& waits = record_.agents[rival].waits;
    if (waits.empty() || waits.back().what != Wait::For::kLock || waits.back().end_ms != 0) {
      return false;
    }
    if (is_free(locks_, plan_.jobs[i], session_of(rival) + ".")) {
      other.send_away(now());
      yields_to_[rival] = i;
    }
    return false;  // it starts when the other has left the queue
  }

  bool is_paused() {
    const FeatureGate::Look look = gate_.look();
    if (look.trouble) {
      problem(look.why);
    } else if (look.shut && look.why != paused_by_) {
      tell(CrewEvent::What::kNote, nullptr, look.why);
    }
    paused_by_ = look.why;
    return look.shut;
  }

  std::string session_of(std::size_t i) const {
    return session_for(run_.told.head.session, plan_.jobs[i].id, i);
  }

  Orders orders_for(std::size_t i) const {
    const plan::Job& job = plan_.jobs[i];
    Orders orders = orders_of(job);
    orders.session = session_of(i);
    orders.feature = gate_.feature();
    if (job.command.empty()) orders.argv = options_.command;
    orders.environment["LOCKKEEPER_OUTPUT"] = run_.output.path();
    orders.folder = options_.folder;
    orders.grace_ms = options_.grace_ms;
    orders.log_bytes_max = options_.log_bytes_max;
    orders.look_at_changes = options_.look_at_changes;
    orders.leave_out = {run_.output.path(), locks_.table().realm().store_folder};
    return orders;
  }

  void begin(std::size_t i) {
    AgentRecord& agent = record_.agents[i];
    close_wait(agent);
    auto prepared = workers_[i].prepare(orders_for(i));
    if (prepared && !write_down(agent)) return;
    if (prepared) prepared = workers_[i].start(options_.keeper, now());
    if (prepared) {
      agent.standing = Standing::kWaiting;
      return;
    }
    problem("nothing new is started: " + prepared.error().message);
    unwritable_ = true;
  }

  // --- what it waits for --------------------------------------------------------------------

  void close_wait(AgentRecord& agent) const { end_wait(agent, now()); }

  void set_wait(AgentRecord& agent, Wait::For what, const std::string& on) {
    agent.standing = Standing::kWaiting;
    if (begin_wait(agent, what, on, now())) tell(CrewEvent::What::kWaiting, &agent, on);
  }

  // --- what happens -------------------------------------------------------------------------

  void wait() {
    std::vector<pollfd> wanted{{signals_.fd(), POLLIN, 0}};
    for (const Worker& worker : workers_) {
      if (worker.channel_fd() >= 0) wanted.push_back({worker.channel_fd(), POLLIN, 0});
    }
    ::poll(wanted.data(), wanted.size(), kLookMs);
    hear_signals();
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      if (workers_[i].idle()) continue;
      while (const auto message = workers_[i].hear()) heard(i, *message);
    }
    reap();
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      if (workers_[i].idle() || !workers_[i].adopted()) continue;
      const auto gone = workers_[i].gone();
      note_start(i);
      if (!gone || *gone) keeper_gone(i);
    }
  }

  void heard(std::size_t i, const Channel::Message& message) {
    Worker& worker = workers_[i];
    AgentRecord& agent = record_.agents[i];
    const std::string said = message.value("say", "");
    if (said == "waiting") {
      const bool paused = message.value("paused", false);
      set_wait(agent, paused ? Wait::For::kPause : Wait::For::kLock, message.value("on", ""));
      dirty_ = true;
    } else if (said == "ready") {
      answer(i);
    } else if (said == "started") {
      Attempt& attempt = agent.attempts.back();
      attempt.lease = message.value("lease", "");
      attempt.fence = whole_number_or<std::uint64_t>(message, "fence", 0);
      attempt.started_ms = whole_number_or(message, "started_ms", now());
      worker.command_started(attempt.started_ms);
      const std::string again =
          agent.attempts.size() > 1 ? ", attempt " + std::to_string(agent.attempts.size()) : "";
      tell(CrewEvent::What::kStarted, &agent, "started" + again);
    } else if (said == "note") {
      tell(CrewEvent::What::kNote, &agent, message.value("text", ""));
    }
  }

  void answer(std::size_t i) {
    Worker& worker = workers_[i];
    AgentRecord& agent = record_.agents[i];
    const bool full = places().running >= most_;
    if (stopping() || full || worker.phase() != Worker::Phase::kAsking) {
      worker.send_away(now());
      return;
    }
    close_wait(agent);
    const auto told =
        worker.go(scope_text(plan_.jobs[i], locks_.table().realm().root, neighbours_of(i)), now());
    if (!told) {
      problem("nothing new is started: " + told.error().message);
      unwritable_ = true;
      worker.send_away(now());
      return;
    }
    agent.standing = Standing::kRunning;
    agent.attempts.back().started_ms = now();  // who ends from now on was not alone
    started_order_.push_back(i);
  }

  // Of one that was found again: the journal does not know when it began.
  void note_start(std::size_t i) {
    Attempt& attempt = record_.agents[i].attempts.back();
    const bool runs = workers_[i].phase() == Worker::Phase::kRunning;
    if (runs && attempt.started_ms == 0) attempt.started_ms = workers_[i].since_ms();
  }

  // Who has what at this moment: the plan's own agents, and everybody else.
  std::vector<Neighbour> neighbours_of(std::size_t i) {
    std::vector<Neighbour> list;
    for (std::size_t other = 0; other < workers_.size(); ++other) {
      if (other == i || workers_[other].phase() != Worker::Phase::kRunning) continue;
      list.push_back({record_.agents[other].id, record_.agents[other].locks, "of this plan"});
    }
    const std::string ours = run_.told.head.session + "/";
    for (Neighbour& outside : neighbours_outside(locks_, ours)) list.push_back(std::move(outside));
    return list;
  }

  void reap() {
    // Strays are reaped too; whoever is a keeper is found by its number.
    int status = 0;
    for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      for (std::size_t i = 0; i < workers_.size(); ++i) {
        if (workers_[i].idle() || workers_[i].keeper() != pid) continue;
        while (const auto message = workers_[i].hear()) heard(i, *message);
        if (WIFSIGNALED(status)) end_strays(pid);
        keeper_gone(i);
        break;
      }
    }
  }

  // What a killed keeper had started came to us, and still has its locks in hand.
  void end_strays(pid_t dead) {
    std::vector<pid_t> spared = not_ours_;
    spared.push_back(dead);
    for (const Worker& worker : workers_) {
      if (worker.keeper() > 0) spared.push_back(worker.keeper());
    }
    host::end_children(kStrayGraceMs, spared);
  }

  void keeper_gone(std::size_t i) {
    dirty_ = true;
    const auto taken = take_end(i);
    if (!taken) {
      AgentRecord& agent = record_.agents[i];
      agent.attempts.back().ending = Ending::kDied;
      agent.attempts.back().why = taken.error().message;
      agent.attempts.back().ended_ms = now();
      judge(i);
    }
  }

  Result<void> take_end(std::size_t i) {
    AgentRecord& agent = record_.agents[i];
    LK_ASSIGN(std::optional<Attempt> attempt, workers_[i].finish());
    if (!attempt) {
      // It never began: as if it had not been there.
      agent.attempts.pop_back();
      agent.standing = Standing::kPending;
      write_down(agent);
      return {};
    }
    if (attempt->ended_ms == 0) attempt->ended_ms = now();
    agent.attempts.back() = std::move(*attempt);
    judge(i);
    return {};
  }

  // --- how it went --------------------------------------------------------------------------

  void judge(std::size_t i) {
    AgentRecord& agent = record_.agents[i];
    Attempt& attempt = agent.attempts.back();
    attribute_changes(i, attempt);
    if (options_.strict_scope) insist_on_scope(attempt);
    close_wait(agent);
    if (attempt.ending == Ending::kDone) {
      agent.standing = Standing::kDone;
    } else if (attempt.ending == Ending::kStopped) {
      agent.standing = Standing::kStopped;
    } else {
      agent.standing =
          may_try_again(agent, plan_.jobs[i].retries) ? Standing::kPending : Standing::kFailed;
      agent.why = ending_words(attempt);
    }
    write_down(agent);
    tell_end(agent, attempt);
  }

  void tell_end(const AgentRecord& agent, const Attempt& attempt) const {
    tell(CrewEvent::What::kEnded, &agent, ending_words(attempt));
    for (const std::string& note : notes_on(attempt)) tell(CrewEvent::What::kNote, &agent, note);
    if (agent.standing == Standing::kPending) {
      tell(CrewEvent::What::kAgain, &agent, "is tried again");
    }
  }

  // The keeper lists all that changed meanwhile; here it is known who else was at work.
  void attribute_changes(std::size_t i, Attempt& attempt) const {
    const bool fold_case = locks_.table().realm().ignore_case;
    std::vector<WriteScope> others;
    for (std::size_t other = 0; other < workers_.size(); ++other) {
      if (other != i && worked_between(record_.agents[other], attempt)) {
        others.push_back(scope_of(plan_.jobs[other], fold_case));
      }
    }
    attribute(attempt, scope_of(plan_.jobs[i], fold_case), others);
  }

  // --- the end ------------------------------------------------------------------------------

  void hear_signals() {
    const bool first = signal_ == 0;
    const int came = signals_.take_all(signal_);
    if (came == 0) return;
    if (first) {
      tell(CrewEvent::What::kStopping, nullptr,
           "stopping: agents are asked to end; again to kill them");
      for (Worker& worker : workers_) {
        if (worker.phase() == Worker::Phase::kAsking) worker.send_away(now());
      }
      // The last started first; those that were found again have no order here.
      for (auto it = started_order_.rbegin(); it != started_order_.rend(); ++it) {
        if (workers_[*it].phase() == Worker::Phase::kRunning) workers_[*it].stop();
      }
      for (const Worker& worker : workers_) {
        if (worker.adopted() && !worker.idle()) worker.stop();
      }
    }
    if (!first || came > 1) {
      for (const Worker& worker : workers_) worker.kill_now();
    }
  }

  void finish() {
    for (AgentRecord& agent : record_.agents) {
      close_wait(agent);
      if (is_open(agent)) agent.standing = Standing::kStopped;
    }
    if (!stopping()) record_.ended_ms = now();
    // A run that goes on later knows what was waited for before.
    auto written = run_.journal.agents(record_.agents);
    if (written) written = run_.journal.run(record_);
    if (!written) problem(written.error().message);
    // Whatever a keeper that was killed could not give back.
    if (const auto purged = locks_.purge(false); !purged) problem(purged.error().message);
    if (const auto hidden = lock_files_.hide(locks_.table(), run_.output); !hidden) {
      problem(hidden.error().message);
    }
  }

  static constexpr std::int64_t kRescheduleMs = 200;

  service::Locks& locks_;
  const plan::Plan& plan_;
  OpenRun& run_;
  RunRecord& record_;
  const ForemanOptions options_;
  const Watch watch_;
  const std::size_t most_;  // at work at once
  FeatureGate gate_;
  Places places_;
  Probes probes_;
  std::optional<Roster> roster_;
  std::optional<Folder> agents_;
  std::vector<Worker> workers_;
  std::vector<std::size_t> started_order_;
  std::vector<pid_t> not_ours_;                        // children of before
  std::vector<std::optional<std::size_t>> yields_to_;  // who was let pass (rule 2)
  host::HeldSignals signals_{kHeard, host::HeldSignals::Ignored::kStays};
  int signal_ = 0;
  bool unwritable_ = false;
  bool dirty_ = true;
  std::int64_t next_schedule_ = 0;
  std::string paused_by_;
  LockFiles lock_files_;
};

Foreman::Foreman(service::Locks& locks, const plan::Plan& plan, OpenRun& run,
                 ForemanOptions options, Watch watch)
    : impl_(std::make_unique<Impl>(locks, plan, run, std::move(options), std::move(watch))) {}
Foreman::~Foreman() = default;

Result<void> Foreman::run() {
  return impl_->run();
}
const RunRecord& Foreman::record() const {
  return impl_->record();
}
int Foreman::signal() const {
  return impl_->signal();
}

std::string Foreman::last_line(const AgentRecord& agent) const {
  const Worker* const worker = impl_->worker_of(agent);
  return worker == nullptr ? "" : worker->last_line();
}

std::int64_t Foreman::running_since(const AgentRecord& agent) const {
  const Worker* const worker = impl_->worker_of(agent);
  return worker == nullptr ? 0 : worker->since_ms();
}

}  // namespace lockkeeper::crew
