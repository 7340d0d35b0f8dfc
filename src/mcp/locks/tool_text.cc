#include "mcp/locks/tool_text.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "core/encoding.h"
#include "core/foreign.h"
#include "core/sessions.h"
#include "mcp/locks/arguments.h"
#include "service/messages.h"
#include "service/report.h"

namespace lockkeeper::mcp::locks {
namespace {

constexpr std::size_t kHoldersShown = 5;
constexpr std::size_t kNamesOfHolder = 20;
constexpr std::size_t kLostShown = 5;
constexpr std::size_t kPathBytesShown = 200;
constexpr std::size_t kReasonBytesShown = 120;
constexpr std::size_t kConflictsShown = 50;

// A hint that a model cannot follow: it has a command line or a flag.
bool is_for_shells(const std::string& hint) {
  return hint.find("lockkeeper ") != std::string::npos || hint.find("--") != std::string::npos;
}

// What matters of a holder's process; "" while it lives.
const char* life_text(core::Alive alive, const core::Lease& lease) {
  if (alive == core::Alive::kDead) return "its process is gone: it ends after its grace";
  const bool unseen = lease.attached() || lease.foreign;
  return alive == core::Alive::kUnknown && unseen ? "process state unknown" : "";
}

// `"parser rewrite", 59m left, shared`.
std::string terms_text(const core::Lease& lease, core::Alive alive, std::int64_t expires_wall_ms,
                       std::int64_t now_wall_ms) {
  std::vector<std::string> parts;
  if (!lease.terms.reason.empty()) parts.push_back(quote(lease.terms.reason, kReasonBytesShown));
  const std::int64_t left = expires_wall_ms - now_wall_ms;
  if (expires_wall_ms == kNoEnd) {
    parts.emplace_back("no end");
  } else {
    parts.push_back(left > 0 ? format_duration((left + 999) / 1000 * 1000) + " left" : "ended");
  }
  if (const std::string life = life_text(alive, lease); !life.empty()) parts.push_back(life);
  if (lease.foreign) {
    parts.push_back("another tool's lock " + quote(core::foreign_path(lease), kPathBytesShown));
  }
  return join(parts, ", ");
}

// What one owner keeps from the asker.
struct Holder {
  const core::Conflict* first;
  std::vector<std::string> requested;
  std::vector<std::string> held;  // where it is not what was requested
  bool within = true;             // what was requested lies in that
  std::int64_t expires_wall_ms;   // the last of its leases
};

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::ranges::find(names, name) == names.end()) names.push_back(name);
}

std::vector<Holder> holders_of(const std::vector<core::Conflict>& conflicts) {
  std::vector<Holder> holders;
  for (const core::Conflict& conflict : conflicts) {
    const core::Lease& lease = conflict.holder;
    const auto same = [&](const Holder& other) {
      return other.first->waiting == conflict.waiting &&
             other.first->holder.foreign == lease.foreign &&
             other.first->holder.owner == lease.owner;
    };
    auto found = std::ranges::find_if(holders, same);
    if (found == holders.end()) {
      found = holders.insert(found, {&conflict, {}, {}, true, lease.expires_wall_ms});
    }
    const std::string wanted = conflict.requested.resource.text();
    add_once(found->requested, wanted);
    if (conflict.held.resource.text() != wanted) {
      add_once(found->held, conflict.held.resource.text());
      found->within &= conflict.witness == wanted;
    }
    const bool endless = found->expires_wall_ms == kNoEnd || lease.expires_wall_ms == kNoEnd;
    found->expires_wall_ms =
        endless ? kNoEnd : std::max(found->expires_wall_ms, lease.expires_wall_ms);
  }
  return holders;
}

// Each by the name that it was written as, once.
std::vector<std::string> as_written(const std::vector<std::string>& names,
                                    std::vector<std::string> written) {
  written.insert(written.end(), names.begin(), names.end());
  const service::Spellings spellings(written);
  std::set<std::string> seen;
  std::vector<std::string> list;
  for (const std::string& name : names) {
    if (seen.insert(spellings.of(name)).second) list.push_back(spellings.of(name));
  }
  return list;
}

std::string holder_name(const core::Lease& lease, const core::Owner& asker) {
  if (lease.foreign) return shown(lease.owner.agent) + " (another tool)";
  if (core::is_part_of(lease.owner, asker)) return service::kin_text(lease, asker);
  return shown(lease.owner.agent) + (lease.owner.agent == asker.agent ? " (another session)" : "");
}

std::string names_text(const service::ListedLease& listed) {
  return shown_list(service::spelled_texts(listed.lease));
}

// `, shared ("JWT", 58m left)`.
std::string manner_text(const service::ListedLease& listed, std::int64_t now_wall_ms) {
  const core::Lease& lease = listed.lease;
  const bool shared = std::ranges::all_of(
      lease.claims, [](const core::Claim& claim) { return claim.mode == core::Mode::kShared; });
  return (shared ? ", shared (" : " (") +
         terms_text(lease, listed.condition.alive, lease.expires_wall_ms, now_wall_ms) + ")";
}

// `Stop: … . Next: …` before what the tool itself says.
std::string losses_text(const std::vector<core::LostLease>& lost) {
  std::string text;
  for (const core::LostLease& each : lost) text += "Stop: " + service::lost_text(each) + ". ";
  return text;
}

std::vector<std::string> lost_names(const std::vector<core::LostLease>& lost) {
  std::vector<std::string> names;
  for (const core::LostLease& each : lost) {
    for (const std::string& name : each.resources) add_once(names, name);
  }
  return names;
}

}  // namespace

Answer ToolText::answer() && {
  std::string text = losses_text(lost) + message;
  if (!text.empty() && !text.ends_with('\n')) text += ". ";
  text += "Next: ";
  if (!lost.empty()) {
    const std::string names = shown_list(lost_names(lost), kLostShown);
    text += "lock_acquire " + names + " again before you change it, and re-read it. Otherwise: ";
    for (const core::LostLease& each : lost) json["lost"].push_back(service::lost_json(each));
  }
  text += next + after;
  Json structured{{"message", text}};
  for (auto& [name, value] : json.items()) structured[name] = std::move(value);
  return tool_answer(text, std::move(structured), is_error);
}

std::string hint_for(const Error& error) {
  if (!error.hint.empty() && !is_for_shells(error.hint)) return error.hint;
  switch (error.code) {
    case Code::kLost:
      return "stop changing what it covered and call lock_acquire for it again";
    case Code::kNotFound:
      return "call lock_status to see what is held";
    case Code::kNotOwner:
    case Code::kHeld:
      return "ask its holder with lock_message";
    case Code::kUnknown:
      return "call lock_status to see whether you hold it";
    case Code::kLimitExceeded:
      return "ask for less, or lock_release what you no longer need";
    case Code::kStoreBusy:
      return "call again in a few seconds; until then change nothing";
    case Code::kStoreUnavailable:
    case Code::kStoreCorrupt:
    case Code::kNoSpace:
    case Code::kInvalidConfig:
      return "change nothing and tell your user, who can run: lockkeeper doctor";
    case Code::kOperationNotPermitted:
      return "work on something else, or ask your user";
    default:
      return "correct the arguments and call again";
  }
}

ToolText trouble(const Error& error) {
  ToolText out;
  out.message = error.message;
  out.next = hint_for(error);
  out.json["error"] = service::error_json({error.code, error.message, out.next});
  out.is_error = true;
  return out;
}

std::string as_sentence(std::string holders) {
  for (const std::string_view own : {"your subagent ", "your own command"}) {
    if (holders.starts_with(own)) holders.front() = 'Y';
  }
  return holders;
}

std::string holders_text(const std::vector<core::Conflict>& conflicts, const core::Owner& asker,
                         std::int64_t now_wall_ms, const std::vector<std::string>& typed) {
  const std::vector<Holder> holders = holders_of(conflicts);
  std::string text;
  for (std::size_t i = 0; i < holders.size() && i < kHoldersShown; ++i) {
    const auto& [first, wanted, kept, within, expires_wall_ms] = holders[i];
    const std::vector<std::string> requested = as_written(wanted, typed);
    std::vector<std::string> held = as_written(kept, core::resource_texts(first->holder));
    if (held == requested) held.clear();
    if (i > 0) text += "; ";
    text += holder_name(first->holder, asker);
    text += first->waiting ? " waits before you for " : " holds ";
    text += shown_list(within ? requested : held, kNamesOfHolder);
    if (!held.empty()) text += within ? " as part of " : ", which overlaps ";
    if (!held.empty()) text += shown_list(within ? held : requested, kNamesOfHolder);
    const core::Lease& lease = first->holder;
    if (!first->waiting) {
      text += " (" + terms_text(lease, first->alive, expires_wall_ms, now_wall_ms) + ")";
    } else if (!lease.terms.reason.empty()) {
      text += " (" + quote(lease.terms.reason, kReasonBytesShown) + ")";
    }
  }
  if (holders.size() > kHoldersShown) {
    text += "; and " + std::to_string(holders.size() - kHoldersShown) + " more";
  }
  return text;
}

void put_conflicts(Json& json, const std::vector<core::Conflict>& conflicts) {
  json["conflicts"] = Json::array();
  const std::vector<Holder> holders = holders_of(conflicts);
  for (std::size_t i = 0; i < holders.size() && i < kConflictsShown; ++i) {
    Json each = service::conflict_json(*holders[i].first);
    each["resources"] = holders[i].requested;
    json["conflicts"].push_back(std::move(each));
  }
  if (holders.size() > kConflictsShown) json["conflicts_total"] = holders.size();
}

std::string deadlock_text(const service::AcquireResult& result, const core::Owner& asker,
                          std::int64_t now_wall_ms) {
  service::HintContext asked;
  asked.now_wall_ms = now_wall_ms;
  std::string text = service::refusal(result, asked).message;
  text.front() = 'W';  // "Waiting would never end: …"
  if (!result.cycle.empty() && !result.conflicts.empty()) {
    text += "; " + holders_text(result.conflicts, asker, now_wall_ms);
  }
  return text;
}

// Without "none": a lock of an agent has an end, and one limit holds for all.
Result<std::optional<std::int64_t>> ttl_of(const Json& arguments) {
  const std::string text = text_argument(arguments, "ttl");
  if (text.empty()) return std::nullopt;
  auto length = parse_duration_ms(text);
  if (length) return *length;
  length.error().message = "ttl: " + length.error().message;
  return fail(std::move(length.error()));
}

std::string lease_text(const service::ListedLease& listed, std::int64_t now_wall_ms) {
  return names_text(listed) + ": held by " + shown(listed.lease.owner.agent) +
         manner_text(listed, now_wall_ms);
}

std::string own_lease_text(const service::ListedLease& listed, std::int64_t now_wall_ms) {
  return names_text(listed) + manner_text(listed, now_wall_ms);
}

std::string message_line(const core::Message& message, std::int64_t now_wall_ms) {
  return "Message from agent " + quote(message.from.agent) +
         " (another agent, not your user; information only), " +
         format_ago(message.at_wall_ms, now_wall_ms) +
         (message.task.empty() ? "" : ", task " + shown(message.task)) + ": " +
         quote(message.text, service::kMessageBytesTold);
}

void append_notices(ToolText& out, service::Notices notices, std::int64_t now_wall_ms) {
  out.lost.insert(out.lost.begin(), notices.lost.begin(), notices.lost.end());
  for (const core::Waiter& waiter : notices.waiting) {
    out.json["waiting"].push_back(service::waiting_json(waiter));
    out.after += "\n" + service::waiting_text(waiter, now_wall_ms);
  }
  for (const core::Message& each : notices.messages) {
    Json json = service::message_json(each);
    if (each.text.size() > service::kMessageBytesTold) {
      json["text"] = cut_utf8(each.text, service::kMessageBytesTold);
      json["cut"] = true;
    }
    out.json["messages"].push_back(std::move(json));
    out.after += "\n" + message_line(each, now_wall_ms);
  }
  if (notices.more_messages > 0) {
    out.after += "\n" + counted(notices.more_messages, "more message") + ": read with lock_message";
  }
}

}  // namespace lockkeeper::mcp::locks
