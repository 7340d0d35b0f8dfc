#include "service/run.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>

#include "base/assert.h"
#include "base/text.h"
#include "core/message.h"
#include "service/pause.h"

// The process's environment (POSIX declares it nowhere).
extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace lockkeeper::service {
namespace {

// Half of what a person is promised: an overlap with another tool is noticed within a second.
constexpr std::int64_t kLookEveryMs = 500;
constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT};

int shell_status(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool asks_to_end(int signal) {
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

// Holds the forwarded signals in a descriptor while it lives.
class SignalQueue {
 public:
  SignalQueue() {
    sigset_t set;
    ::sigemptyset(&set);
    for (const int signal : kForwarded) ::sigaddset(&set, signal);
    ::sigaddset(&set, SIGCHLD);
    ::sigprocmask(SIG_BLOCK, &set, &before_);
    // Where SIGCHLD is ignored, as some supervisors leave it, the kernel reaps the command itself:
    // its end would be silent and its exit status gone.
    struct sigaction usual{};
    usual.sa_handler = SIG_DFL;
    ::sigaction(SIGCHLD, &usual, &child_before_);
    fd_ = Fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~SignalQueue() { restore(); }
  SignalQueue(const SignalQueue&) = delete;
  SignalQueue& operator=(const SignalQueue&) = delete;

  void restore() const {
    ::sigaction(SIGCHLD, &child_before_, nullptr);
    ::sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  int fd() const { return fd_.get(); }

  // Passes on what was asked of us alone, or all to a whole group (a negative number); true if a
  // child has changed.
  bool drain(pid_t child) {
    bool child_changed = false;
    signalfd_siginfo info{};
    while (::read(fd_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      const int signal = static_cast<int>(info.ssi_signo);
      if (asks_to_end(signal)) {
        ++times_asked_;
        if (asked_to_end_ == 0) asked_to_end_ = signal;
      }
      if (signal == SIGCHLD) {
        child_changed = true;
      } else if (info.ssi_code != SI_KERNEL || child < 0) {
        // The terminal's own signals reach the whole foreground group, the command included.
        ::kill(child, signal);
      }
    }
    return child_changed;
  }

  // The first signal that asked this process to end, with a command or without; 0: none came.
  int asked_to_end() {
    signalfd_siginfo info{};
    while (asked_to_end_ == 0 &&
           ::read(fd_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      const int signal = static_cast<int>(info.ssi_signo);
      if (asks_to_end(signal)) asked_to_end_ = signal;
    }
    return asked_to_end_;
  }
  // The same, of those that drain() has seen.
  int noted() const { return asked_to_end_; }
  int times_noted() const { return times_asked_; }

 private:
  sigset_t before_{};
  struct sigaction child_before_{};
  int asked_to_end_ = 0;
  int times_asked_ = 0;
  Fd fd_;
};

std::vector<std::string> child_environment(const Locks& locks, const core::Lease& lease,
                                           const realm::Realm& realm, const RunCommand& command) {
  std::map<std::string, std::string> ours{
      {"LOCKKEEPER_AGENT", locks.owner().agent},
      {"LOCKKEEPER_SESSION", locks.owner().session},
  };
  if (!realm.machine) {  // nothing is asked for under a lock of the machine
    ours["LOCKKEEPER_LEASE"] = lease.id.text();
    ours["LOCKKEEPER_FENCE"] = std::to_string(lease.fence());
    ours["LOCKKEEPER_REALM"] = realm.root;
    ours["LOCKKEEPER_SCOPE"] = scope_text(lease, realm);
  }
  if (!command.feature.empty()) ours["LOCKKEEPER_FEATURE"] = command.feature;
  if (command.stage != nullptr) {
    for (const auto& [name, value] : command.stage->environment) ours[name] = value;
  }
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (!ours.contains(std::string(text.substr(0, text.find('='))))) result.emplace_back(text);
  }
  for (const auto& [name, value] : ours) result.push_back(name + "=" + value);
  return result;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> list;
  list.reserve(texts.size() + 1);
  for (const std::string& text : texts) list.push_back(const_cast<char*>(text.c_str()));
  list.push_back(nullptr);
  return list;
}

struct Child {
  pid_t pid = -1;
  int exec_errno = 0;  // why it could not be started
};

// In the new process: a session of its own, nothing to read, its output where it belongs.
bool enter_stage(const Stage& stage, pid_t dies_with) {
  ::setsid();
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  return nothing >= 0 && ::dup2(nothing, STDIN_FILENO) >= 0 &&
         ::dup2(stage.output, STDOUT_FILENO) >= 0 && ::dup2(stage.output, STDERR_FILENO) >= 0 &&
         ::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && ::getppid() == dies_with;
}

// In the new process: becomes the command, or says why it cannot.
[[noreturn]] void become(const RunCommand& command, std::vector<char*>& arguments,
                         std::vector<char*>& variables, int report, pid_t parent, bool slot) {
  // Without a slot the lock does not outlive its holder, and the command is told of that.
  bool ready = slot || (::prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 && ::getppid() == parent);
  if (command.stage != nullptr) ready = ready && enter_stage(*command.stage, parent);
  if (ready && (command.folder.empty() || ::chdir(command.folder.c_str()) == 0)) {
    ::execvpe(arguments[0], arguments.data(), variables.data());
  }
  const int why = errno;
  static_cast<void>(!::write(report, &why, sizeof why));
  ::_exit(127);
}

// The child holds `slot` open across exec, if there is one; everything else of ours closes by
// itself.
Result<Child> start(const RunCommand& command, const std::vector<std::string>& env,
                    const host::LiveSlot* slot, const SignalQueue& signals) {
  Fd inherited;
  if (slot != nullptr) {
    LK_ASSIGN(inherited, slot->inheritable());
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(errno_error(errno, "pipe", Code::kFailed));
  const Fd report_in(ends[0]);
  Fd report_out(ends[1]);
  std::vector<char*> arguments = pointers(command.argv);
  std::vector<char*> variables = pointers(env);
  const pid_t parent = ::getpid();
  Child child;
  child.pid = ::fork();
  if (child.pid < 0) return fail(errno_error(errno, "fork", Code::kFailed));
  if (child.pid == 0) {
    signals.restore();
    become(command, arguments, variables, report_out.get(), parent, slot != nullptr);
  }
  inherited.reset();
  report_out.reset();
  ssize_t n = 0;
  do {
    n = ::read(report_in.get(), &child.exec_errno, sizeof child.exec_errno);
  } while (n < 0 && errno == EINTR);
  if (n <= 0) child.exec_errno = 0;
  if (child.exec_errno != 0) ::waitpid(child.pid, nullptr, 0);
  return child;
}

Result<core::ReleaseReply> give_back(Locks& locks, const core::Lease& lease) {
  ReleaseCommand command;
  command.lease_ids = {lease.id.text()};
  return locks.release(command);
}

// The command's life: renewals, signals, loss.
class Watch {
 public:
  Watch(Locks& locks, const RunCommand& command, RunResult& result,
        const std::function<void(const RunEvent&)>& report, const Hold* hold)
      : locks_(locks), command_(command), result_(result), report_(report), hold_(hold) {
    const core::Lease& lease = result_.acquired.lease;
    acknowledged_ = now();
    next_renewal_ = lease.terms.ttl_ms == kNoEnd ? INT64_MAX : now() + lease.terms.ttl_ms / 3;
    if (command_.stage != nullptr) watched_ = command_.stage->watched;
  }

  // Waits while the feature is paused, or until the lease is lost or a signal came. What cannot be
  // looked at is not open.
  void pass_gate(SignalQueue& signals) {
    if (command_.feature.empty()) return;
    for (bool told = false, troubled = false;; keep()) {
      const auto gate = look_at_gate(locks_, command_.feature);
      if (gate && gate->open()) {
        if (told) report_({RunEvent::What::kResumed, result_.acquired, 0, 0, gate->key});
        return;
      }
      if (gate && !told) {
        const std::int64_t wall = locks_.table().runtime().clock->now().wall_ms;
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
      if (signals.drain(target_) && reaped(child)) {
        // One that had succeeded by itself was not stopped, even if that was on its way.
        if (stage != nullptr) result_.signal = result_.exit_status == 0 ? noted : signals.noted();
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
    const core::Lease& lease = result_.acquired.lease;
    look_around();
    if (now() >= next_renewal_) {
      renew(lease);
    } else {
      const auto current = locks_.is_current(lease.id, lease.fence());
      if (current && !*current) lose("the lease is no longer current");
    }
    // Without an acknowledgement for two thirds of the length it must be taken as lost (I7).
    const bool silent =
        lease.terms.ttl_ms != kNoEnd && now() - acknowledged_ > lease.terms.ttl_ms / 3 * 2;
    if (!result_.lost && silent) lose("the lease could not be renewed in time");
  }

 private:
  std::int64_t now() const { return locks_.table().runtime().clock->now().mono_ms; }

  // The command has ended. On a stage others may come to us when their parents end.
  bool reaped(pid_t child) {
    const pid_t whom = command_.stage == nullptr ? child : -1;
    int status = 0;
    for (pid_t ended = 0; (ended = ::waitpid(whom, &status, WNOHANG)) > 0;) {
      if (ended != child) continue;
      result_.exit_status = shell_status(status);
      return true;
    }
    return false;
  }

  // The command, or its whole group, is to end: asked first, killed after the grace.
  void stop() {
    ::kill(target_, SIGTERM);
    ::kill(target_, SIGCONT);  // a stopped command hears SIGTERM only when it goes on
    kill_at_ = now() + command_.kill_grace_ms;
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
    next_look_ = now() + kLookEveryMs;
    const auto looked = locks_.look_at_layouts();
    if (!looked && looked.error().message != trouble_) {
      trouble_ = looked.error().message;
      report_({RunEvent::What::kRenewTrouble, result_.acquired, 0, 0, trouble_});
    }
    const auto told = [&](core::Table& table) -> Result<void> {
      LK_ASSIGN(const std::vector<core::Message> messages,
                core::messages_for(table.state(), locks_.owner(), true));
      for (const core::Message& message : messages) {
        if (message.id <= last_message_) continue;
        last_message_ = message.id;
        report_({RunEvent::What::kMessage, result_.acquired, 0, 0,
                 message.from.agent + ": " + message.text});
      }
      return {};
    };
    static_cast<void>(locks_.table().read(told));  // told at the next look, or by the next command
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

  void lose(const std::string& why) {
    result_.lost = true;
    next_renewal_ = INT64_MAX;
    report_({RunEvent::What::kLost, result_.acquired, 0, 0, why});
  }

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
  std::uint64_t last_message_ = 0;
  std::string trouble_;
};

}  // namespace

std::string scope_text(const core::Lease& lease, const realm::Realm& realm) {
  std::string text = "You hold these locks in " + realm.root + ":\n";
  for (const core::Claim& claim : lease.claims) {
    const bool shared = claim.mode == core::Mode::kShared;
    text += "- " + claim.resource.text() + (shared ? " (shared: read, do not change)" : "") + "\n";
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
      pass_gate(locks, {command.feature, acquire.wait_ms.value_or(kWaitForEver), acquire.on_wait}));
  result.at_gate = passed.outcome != core::Outcome::kGranted;
  if (result.at_gate) {
    result.acquired.outcome = passed.outcome;
    result.acquired.conflicts = std::move(passed.gate.others);
    result.acquired.waited_ms = passed.waited_ms;
    return false;
  }
  if (acquire.wait_ms && *acquire.wait_ms != kWaitForEver) {
    acquire.wait_ms = std::max<std::int64_t>(0, *acquire.wait_ms - passed.waited_ms);
  }
  return true;
}

// The command's whole life under the lease that is there. Fails if no process could be made for it.
Result<void> live(Locks& locks, const RunCommand& command, const host::LiveSlot* slot,
                  SignalQueue& signals, RunResult& result,
                  const std::function<void(const RunEvent&)>& report, const Hold* hold) {
  const core::Lease& lease = result.acquired.lease;
  Watch watch(locks, command, result, report, hold);
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
  const auto env = child_environment(locks, lease, locks.table().realm(), command);
  LK_ASSIGN(const Child child, start(command, env, slot, signals));
  if (child.exec_errno != 0) {
    result.exit_status = child.exec_errno == ENOENT ? 127 : 126;
    report({RunEvent::What::kEnded, result.acquired, 0, result.exit_status,
            command.argv.front() + ": " + std::strerror(child.exec_errno)});
    return {};
  }
  result.started = true;
  report({RunEvent::What::kStarted, result.acquired, child.pid, 0, ""});
  watch.until_gone(child.pid, signals);
  result.pid = child.pid;
  if (stage != nullptr && stage->gone) stage->gone(result, keep);
  if ((!result.lost || command.keep_going) && result.signal == 0) watch.pass_gate(signals);
  return {};
}

}  // namespace

Result<RunResult> run(Locks& locks, const RunCommand& command,
                      const std::function<void(const RunEvent&)>& report) {
  LOCKKEEPER_ASSERT(!command.argv.empty());
  RunResult result;
  AcquireCommand acquire = command.acquire;
  LK_ASSIGN(const bool may, may_ask(locks, command, acquire, result));
  if (!may) return result;
  LK_ASSIGN(const host::LiveSlot slot, locks.table().take_slot());
  acquire.attachment.slot = slot.offset();
  LK_ASSIGN(result.acquired, locks.acquire(acquire));
  const bool granted = result.acquired.outcome == core::Outcome::kGranted;
  if (!granted && result.acquired.outcome != core::Outcome::kRenewed) return result;
  const core::Lease& lease = result.acquired.lease;
  if (command.given_up && command.given_up()) {
    if (granted) static_cast<void>(give_back(locks, lease));  // else it ends with this process
    result.acquired.outcome = core::Outcome::kInterrupted;
    return result;
  }
  report({RunEvent::What::kGranted, result.acquired, 0, 0, ""});
  SignalQueue signals;  // to the end: a signal must not keep the lease from being freed
  auto lived = live(locks, command, &slot, signals, result, report, nullptr);
  // A lease that was there before the command is not ours to give back.
  if (granted && !result.lost) {
    const auto released = give_back(locks, lease);
    if (!released && released.error().code == Code::kLost) result.lost = true;
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
    lived = live(locks, command, nullptr, signals, result, report, &hold);
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
