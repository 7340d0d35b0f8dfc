#include "mcp/locks/server.h"

#include <unistd.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "core/encoding.h"
#include "mcp/locks/arguments.h"
#include "mcp/locks/completion.h"
#include "mcp/locks/prompts.h"
#include "mcp/locks/resources.h"
#include "mcp/locks/schemas.h"
#include "realm/server.h"
#include "service/report.h"

namespace lockkeeper::mcp::locks {
namespace {

bool is_grant(const service::AcquireResult& result) {
  return service::outcome_status(result.outcome) == 0;
}

// Ordinary paths below a root: not absolute, no key, not said to be at the root ("./a").
bool is_plain_relative(const std::string& text) {
  return !text.empty() && text.front() != '/' && !text.starts_with("./") &&
         text.find_first_of(std::string("*?[]{}:\0", 8)) == std::string::npos;
}

bool is_there(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

}  // namespace

LockServer::LockServer(service::Site& table, LockServerOptions options,
                       std::function<void()> silent)
    : site_(table),
      options_(std::move(options)),
      ownership_(options_.caller),
      visitors_(table),
      waiting_(table),
      reclaim_(table),
      dialects_(table, ownership_, options_.under),
      silence_(table, visitors_, std::move(silent)) {}

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
  for (Tool& tool : catalogue.tools) {
    // What words mean depends on the settings, too. Those with a mistake refuse what takes a lock.
    tool.call = [this, serve = std::move(tool.call)](Call& call, const Json& arguments) {
      static_cast<void>(site_.table().follow_settings());
      return serve(call, arguments);
    };
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
  if (!ownership_.caller().session_known) return;
  reclaim_.for_session(ownership_.caller().who.session, [this] { return visitors_.slot_of(""); });
}

void LockServer::arrived(const std::string& visitor) {
  reclaim_.for_session(visitor, [&] { return visitors_.slot_of(visitor); });
}

void LockServer::gone(const std::string& visitor, bool orderly) {
  // If the store is unavailable, they end after their grace. Before its slot ends: whoever has none
  // is dead.
  if (orderly) static_cast<void>(visitors_.give_back(visitors_.slot_now(visitor)));
  visitors_.leave(visitor);
}

service::Locks LockServer::locks_of(const core::Owner& owner) const {
  return service::Locks(site_, owner, options_.under);
}

// A hook knows better than the connection who makes a call: which subagent, or which of the
// sessions that share this server.
Result<core::Owner> LockServer::owner_of(const Call& call, const Json& arguments) const {
  std::string agent = text_argument(arguments, "agent");
  const std::string announced = announced_call(call, agent);
  if (!announced.empty()) {
    const auto found = reader().owner_of_call(announced);
    if (found && *found && ownership_.may_be(call, **found)) return **found;
  }
  if (agent.starts_with(kCallMark)) agent.clear();
  return ownership_.of(call, agent);
}

Answer LockServer::serve(Tell tell, Call& call, const Json& arguments) {
  auto owner = owner_of(call, arguments);
  // Reading needs no name.
  const bool looks = tell == &LockServer::status && !owner && !arguments.contains("agent");
  if (looks) owner = ownership_.reader();
  if (!owner) return trouble(owner.error()).answer();
  Asker asker{*owner, {}, locks_of(*owner)};
  const auto slot_here = [&] { return visitors_.slot_of(call.client().visitor.name); };
  reclaim_.for_owner(*owner, slot_here);
  if (tell != &LockServer::status && tell != &LockServer::message) {  // looking creates nothing
    const auto slot = slot_here();
    if (!slot) return trouble(slot.error()).answer();
    asker.slot = *slot;
  }
  const bool waits = tell == &LockServer::acquire && number_argument(arguments, "wait_s", 0) > 0;
  const bool tells = !looks && !waits;  // a waiting call is told at its end
  asker.locks.tell_along({.losses = tells, .messages = tells, .waiting = tells});
  auto told = (this->*tell)(asker, call, arguments);
  ToolText out = told ? std::move(*told) : trouble(told.error());
  if (!looks) {
    add_grants(*owner, out);
    add_notices(asker, waits, out);
  }
  return std::move(out).answer();
}

// What the owner has got in the background, because it had queued for it.
void LockServer::add_grants(const core::Owner& owner, ToolText& out) {
  for (const core::Lease& lease : waiting_.take_grants(owner)) {
    out.message =
        "Locked meanwhile, as you had queued for it: " + shown_list(service::spelled_texts(lease)) +
        ", " + service::end_text(lease, now_wall_ms()) + ". " + out.message;
    out.json["granted"].push_back(service::lease_json(lease));
  }
}

// What the owner must be told: losses, who waits for it, messages. Best effort.
void LockServer::add_notices(Asker& asker, bool waited, ToolText& out) {
  if (waited) {
    asker.locks = locks_of(asker.owner);
    asker.locks.tell_along({.losses = true, .messages = true, .waiting = true});
  }
  auto notices = asker.locks.notices();
  if (notices) append_notices(out, std::move(*notices), now_wall_ms());
  const auto silent = silence_.take_losses(asker.owner);
  out.lost.insert(out.lost.begin(), silent.begin(), silent.end());
  if (silence_.is_on()) {
    out.message = "Stop: the hub has not answered for " + format_duration(realm::kOutOfContactMs) +
                  ", so what you hold counts as lost. " + out.message;
  }
}

// The canonical keys, sorted, each once.
Result<std::vector<std::string>> LockServer::canonical(const service::Wanted& wanted) const {
  realm::Resolver resolver(site_.realm(), site_.settings().key_rules(site_.realm()), wanted.base,
                           site_.runtime().env);
  std::vector<std::string> keys;
  for (const std::string& text : wanted.texts) {
    LK_ASSIGN(const std::vector<key::Parsed> all, resolver.resolve_all(text, wanted.syntax));
    for (const key::Parsed& parsed : all) keys.push_back(parsed.resource.text());
  }
  std::ranges::sort(keys);
  keys.erase(std::ranges::unique(keys).begin(), keys.end());
  return keys;
}

// A name that is in the client's working folder and not at the root was meant there. Warnings where
// both exist.
Result<std::vector<std::string>> LockServer::check_places(const service::Wanted& wanted) const {
  std::vector<std::string> warnings;
  const std::string root = site_.realm().root + "/";
  if (!options_.folder.starts_with(root)) return warnings;
  const std::string folder = options_.folder.substr(root.size()) + "/";
  const std::string inside = root + folder;
  for (const std::string& text : wanted.texts) {
    if (!is_plain_relative(text) || !is_there(inside + text)) continue;
    const std::string there = shown(folder + text);
    if (!is_there(root + text)) {
      return fail(Code::kInvalidInput,
                  quote(text) + " is not at the repository's root, but " + there + " exists",
                  "paths are from the root: use " + there + ", or " + shown("./" + text) +
                      " for a new file at the root");
    }
    warnings.push_back(shown(text) + " is the one at the repository's root; " + there +
                       " is another file");
  }
  return warnings;
}

WaitRequest LockServer::request_of(const Asker& asker, const Json& arguments) const {
  WaitRequest request{asker.owner, options_.under, {}, {}};
  service::AcquireCommand& command = request.command;
  command.wanted.texts = text_arguments(arguments, "resources");
  if (text_argument(arguments, "mode") == "shared") command.wanted.mode = core::Mode::kShared;
  command.terms.reason = text_argument(arguments, "reason");
  command.attachment = asker.slot;
  if (ownership_.can_come_back(asker.owner)) {
    command.terms.orphan_grace_ms = site_.settings().orphan_grace_ms.value;
  }
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

ToolText LockServer::queued(const core::Owner& owner, const WaitingRoom::Waited& waited) const {
  ToolText out;
  out.message = "Queued";
  out.json["outcome"] = "queued";
  if (waited.position > 0) {
    out.message += " at position " + std::to_string(waited.position);
    out.json["position"] = waited.position;
  }
  put_conflicts(out.json, waited.conflicts);
  if (!waited.conflicts.empty()) {
    out.message += ": " + holders_text(waited.conflicts, owner, now_wall_ms());
  }
  out.message += ". Your place is kept for 90 s";
  out.next = "call lock_acquire again with the same resources and wait_s: 45";
  out.lost = waited.result.lost;
  return out;
}

ToolText LockServer::refused(const WaitRequest& request,
                             const service::AcquireResult& result) const {
  ToolText out;
  out.json["outcome"] = service::outcome_name(result.outcome);
  out.lost = result.lost;
  if (result.outcome == core::Outcome::kInterrupted) {
    out.message = "Left the queue; nothing is locked";
    out.next = "lock_acquire if you want it";
    return out;
  }
  put_conflicts(out.json, result.conflicts);
  if (result.outcome == core::Outcome::kDeadlock) {
    out.json["cycle"] = service::acquire_json(result)["cycle"];
    out.message = deadlock_text(result, request.owner, now_wall_ms());
    out.next = "lock_release what you hold, then ask for all of it in one lock_acquire";
    return out;
  }
  const std::size_t wanted = request.command.wanted.texts.size();
  out.message = "Not locked";
  if (wanted > 1) out.message += " (none of the " + std::to_string(wanted) + ")";
  out.message += ". " + as_sentence(holders_text(result.conflicts, request.owner, now_wall_ms(),
                                                 request.command.wanted.texts));
  auto free = canonical(request.command.wanted);
  if (free) {
    std::erase_if(*free, [&](const std::string& key) {
      return std::ranges::any_of(result.conflicts, [&](const core::Conflict& conflict) {
        return conflict.requested.resource.text() == key;
      });
    });
    out.json["free"] = *free;
    if (!free->empty()) out.message += ". Free: " + shown_list(service::spelled(*free));
  }
  out.next =
      "call lock_acquire again for all of it with wait_s: 45 to queue, or do other work; change "
      "nothing before you hold it";
  return out;
}

ToolText LockServer::granted(const service::AcquireResult& result) const {
  ToolText out;
  out.lost = result.lost;
  service::AcquireResult told = result;
  told.lost.clear();  // told first, with all losses
  out.json = service::acquire_json(told);
  const bool renewed = result.outcome == core::Outcome::kRenewed;
  const bool shared = result.lease.claims.front().mode == core::Mode::kShared;
  out.message = (renewed ? "You hold " : "Locked ") +
                shown_list(service::spelled_texts(result.lease)) + (shared ? " (shared)" : "") +
                ", " + service::end_text(result.lease, now_wall_ms());
  for (const std::string& warning : result.warnings) out.message += ". Warning: " + warning;
  std::set<std::string> hidden;
  for (const layout::Unmirrored& one : result.unmirrored) {
    hidden.insert(one.resources.begin(), one.resources.end());
  }
  if (!hidden.empty()) {
    out.message += ". Programs with lock files of their own cannot see the lock on " +
                   shown_list(std::vector<std::string>(hidden.begin(), hidden.end()));
  }
  out.next = shared ? "read, then call lock_release" : "make your changes, then call lock_release";
  return out;
}

ToolText LockServer::acquired(Asker& asker, WaitRequest& request, std::int64_t wait_ms,
                              Call& call) {
  const auto warnings = check_places(request.command.wanted);
  if (!warnings) return trouble(warnings.error());
  auto waited = ask(asker.locks, request, wait_ms, call);
  if (!waited) return trouble(waited.error());
  if (waited->queued) return queued(asker.owner, *waited);
  service::AcquireResult& result = waited->result;
  if (!is_grant(result)) return refused(request, result);
  if (call.cancelled() && !result.existed_before) {  // nobody gets the answer
    service::AcquireResult left;
    left.outcome = core::Outcome::kInterrupted;
    const auto given_back =
        locks_of(asker.owner).give_back(result.lease.id, request.command.attachment);
    if (given_back) return refused(request, left);
  }
  result.warnings.insert(result.warnings.end(), warnings->begin(), warnings->end());
  // A subagent is one that the client named in this call: it has started it.
  const auto client = ownership_.of(call, "");
  const service::Wanted& wanted = request.command.wanted;
  if (const auto resolved = asker.locks.resolve(wanted)) {
    const auto remarks =
        asker.locks.remarks(wanted, *resolved, false, client.value_or(core::Owner()));
    std::ranges::copy(remarks.warnings, std::back_inserter(result.warnings));
  }
  return granted(result);
}

Result<ToolText> LockServer::acquire(Asker& asker, Call& call, const Json& arguments) {
  WaitRequest request = request_of(asker, arguments);
  LK_ASSIGN(request.command.ttl_ms, ttl_of(arguments));
  const std::int64_t wait_ms =
      std::min(number_argument(arguments, "wait_s", 0) * 1000, kWaitMostMs);
  return acquired(asker, request, wait_ms, call);
}

}  // namespace lockkeeper::mcp::locks
