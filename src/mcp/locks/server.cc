#include "mcp/locks/server.h"

#include "base/text.h"
#include "mcp/locks/schemas.h"
#include "service/messages.h"
#include "service/report.h"

namespace lockkeeper::mcp {
namespace {

std::vector<std::string> strings(const Json& arguments, const char* name) {
  const auto found = arguments.find(name);
  return found == arguments.end() ? std::vector<std::string>{}
                                  : found->get<std::vector<std::string>>();
}

std::string string(const Json& arguments, const char* name) {
  const auto found = arguments.find(name);
  return found == arguments.end() ? std::string() : found->get<std::string>();
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ", ") + text;
  return all;
}

// What the model can mend, or must know: the same words in both halves.
Answer trouble(const Error& error) {
  std::string message = error.message;
  if (!error.hint.empty()) message += ". Next: " + error.hint;
  return tool_answer(message, {{"message", message}, {"error", service::error_json(error)}}, true);
}

Answer said(std::string message, Json structured) {
  structured["message"] = message;
  return tool_answer(message, std::move(structured));
}

std::vector<std::string> keys_of(const core::Lease& lease) {
  std::vector<std::string> keys;
  for (const core::Claim& claim : lease.claims) keys.push_back(claim.resource.text());
  return keys;
}

// Hints are for shells; here the next step is a tool.
std::string next_step(const service::AcquireResult& result) {
  if (result.outcome == service::Ended::kDeadlock) {
    return "release what you hold with lock_release, then ask for everything in one lock_acquire";
  }
  return "work on something else, or call lock_acquire again with wait_s: 45, or ask the holder "
         "with lock_message";
}

std::string lost_note(const std::vector<core::LostLease>& lost) {
  std::string note;
  for (const core::LostLease& each : lost) note += service::lost_text(each) + ". ";
  return note;
}

Result<std::optional<std::int64_t>> ttl_of(const Json& arguments) {
  const std::string text = string(arguments, "ttl");
  if (text.empty()) return std::nullopt;
  auto length = parse_duration_ms(text, {.allow_none = true});
  if (length) return *length;
  length.error().message = "ttl: " + length.error().message;
  return fail(std::move(length.error()));
}

}  // namespace

LockServer::LockServer(service::LockTable& table, service::Identity who, service::Under under,
                       std::string version)
    : table_(table),
      who_(std::move(who)),
      under_(std::move(under)),
      version_(std::move(version)),
      waiting_(table) {}

Catalogue LockServer::catalogue() {
  Catalogue catalogue;
  catalogue.name = "lockkeeper";
  catalogue.title = "Lockkeeper";
  catalogue.version = version_;
  catalogue.instructions = lock_instructions();
  const auto add = [&](Tool tool, Answer (LockServer::*method)(Call&, const Json&)) {
    tool.call = [this, method](Call& call, const Json& arguments) {
      return (this->*method)(call, arguments);
    };
    catalogue.tools.push_back(std::move(tool));
  };
  add(acquire_tool(), &LockServer::acquire);
  add(release_tool(), &LockServer::release);
  add(renew_tool(), &LockServer::renew);
  add(status_tool(), &LockServer::status);
  add(message_tool(), &LockServer::message);
  return catalogue;
}

// Codex says who it is in every call, not in its environment.
Result<core::Owner> LockServer::owner_of(const Call& call, const Json& arguments) const {
  core::Owner owner{string(arguments, "agent"), string(arguments, "session")};
  if (owner.agent.empty()) owner.agent = who_.agent;
  if (owner.session.empty()) {
    const Json& meta = call.meta();
    const auto session = meta.find("sessionId");
    owner.session =
        session != meta.end() && session->is_string() ? session->get<std::string>() : who_.session;
  }
  LK_CHECK(service::check_agent_name(owner.agent, "agent"));
  LK_CHECK(service::check_session_name(owner.session, "session"));
  return owner;
}

service::Locks LockServer::locks_of(core::Owner owner) {
  return service::Locks(table_, std::move(owner), under_);
}

Answer LockServer::acquire(Call& call, const Json& arguments) {
  const auto owner = owner_of(call, arguments);
  if (!owner) return trouble(owner.error());
  const auto ttl = ttl_of(arguments);
  if (!ttl) return trouble(ttl.error());
  const auto slot = table_.own_slot();
  if (!slot) return trouble(slot.error());
  service::AcquireCommand command;
  command.wanted.texts = strings(arguments, "resources");
  if (string(arguments, "mode") == "shared") command.wanted.mode = core::Mode::kShared;
  command.reason = string(arguments, "reason");
  command.ttl_ms = *ttl;
  command.attachment = *slot;
  command.orphan_grace_ms = kOrphanGraceMs;
  const std::int64_t wait_ms = arguments.value("wait_s", std::int64_t{0}) * 1000;
  WaitingRoom::Waited waited;
  if (wait_ms == 0) {
    service::Locks locks = locks_of(*owner);
    auto result = locks.acquire(command);
    if (!result) return trouble(result.error());
    waited.result = std::move(*result);
  } else {
    auto done = waiting_.wait(*owner, under_, command, std::min(wait_ms, kWaitMostMs), call);
    if (!done) return trouble(done.error());
    waited = std::move(*done);
  }
  if (waited.queued) {
    service::Asked asked;
    asked.now_wall_ms = now_wall_ms();
    const std::string who =
        waited.conflicts.empty()
            ? ""
            : ", " + service::holder_text(waited.conflicts.front(), asked.now_wall_ms);
    Json json{{"outcome", "queued"}, {"position", waited.position}};
    return said("Queued at position " + std::to_string(waited.position) + who +
                    ". Your place is kept for 90 s. Next: call lock_acquire again with the same "
                    "resources and wait_s: 45",
                std::move(json));
  }
  const service::AcquireResult& result = waited.result;
  Json json = service::acquire_json(result);
  if (service::outcome_status(result.outcome) != 0) {
    service::Asked asked;
    asked.resources = command.wanted.texts;
    asked.now_wall_ms = now_wall_ms();
    const Error error = service::refusal(result, asked);
    return said(lost_note(result.lost) + error.message + ". Next: " + next_step(result),
                std::move(json));
  }
  json["lease_resources"] = json["lease"]["resources"];
  json["lease"] = result.lease.id.text();
  json["fence"] = result.lease.fence();
  return said(lost_note(result.lost) + "Locked " + joined(keys_of(result.lease)) + ", " +
                  service::end_text(result.lease, now_wall_ms()) +
                  ". Next: change them, then lock_release",
              std::move(json));
}

Answer LockServer::release(Call& call, const Json& arguments) {
  const auto owner = owner_of(call, arguments);
  if (!owner) return trouble(owner.error());
  service::ReleaseCommand command;
  command.wanted.texts = strings(arguments, "resources");
  const std::string lease = string(arguments, "lease");
  if (!lease.empty()) command.lease_ids = {lease};
  command.all = command.wanted.texts.empty() && lease.empty();
  const auto reply = locks_of(*owner).release(command);
  if (!reply) return trouble(reply.error());
  Json json = service::release_json(*reply);
  const auto error = service::release_error(*reply, command.all);
  const auto released = json["released"].get<std::vector<std::string>>();
  std::string message = released.empty() ? "Nothing was released" : "Released " + joined(released);
  if (error) message += ". " + error->message;
  return said(std::move(message), std::move(json));
}

Answer LockServer::renew(Call& call, const Json& arguments) {
  const auto owner = owner_of(call, arguments);
  if (!owner) return trouble(owner.error());
  const auto ttl = ttl_of(arguments);
  if (!ttl) return trouble(ttl.error());
  service::RenewCommand command;
  const std::string lease = string(arguments, "lease");
  if (!lease.empty()) command.lease_ids = {lease};
  command.all = lease.empty();
  command.ttl_ms = *ttl;
  const auto renewed = locks_of(*owner).renew(command);
  if (!renewed) return trouble(renewed.error());
  Json json{{"renewed", Json::array()}};
  std::string message = renewed->empty() ? "You hold nothing" : "Renewed";
  for (const core::Lease& each : *renewed) {
    json["renewed"].push_back(each.id.text());
    message += " " + joined(keys_of(each)) + " (" + service::end_text(each, now_wall_ms()) + ")";
  }
  return said(std::move(message), std::move(json));
}

// Each for itself: what is free of what I want.
Answer LockServer::status(Call& call, const Json& arguments) {
  const auto owner = owner_of(call, arguments);
  if (!owner) return trouble(owner.error());
  const std::vector<std::string> wanted = strings(arguments, "resources");
  service::Locks locks = locks_of(*owner);
  return wanted.empty() ? everything(locks) : each_of(locks, wanted);
}

Answer LockServer::everything(service::Locks& locks) {
  const auto reply = locks.list({});
  if (!reply) return trouble(reply.error());
  Json json = service::list_json(*reply);
  std::string message;
  for (const service::ListedLease& each : reply->leases) {
    message += joined(keys_of(each.lease)) + ": " + service::owner_text(each.lease.owner) + ", " +
               service::end_text(each.lease, now_wall_ms());
    if (!each.lease.reason.empty()) message += ", " + quote(each.lease.reason);
    message += "\n";
  }
  if (message.empty()) message = "Nothing is held.\n";
  if (!reply->waiters.empty()) message += std::to_string(reply->waiters.size()) + " wait.\n";
  message += "Next: lock_acquire what you need";
  return said(std::move(message), std::move(json));
}

Answer LockServer::each_of(service::Locks& locks, const std::vector<std::string>& wanted) {
  Json json{{"free", Json::array()}, {"mine", Json::array()}, {"held", Json::array()}};
  std::string message;
  for (const std::string& resource : wanted) {
    service::CheckCommand command;
    command.wanted.texts = {resource};
    const auto reply = locks.check(command);
    if (!reply) return trouble(reply.error());
    if (reply->conflicts.empty()) {
      json[reply->mine ? "mine" : "free"].push_back(resource);
      message += resource + (reply->mine ? ": yours\n" : ": free\n");
      continue;
    }
    for (const core::Conflict& conflict : reply->conflicts) {
      json["held"].push_back(service::conflict_json(conflict));
    }
    message +=
        resource + ": " + service::holder_text(reply->conflicts.front(), now_wall_ms()) + "\n";
  }
  message += "Next: lock_acquire what is free; for the rest wait with wait_s or ask the holder";
  return said(std::move(message), std::move(json));
}

Answer LockServer::message(Call& call, const Json& arguments) {
  const auto owner = owner_of(call, arguments);
  if (!owner) return trouble(owner.error());
  service::Messages messages(table_, *owner);
  const std::string text = string(arguments, "text");
  Json json{{"messages", Json::array()}};
  if (text.empty()) {
    const auto unread = messages.read({});
    if (!unread) return trouble(unread.error());
    std::string told;
    for (const core::Message& each : *unread) {
      json["messages"].push_back(service::message_json(each));
      told += service::owner_text(each.from) + ": " + each.text + "\n";
    }
    return said(told.empty() ? "No new notes" : std::move(told), std::move(json));
  }
  service::SendCommand command;
  command.text = text;
  command.to.agent = string(arguments, "to");
  if (const std::string held = string(arguments, "holding"); !held.empty()) {
    command.to_holders_of.texts = {held};
  }
  if (command.to.agent.empty() && command.to_holders_of.texts.empty()) {
    return trouble({Code::kInvalidInput, "nobody is named who should get the note",
                    "give to (an agent) or holding (a resource)"});
  }
  const auto sent = messages.send(command);
  if (!sent) return trouble(sent.error());
  std::string whom;
  for (const core::Message& each : *sent) {
    json["messages"].push_back(service::message_json(each));
    whom += (whom.empty() ? "" : ", ") + service::owner_text(each.to);
  }
  return said("Sent to " + whom + ", who is told at its next command", std::move(json));
}

}  // namespace lockkeeper::mcp
