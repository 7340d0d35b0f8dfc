#include "crew/foreman.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "crew/brief.h"
#include "crew/dispatcher.h"
#include "crew/job_orders.h"
#include "crew/lock_files.h"
#include "crew/record/whole_number.h"
#include "crew/report/report_parts.h"
#include "crew/tree_keeper.h"
#include "crew/verdict.h"
#include "host/descendants.h"
#include "host/signals.h"

namespace lockkeeper::crew {
namespace {

constexpr int kHeard[] = {SIGINT, SIGTERM, SIGHUP};  // and children that end
constexpr int kPollMs = 200;
constexpr std::int64_t kRescheduleMs = 200;
constexpr std::int64_t kStrayGraceMs = 1'000;  // for processes that a killed supervisor left behind

}  // namespace

class Foreman::Impl {
 public:
  Impl(service::Locks& locks, const plan::Plan& plan, OpenRun& run, ForemanOptions options,
       Watch watch)
      : locks_(locks),
        plan_(plan),
        run_(run),
        record_(run.state.record),
        options_(std::move(options)),
        watch_(std::move(watch)),
        ledger_(run, *locks.site().runtime().clock, watch_.on_event) {}

  Result<void> run() {
    LK_ASSIGN(Roster roster, Roster::of(plan_));
    if (!record_.trees.folder.empty()) {
      trees_.emplace(locks_, plan_, run_, ledger_, options_.folder, options_.patterns);
    }
    dispatcher_.emplace(locks_, plan_, run_.state.head.session, std::move(roster), options_.jobs,
                        ledger_, workers_);
    // Children that we inherited through exec are not ours to end.
    not_ours_ = host::children_besides({});
    if (auto ready = set_up(); !ready) {
      static_cast<void>(lock_files_.hide(locks_.site(), run_.output));
      return ready;
    }
    host::adopt_orphans();
    while (!over()) {
      schedule();
      if (over()) break;
      if (watch_.on_tick) watch_.on_tick();
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
  std::int64_t now() const { return ledger_.now(); }

  Result<void> set_up() {
    LK_ASSIGN(agents_, run_.output.folder(kAgentsName));
    const bool fresh = record_.agents.empty();
    record_.agents = records_for(plan_, std::move(record_.agents));
    for (AgentRecord& agent : record_.agents) workers_.emplace_back(agent, *agents_);
    LK_CHECK(lock_files_.show(locks_.site(), run_.output, run_.state.head.session));
    if (!fresh) {
      LK_CHECK(resume());
    }
    return {};
  }

  // After Ctrl-C, after kill -9, or after failures that somebody has repaired.
  Result<void> resume() {
    ++record_.resumed;
    record_.ended_ms = 0;
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      AgentRecord& agent = record_.agents[i];
      ledger_.end_wait(agent);
      const bool open = has_open_attempt(agent);
      if (open) {
        LK_ASSIGN(const bool found, workers_[i].find_again(now()));
        if (found) {
          agent.standing = Standing::kRunning;
          ledger_.tell(CrewEvent::What::kFound, &agent, "is still working");
          note_start(i);
          continue;
        }
      }
      forget_lost_lease(i);
      if (open) {
        supervisor_gone(i);
        // A failure that is only found now is not forgiven yet.
        if (agent.standing != Standing::kStopped) continue;
      }
      if (agent.standing == Standing::kDone) continue;
      if (agent.standing == Standing::kFailed || agent.standing == Standing::kStopped) {
        agent.forgiven = agent.attempts.size();  // --resume asks for another try
      }
      agent.standing = Standing::kPending;
      agent.why.clear();
    }
    return run_.journal.run(record_);
  }

  bool over() const {
    if (!std::ranges::all_of(workers_, &Worker::idle)) return false;
    return stopping() || std::ranges::none_of(record_.agents, yet_to_start);
  }

  bool stopping() const { return signal_ != 0 || ledger_.failed(); }

  // --- starting -----------------------------------------------------------------------------

  // By the monotonic clock: setting the wall clock back must not delay it.
  void schedule() {
    if (!dirty_ && ledger_.mono() < next_schedule_) return;
    dirty_ = false;
    next_schedule_ = ledger_.mono() + kRescheduleMs;
    if (!stopping()) dispatcher_->schedule([this](std::size_t i) { begin(i); });
  }

  Orders orders_for(std::size_t i) {
    const plan::Job& job = plan_.jobs[i];
    Orders orders = orders_of(job);
    orders.session = dispatcher_->session_of(i);
    orders.feature = dispatcher_->feature();
    if (job.command.empty()) orders.command = options_.command;
    orders.environment["LOCKKEEPER_OUTPUT"] = run_.output.path();
    orders.environment.insert(options_.environment.begin(), options_.environment.end());
    orders.folder = options_.folder;
    orders.grace_ms = options_.grace_ms;
    orders.log_bytes_max = options_.log_bytes_max;
    orders.detect_changes = options_.detect_changes;
    orders.leave_out = {run_.output.path(), locks_.site().realm().store_folder};
    if (trees_) trees_->give_orders(i, dispatcher_->roster(), orders);
    return orders;
  }

  void begin(std::size_t i) {
    AgentRecord& agent = record_.agents[i];
    ledger_.end_wait(agent);
    auto begun = workers_[i].prepare(orders_for(i));
    if (begun && !ledger_.write(agent)) return;
    if (begun) begun = workers_[i].start(options_.supervisor, now());
    if (!begun) return ledger_.fail_with(begun.error());
    agent.standing = Standing::kWaiting;
  }

  // --- listening ----------------------------------------------------------------------------

  void wait() {
    std::vector<pollfd> wanted{{signals_.fd(), POLLIN, 0}};
    for (const Worker& worker : workers_) {
      if (worker.channel_fd() >= 0) wanted.push_back({worker.channel_fd(), POLLIN, 0});
    }
    ::poll(wanted.data(), wanted.size(), kPollMs);
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
      if (!gone || *gone) supervisor_gone(i);
    }
  }

  void heard(std::size_t i, const Channel::Message& message) {
    Worker& worker = workers_[i];
    AgentRecord& agent = record_.agents[i];
    const std::string said = message.value("say", "");
    if (said == "waiting") {
      const bool paused = message.value("paused", false);
      ledger_.wait(agent, paused ? Wait::For::kPause : Wait::For::kLock, message.value("on", ""));
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
      ledger_.tell(CrewEvent::What::kStarted, &agent, "started" + again);
    } else if (said == "note") {
      ledger_.tell(CrewEvent::What::kNote, &agent, message.value("text", ""));
    }
  }

  void answer(std::size_t i) {
    Worker& worker = workers_[i];
    AgentRecord& agent = record_.agents[i];
    const bool asks = worker.phase() == Worker::Phase::kAsking;
    if (stopping() || dispatcher_->is_full() || !asks) return worker.send_away(now());
    ledger_.end_wait(agent);
    const std::string& root = trees_ ? agent.tree.folder : locks_.site().realm().root;
    const auto sent =
        worker.go(scope_text(plan_.jobs[i], root, neighbours_of(i), agent.tree.branch), now());
    if (!sent) {
      ledger_.fail_with(sent.error());
      return worker.send_away(now());
    }
    agent.standing = Standing::kRunning;
    agent.attempts.back().started_ms = now();  // agents that end from now on were not alone
    started_order_.push_back(i);
  }

  // The journal does not know when an attempt that was found again began.
  void note_start(std::size_t i) {
    Attempt& attempt = record_.agents[i].attempts.back();
    const bool runs = workers_[i].phase() == Worker::Phase::kRunning;
    if (runs && attempt.started_ms == 0) attempt.started_ms = workers_[i].since_ms();
  }

  // Who holds what at this moment: agents of the plan, and everybody else.
  std::vector<Neighbour> neighbours_of(std::size_t i) {
    std::vector<Neighbour> list;
    for (std::size_t other = 0; other < workers_.size(); ++other) {
      if (other == i || workers_[other].phase() != Worker::Phase::kRunning) continue;
      list.push_back({record_.agents[other].id, record_.agents[other].locks, "", true});
    }
    const std::string ours = run_.state.head.session + "/";
    for (Neighbour& outside : neighbours_outside(locks_, ours)) list.push_back(std::move(outside));
    return list;
  }

  void reap() {
    // Also reaps strays; supervisors are known by their process number.
    int status = 0;
    for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      for (std::size_t i = 0; i < workers_.size(); ++i) {
        if (workers_[i].idle() || workers_[i].supervisor() != pid) continue;
        while (const auto message = workers_[i].hear()) heard(i, *message);
        if (WIFSIGNALED(status)) {
          if (trees_) trees_->let_git_end(i, *agents_);
          end_strays(pid);
        }
        supervisor_gone(i);
        break;
      }
    }
  }

  // The processes of a killed supervisor became our children, and still hold its lease's slot.
  void end_strays(pid_t dead) {
    std::vector<pid_t> spared = not_ours_;
    spared.push_back(dead);
    for (const Worker& worker : workers_) {
      if (worker.supervisor() > 0) spared.push_back(worker.supervisor());
    }
    host::end_children(kStrayGraceMs, spared);
  }

  void supervisor_gone(std::size_t i) {
    dirty_ = true;
    AgentRecord& agent = record_.agents[i];
    auto ended = workers_[i].finish();
    if (ended && !*ended) {
      // The command never started, so there was no attempt.
      agent.attempts.pop_back();
      agent.standing = Standing::kPending;
      ledger_.write(agent);
      return;
    }
    Attempt& attempt = agent.attempts.back();
    if (ended) {
      attempt = std::move(**ended);
    } else {
      attempt.ending = Ending::kDied;
      attempt.why = ended.error().message;
    }
    if (attempt.ended_ms == 0) attempt.ended_ms = now();
    if (attempt.ending == Ending::kLost || attempt.ending == Ending::kDied) forget_lost_lease(i);
    judge(i);
  }

  // If the store was lost, the lease's lock files would be taken for another tool's.
  void forget_lost_lease(std::size_t i) {
    const AgentRecord& agent = record_.agents[i];
    if (agent.attempts.empty()) return;
    const auto folder = attempt_folder(*agents_, agent.id, agent.attempts.back().number);
    if (!folder || !*folder) return;
    if (auto done = crew::forget_lost(locks_.site(), **folder); !done) {
      ledger_.problem("lock files of " + agent.id + " may be left: " + done.error().message);
    }
  }

  // --- judging ------------------------------------------------------------------------------

  void judge(std::size_t i) {
    AgentRecord& agent = record_.agents[i];
    Attempt& attempt = agent.attempts.back();
    attribute_changes(i, attempt);
    if (options_.strict_scope) insist_on_scope(attempt);
    ledger_.end_wait(agent);
    if (attempt.ending == Ending::kDone) {
      agent.standing = Standing::kDone;
    } else if (attempt.ending == Ending::kStopped) {
      agent.standing = Standing::kStopped;
      agent.why = attempt.why;
    } else {
      agent.standing =
          may_try_again(agent, plan_.jobs[i].retries) ? Standing::kPending : Standing::kFailed;
      agent.why = ending_text(attempt);
    }
    const std::string committed = trees_ ? TreeKeeper::note(agent) : "";
    ledger_.write(agent);
    ledger_.tell(CrewEvent::What::kEnded, &agent, ending_text(attempt));
    if (!committed.empty()) ledger_.tell(CrewEvent::What::kNote, &agent, committed);
    for (const std::string& note : notes_on(attempt, Suspects(record_))) {
      ledger_.tell(CrewEvent::What::kNote, &agent, note);
    }
    if (agent.standing == Standing::kPending) {
      ledger_.tell(CrewEvent::What::kAgain, &agent, "will be tried again");
    }
  }

  // The supervisor lists everything that changed; only the foreman knows who else was at work.
  void attribute_changes(std::size_t i, Attempt& attempt) const {
    const bool fold_case = locks_.site().realm().ignore_case;
    std::vector<WriteScope> others;
    // In a worktree of its own an agent is alone.
    for (std::size_t other = 0; other < workers_.size() && !trees_; ++other) {
      if (other != i && worked_between(record_.agents[other], attempt)) {
        others.push_back(scope_of(plan_.jobs[other], fold_case));
      }
    }
    attribute(attempt, scope_of(plan_.jobs[i], fold_case), others);
  }

  // --- stopping -----------------------------------------------------------------------------

  void hear_signals() {
    const bool first = signal_ == 0;
    const int came = signals_.take_all(signal_);
    if (came == 0) return;
    if (first) {
      ledger_.tell(CrewEvent::What::kStopping, nullptr,
                   "stopping: agents are asked to end; interrupt again to kill them");
      for (Worker& worker : workers_) {
        if (worker.phase() == Worker::Phase::kAsking) worker.send_away(now());
      }
      // The last started first; those that were found again have no known order.
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
      ledger_.end_wait(agent);
      if (yet_to_start(agent)) agent.standing = Standing::kStopped;
    }
    if (trees_ && !stopping()) {
      trees_->finish(*agents_, dispatcher_->roster(), [this] {
        hear_signals();
        if (watch_.on_tick) watch_.on_tick();
        return !stopping();
      });
    }
    if (!stopping()) record_.ended_ms = now();
    // A resumed run shows what agents waited for before.
    auto written = run_.journal.agents(record_.agents);
    if (written) written = run_.journal.run(record_);
    if (!written) ledger_.problem(written.error().message);
    // Leases that a killed supervisor could not release.
    if (const auto purged = locks_.purge(false); !purged) ledger_.problem(purged.error().message);
    if (const auto hidden = lock_files_.hide(locks_.site(), run_.output); !hidden) {
      ledger_.problem(hidden.error().message);
    }
  }

  service::Locks& locks_;
  const plan::Plan& plan_;
  OpenRun& run_;
  RunRecord& record_;
  const ForemanOptions options_;
  const Watch watch_;
  RunLedger ledger_;
  std::optional<Dispatcher> dispatcher_;
  std::optional<TreeKeeper> trees_;
  std::optional<Folder> agents_;
  std::vector<Worker> workers_;
  std::vector<std::size_t> started_order_;
  std::vector<pid_t> not_ours_;  // children from before
  host::HeldSignals signals_{kHeard, host::HeldSignals::Ignored::kStays};
  int signal_ = 0;
  bool dirty_ = true;
  std::int64_t next_schedule_ = 0;
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
