#include "crew/supervisor.h"

#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "crew/brief.h"
#include "crew/changes/changes.h"
#include "crew/lock_files.h"
#include "crew/log_pump.h"
#include "crew/record/record_json.h"
#include "git/paths.h"
#include "git/reader.h"
#include "host/descendants.h"
#include "host/file_ops.h"
#include "host/process.h"
#include "host/signals.h"
#include "service/pause.h"
#include "service/report.h"
#include "service/run.h"
#include "snapshot/site/realm_keeper.h"

namespace lockkeeper::crew {
namespace {

constexpr int kAnswerPollMs = 100;
constexpr std::size_t kScopeBytesMax = 16 << 20;
constexpr int kNotFoundStatus = 127;  // of a shell

// Who holds the lock; without ages, which would change the text each time.
std::string holder_of(const core::Conflict& conflict) {
  const core::Owner& owner = conflict.holder.owner;
  const std::string resource = shown(conflict.held.resource.text());
  const std::string agent = owner.agent.empty() ? "somebody" : shown(owner.agent);
  const std::string& reason = conflict.holder.terms.reason;
  return (conflict.waiting ? agent + " is ahead in the queue for " + resource
                           : resource + " is held by " + agent) +
         (reason.empty() ? "" : " (" + quote(reason) + ")");
}

// What an exit status means beyond its number; empty: nothing.
std::string status_text(int status) {
  const std::string name = status <= 128 ? "" : host::signal_name(status - 128);
  return name.empty() ? "" : "killed by " + name;
}

class Supervisor {
 public:
  // Until the lease is granted, a signal only means: leave the queue.
  Supervisor(service::Locks& locks, const Orders& orders, const Folder& folder, Channel channel,
             const host::SignalWatch& signals)
      : locks_(locks),
        orders_(orders),
        folder_(folder),
        channel_(std::move(channel)),
        signals_(signals) {
    attempt_.number = orders.number;
  }

  int run() {
    auto log = LogPump::open(folder_, orders_.log_bytes_max);
    if (!log) return refused(log.error());
    log_ = &*log;
    prepare();
    const auto result =
        service::run(locks_, command_, [this](const service::RunEvent& event) { heard(event); });
    if (!result) return refused(result.error());
    if (!result->started) return not_started(*result);
    Channel::Message message{{"say", "ended"}};
    message["attempt"] = attempt_json(attempt_);
    message["attempt"]["changes"] = Json::array();  // the file has them; they may be many
    message["attempt"]["changes_unknown"] = unwritten_;
    channel_.send(message);
    return 0;
  }

 private:
  using Keep = service::Stage::Keep;

  void prepare() {
    command_.acquire.wanted.texts = orders_.locks;
    command_.acquire.ttl_ms = orders_.ttl_ms;
    command_.acquire.wait_ms = service::kWaitForever;
    command_.acquire.terms.reason = orders_.reason;
    command_.acquire.terms.task = orders_.task;
    command_.acquire.on_wait = [this](const service::WaitProgress& wait) { return waiting(wait); };
    command_.given_up = [this] { return signals_.signal() != 0; };
    command_.argv = orders_.command.words;
    command_.kill_grace_ms = orders_.grace_ms;
    command_.feature = orders_.feature;
    command_.folder = orders_.folder;
    command_.stage = &stage_;
    stage_.environment = orders_.environment;
    stage_.output = log_->writer();
    stage_.timeout_ms = orders_.timeout_ms;
    stage_.watched = log_->reader();
    stage_.readable = [this] { return log_->pump(); };
    stage_.may_start = [this](const Keep& keep) { return may_start(keep); };
    stage_.gone = [this](const service::RunResult& result, const Keep& keep) {
      gone(result, keep);
    };
  }

  std::int64_t now() const { return locks_.site().runtime().clock->now().wall_ms; }

  // The foreman lives and has not changed its mind.
  bool still_wanted() {
    const auto message = channel_.receive(0);
    return signals_.signal() == 0 && !channel_.gone() && !message;
  }

  bool waiting(const service::WaitProgress& wait) {
    if (!wait.conflicts.empty()) {
      const core::Conflict& first = wait.conflicts.front();
      const bool paused = !orders_.feature.empty() &&
                          first.held.resource.text() == service::pause_key(orders_.feature);
      std::string on = holder_of(first);
      if (on != reported_) {
        reported_ = on;
        channel_.send({{"say", "waiting"},
                       {"on", on},
                       {"agent", first.holder.owner.agent},
                       {"session", first.holder.owner.session},
                       {"paused", paused}});
      }
    }
    return still_wanted();
  }

  // The agent's worktree, while its lease is kept. False: the foreman does not want it any more.
  Result<bool> make_tree(const Keep& keep) {
    LK_CHECK(open_tree());
    bool wanted = true;
    AgentTree tree(*orders_.tree, *marks_,
                   [&] { return wanted = wanted && keep() && still_wanted(); });
    auto start = tree.ensure();
    if (!wanted) return false;
    if (!start) return fail(std::move(start.error()));
    attempt_.start = std::move(*start);
    for (const std::string& what : tree.left_out()) note("gets no " + what);
    const auto set = tree.variables_for([this](const char* name) -> std::optional<std::string> {
      const auto ours = stage_.environment.find(name);
      return ours == stage_.environment.end() ? locks_.site().runtime().env(name) : ours->second;
    });
    if (!set) return fail(set.error());
    for (const auto& [name, value] : *set) stage_.environment[name] = value;
    return true;
  }

  // The folder with all attempts of the agent.
  Result<void> open_tree() {
    const std::string& path = folder_.path();
    LK_ASSIGN(Folder above, open_run_files(path.substr(0, path.rfind('/'))));
    marks_.emplace(std::move(above));
    return {};
  }

  Result<bool> may_start(const Keep& keep) {
    if (orders_.tree) {
      LK_ASSIGN(const bool wanted, make_tree(keep));
      if (!wanted) return false;
    }
    if (orders_.detect_changes) known(scan_tree(root(), orders_.leave_out), before_);
    keep_uncommitted();
    // The foreman may take a while, or be stopped (Ctrl-Z).
    for (bool said = false;;) {
      if (!keep()) return false;
      said = said || channel_.send({{"say", "ready"}});
      const auto answer = channel_.receive(kAnswerPollMs);
      if (channel_.gone()) return false;
      if (!answer) continue;
      if (answer->value("say", "") != "go") return false;
      break;
    }
    if (!keep()) return false;
    LK_CHECK(fill_in());
    attempt_.started_ms = now();
    return mark_started();
  }

  // What git does not have yet, whoever wrote it: the agent may well change more than it should.
  void keep_uncommitted() {
    const service::Site& site = locks_.site();
    realm::Realm here = site.realm();
    here.root = root();  // with --worktrees: what its earlier attempts left
    site.make_folder();
    const auto keeper = snapshot::keeper_of(here, site.settings());
    if (keeper == nullptr) return;
    const auto files = uncommitted(here);
    if (files && files->empty()) return;
    const snapshot::Keeping how{.why = snapshot::Why::kAttempt,
                                .by = {orders_.agent, orders_.session}};
    const auto kept = files ? keeper->keep_all(*files, how, now()) : fail(files.error());
    if (!kept)
      note("not all uncommitted files could be kept before it began: " + kept.error().message);
  }

  Result<std::vector<std::string>> uncommitted(const realm::Realm& here) const {
    std::vector<std::string> files;
    for (const auto& [path, state] : before_.files) {
      if (state.dirty) files.push_back(path);
    }
    if (orders_.detect_changes || !here.in_git) return files;
    // Without the comparison, git alone is asked.
    LK_ASSIGN(const git::Reader reader, git::Reader::open(here.root));
    LK_ASSIGN(const std::vector<git::ChangedPath> changed, git::all_changed_paths(reader));
    for (const git::ChangedPath& each : changed) files.push_back(each.path);
    return files;
  }

  // The foreman writes the scope at the last moment: only then is it known who holds the rest.
  Result<void> fill_in() {
    LK_ASSIGN(const auto scope, folder_.read("scope.txt", kScopeBytesMax));
    std::map<std::string, std::string> values;
    const std::string path = folder_.path_of("scope.txt");
    stage_.environment["LOCKKEEPER_SCOPE"] = cut_text(scope.value_or(""), path);
    stage_.environment["LOCKKEEPER_SCOPE_FILE"] = path;
    for (const Placeholder& placeholder : placeholders()) {
      const auto value = stage_.environment.find(placeholder.variable);
      if (value != stage_.environment.end()) values[placeholder.name] = value->second;
    }
    values["agent"] = orders_.agent;
    command_.argv = filled_command(orders_.command, values);
    return {};
  }

  Result<bool> mark_started() {
    LK_ASSIGN(const host::ProcessId self, host::identify(::getpid()));
    const Json mark{{"pid", self.pid},
                    {"pid_namespace", self.pid_namespace},
                    {"start_ticks", self.start_ticks},
                    {"started_ms", attempt_.started_ms}};
    LK_CHECK(folder_.write(kStartedName, mark.dump() + "\n"));
    return true;
  }

  void heard(const service::RunEvent& event) {
    using What = service::RunEvent::What;
    switch (event.what) {
      case What::kGranted:
        attempt_.lease = event.acquired.lease.id.text();
        attempt_.fence = event.acquired.lease.fence();
        // Without it only a run that loses its store waits for its own files.
        static_cast<void>(note_lease(folder_, event.acquired.lease));
        return;
      case What::kStarted:
        log_->close_writer();
        channel_.send({{"say", "started"},
                       {"pid", event.pid},
                       {"lease", attempt_.lease},
                       {"fence", attempt_.fence},
                       {"started_ms", attempt_.started_ms}});
        return;
      case What::kEnded:
        if (event.pid == 0) attempt_.why = event.message;
        return;
      case What::kPaused:
        return note("is waiting: " + event.message);
      case What::kResumed:
        return note("continues: " + event.message + " is open");
      case What::kRenewTrouble:
        return note(event.message);
      case What::kMessage:
        return note("has a message from " + event.message);
      case What::kLost:
        lost_why_ = event.message;
        return note("lost its lock: " + event.message);
    }
  }

  void note(const std::string& text) { channel_.send({{"say", "note"}, {"text", text}}); }

  // The command has ended; its lease is still held.
  void gone(const service::RunResult& result, const Keep& keep) {
    attempt_.processes_ended = host::end_children(orders_.grace_ms, {}, [&] { keep(); });
    log_->drain();
    attempt_.ended_ms = now();
    attempt_.exit_status = result.exit_status;
    attempt_.log_bytes = log_->bytes();
    attempt_.log_cut = log_->cut();
    judge(result);
    const bool committed = orders_.tree && attempt_.ending == Ending::kDone && commit(keep);
    if (orders_.detect_changes && !committed && attempt_.changes_unknown.empty()) find_changes();
    write_result();
  }

  void judge(const service::RunResult& result) {
    attempt_.why = status_text(result.exit_status);
    if (result.signal != 0) {
      // Many programs end with 0 whenever they are asked to: it does not say that the work is done.
      if (result.exit_status == 0) attempt_.why = "it ended with 0, but may be unfinished";
      attempt_.ending = Ending::kStopped;
    } else if (result.timed_out) {
      attempt_.ending = Ending::kTimedOut;
      attempt_.why = "stopped after " + format_duration(orders_.timeout_ms);
    } else if (result.lost) {
      attempt_.ending = Ending::kLost;
      attempt_.why = lost_why_;
    } else {
      attempt_.ending = result.exit_status == 0 ? Ending::kDone : Ending::kFailed;
      if (result.exit_status == kNotFoundStatus && orders_.tree) {
        attempt_.why = "exit status 127: a program was not found; paths begin in its worktree";
      }
    }
  }

  // An agent is done once its work is on its branch. What the branch changes are its changes.
  bool commit(const Keep& keep) {
    AgentTree tree(*orders_.tree, *marks_, [&] { return keep(); });
    const auto done = tree.commit({{"LOCKKEEPER_AGENT", orders_.agent},
                                   {"LOCKKEEPER_SESSION", orders_.session},
                                   {"LOCKKEEPER_LEASE", attempt_.lease},
                                   {"LOCKKEEPER_FENCE", std::to_string(attempt_.fence)},
                                   {"LOCKKEEPER_REALM", locks_.site().realm().root}});
    if (!done) {
      attempt_.ending = Ending::kUncommitted;
      attempt_.why = done.error().message;
      if (!done.error().hint.empty()) attempt_.why += "; " + done.error().hint;
      return false;
    }
    attempt_.commit = done->tip;
    if (!orders_.detect_changes) return true;
    attempt_.changes_unknown.clear();
    known(tree.changes(attempt_.start, attempt_.commit), attempt_.changes);
    return true;
  }

  // All changes; the foreman decides whose they are.
  void find_changes() {
    Tree after;
    if (known(scan_tree(root(), orders_.leave_out), after)) {
      known(changes_between(before_, after, root()), attempt_.changes);
    }
  }

  // False: the changes stay unknown.
  template <class Value>
  bool known(Result<Value> found, Value& into) {
    if (found) {
      into = std::move(*found);
    } else {
      attempt_.changes_unknown = found.error().message;
    }
    return found.has_value();
  }

  const std::string& root() const {
    return orders_.tree ? orders_.tree->folder : locks_.site().realm().root;
  }

  void write_result() {
    const auto written = folder_.write(kResultName, attempt_json(attempt_).dump() + "\n");
    if (!written) unwritten_ = written.error().message;
  }

  int not_started(const service::RunResult& result) {
    if (result.exit_status == 126 || result.exit_status == 127) {
      attempt_.ending = Ending::kUnstarted;
      attempt_.exit_status = result.exit_status;
      attempt_.ended_ms = now();
      write_result();
      channel_.send({{"say", "ended"}, {"attempt", attempt_json(attempt_)}});
      return 0;
    }
    if (result.acquired.outcome == core::Outcome::kInterrupted || result.signal != 0) {
      channel_.send({{"say", "left"}});
      return 0;
    }
    service::HintContext asked;
    asked.now_wall_ms = now();
    return refused(result.lost ? Error{Code::kLost, lost_why_, ""}
                               : service::refusal(result.acquired, asked));
  }

  int refused(const Error& error) {
    channel_.send({{"say", "refused"}, {"message", error.message}, {"hint", error.hint}});
    return exit_status(error.code);
  }

  service::Locks& locks_;
  const Orders& orders_;
  const Folder& folder_;
  Channel channel_;
  const host::SignalWatch& signals_;
  LogPump* log_ = nullptr;
  service::RunCommand command_;
  service::Stage stage_;
  Attempt attempt_;
  Tree before_;
  std::optional<Folder> marks_;  // with orders_.tree
  std::string reported_;         // the last wait
  std::string lost_why_;
  std::string unwritten_;  // why result.json could not be written
};

}  // namespace

int supervise(service::Locks& locks, const Orders& orders, const Folder& folder, Channel channel) {
  ::setsid();  // only the foreman receives the terminal's signals
  const host::SignalWatch signals;
  host::adopt_orphans();
  const auto alive = host::try_lock(folder, kAliveName);
  if (!alive || !*alive) {
    channel.send({{"say", "refused"}, {"message", "this attempt already has a supervisor"}});
    return exit_status(Code::kHeld);
  }
  return Supervisor(locks, orders, folder, std::move(channel), signals).run();
}

}  // namespace lockkeeper::crew
