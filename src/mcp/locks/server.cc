#include "mcp/locks/server.h"

#include <algorithm>

#include "base/text.h"
#include "core/encoding.h"
#include "mcp/locks/arguments.h"
#include "mcp/locks/completion.h"
#include "mcp/locks/prompts.h"
#include "mcp/locks/resources.h"
#include "mcp/locks/schemas.h"
#include "service/messages.h"
#include "service/report.h"

namespace lockkeeper::mcp::locks {
namespace {

constexpr const char* kAgain =
    ". Your place is kept for 90 s. Next: call lock_acquire again with the same resources and "
    "wait_s: 45";

bool is_grant(const service::AcquireResult& result) {
  return service::outcome_status(result.outcome) == 0;
}

ToolText queued(const WaitingRoom::Waited& waited, std::int64_t now_wall_ms) {
  ToolText out;
  out.message = "Queued";
  out.json["outcome"] = "queued";
  if (waited.position > 0) {
    out.message += " at position " + std::to_string(waited.position);
    out.json["position"] = waited.position;
  }
  put_conflicts(out.json, waited.conflicts);
  if (!waited.conflicts.empty()) out.message += ": " + blocked_text(waited.conflicts, now_wall_ms);
  out.message += kAgain;
  put_lost(out, waited.result.lost);
  return out;
}

}  // namespace

LockServer::LockServer(service::Site& table, LockServerOptions options)
    : site_(table),
      options_(std::move(options)),
      ownership_(options_.caller),
      waiting_(table),
      reclaim_(table),
      dialects_(table, ownership_, options_.under) {}

Tool LockServer::with(Tool tool, Tell tell) {
  tool.call = [this, tell](Call& call, const Json& arguments) {
    return serve(tell, call, arguments);
  };
  return tool;
}

Catalogue LockServer::catalogue() {
  Catalogue catalogue;
  catalogue.name = "lockkeeper";
  catalogue.title = "Lockkeeper";
  catalogue.version = options_.version;
  catalogue.instructions = lock_instructions();
  catalogue.tools = {
      with(acquire_tool(), &LockServer::acquire), with(release_tool(), &LockServer::release),
      with(renew_tool(), &LockServer::renew), with(status_tool(), &LockServer::status),
      with(message_tool(), &LockServer::message)};
  for (const std::string& name : options_.dialects) {
    for (Tool& tool : dialects_.tools(name)) {
      if (catalogue.tool(tool.name) == nullptr) catalogue.tools.push_back(std::move(tool));
    }
  }
  catalogue.resources = lock_resources();
  catalogue.templates = lock_templates();
  catalogue.read = [this](Call&, const std::string& uri) {
    service::Locks locks = reader();
    return read_lock_resource(locks, uri);
  };
  catalogue.prompts = lock_prompts([this] { return reader(); });
  catalogue.complete = [this](const Json& ref, const std::string& name, const std::string& typed) {
    service::Locks locks = reader();
    return complete_lock_argument(locks, ref, name, typed);
  };
  return catalogue;
}

void LockServer::begin() {
  if (ownership_.caller().session_known) reclaim_.for_session(ownership_.caller().who.session);
}

service::Locks LockServer::locks_of(const core::Owner& owner) const {
  return service::Locks(site_, owner, options_.under);
}

Answer LockServer::serve(Tell tell, Call& call, const Json& arguments) {
  auto owner =
      ownership_.of(call, text_argument(arguments, "agent"), text_argument(arguments, "session"));
  // Reading needs no name.
  const bool looks =
      tell == &LockServer::status && !arguments.contains("agent") && !arguments.contains("session");
  if (!owner && looks) owner = ownership_.reader();
  if (!owner) return trouble(owner.error()).answer();
  reclaim_.for_owner(*owner);
  auto told = (this->*tell)(*owner, call, arguments);
  ToolText out = told ? std::move(*told) : trouble(told.error());
  if (tell != &LockServer::message && !out.has_messages) add_messages(*owner, out);
  return std::move(out).answer();
}

// Adds the caller's new messages to the answer, once. Best effort.
void LockServer::add_messages(const core::Owner& owner, ToolText& out) {
  const auto told = service::Messages(site_, owner).take_untold();
  if (told) append_messages(out, *told, now_wall_ms());
}

// The same, with messages that `locks` has read in its own transaction.
void LockServer::add_messages(service::Locks& locks, ToolText& out) {
  const auto told = locks.messages();
  if (!told) return;
  append_messages(out, *told, now_wall_ms());
  out.has_messages = true;
}

// The canonical keys, sorted, each once.
Result<std::vector<std::string>> LockServer::canonical(const service::Wanted& wanted) const {
  realm::Resolver resolver(site_.realm(), site_.settings().key_rules(site_.realm()), wanted.base,
                           site_.runtime().env);
  std::vector<std::string> keys;
  for (const std::string& text : wanted.texts) {
    LK_ASSIGN(const key::Parsed parsed, resolver.resolve(text, wanted.syntax));
    keys.push_back(parsed.resource.text());
  }
  std::ranges::sort(keys);
  keys.erase(std::ranges::unique(keys).begin(), keys.end());
  return keys;
}

Result<WaitRequest> LockServer::request_of(const core::Owner& owner, const Json& arguments) {
  WaitRequest request{owner, options_.under, {}, {}};
  service::AcquireCommand& command = request.command;
  command.wanted.texts = text_arguments(arguments, "resources");
  if (text_argument(arguments, "mode") == "shared") command.wanted.mode = core::Mode::kShared;
  command.terms.reason = text_argument(arguments, "reason");
  LK_ASSIGN(command.ttl_ms, ttl_of(arguments));
  LK_ASSIGN(command.attachment, site_.table().own_slot());
  command.terms.orphan_grace_ms = site_.settings().orphan_grace_ms.value;
  return request;
}

// The table first, because most requests are free. Then the queue, which may have the request
// already.
Result<WaitingRoom::Waited> LockServer::ask(service::Locks& locks, WaitRequest& request,
                                            std::int64_t wait_ms, Call& call) {
  if (wait_ms > 0 || waiting_.knows(request.owner)) {
    LK_ASSIGN(request.keys, canonical(request.command.wanted));
  }
  service::AcquireResult first;
  for (bool again = false;; again = true) {
    if (again || !waiting_.knows(request)) {
      LK_ASSIGN(service::AcquireResult result, locks.acquire(request.command));
      result.lost.insert(result.lost.begin(), first.lost.begin(), first.lost.end());
      // Its owner learns of the grant only now.
      if (again && is_grant(result)) result.outcome = core::Outcome::kGranted;
      WaitingRoom::Waited now{false, false, result, 0, {}};
      if (wait_ms == 0 || result.outcome != core::Outcome::kHeld) return now;
      first = std::move(result);
    }
    LK_ASSIGN(WaitingRoom::Waited waited, waiting_.wait(request, wait_ms, call));
    if (waited.conflicts.empty()) waited.conflicts = first.conflicts;
    const bool known_late = waited.earlier && !waited.queued && is_grant(waited.result);
    if (!known_late || again) {
      waited.result.lost.insert(waited.result.lost.begin(), first.lost.begin(), first.lost.end());
      return waited;
    }
  }
}

ToolText LockServer::refused(const service::AcquireResult& result) const {
  ToolText out;
  out.json = service::acquire_json(result);
  put_conflicts(out.json, result.conflicts);
  out.message = lost_sentences(result.lost);
  if (result.outcome == core::Outcome::kDeadlock) {
    out.message += deadlock_text(result, now_wall_ms()) +
                   ". Next: lock_release what you hold, then ask for all of it in one "
                   "lock_acquire";
  } else if (result.outcome == core::Outcome::kInterrupted) {
    out.message += "Left the queue; nothing is locked. Next: lock_acquire if you want it";
  } else {
    out.message +=
        "Not locked: " + blocked_text(result.conflicts, now_wall_ms()) +
        ". Next: call lock_acquire again with wait_s: 45 to queue for it, and do not change "
        "it before you hold it";
  }
  return out;
}

ToolText LockServer::granted(const service::AcquireResult& result) const {
  ToolText out;
  out.json = service::acquire_json(result);
  const bool renewed = result.outcome == core::Outcome::kRenewed;
  const bool shared = result.lease.claims.front().mode == core::Mode::kShared;
  out.message = lost_sentences(result.lost) + (renewed ? "You hold " : "Locked ") +
                list_of(core::resource_texts(result.lease)) + (shared ? " (shared)" : "") + ", " +
                service::end_text(result.lease, now_wall_ms()) + ", lease " +
                result.lease.id.text() + ", fence " + std::to_string(result.lease.fence());
  for (const std::string& warning : result.warnings) out.message += ". Warning: " + warning;
  for (const layout::Unmirrored& one : result.unmirrored) {
    out.message += ". Not visible to other tools: " + list_of(one.resources);
  }
  out.message += shared ? ". Next: read, then call lock_release"
                        : ". Next: make your changes, then call lock_release";
  return out;
}

ToolText LockServer::acquired(service::Locks& locks, WaitRequest& request, std::int64_t wait_ms,
                              Call& call) {
  const auto waited = ask(locks, request, wait_ms, call);
  if (!waited) return trouble(waited.error());
  if (waited->queued) return queued(*waited, now_wall_ms());
  const service::AcquireResult& result = waited->result;
  if (!is_grant(result)) return refused(result);
  if (call.cancelled() && !result.existed_before) {  // nobody gets the answer
    service::ReleaseCommand release;
    release.lease_ids = {result.lease.id.text()};
    const auto released = locks_of(request.owner).release(release);
    service::AcquireResult left;
    left.outcome = core::Outcome::kInterrupted;
    if (released) return refused(left);
  }
  return granted(result);
}

Result<ToolText> LockServer::acquire(const core::Owner& owner, Call& call, const Json& arguments) {
  LK_ASSIGN(WaitRequest request, request_of(owner, arguments));
  const std::int64_t wait_ms =
      std::min(number_argument(arguments, "wait_s", 0) * 1000, kWaitMostMs);
  service::Locks locks = locks_of(owner);
  locks.take_messages_along(wait_ms == 0);  // a waiting call gets them at its end
  ToolText out = acquired(locks, request, wait_ms, call);
  if (wait_ms == 0) add_messages(locks, out);
  return out;
}

}  // namespace lockkeeper::mcp::locks
