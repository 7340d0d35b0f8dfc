#include "service/report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/assert.h"
#include "base/json.h"
#include "base/text.h"
#include "core/encoding.h"
#include "core/sessions.h"
#include "realm/identity.h"

namespace lockkeeper::service {
namespace {

constexpr std::size_t kConflictsTold = 3;    // in a message; JSON has them all
constexpr std::size_t kResourcesInHint = 5;  // a longer command is not repeated
constexpr std::size_t kPathBytesTold = 400;
constexpr std::size_t kReasonBytesTold = 120;
constexpr std::string_view kUnknownAgent = "unknown";  // of a mkdir lock without an owner file

const char* mode_name(core::Mode mode) {
  return mode == core::Mode::kShared ? "shared" : "exclusive";
}

Json alive_json(core::Alive alive) {
  return alive == core::Alive::kUnknown ? Json() : Json(alive == core::Alive::kAlive);
}

// \u202e; beyond the first plane as two surrogates.
void append_json_escape(std::string& out, char32_t c) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  constexpr char32_t kSecondPlane = 0x10000;
  if (c >= kSecondPlane) {
    append_json_escape(out, 0xD800 + ((c - kSecondPlane) >> 10U));
    c = 0xDC00 + ((c - kSecondPlane) & 0x3FFU);
  }
  out += "\\u";
  for (const unsigned shift : {12U, 8U, 4U, 0U}) out += kDigits[c >> shift & 0xFU];
}

std::string seconds(std::int64_t wall_ms) {
  std::string text = format_time(wall_ms);  // 2026-01-17T15:30:00.000Z
  return text.replace(text.size() - 5, 4, "");
}

// Rounded up: a lease of an hour that was just granted ends in 1h, not in 59m 59s.
std::int64_t whole_seconds(std::int64_t left_ms) {
  return (left_ms + 999) / 1000 * 1000;
}

std::string until_text(const core::Lease& lease, std::int64_t now_ms) {
  if (lease.edit) return "until its turn ends";
  if (lease.expires_wall_ms == kNoEnd) return "without end";
  const std::int64_t left = lease.expires_wall_ms - now_ms;
  const std::string when = left > 0 ? "in " + format_duration(whole_seconds(left))
                                    : format_ago(lease.expires_wall_ms, now_ms);
  return "until " + seconds(lease.expires_wall_ms) + " (" + when + ")";
}

// What ended it, for people; JSON has the word itself.
std::string cause_text(const std::string& cause) {
  if (cause == "died") return "its process ended";
  if (cause == "parent_ended") return "the lease around it ended";
  if (cause == "unconfirmed") return "nobody took it over in time";
  if (cause == "reboot") return "the machine was restarted";
  if (cause == "yielded") return "taken over";
  if (cause == "silent") return "the hub did not answer for half a minute";
  return shown(cause);
}

// The conflicts that tell different things: one per holder, the first of each.
std::vector<const core::Conflict*> holders(const std::vector<core::Conflict>& conflicts) {
  std::vector<const core::Conflict*> list;
  for (const core::Conflict& conflict : conflicts) {
    const bool known = std::ranges::any_of(
        list, [&](const core::Conflict* other) { return other->holder.id == conflict.holder.id; });
    if (!known) list.push_back(&conflict);
  }
  return list;
}

std::string conflicts_text(const std::vector<core::Conflict>& conflicts, const HintContext& asked) {
  const std::vector<const core::Conflict*> told = holders(conflicts);
  std::string text;
  for (std::size_t i = 0; i < told.size() && i < kConflictsTold; ++i) {
    if (i > 0) text += "; ";
    text += shown(asked.names.name(told[i]->requested.resource.text())) + " is " +
            holder_text(*told[i], asked.now_wall_ms, asked.asker, asked.names);
  }
  if (told.size() > kConflictsTold) {
    text += "; and " + std::to_string(told.size() - kConflictsTold) + " more";
  }
  return text;
}

std::string command(std::string_view verb, const std::vector<std::string>& resources) {
  std::string text = "lockkeeper " + std::string(verb);
  for (const std::string& resource : resources) {
    // A word with a NUL never reaches a table, and no shell could repeat it.
    if (resource.find('\0') == std::string::npos) text += " " + shell_name(resource);
  }
  return text;
}

std::string wait_command(const HintContext& asked, const char* how_long) {
  if (asked.resources.size() > kResourcesInHint) {
    return std::string("the same command with --wait=") + how_long;
  }
  return command(asked.program.empty() ? "acquire" : "run", asked.resources) + asked.flags +
         " --wait=" + how_long + asked.program;
}

Error deadlock_error(const AcquireResult& result, const HintContext& asked) {
  std::string text = "waiting would never end: ";
  for (std::size_t i = 0; i < result.cycle.size(); ++i) {
    const core::CycleStep& step = result.cycle[i];
    if (i > 0) text += ", ";
    text += owner_text(step.owner) + " waits for ";
    for (std::size_t j = 0; j < step.waits_for.size() && j < kConflictsTold; ++j) {
      text += (j > 0 ? " and " : "") + shown(asked.names.name(step.waits_for[j]));
    }
  }
  if (result.cycle.empty()) text += conflicts_text(result.conflicts, asked);
  Error error{Code::kDeadlock, std::move(text), {}};
  // The last step waits for what the asker holds.
  if (!result.cycle.empty() && !result.cycle.back().waits_for.empty()) {
    std::vector<std::string> own = result.cycle.back().waits_for;
    if (own.size() > kResourcesInHint) own.resize(kResourcesInHint);
    for (std::string& name : own) name = asked.names.word(name);
    error.hint =
        "release what you hold first, then ask for all of it at once: " + command("release", own) +
        asked.caller_flags;
  } else {
    error.hint = "release what you hold first, then ask for all of it at once";
  }
  return error;
}

}  // namespace

std::string dump(const Json& json) {
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  // Usually there is nothing to escape.
  if (std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; })) return text;
  std::string out;
  out.reserve(text.size());
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view character = rest.substr(0, std::max<std::size_t>(1, utf8_size(rest)));
    rest.remove_prefix(character.size());
    if (is_hidden(utf8_value(character))) {
      append_json_escape(out, utf8_value(character));
    } else {
      out += character;
    }
  }
  return out;
}

Json foreign_json(const core::Lease& lease) {
  return {{"kind", core::layout_kind(lease.terms.layout)}, {"path", core::foreign_path(lease)}};
}

Json lease_json(const core::Lease& lease) {
  Json resources = Json::array();
  for (const core::Claim& claim : core::readable_claims(lease)) {
    resources.push_back({{"key", claim.resource.text()}, {"mode", mode_name(claim.mode)}});
  }
  Json json;
  json["id"] = lease.id.text();
  json["fence"] = lease.foreign ? Json() : Json(lease.fence());
  json["agent"] = lease.owner.agent;
  json["session"] = text_or_null(lease.owner.session);
  json["resources"] = std::move(resources);
  json["reason"] = text_or_null(lease.terms.reason);
  json["task"] = text_or_null(lease.terms.task);
  json["acquired_at"] = format_time(lease.acquired_wall_ms);
  json["expires_at"] = time_or_null(lease.expires_wall_ms);
  json["attached"] = lease.attached();
  if (lease.foreign) json["foreign"] = foreign_json(lease);
  if (!lease.terms.worktree.empty()) json["worktree"] = lease.terms.worktree;
  if (lease.edit) json["edit"] = {{"confirmed", lease.edit->confirmed}};
  return json;
}

Json conflict_json(const core::Conflict& conflict) {
  const core::Lease& holder = conflict.holder;
  Json json;
  json["requested"] = conflict.requested.resource.text();
  json["held"] = conflict.held.resource.text();
  json["kind"] = conflict.waiting ? "waiter" : "lease";
  json["mode"] = mode_name(conflict.held.mode);
  json["agent"] = holder.owner.agent;
  json["session"] = text_or_null(holder.owner.session);
  json["reason"] = text_or_null(holder.terms.reason);
  json["acquired_at"] = format_time(holder.acquired_wall_ms);
  json["expires_at"] = conflict.waiting ? Json() : time_or_null(holder.expires_wall_ms);
  json["fence"] = conflict.waiting || holder.foreign ? Json() : Json(holder.fence());
  json["alive"] = alive_json(conflict.alive);
  if (holder.foreign) json["foreign"] = foreign_json(holder);
  return json;
}

Json lost_json(const core::LostLease& lost) {
  Json json;
  json["id"] = lost.id.text();
  json["fence"] = lost.fence;
  json["resources"] = lost.resources;
  json["cause"] = lost.cause;
  json["reason"] = text_or_null(lost.reason);
  json["by"] = text_or_null(lost.by.agent);
  json["at"] = format_time(lost.at_wall_ms);
  return json;
}

Json event_json(const core::Event& event) {
  Json json;
  json["seq"] = event.seq;
  json["at"] = format_time(event.at_wall_ms);
  json["event"] = event.what;
  json["agent"] = event.owner.agent;
  json["session"] = text_or_null(event.owner.session);
  json["resources"] = event.resources;
  json["fence"] = event.fence == 0 ? Json() : Json(event.fence);
  json["cause"] = text_or_null(event.cause);
  json["reason"] = text_or_null(event.reason);
  json["lease"] = event.lease.empty() ? Json() : Json(event.lease.text());
  json["task"] = text_or_null(event.task);
  if (!event.by.agent.empty()) {
    json["by"] = {{"agent", event.by.agent}, {"session", text_or_null(event.by.session)}};
  }
  return json;
}

Json error_json(const Error& error) {
  return {{"code", code_name(error.code)}, {"message", error.message}, {"hint", error.hint}};
}

Json acquire_json(const AcquireResult& result) {
  Json json;
  json["outcome"] = outcome_name(result.outcome);
  if (outcome_status(result.outcome) == 0) {
    json["lease"] = lease_json(result.lease);
  }
  if (outcome_status(result.outcome) != 0 || !result.conflicts.empty()) {
    json["conflicts"] = Json::array();
    for (const core::Conflict& conflict : result.conflicts) {
      json["conflicts"].push_back(conflict_json(conflict));
    }
  }
  if (result.outcome == core::Outcome::kDeadlock) {
    json["cycle"] = Json::array();
    for (const core::CycleStep& step : result.cycle) {
      json["cycle"].push_back({{"agent", step.owner.agent},
                               {"session", text_or_null(step.owner.session)},
                               {"waits_for", step.waits_for}});
    }
  }
  if (!result.lost.empty()) {
    json["lost"] = Json::array();
    for (const core::LostLease& lost : result.lost) json["lost"].push_back(lost_json(lost));
  }
  if (!result.unmirrored.empty()) {
    json["unmirrored"] = Json::array();
    for (const layout::Unmirrored& one : result.unmirrored) {
      json["unmirrored"].push_back({{"layout", one.layout}, {"resources", one.resources}});
    }
  }
  if (!result.warnings.empty()) json["warnings"] = result.warnings;
  return json;
}

Json release_json(const core::ReleaseReply& reply) {
  Json json;
  json["released"] = reply.released;
  json["not_held"] = reply.not_held;
  json["not_owner"] = Json::array();
  for (const auto& [key, owner] : reply.not_owner) {
    json["not_owner"].push_back({{"key", key}, {"agent", owner.agent}});
  }
  for (const auto& [key, cause] : reply.ended_before) {
    json["ended_before"].push_back({{"key", key}, {"cause", cause}});
  }
  for (const auto& [key, outer] : reply.covered) {
    json["covered"].push_back({{"key", key}, {"by", outer}});
  }
  return json;
}

Json check_json(const core::CheckReply& reply) {
  Json json;
  json["free"] = reply.free;
  json["mine"] = reply.mine;
  json["conflicts"] = Json::array();
  for (const core::Conflict& conflict : reply.conflicts) {
    json["conflicts"].push_back(conflict_json(conflict));
  }
  return json;
}

Json leases_json(const char* name, const std::vector<core::Lease>& leases) {
  Json json;
  json[name] = Json::array();
  for (const core::Lease& lease : leases) json[name].push_back(lease_json(lease));
  return json;
}

const char* outcome_name(core::Outcome outcome) {
  switch (outcome) {
    case core::Outcome::kGranted:
      return "granted";
    case core::Outcome::kRenewed:
      return "renewed";
    case core::Outcome::kHeld:
      return "held";
    case core::Outcome::kQueued:
      return "queued";
    case core::Outcome::kTimeout:
      return "timeout";
    case core::Outcome::kDeadlock:
      return "deadlock";
    case core::Outcome::kInterrupted:
      return "interrupted";
  }
  return "held";
}

int outcome_status(core::Outcome outcome) {
  constexpr int kInterruptedStatus = 130;  // as the shell has it for SIGINT
  switch (outcome) {
    case core::Outcome::kGranted:
    case core::Outcome::kRenewed:
      return 0;
    case core::Outcome::kHeld:
    case core::Outcome::kQueued:
      return exit_status(Code::kHeld);
    case core::Outcome::kTimeout:
      return exit_status(Code::kTimeout);
    case core::Outcome::kDeadlock:
      return exit_status(Code::kDeadlock);
    case core::Outcome::kInterrupted:
      return kInterruptedStatus;
  }
  return exit_status(Code::kFailed);
}

std::string flag_to_be(const core::Owner& holder, const core::Owner& asker) {
  if (holder.agent != asker.agent || holder.session == asker.session || asker.agent.empty() ||
      core::is_part_of(holder, asker) || core::is_part_of(asker, holder)) {
    return {};
  }
  if (holder.session.empty()) return "--agent " + shell_quote(holder.agent);
  const bool guessed = asker.session.empty() || realm::is_derived_session(asker.session) ||
                       realm::is_derived_session(holder.session);
  return guessed ? "--session " + shell_quote(holder.session) : "";
}

Error held_error(const std::vector<core::Conflict>& conflicts, const HintContext& asked) {
  Error error{Code::kHeld, conflicts_text(conflicts, asked), {}};
  const bool orphan = !conflicts.empty() && !conflicts.front().waiting &&
                      conflicts.front().alive == core::Alive::kDead;
  if (orphan) {
    error.hint = "its processes are gone and it ends after its grace: " + wait_command(asked, "2m");
  } else if (asked.checked) {
    error.hint = "do not change it; to get it: " + wait_command(asked, "10m");
  } else {
    error.hint = "work on something else, or wait for it: " + wait_command(asked, "10m");
  }
  for (const core::Conflict& conflict : conflicts) {
    const core::Lease& holder = conflict.holder;
    if (holder.foreign && holder.owner.agent == kUnknownAgent) {
      error.hint +=
          "; its maker is unknown: if it was left behind, lockkeeper break "
          "--foreign --reason TEXT " +
          shell_name(core::foreign_path(holder));
      break;
    }
    const std::string flag = holder.foreign ? "" : flag_to_be(holder.owner, asked.asker);
    if (flag.empty()) continue;
    error.message += "; this may be you, in another session";
    error.hint = "if this is you, add " + flag + "; otherwise " + error.hint;
    break;
  }
  return error;
}

Error refusal(const AcquireResult& result, const HintContext& asked) {
  const std::int64_t waited_ms = result.waited_ms;
  const std::string waited =
      format_duration(waited_ms < 1000 ? waited_ms : waited_ms / 1000 * 1000);
  switch (result.outcome) {
    case core::Outcome::kHeld:
    case core::Outcome::kQueued:
      return held_error(result.conflicts, asked);
    case core::Outcome::kTimeout: {
      Error error = held_error(result.conflicts, asked);
      std::string place;
      if (result.position > 1) place = " at position " + std::to_string(result.position);
      error.code = Code::kTimeout;
      error.message = (waited_ms == 0 ? "not granted at once"
                                      : "not granted after " + waited + " in the queue") +
                      place + (error.message.empty() ? "" : ": " + error.message);
      error.hint = "work on something else, or wait longer: " + wait_command(asked, "30m");
      return error;
    }
    case core::Outcome::kDeadlock:
      return deadlock_error(result, asked);
    case core::Outcome::kInterrupted:
      return {Code::kFailed, "interrupted after " + waited + " in the queue; nothing was taken",
              "to wait again: " + wait_command(asked, "10m")};
    case core::Outcome::kGranted:
    case core::Outcome::kRenewed:
      break;
  }
  LOCKKEEPER_ASSERT(!"a grant is no refusal");
}

std::vector<std::string> part_warnings(const AcquireResult& renewed) {
  std::vector<std::string> warnings;
  for (const core::Conflict* conflict : holders(renewed.conflicts)) {
    const std::string kin = kin_text(conflict->holder, renewed.lease.owner);
    const core::Lease& holder = conflict->holder;
    warnings.push_back(shown(spelled_in(holder, conflict->held.resource.text())) + " is held by " +
                       (kin.empty() ? owner_text(conflict->holder.owner) : kin) +
                       ", which works inside your lease; do not change it meanwhile");
  }
  return warnings;
}

std::optional<Error> release_error(const core::ReleaseReply& reply, bool all,
                                   const core::Owner& asker, const std::string& flags,
                                   const Names& names) {
  if (!reply.not_owner.empty()) {
    const auto& [key, owner] = reply.not_owner.front();
    core::Lease held;
    held.owner = owner;
    const std::string kin = kin_text(held, asker);
    return Error{Code::kNotOwner,
                 shown(names.name(key)) + " is held by " +
                     (kin.empty() ? owner_text(owner) + ", who" : kin + ", which") +
                     " alone may release it",
                 "leave it alone; to get it: lockkeeper acquire " + shell_name(names.word(key)) +
                     flags + " --wait=10m; only if its holder is stuck: lockkeeper break " +
                     shell_name(names.word(key)) + flags + " --reason TEXT"};
  }
  if (!reply.released.empty() || all) return std::nullopt;
  if (!reply.covered.empty()) {
    const auto& [key, outer] = reply.covered.front();
    return Error{Code::kNotFound,
                 "you do not hold " + shown(names.name(key)) +
                     " by itself: " + shown(names.name(outer)) + ", which you hold, covers it",
                 "release that: lockkeeper release " + shell_name(names.word(outer)) + flags};
  }
  if (reply.not_held.empty()) {
    return Error{Code::kNotFound, "you hold nothing that matches", "see: lockkeeper list" + flags};
  }
  return Error{Code::kNotFound, shown(names.name(reply.not_held.front())) + " is not held by you",
               "a release takes the key exactly as held; see: lockkeeper list" + flags};
}

std::unexpected<Error> nothing_named(std::string_view verb) {
  return fail(Code::kUsage, std::string(verb) + " needs something to act on",
              verb == "break" ? "name a resource, or give --lease ID or --agent NAME"
                              : "name a resource, or give --lease ID or --all");
}

std::string owner_text(const core::Owner& owner) {
  if (owner.session.empty()) return shown(owner.agent);
  return shown(owner.agent) + " (session " + shown(owner.session) + ")";
}

std::string kin_text(const core::Lease& holder, const core::Owner& asker) {
  if (holder.foreign || asker.agent.empty()) return {};
  std::optional<core::Owner> whole = asker;
  while (whole && !core::is_part_of(holder.owner, *whole)) whole = core::nearest_whole(*whole);
  if (!whole) return {};
  const bool own = *whole == asker;
  const std::string name = core::part_name(holder.owner, *whole);
  if (!core::is_command_name(name)) {
    const core::Owner& owner = holder.owner;
    const std::string who = shown(owner.agent == asker.agent ? name : owner.agent);
    return own ? "your subagent " + who : "the subagent " + who + " of your session";
  }
  const std::int64_t pid = holder.process().pid;
  return (own ? "your own command" : "another command of your session") +
         (pid != 0 ? " (pid " + std::to_string(pid) + ")" : "");
}

std::string holder_text(const core::Conflict& conflict, std::int64_t now_wall_ms,
                        const core::Owner& asker, const Names& names) {
  const core::Lease& holder = conflict.holder;
  std::string text = conflict.waiting ? "wanted earlier by " : "held by ";
  const std::string kin = kin_text(holder, asker);
  // Another tool's session is where its lock was seen, which is told below.
  if (!kin.empty()) {
    text += kin;
  } else {
    text += holder.foreign ? shown(holder.owner.agent) : owner_text(holder.owner);
  }
  text += std::string(", ") + mode_name(conflict.held.mode);
  const std::string held = names.name(spelled_in(holder, conflict.held.resource.text()));
  const std::string requested = names.name(conflict.requested.resource.text());
  if (held != requested) text += " on " + shown(held);
  // A witness that is neither of the two: only then is it news.
  const std::string common = conflict.witness.empty() ? "" : names.name(conflict.witness);
  const bool news = common != held && common != requested && held != requested;
  if (!common.empty() && news) text += " (both cover " + shown(common) + ")";
  text += conflict.waiting ? ", waiting since " : ", since ";
  text += seconds(holder.acquired_wall_ms) + " (" +
          format_ago(holder.acquired_wall_ms, now_wall_ms) + ")";
  if (!conflict.waiting) text += " " + until_text(holder, now_wall_ms);
  if (conflict.alive == core::Alive::kAlive) text += ", process alive";
  if (conflict.alive == core::Alive::kDead) text += ", process gone";
  if (!holder.terms.reason.empty())
    text += ", reason " + quote(holder.terms.reason, kReasonBytesTold);
  if (holder.foreign) {
    text += ", by the " + core::layout_kind(holder.terms.layout) + " lock " +
            quote(core::foreign_path(holder), kPathBytesTold);
  }
  return text;
}

std::string end_text(const core::Lease& lease, std::int64_t now_wall_ms) {
  if (lease.edit || lease.expires_wall_ms == kNoEnd)
    return lease.edit ? "ends with its turn" : "no end";
  const std::int64_t left = lease.expires_wall_ms - now_wall_ms;
  return left > 0 ? "ends in " + format_duration(whole_seconds(left)) : "ended";
}

Json waiting_json(const core::Waiter& waiter) {
  Json json{{"agent", waiter.request.owner.agent}};
  json["session"] = text_or_null(waiter.request.owner.session);
  json["resources"] = core::resource_texts(waiter.request);
  json["waiting_since"] = format_time(waiter.request.acquired_wall_ms);
  json["reason"] = text_or_null(waiter.request.terms.reason);
  return json;
}

std::string waiting_text(const core::Waiter& waiter, std::int64_t now_wall_ms) {
  const core::Lease& request = waiter.request;
  const std::int64_t waited_ms = now_wall_ms - request.acquired_wall_ms;
  std::string text = owner_text(request.owner) + " has waited " +
                     format_duration(std::max<std::int64_t>(0, waited_ms / 1000 * 1000)) + " for ";
  text += shown_list(spelled_texts(request), kConflictsTold);
  if (!request.terms.reason.empty()) {
    text += ", reason " + quote(request.terms.reason, kReasonBytesTold);
  }
  return text;
}

std::string ended_before_text(const std::string& key, const std::string& cause) {
  return "your lease on " + shown(key) + " had already ended (" + cause +
         "); nobody has taken it since";
}

std::string unmirrored_text(const layout::Unmirrored& unmirrored) {
  return "programs that use " + unmirrored.layout + " cannot see the lock on " +
         shown_list(unmirrored.resources, kConflictsTold) +
         "; if none are in use: lockkeeper layout remove " + unmirrored.layout;
}

std::string lost_text(const core::LostLease& lost) {
  const bool of_a_part = lost.filed != lost.id && !lost.filed.empty();
  std::string text =
      of_a_part ? "the lease of " + owner_text(lost.owner) + " on " : "your lease on ";
  text += shown_list(spelled(lost.resources), kConflictsTold);
  text += " (fence " + std::to_string(lost.fence) + ") was lost at " + seconds(lost.at_wall_ms) +
          ": " + cause_text(lost.cause);
  if (!lost.by.agent.empty()) text += " by " + owner_text(lost.by);
  if (!lost.reason.empty()) text += ", reason " + quote(lost.reason, kReasonBytesTold);
  return text;
}

}  // namespace lockkeeper::service
