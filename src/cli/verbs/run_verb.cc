#include "cli/verbs/run_verb.h"

#include <fcntl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "base/bytes.h"
#include "base/text.h"
#include "cli/progress.h"
#include "cli/verbs/acquire_options.h"
#include "cli/verbs/feature_option.h"
#include "cli/verbs/git_arming.h"
#include "cli/verbs/notices.h"
#include "host/signals.h"
#include "service/pause.h"
#include "service/run.h"

namespace lockkeeper::cli {
namespace {

using service::RunEvent;

// --status-fd: run's own events, one object per line; stdout belongs to the command.
class StatusReport {
 public:
  explicit StatusReport(std::optional<int> fd) : fd_(fd) {}

  void write(const service::Json& json) const {
    if (!fd_) return;
    const std::string line = service::dump(json) + "\n";
    // The reader may be gone; the command continues.
    static_cast<void>(!::write(*fd_, line.data(), line.size()));
  }

  void event(const RunEvent& event) const {
    service::Json json;
    switch (event.what) {
      case RunEvent::What::kGranted:
        json = service::acquire_json(event.acquired);
        break;
      case RunEvent::What::kPaused:
        json["paused"] = event.message;
        break;
      case RunEvent::What::kResumed:
        json["resumed"] = event.message;
        break;
      case RunEvent::What::kStarted:
        json["started"]["pid"] = event.pid;
        break;
      case RunEvent::What::kRenewTrouble:
        json["trouble"] = event.message;
        break;
      case RunEvent::What::kMessage:
        json["message"] = event.message;
        break;
      case RunEvent::What::kLost:
        json["lost"] = event.message;
        break;
      case RunEvent::What::kEnded:
        json["ended"]["exit_status"] = event.exit_status;
        if (!event.message.empty()) json["ended"]["message"] = event.message;
        break;
    }
    write(json);
  }

 private:
  std::optional<int> fd_;
};

Result<std::optional<int>> status_descriptor(const std::optional<std::string>& text) {
  if (!text) return std::optional<int>();
  constexpr std::uint64_t kDescriptorMax = 1'000'000;
  LK_ASSIGN(const std::uint64_t number, parse_number(*text, "--status-fd", kDescriptorMax));
  const int fd = static_cast<int>(number);
  if (::fcntl(fd, F_GETFD) < 0) {
    return fail(Code::kInvalidInput, "--status-fd " + *text + " is not open",
                "open it, as in: lockkeeper run --status-fd 3 … 3>report.json");
  }
  // The command must not inherit it: its reader must see the end when we exit, not when the command
  // and its children do. The standard streams belong to the command anyway.
  if (fd > STDERR_FILENO) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  return std::optional<int>(fd);
}

// Not granted, or stopped by the gate.
Error refusal_of(const VerbContext& context, const service::RunResult& result,
                 const AcquireOptions& options, const service::RunCommand& command,
                 const OpenLocks& open) {
  service::HintContext hint = asked(context, options);
  hint.asker = open.locks.owner();
  hint.names = names_of(context, open, command.acquire.wanted);
  hint.program = " --";
  for (const std::string& word : command.argv) hint.program += " " + shell_quote(word);
  const std::string& feature = command.feature;
  Error error = service::refusal(result.acquired, hint);
  if (!result.at_gate || result.acquired.conflicts.empty()) return error;
  service::Gate gate{service::pause_key(feature), result.acquired.conflicts, false};
  const std::string text = service::paused_text(gate, context.now_wall_ms());
  if (result.acquired.outcome == core::Outcome::kInterrupted) {
    error.message = "interrupted; nothing was started: " + text;
  } else {
    error.message = "nothing was started: " + text;
  }
  error.hint = "wait until it is resumed: lockkeeper gate " + shell_quote(feature) + " --wait" +
               context.repeated_flags();
  return error;
}

// What there was to tell before the command; what comes later is told to the command's own calls.
void tell_earlier(VerbContext& context, OpenLocks& open, const service::Wanted& wanted,
                  const StatusReport& report) {
  service::Json told;
  tell_notices(context, open, told);
  tell_remarks(context, open, wanted, told, false);
  if (!told.empty()) report.write(told);
  open.locks.tell_along({});
}

// The end of a run whose lease was granted.
int status_of(Output& out, const service::RunResult& result, bool keep_going) {
  if (result.ended_after > 0) {
    out.note("ended what the command had left running: " + std::to_string(result.ended_after) +
             (result.ended_after == 1 ? " process" : " processes"));
  }
  if (result.lost && (!keep_going || !result.started)) return exit_status(Code::kLost);
  if (result.signal == 0) return result.exit_status;
  out.note(result.started ? "interrupted while paused; the command had ended with status " +
                                std::to_string(result.exit_status)
                          : "interrupted while paused; nothing was started");
  return 128 + result.signal;
}

}  // namespace

void tell_run(Output& out, const RunEvent& event) {
  switch (event.what) {
    case RunEvent::What::kGranted:
      for (const auto& lost : event.acquired.lost) out.warning(service::lost_text(lost));
      for (const std::string& warning : event.acquired.warnings) out.warning(warning);
      for (const auto& hidden : event.acquired.unmirrored) {
        out.note(service::unmirrored_text(hidden));
      }
      break;
    case RunEvent::What::kRenewTrouble:
      out.warning(event.message);
      break;
    case RunEvent::What::kMessage:
      out.warning("message from " + event.message);
      break;
    case RunEvent::What::kLost:
      out.warning("the lock is lost: " + event.message);
      break;
    case RunEvent::What::kEnded:
      if (!event.message.empty()) out.note(event.message);
      break;
    case RunEvent::What::kPaused:
      out.note(event.message + "; waiting");
      break;
    case RunEvent::What::kResumed:
    case RunEvent::What::kStarted:
      break;
  }
}

Result<int> run_verb(VerbContext& context) {
  AcquireOptions options;
  service::RunCommand command;
  std::optional<std::string> status_fd, feature;
  declare_acquire(context.arguments(), options, false);
  context.arguments().command(command.argv, "what to run while the lock is held");
  context.arguments().flag("--keep-going", command.keep_going,
                           "keep the command running if the lock is lost");
  context.arguments().flag("--leave-running", command.leave_running,
                           "do not end what the command leaves running");
  context.arguments().value("--status-fd", status_fd, "N",
                            "write run's own events as JSON lines to this descriptor");
  context.arguments().value("--feature", feature, "ID",
                            "wait while this feature is paused, before the start\nand before the "
                            "end (default: LOCKKEEPER_FEATURE)");
  if (const auto status = context.parse()) return *status;
  Output& out = context.out();
  if (command.argv.empty()) {
    return out.failed(
        {Code::kUsage, "run needs a command after --", "lockkeeper run RESOURCE… -- COMMAND…"});
  }
  LK_ASSIGN(const auto fd, status_descriptor(status_fd));
  LK_CHECK(read_resources(context, options));
  LK_ASSIGN(command.acquire, acquire_command(context, options));
  LK_ASSIGN(command.feature, feature_to_obey(context, feature));
  LK_ASSIGN(auto open, context.open(options.resources));
  tell_other_tools(context, *open);
  command.environment = git_arming(context, open->site.realm());
  command.part = core::command_name(static_cast<std::uint32_t>(context.runtime().random->next()));

  const StatusReport report(fd);
  std::optional<host::SignalWatch> signals;
  std::optional<Progress> progress;
  int signal_status = 0;
  // Before it acquires: a signal must find a handler as soon as there is a waiter to remove.
  if (command.acquire.wait_ms || !command.feature.empty()) signals.emplace();
  command.acquire.on_wait = [&](const service::WaitProgress& wait) {
    if (!progress) progress.emplace(out, *context.runtime().clock);
    progress->show(wait);
    if (signals->signal() != 0) signal_status = signals->exit_status();
    return signal_status == 0;
  };
  command.given_up = [&] {
    progress.reset();
    if (signals && signals->signal() != 0) signal_status = signals->exit_status();
    signals.reset();
    return signal_status != 0;
  };
  expect_notices(context, *open);
  const auto watch = [&](const RunEvent& event) {
    tell_run(out, event);
    report.event(event);
    if (event.what == RunEvent::What::kGranted) {
      tell_earlier(context, *open, command.acquire.wanted, report);
    }
  };
  const auto result = service::run(open->locks, command, watch);
  progress.reset();
  if (!result) return out.failed(result.error());
  const core::Outcome outcome = result->acquired.outcome;
  if (service::outcome_status(outcome) != 0) {
    service::Json json = service::acquire_json(result->acquired);
    tell_notices(context, *open, json);
    report.write(json);
    out.failed(refusal_of(context, *result, options, command, *open), json);
    return signal_status != 0 ? signal_status : service::outcome_status(outcome);
  }
  return status_of(out, *result, command.keep_going);
}

}  // namespace lockkeeper::cli
