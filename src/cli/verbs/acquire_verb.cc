// `acquire`: all or nothing, at once or after waiting in the queue.
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/progress.h"
#include "cli/verbs/acquire_options.h"
#include "cli/verbs/untold_messages.h"
#include "cli/verbs/verbs.h"
#include "core/encoding.h"
#include "host/signals.h"

namespace lockkeeper::cli {
namespace {

std::string granted_text(const service::AcquireResult& result, std::int64_t now_wall_ms) {
  constexpr std::size_t kShown = 3;
  const core::Lease& lease = result.lease;
  std::string text = service::outcome_name(result.outcome);
  text += " " + list_of(core::resource_texts(lease), kShown) + " to " + lease.owner.agent;
  text += ", " + service::end_text(lease, now_wall_ms);
  if (result.waited_ms > 0) text += ", after " + format_duration(result.waited_ms);
  return text + "\nlease " + lease.id.text() + "\nfence " + std::to_string(lease.fence());
}

// The user gave up while the grant was on its way, so nobody would ever release it.
void give_back(service::Locks& locks, const core::Lease& lease) {
  service::ReleaseCommand command;
  command.lease_ids = {lease.id.text()};
  static_cast<void>(locks.release(command));  // on failure it expires
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

}  // namespace

Result<int> acquire_verb(VerbContext& context) {
  AcquireOptions options;
  declare_acquire(context.arguments(), options, true);
  if (const auto status = context.parse()) return *status;
  Output& out = context.out();
  LK_CHECK(read_resources(context, options));
  LK_ASSIGN(auto command, acquire_command(context, options));
  LK_ASSIGN(auto open, context.open(options.resources));
  expect_messages(context, *open);
  int signal_status = 0;
  LK_ASSIGN(const auto result, ask(context, open->locks, std::move(command), signal_status));
  for (const core::LostLease& lost : result.lost) out.warning(service::lost_text(lost));
  for (const std::string& warning : result.warnings) out.warning(warning);
  service::Json json = service::acquire_json(result);
  tell_messages(context, *open, json);
  if (service::outcome_status(result.outcome) == 0) {
    out.object(json);
    out.text(granted_text(result, context.now_wall_ms()));
    return 0;
  }
  out.failed(service::refusal(result, asked(context, options)), json);
  return signal_status != 0 ? signal_status : service::outcome_status(result.outcome);
}

}  // namespace lockkeeper::cli
