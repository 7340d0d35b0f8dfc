#include "mcp/locks/tool_text.h"

#include <algorithm>

#include "base/text.h"
#include "core/encoding.h"
#include "core/foreign.h"
#include "mcp/locks/arguments.h"
#include "service/messages.h"
#include "service/report.h"

namespace lockkeeper::mcp::locks {
namespace {

constexpr std::size_t kHoldersShown = 5;
constexpr std::size_t kReasonBytesShown = 120;
constexpr std::size_t kConflictsShown = 50;

// A hint that a model cannot follow: it has a command line or a flag.
bool is_for_shells(const std::string& hint) {
  return hint.find("lockkeeper ") != std::string::npos || hint.find("--") != std::string::npos;
}

const char* life_text(core::Alive alive, const core::Lease& lease) {
  if (alive == core::Alive::kAlive) return ", process alive";
  if (alive == core::Alive::kDead) return ", process gone: it ends after its grace";
  if (lease.attachment.attached() || lease.foreign) return ", process state unknown";
  return ", not bound to a process";
}

}  // namespace

Answer ToolText::answer() && {
  Json structured{{"message", message}};
  for (auto& [name, value] : json.items()) structured[name] = std::move(value);
  return tool_answer(message, std::move(structured), is_error);
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
  const std::string next = hint_for(error);
  ToolText out;
  out.message = error.message + ". Next: " + next;
  out.json["error"] = service::error_json({error.code, error.message, next});
  out.is_error = true;
  return out;
}

std::string blocked_text(const std::vector<core::Conflict>& conflicts, std::int64_t now_wall_ms) {
  std::vector<const core::Conflict*> holders;  // the first conflict of each holder
  for (const core::Conflict& conflict : conflicts) {
    const bool known = std::ranges::any_of(holders, [&](const core::Conflict* other) {
      return other->holder.id == conflict.holder.id;
    });
    if (!known) holders.push_back(&conflict);
  }
  std::string text;
  for (std::size_t i = 0; i < holders.size() && i < kHoldersShown; ++i) {
    const core::Conflict& conflict = *holders[i];
    if (i > 0) text += "; ";
    text +=
        conflict.requested.resource.text() + " is " + service::holder_text(conflict, now_wall_ms);
    if (conflict.alive == core::Alive::kUnknown) text += life_text(conflict.alive, conflict.holder);
  }
  if (holders.size() > kHoldersShown) {
    text += "; and " + std::to_string(holders.size() - kHoldersShown) + " more";
  }
  return text;
}

void put_conflicts(Json& json, const std::vector<core::Conflict>& conflicts) {
  json["conflicts"] = Json::array();
  for (std::size_t i = 0; i < conflicts.size() && i < kConflictsShown; ++i) {
    json["conflicts"].push_back(service::conflict_json(conflicts[i]));
  }
  if (conflicts.size() > kConflictsShown) json["conflicts_total"] = conflicts.size();
}

std::string deadlock_text(const service::AcquireResult& result, std::int64_t now_wall_ms) {
  service::HintContext asked;
  asked.now_wall_ms = now_wall_ms;
  std::string text = service::refusal(result, asked).message;
  if (!result.cycle.empty() && !result.conflicts.empty()) {
    text += "; " + blocked_text(result.conflicts, now_wall_ms);
  }
  return text;
}

std::string lost_sentences(const std::vector<core::LostLease>& lost) {
  std::string note;
  for (const core::LostLease& each : lost) {
    note += "Stop: " + service::lost_text(each) + ". ";
  }
  return note;
}

void put_lost(ToolText& out, const std::vector<core::LostLease>& lost) {
  for (const core::LostLease& each : lost) out.json["lost"].push_back(service::lost_json(each));
  out.message = lost_sentences(lost) + out.message;
}

Result<std::optional<std::int64_t>> ttl_of(const Json& arguments) {
  const std::string text = text_argument(arguments, "ttl");
  if (text.empty()) return std::nullopt;
  auto length = parse_duration_ms(text, {.allow_none = true});
  if (length) return *length;
  length.error().message = "ttl: " + length.error().message;
  return fail(std::move(length.error()));
}

std::string lease_text(const service::ListedLease& listed, std::int64_t now_wall_ms) {
  const core::Lease& lease = listed.lease;
  const bool shared = std::ranges::all_of(
      lease.claims, [](const core::Claim& claim) { return claim.mode == core::Mode::kShared; });
  std::string text = list_of(core::resource_texts(lease)) + ": held by ";
  text += lease.foreign ? lease.owner.agent : service::owner_text(lease.owner);
  text += shared ? ", shared" : ", exclusive";
  text += ", since " + format_time(lease.acquired_wall_ms) + ", " +
          service::end_text(lease, now_wall_ms) + life_text(listed.condition.alive, lease);
  if (!lease.terms.reason.empty())
    text += ", reason " + quote(lease.terms.reason, kReasonBytesShown);
  if (lease.foreign) text += ", by another tool's lock " + quote(core::foreign_path(lease));
  return text;
}

void append_messages(ToolText& out, const core::DeliveredMessages& told, std::int64_t now_wall_ms) {
  for (const core::Message& note : told.messages) {
    out.json["messages"].push_back(service::message_json(note));
    out.message += "\nMessage: " + service::message_text(note, now_wall_ms);
  }
  if (told.more > 0) {
    out.message +=
        "\nand " + std::to_string(told.more) + " more messages: read them with lock_message";
  }
}

}  // namespace lockkeeper::mcp::locks
