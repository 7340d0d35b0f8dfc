// `acquire`: all or nothing, at once or after waiting in the queue.
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/progress.h"
#include "cli/verbs/acquire_options.h"
#include "cli/verbs/notices.h"
#include "cli/verbs/verbs.h"
#include "core/encoding.h"
#include "host/process.h"
#include "host/signals.h"

namespace lockkeeper::cli {
namespace {

std::string granted_text(const service::AcquireResult& result, const service::Names& names,
                         std::int64_t now_wall_ms) {
  constexpr std::size_t kShown = 3;
  const core::Lease& lease = result.lease;
  std::vector<std::string> texts = service::spelled_texts(lease);
  for (std::string& text : texts) text = names.name(text);
  std::string text = service::outcome_name(result.outcome);
  text += " " + shown_list(texts, kShown) + " to " + shown(lease.owner.agent);
  text += ", " + service::end_text(lease, now_wall_ms);
  if (result.waited_ms > 0) text += ", after " + format_duration(result.waited_ms);
  return text + "\nlease " + lease.id.text() + "\nfence " + std::to_string(lease.fence());
}

// Nobody would ever release it: the user gave up while the grant was on its way, or cannot be told.
void give_back(service::Locks& locks, const core::Lease& lease) {
  static_cast<void>(locks.give_back(lease.id, lease.then));  // on failure it expires
}

// The answer could not be written. Whoever has a request id can ask again; for anybody else, a
// grant that nobody hears of would stay for its whole ttl.
int untold(Output& out, service::Locks& locks, const AcquireOptions& options,
           const service::AcquireResult& result) {
  if (options.request_id) {
    out.note("cannot write to stdout; ask again with the same --request-id");
    return exit_status(Code::kUnknown);
  }
  const bool ours = result.outcome == core::Outcome::kGranted && !result.existed_before;
  if (ours) give_back(locks, result.lease);
  out.note(ours ? "cannot write to stdout; the lock was given back"
                : "cannot write to stdout; you held it already, and still do");
  return exit_status(Code::kFailed);
}

Result<service::AcquireResult> ask(VerbContext& context, service::Locks& locks,
                                   service::AcquireCommand command, int& signal_status) {
  if (!command.wait_ms) return locks.acquire(command);
  const host::SignalWatch signals;
  Progress progress(context.out(), *context.runtime().clock);
  command.on_wait = [&](const service::WaitProgress& wait) {
    progress.show(wait);
    return signals.signal() == 0;
  };
  auto result = locks.acquire(command);
  if (signals.signal() == 0) return result;
  signal_status = signals.exit_status();
  if (result && result->outcome == core::Outcome::kGranted) {
    give_back(locks, result->lease);
    result->outcome = core::Outcome::kInterrupted;
  }
  return result;
}

// Without a session everybody of that name is one owner. Tells if somebody else seems to have it.
void warn_of_namesake(const VerbContext& context, const core::Owner& owner,
                      service::AcquireResult& result) {
  if (result.outcome != core::Outcome::kRenewed || !owner.session.empty()) return;
  const core::Lease& lease = result.lease;
  const std::int64_t age_ms = context.now_wall_ms() - lease.acquired_wall_ms;
  constexpr std::int64_t kClockSlackMs = 1'000;
  const auto client_age_ms = host::client_age_ms();
  // Whoever runs our commands was not there yet when it was taken.
  const bool older = client_age_ms && age_ms > *client_age_ms + kClockSlackMs;
  const std::string& reason =
      result.reason_before.empty() ? lease.terms.reason : result.reason_before;
  if (!older && result.reason_before.empty()) return;
  result.warnings.push_back(owner.agent + " had taken this " +
                            format_ago(lease.acquired_wall_ms, context.now_wall_ms()) +
                            (reason.empty() ? "" : " (" + quote(reason) + ")") +
                            "; if that was not you, give each of you a --session");
}

// Lock files of other tools name the task, so it stays what it was.
void warn_of_task(const AcquireOptions& options, service::AcquireResult& result) {
  if (result.outcome != core::Outcome::kRenewed || !options.task) return;
  const std::string& task = result.lease.terms.task;
  if (task == *options.task) return;
  result.warnings.push_back("this was taken " +
                            (task.empty() ? "without a task" : "for task " + quote(task)) +
                            ", and that stays; release it first to take it for another");
}

}  // namespace

Result<int> acquire_verb(VerbContext& context) {
  AcquireOptions options;
  declare_acquire(context.arguments(), options, true);
  if (const auto status = context.parse()) return *status;
  Output& out = context.out();
  LK_CHECK(read_resources(context, options));
  LK_ASSIGN(auto command, acquire_command(context, options));
  LK_ASSIGN(auto open, context.open(options.resources));
  expect_notices(context, *open);
  tell_other_tools(context, *open);
  int signal_status = 0;
  const service::Wanted wanted = command.wanted;
  LK_ASSIGN(auto result, ask(context, open->locks, std::move(command), signal_status));
  warn_of_namesake(context, open->locks.owner(), result);
  warn_of_task(options, result);
  for (const core::LostLease& lost : result.lost) out.warning(service::lost_text(lost));
  for (const std::string& warning : result.warnings) out.warning(warning);
  const service::Names names = names_of(context, *open, wanted);
  service::Json json = service::acquire_json(result);
  tell_notices(context, *open, json);
  if (service::outcome_status(result.outcome) == 0) {
    if (result.outcome == core::Outcome::kGranted) tell_remarks(context, *open, wanted, json);
    out.object(json);
    out.prose(granted_text(result, names, context.now_wall_ms()));
    for (const auto& hidden : result.unmirrored) out.note(service::unmirrored_text(hidden));
    if (out.flush()) return 0;
    return untold(out, open->locks, options, result);
  }
  service::HintContext hint = asked(context, options);
  hint.asker = open->locks.owner();
  hint.names = names;
  out.failed(service::refusal(result, hint), json);
  return signal_status != 0 ? signal_status : service::outcome_status(result.outcome);
}

}  // namespace lockkeeper::cli
