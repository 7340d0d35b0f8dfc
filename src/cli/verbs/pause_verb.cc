// `pause`, `resume` and `gate`: stop work on a feature, let it continue, check whether it may.
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/progress.h"
#include "cli/verbs/verbs.h"
#include "host/signals.h"
#include "service/pause.h"

namespace lockkeeper::cli {
namespace {

constexpr std::int64_t kPauseMs = 2 * 3'600'000;  // default ttl

// The one word that these verbs take.
Result<std::string> feature_of(const std::vector<std::string>& words, std::string_view verb) {
  if (words.size() == 1 && !words.front().empty()) return words.front();
  return fail(Code::kUsage, std::string(verb) + " needs one feature",
              "lockkeeper " + std::string(verb) + " FEATURE");
}

service::Wanted wanted(const std::string& feature) {
  service::Wanted wanted;
  wanted.texts = {service::pause_key(feature)};
  wanted.base.kind = realm::Base::kRoot;
  return wanted;
}

Result<std::int64_t> pause_length(const std::optional<std::string>& ttl,
                                  const realm::Settings& settings) {
  if (ttl) return parse_duration_ms(*ttl, {.allow_none = true});
  const std::int64_t longest = settings.lease_longest_ms.value;
  return longest == kNoEnd ? kPauseMs : std::min(kPauseMs, longest);
}

std::string gate_command(const VerbContext& context, const std::string& feature,
                         const char* how_long) {
  return "lockkeeper gate " + shell_quote(feature) + " --wait" + how_long +
         context.repeated_flags();
}

// A shared pause may be one of several: then work does not continue yet.
Result<int> print_resumed(VerbContext& context, service::Locks& locks, const std::string& key,
                          service::Json json) {
  Output& out = context.out();
  LK_ASSIGN(const auto gate, service::look_at_gate(locks, key));
  json["key"] = key;
  json["resumed"] = gate.open();
  out.object(json);
  out.text(gate.open() ? "resumed: " + shown(key) : "ended your pause of " + shown(key));
  if (!gate.open()) out.note(service::paused_text(gate, context.now_wall_ms()));
  return 0;
}

// Ends another's pause, on record, as `break` does.
Result<int> break_pause(VerbContext& context, service::Locks& locks, const std::string& feature,
                        const std::string& reason) {
  service::BreakCommand command;
  command.wanted = wanted(feature);
  command.reason = reason;
  LK_ASSIGN(const auto broken, locks.break_leases(command));
  return print_resumed(context, locks, service::pause_key(feature),
                       service::leases_json("broken", broken));
}

}  // namespace

Result<int> pause_verb(VerbContext& context) {
  std::vector<std::string> words;
  std::optional<std::string> reason, ttl;
  Arguments& arguments = context.arguments();
  arguments.words("FEATURE", words, "its id, such as FEAT-123");
  arguments.value("--reason", reason, "TEXT", "why; shown to everyone who waits");
  arguments.value("--ttl", ttl, "DURATION", "at most this long (default 2h), or none");
  if (const auto status = context.parse_some(words, "a feature")) return *status;
  Output& out = context.out();
  LK_ASSIGN(const auto feature, feature_of(words, "pause"));
  if (!reason || reason->empty()) {
    return out.failed(
        {Code::kUsage, "pause needs a reason: everyone who waits sees it", "add --reason TEXT"});
  }
  LK_ASSIGN(auto open, context.open(std::vector<std::string>()));
  service::AcquireCommand command;
  command.wanted = wanted(feature);
  command.terms.reason = *reason;
  LK_ASSIGN(command.ttl_ms, pause_length(ttl, open->site.settings()));
  LK_ASSIGN(const auto result, open->locks.acquire(command));
  for (const core::LostLease& lost : result.lost) out.warning(service::lost_text(lost));
  for (const std::string& warning : result.warnings) out.warning(warning);
  service::Json json = service::acquire_json(result);
  if (service::outcome_status(result.outcome) == 0) {
    const std::string key = result.lease.claims.front().resource.text();
    out.object(json);
    out.prose("paused: " + shown(key) + " is held by " + service::owner_text(result.lease.owner) +
              ", " + service::end_text(result.lease, context.now_wall_ms()));
    return 0;
  }
  service::HintContext asked;
  asked.resources = command.wanted.texts;
  asked.now_wall_ms = context.now_wall_ms();
  Error error = service::refusal(result, asked);
  error.hint =
      "it is already paused; wait until it is resumed: " + gate_command(context, feature, "");
  return out.failed(error, std::move(json));
}

Result<int> resume_verb(VerbContext& context) {
  std::vector<std::string> words;
  std::optional<std::string> reason;
  Arguments& arguments = context.arguments();
  arguments.words("FEATURE", words, "its id, such as FEAT-123");
  arguments.value("--reason", reason, "TEXT", "also end another agent's pause, on record");
  if (const auto status = context.parse_some(words, "a feature")) return *status;
  Output& out = context.out();
  LK_ASSIGN(const auto feature, feature_of(words, "resume"));
  LK_ASSIGN(auto open, context.open(std::vector<std::string>()));
  service::ReleaseCommand command;
  command.wanted = wanted(feature);
  LK_ASSIGN(const auto reply, open->locks.release(command));
  if (!reply.not_owner.empty() && reason && !reason->empty()) {
    return break_pause(context, open->locks, feature, *reason);
  }
  service::Json json = service::release_json(reply);
  if (!reply.released.empty()) {
    return print_resumed(context, open->locks, reply.released.front(), std::move(json));
  }
  std::optional<Error> error = service::release_error(reply, false);
  json["resumed"] = false;
  if (reply.not_owner.empty()) {
    error = Error{Code::kNotFound, reply.not_held.front() + " is not held: nothing was paused",
                  "see: lockkeeper list"};
  } else {
    error->hint = "to end another agent's pause on record: lockkeeper resume " +
                  shell_quote(feature) + " --reason TEXT" + context.repeated_flags();
  }
  return out.failed(*error, std::move(json));
}

Result<int> gate_verb(VerbContext& context) {
  std::vector<std::string> words;
  std::optional<std::string> wait;
  Arguments& arguments = context.arguments();
  arguments.words("FEATURE", words, "its id, such as FEAT-123");
  arguments.optional_value("--wait", wait, "DURATION",
                           "wait while it is paused; without a value,\nindefinitely");
  if (const auto status = context.parse_some(words, "a feature")) return *status;
  Output& out = context.out();
  LK_ASSIGN(const auto feature, feature_of(words, "gate"));
  service::PassGate how;
  how.feature = feature;
  if (wait) {
    LK_ASSIGN(how.wait_ms, parse_wait(*wait));
  }
  LK_ASSIGN(auto open, context.open(std::vector<std::string>()));
  std::optional<host::SignalWatch> signals;
  Progress progress(out, *context.runtime().clock);
  if (how.wait_ms) signals.emplace();
  how.on_wait = [&](const service::WaitProgress& waits) {
    progress.show(waits);
    return signals->signal() == 0;
  };
  const auto passed = service::pass_gate(open->locks, how);
  progress.clear();
  if (!passed) return out.failed(passed.error());
  service::Json json = service::gate_json(passed->gate);
  if (passed->outcome == core::Outcome::kGranted) {
    out.object(json);
    out.text(passed->gate.mine ? "paused by you" : "open");
    return 0;
  }
  Error error{Code::kHeld, service::paused_text(passed->gate, context.now_wall_ms()),
              "stop, and wait until it is resumed: " + gate_command(context, feature, "")};
  if (passed->outcome == core::Outcome::kTimeout) {
    error.code = Code::kTimeout;
    const std::int64_t seconds_ms = passed->waited_ms / 1000 * 1000;
    const std::string after = seconds_ms > 0 ? " after " + format_duration(seconds_ms) : "";
    error.message = "timed out" + after + ": " + error.message;
  } else if (passed->outcome == core::Outcome::kInterrupted) {
    error.code = Code::kFailed;
    error.message = "interrupted: " + error.message;
  }
  const int status = out.failed(error, std::move(json));
  return passed->outcome == core::Outcome::kInterrupted ? signals->exit_status() : status;
}

}  // namespace lockkeeper::cli
