#include "service/run.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>

#include "base/assert.h"
#include "base/fd.h"
#include "base/text.h"
#include "core/encoding.h"
#include "core/message.h"
#include "host/descendants.h"
#include "host/signals.h"
#include "host/spawn.h"
#include "service/messages.h"
#include "service/names.h"
#include "service/pause.h"
#include "service/questions.h"

namespace lockkeeper::service {
namespace {

// Half of what a person is promised: an overlap with another tool is noticed within a second.
constexpr std::int64_t kLookEveryMs = 500;
constexpr std::int64_t kLookAtHubMs = 2'000;  // each look is a round trip
constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT};

// Signals that came while they were held, and which of them asked this process to end.
class SignalQueue {
 public:
  int fd() const { return held_.fd(); }
  const host::HeldSignals& held() const { return held_; }

  // Passes on what was asked of us alone, or all to a whole group (a negative number); true if a
  // child has changed.
  bool drain(pid_t child) {
    bool child_changed = false;
    while (const auto came = held_.take()) {
      note(came->signal);
      if (came->signal == SIGCHLD) {
        child_changed = true;
      } else if (!came->by_kernel || child < 0) {
        // The terminal's own signals reach the whole foreground group, the command included.
        ::kill(child, came->signal);
      }
    }
    return child_changed;
  }

  // The first signal that asked this process to end, with a command or without; 0: none came.
  int asked_to_end() {
    while (asked_to_end_ == 0) {
      const auto came = held_.take();
      if (!came) break;
      note(came->signal);
    }
    return asked_to_end_;
  }
  // The same, of those that were taken already.
  int noted() const { return asked_to_end_; }
  int times_noted() const { return times_asked_; }

 private:
  void note(int signal) {
    if (!host::asks_to_end(signal)) return;
    ++times_asked_;
    if (asked_to_end_ == 0) asked_to_end_ = signal;
  }

  host::HeldSignals held_{kForwarded, host::HeldSignals::Ignored::kHeld};
  int asked_to_end_ = 0;
  int times_asked_ = 0;
};

// A scope that is too long for a variable, as a file that is removed with this object.
class ScopeFile {
 public:
  ScopeFile() = default;
  ~ScopeFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  ScopeFile(const ScopeFile&) = delete;
  ScopeFile& operator=(const ScopeFile&) = delete;

  const std::string& path() const { return path_; }

  Result<void> write(const std::string& text, const realm::Environment& env) {
    std::string path = realm::variable(env, "TMPDIR").value_or("/tmp") + "/lockkeeper-scope-XXXXXX";
    const Fd file(::mkostemp(path.data(), O_CLOEXEC));
    if (!file) {
      return fail(errno_error(errno, "cannot write the list of what the command holds: " + path,
                              Code::kFailed));
    }
    path_ = path;
    if (write_all(file.get(), text)) return {};
    return fail(errno_error(errno, "cannot write " + path, Code::kFailed));
  }

 private:
  std::string path_;
};

// What the command gets on top of our environment.
Result<std::map<std::string, std::string>> variables_for(Locks& locks, const core::Lease& lease,
                                                         const realm::Realm& realm,
                                                         const RunCommand& command,
                                                         ScopeFile& scope_file) {
  std::map<std::string, std::string> ours = command.environment;
  ours["LOCKKEEPER_AGENT"] = locks.owner().agent;
  ours["LOCKKEEPER_SESSION"] = locks.owner().session;
  if (!realm.machine) {  // nothing is asked for under a lock of the machine
    ours["LOCKKEEPER_LEASE"] = lease.id.text();
    ours["LOCKKEEPER_FENCE"] = std::to_string(lease.fence());
    ours["LOCKKEEPER_REALM"] = realm.root;
    if (!realm.store_url.empty()) ours["LOCKKEEPER_STORE"] = realm.store_url;
    const std::string scope = scope_text(lease, realm);
    // The kernel takes 128 KiB for one variable, and some for all of them.
    constexpr std::size_t kScopeBytesMax = std::size_t{32} << 10;
    if (scope.size() > kScopeBytesMax && command.stage == nullptr) {
      LK_CHECK(scope_file.write(scope, locks.site().runtime().env));
      ours["LOCKKEEPER_SCOPE"] =
          cut_utf8(scope, kScopeBytesMax) + "\n… the whole text is in " + scope_file.path() + "\n";
    } else {
      ours["LOCKKEEPER_SCOPE"] = scope;
    }
    // Empty counts as not set: one that an outer run has set is not about this lock.
    ours["LOCKKEEPER_SCOPE_FILE"] = scope_file.path();
  }
  if (!command.feature.empty()) ours["LOCKKEEPER_FEATURE"] = command.feature;
  if (command.stage != nullptr) {
    for (const auto& [name, value] : command.stage->environment) ours[name] = value;
  }
  return ours;
}

// Puts our git in front of the real one. Empty: there is none.
Result<std::string> put_git_in_front(const Site& site, std::map<std::string, std::string>& ours) {
  const Runtime& runtime = site.runtime();
  if (!runtime.git_front || !site.realm().in_git) return std::string();
  LK_ASSIGN(std::string folder, runtime.git_front(true));
  const auto given = ours.find("PATH");
  const std::string path = given != ours.end()
                               ? given->second
                               : realm::variable(runtime.env, "PATH").value_or("/usr/bin:/bin");
  if (path != folder && !path.starts_with(folder + ":")) ours["PATH"] = folder + ":" + path;
  return folder;
}

// The child holds `slot` open across exec, if there is one; everything else of ours closes by
// itself.
Result<host::Started> start(const RunCommand& command, std::map<std::string, std::string> variables,
                            const std::string& git_front, const host::LiveSlot* slot,
                            const SignalQueue& signals) {
  Fd inherited;
  if (slot != nullptr) {
    LK_ASSIGN(inherited, slot->inheritable());
  }
  host::Program program;
  program.argv = command.argv;
  // The command itself is searched in our own PATH.
  if (!git_front.empty() && command.argv.front() == "git") program.argv[0] = git_front + "/git";
  program.folder = command.folder;
  program.variables = std::move(variables);
  program.held = &signals.held();
  // Nobody renews the lock without us: the command is told.
  program.dies_with_us = SIGTERM;
  if (command.stage != nullptr) {
    program.group = host::Program::Group::kSession;
    program.in = host::kNothing;
    program.out = program.err = command.stage->output;
    program.dies_with_us = SIGKILL;
  }
  return host::start(program);
}

// The command's life: renewals, signals, loss.
class Watch {
 public:
  // `caller`: who asked for the command; the lease belongs to `locks`.
  Watch(Locks& caller, Locks& locks, const RunCommand& command, RunResult& result,
        const std::function<void(const RunEvent&)>& report, const Hold* hold)
      : caller_(caller),
        locks_(locks),
        command_(command),
        result_(result),
        report_(report),
        hold_(hold) {
    const core::Lease& lease = result_.acquired.lease;
    acknowledged_ = now();
    next_renewal_ = lease.terms.ttl_ms == kNoEnd ? INT64_MAX : now() + lease.terms.ttl_ms / 3;
    if (command_.stage != nullptr) watched_ = command_.stage->watched;
    // What came before was told before.
    for (const core::Message& message : unread()) last_message_ = message.id;
  }

  // Waits while the feature is paused, or until the lease is lost or a signal came. What cannot be
  // looked at is not open.
  void pass_gate(SignalQueue& signals) {
    if (command_.feature.empty()) return;
    for (bool told = false, troubled = false;; keep()) {
      const auto gate = look_at_gate(caller_, command_.feature);
      if (gate && gate->open()) {
        if (told) report_({RunEvent::What::kResumed, result_.acquired, 0, 0, gate->key});
        return;
      }
      if (gate && !told) {
        const std::int64_t wall = locks_.site().now().wall_ms;
        report_({RunEvent::What::kPaused, result_.acquired, 0, 0, paused_text(*gate, wall)});
        told = true;
      } else if (!gate && !troubled) {
        report_({RunEvent::What::kRenewTrouble, result_.acquired, 0, 0, gate.error().message});
        troubled = true;
      }
      pollfd wanted{signals.fd(), POLLIN, 0};
      ::poll(&wanted, 1, static_cast<int>(kGateLookMs));
      result_.signal = signals.asked_to_end();
      if (result_.signal != 0 || (result_.lost && !command_.keep_going)) return;
    }
  }

  void until_gone(pid_t child, SignalQueue& signals) {
    const Stage* const stage = command_.stage;
    if (stage != nullptr && stage->timeout_ms > 0) stop_at_ = now() + stage->timeout_ms;
    target_ = stage == nullptr ? child : -child;
    for (;;) {
      pollfd wanted[] = {{signals.fd(), POLLIN, 0}, {watched_, POLLIN, 0}};
      ::poll(wanted, 2, static_cast<int>(std::min(kLookEveryMs, sleep_ms())));
      if (wanted[1].revents != 0 && !stage->readable()) watched_ = -1;
      const int noted = signals.noted();
      const bool over = has_ended(child);
      if (signals.drain(target_) && reaped(child)) {
        // One that had succeeded by itself was not stopped, even if that was on its way. One that
        // was asked to end may have ended before we are done with our signals.
        const bool by_itself = over && result_.exit_status == 0;
        if (stage != nullptr) result_.signal = by_itself ? noted : signals.noted();
        return;
      }
      if ((hold_ != nullptr || stage != nullptr) && signals.noted() != 0 && kill_at_ == 0) {
        kill_at_ = now() + command_.kill_grace_ms;
      }
      if (stage != nullptr && signals.times_noted() > 1) kill_at_ = now();
      look();
    }
  }

  // Renews the lease when it is time, and notices if it is gone.
  void keep() {
    if (result_.lost) return;
    if (hold_ != nullptr) {  // it knows best what happened
      if (const auto why = hold_->lost()) return lose(*why);
    }
    if (locks_.site().is_out_of_contact()) {
      return lose("the hub has not answered for " + format_duration(realm::kOutOfContactMs));
    }
    const core::Lease& lease = result_.acquired.lease;
    look_around();
    if (now() >= next_renewal_) {
      renew(lease);
    } else if (now() >= next_check_) {
      if (locks_.site().server() != nullptr) next_check_ = now() + kLookAtHubMs;
      const auto current = locks_.is_current(lease.id, lease.fence());
      if (current && !*current) lose(why_it_ended(lease));
    }
    // Without an acknowledgement for two thirds of the length it must be taken as lost (I7).
    const bool silent =
        lease.terms.ttl_ms != kNoEnd && now() - acknowledged_ > lease.terms.ttl_ms / 3 * 2;
    if (!result_.lost && silent) lose("the lease could not be renewed in time");
  }

 private:
  std::int64_t now() const { return locks_.site().now().mono_ms; }

  // The command has ended. On a stage others may come to us when their parents end.
  // Looks only: it can still be reaped.
  static bool has_ended(pid_t child) {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == child;
  }

  bool reaped(pid_t child) {
    const pid_t whom = command_.stage == nullptr ? child : -1;
    int status = 0;
    for (pid_t ended = 0; (ended = ::waitpid(whom, &status, WNOHANG)) > 0;) {
      if (ended != child) continue;
      result_.exit_status = host::shell_status(status);
      return true;
    }
    return false;
  }

  // The command, or its whole group, is to end: asked first, killed after the grace.
  void stop() {
    ::kill(target_, SIGTERM);
    ::kill(target_, SIGCONT);  // a stopped command hears SIGTERM only when it goes on
    kill_at_ = now() + command_.kill_grace_ms;
    // The hub gives it to others after a minute, whatever the grace is.
    const auto silent = result_.lost ? locks_.site().table().contact_age_ms() : std::nullopt;
    if (silent) {
      const std::int64_t left = std::max<std::int64_t>(realm::kKilledAfterMs - *silent, 0);
      kill_at_ = std::min(kill_at_, now() + left);
    }
  }

  std::int64_t sleep_ms() const {
    std::int64_t until = std::min(next_renewal_, stop_at_);
    if (kill_at_ != 0) until = std::min(until, kill_at_);
    return std::clamp<std::int64_t>(until - now(), 1, kLookEveryMs);
  }

  void look() {
    if (kill_at_ != 0 && now() >= kill_at_) ::kill(target_, SIGKILL);
    if (now() >= stop_at_) {
      stop_at_ = INT64_MAX;
      if (kill_at_ == 0) {  // else it is on its way already
        result_.timed_out = true;
        stop();
      }
    }
    if (result_.lost) return;
    keep();
    if (result_.lost && !command_.keep_going) stop();
  }

  // What other tools do meanwhile, and what somebody has to say to this owner.
  void look_around() {
    if (now() < next_look_) return;
    next_look_ = now() + (locks_.site().server() == nullptr ? kLookEveryMs : kLookAtHubMs);
    const auto looked = locks_.scan_layouts();
    if (!looked && looked.error().message != trouble_) {
      trouble_ = looked.error().message;
      report_({RunEvent::What::kRenewTrouble, result_.acquired, 0, 0, trouble_});
    }
    // Shown here, and told by the next command.
    for (const core::Message& message : unread()) {
      if (message.id <= last_message_) continue;
      last_message_ = message.id;
      report_({RunEvent::What::kMessage, result_.acquired, 0, 0,
               shown(message.from.agent) + ": " + quote(message.text, kMessageBytesTold)});
    }
  }

  std::vector<core::Message> unread() const {
    auto messages = Messages(caller_.site(), caller_.owner()).peek_unread();
    return messages ? std::move(*messages) : std::vector<core::Message>();
  }

  void renew(const core::Lease& lease) {
    RenewCommand command;
    command.lease_ids = {lease.id.text()};
    const auto renewed = locks_.renew(command);
    if (renewed) {
      acknowledged_ = now();
      next_renewal_ = now() + lease.terms.ttl_ms / 3;
      return;
    }
    const Code code = renewed.error().code;
    if (code == Code::kLost || code == Code::kNotFound || code == Code::kNotOwner) {
      lose(renewed.error().message);
      return;
    }
    next_renewal_ = now() + std::min(kLookEveryMs, lease.terms.ttl_ms / 9);
    report_({RunEvent::What::kRenewTrouble, result_.acquired, 0, 0,
             "renewing failed: " + renewed.error().message});
  }

  // Who ended it, and what for.
  std::string why_it_ended(const core::Lease& lease) const {
    const Site& site = locks_.site();
    if (site.store_is_gone()) return "the lock table of " + quote(site.realm().root) + " is gone";
    const LeaseAndFence asked{lease.id, lease.fence()};
    const auto ended = how_they_ended(locks_.site(), {&asked, 1});
    const bool known = ended && ended->front();
    return known ? *ended->front() : "the lease is no longer current";
  }

  void lose(const std::string& why) {
    result_.lost = true;
    next_renewal_ = INT64_MAX;
    report_({RunEvent::What::kLost, result_.acquired, 0, 0, why});
  }

  Locks& caller_;
  Locks& locks_;
  const RunCommand& command_;
  RunResult& result_;
  const std::function<void(const RunEvent&)>& report_;
  const Hold* hold_;
  std::int64_t acknowledged_ = 0;
  std::int64_t next_renewal_ = 0;
  std::int64_t kill_at_ = 0;
  std::int64_t stop_at_ = INT64_MAX;
  pid_t target_ = 0;  // the command, or its group as a negative number
  int watched_ = -1;
  std::int64_t next_look_ = 0;
  std::int64_t next_check_ = 0;
  std::uint64_t last_message_ = 0;
  std::string trouble_;
};

}  // namespace

std::string scope_text(const core::Lease& lease, const realm::Realm& realm) {
  std::string text = "You hold these locks in " + realm.root + ":\n";
  for (const core::Claim& claim : spelled_claims(lease)) {
    const bool shared = claim.mode == core::Mode::kShared;
    text += "- " + shown(claim.resource.text()) + (shared ? " (shared: read, do not change)" : "") +
            "\n";
  }
  text +=
      "Change nothing else there without a lock. Before you change another file, run:\n"
      "  lockkeeper acquire FILE --reason WHY\n"
      "If it is held, work on something else or add --wait=10m. Release what you no longer need:\n"
      "  lockkeeper release FILE\n";
  return text;
}

namespace {

// The gate before anything is taken. False: it is shut, and result says how that ended.
Result<bool> may_ask(Locks& locks, const RunCommand& command, AcquireCommand& acquire,
                     RunResult& result) {
  if (command.feature.empty()) return true;
  LK_ASSIGN(
      Passed passed,
      pass_gate(locks, {command.feature, acquire.wait_ms.value_or(kWaitForever), acquire.on_wait}));
  result.at_gate = passed.outcome != core::Outcome::kGranted;
  if (result.at_gate) {
    result.acquired.outcome = passed.outcome;
    result.acquired.conflicts = std::move(passed.gate.others);
    result.acquired.waited_ms = passed.waited_ms;
    return false;
  }
  if (acquire.wait_ms && *acquire.wait_ms != kWaitForever) {
    acquire.wait_ms = std::max<std::int64_t>(0, *acquire.wait_ms - passed.waited_ms);
  }
  return true;
}

// The command's whole life under the lease that is there. Fails if no process could be made for it.
Result<void> live(Locks& caller, Locks& locks, const RunCommand& command,
                  const host::LiveSlot* slot, SignalQueue& signals, RunResult& result,
                  const std::function<void(const RunEvent&)>& report, const Hold* hold) {
  const core::Lease& lease = result.acquired.lease;
  Watch watch(caller, locks, command, result, report, hold);
  watch.pass_gate(signals);
  if (result.signal != 0 || result.lost) return {};
  const Stage* const stage = command.stage;
  const Stage::Keep keep = [&] {
    watch.keep();
    return !result.lost;
  };
  if (stage != nullptr && stage->may_start) {
    LK_ASSIGN(const bool wanted, stage->may_start(keep));
    if (!wanted && !result.lost) result.acquired.outcome = core::Outcome::kInterrupted;
    if (!wanted || result.lost) return {};
  }
  // Children that we inherited through exec are not the command's.
  const std::vector<pid_t> not_ours = host::children_besides({});
  const bool alone = stage == nullptr && !command.leave_running;
  if (alone) host::adopt_orphans();
  ScopeFile scope_file;
  LK_ASSIGN(auto variables, variables_for(locks, lease, locks.site().realm(), command, scope_file));
  const auto front = put_git_in_front(locks.site(), variables);
  if (!front) {
    report({RunEvent::What::kRenewTrouble, result.acquired, 0, 0,
            "git is not guarded here: " + front.error().message});
  }
  LK_ASSIGN(const host::Started child,
            start(command, std::move(variables), front.value_or(""), slot, signals));
  if (child.exec_errno != 0) {
    result.exit_status = child.exec_errno == ENOENT ? 127 : 126;
    std::string why = child.exec_errno == E2BIG
                          ? "its arguments and the environment are too long together"
                          : std::strerror(child.exec_errno);
    const bool line = command.argv.size() == 1 && command.argv[0].find(' ') != std::string::npos;
    if (line && child.exec_errno == ENOENT) why += "; to run a line of shell: -- sh -c 'LINE'";
    report({RunEvent::What::kEnded, result.acquired, 0, result.exit_status,
            command.argv.front() + ": " + why});
    return {};
  }
  result.started = true;
  report({RunEvent::What::kStarted, result.acquired, child.pid, 0, ""});
  watch.until_gone(child.pid, signals);
  result.pid = child.pid;
  if (alone && !(result.lost && command.keep_going)) {
    result.ended_after = host::end_children(command.kill_grace_ms, not_ours, [&] { watch.keep(); });
  }
  if (stage != nullptr && stage->gone) stage->gone(result, keep);
  if ((!result.lost || command.keep_going) && result.signal == 0) watch.pass_gate(signals);
  return {};
}

}  // namespace

Result<RunResult> run(Locks& caller, const RunCommand& command,
                      const std::function<void(const RunEvent&)>& report) {
  LOCKKEEPER_ASSERT(!command.argv.empty());
  RunResult result;
  AcquireCommand acquire = command.acquire;
  LK_ASSIGN(const bool may, may_ask(caller, command, acquire, result));
  if (!may) return result;
  Locks locks = command.part.empty() ? caller : caller.part(command.part);
  LK_ASSIGN(const host::LiveSlot slot, locks.site().table().take_slot());
  acquire.attachment.slot = slot.offset();
  LK_ASSIGN(result.acquired, locks.acquire(acquire));
  const bool granted = result.acquired.outcome == core::Outcome::kGranted;
  if (!granted && result.acquired.outcome != core::Outcome::kRenewed) return result;
  const core::Lease& lease = result.acquired.lease;
  if (command.given_up && command.given_up()) {
    static_cast<void>(locks.give_back(lease.id, acquire.attachment));
    result.acquired.outcome = core::Outcome::kInterrupted;
    return result;
  }
  report({RunEvent::What::kGranted, result.acquired, 0, 0, ""});
  SignalQueue signals;  // to the end: a signal must not keep the lease from being freed
  auto lived = live(caller, locks, command, &slot, signals, result, report, nullptr);
  if (!result.lost) {
    const auto released = locks.give_back(lease.id, acquire.attachment);
    const bool ended_before =
        !released && (released.error().code == Code::kLost || locks.site().store_is_gone());
    if (ended_before) result.lost = true;
  }
  if (!lived) return fail(std::move(lived.error()));
  if (result.started) {
    report({RunEvent::What::kEnded, result.acquired, result.pid, result.exit_status, ""});
  }
  return result;
}

Result<std::optional<RunResult>> run_holding(Locks& locks, const RunCommand& command,
                                             const Hold& hold,
                                             const std::function<void(const RunEvent&)>& report) {
  LOCKKEEPER_ASSERT(!command.argv.empty());
  SignalQueue signals;  // from now on: a signal must find the lock given back
  LK_ASSIGN(std::optional<AcquireResult> taken, hold.take());
  if (!taken) return std::nullopt;
  RunResult result;
  result.acquired = std::move(*taken);
  report({RunEvent::What::kGranted, result.acquired, 0, 0, ""});
  Result<void> lived;
  if (signals.asked_to_end() == 0) {
    lived = live(locks, locks, command, nullptr, signals, result, report, &hold);
  }
  hold.give_back();
  result.signal = signals.asked_to_end();
  if (!lived) return fail(std::move(lived.error()));
  if (result.started) {
    report({RunEvent::What::kEnded, result.acquired, result.pid, result.exit_status, ""});
  }
  return result;
}

}  // namespace lockkeeper::service
