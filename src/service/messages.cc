#include "service/messages.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "realm/identity.h"
#include "service/locks.h"
#include "service/questions.h"
#include "service/report.h"

namespace lockkeeper::service {
namespace {

constexpr std::size_t kTaskBytesTold = 120;
constexpr std::size_t kEventsLookedAt = 1'000;

Result<void> check_send(const SendCommand& command) {
  if (command.text.find_first_not_of(" \t\n") == std::string::npos) {
    return fail(Code::kInvalidInput, "the message is empty", "say what it is about");
  }
  if (!is_message_type(command.type)) {
    return fail(Code::kInvalidInput, quote(command.type) + " is not a type of message",
                "use request, update, alert, question or review");
  }
  if (command.to.agent.empty()) return {};
  LK_CHECK(realm::check_agent_name(command.to.agent, "the receiver"));
  if (!command.to.session.empty()) {
    LK_CHECK(realm::check_session_name(command.to.session, "the receiver's session"));
  }
  return {};
}

}  // namespace

bool is_message_type(std::string_view type) {
  return std::ranges::find(kMessageTypes, type) != std::end(kMessageTypes);
}

namespace {

// On a hub, "ann" is one of the sender's own agents, and "ann@bob" one of bob's: no session there
// is without its person.
core::Owner receiver_there(const Site& site, core::Owner to) {
  if (site.server() == nullptr || site.server()->person.empty() || to.agent.empty()) return to;
  if (!to.session.empty() && !to.session.contains('@')) {
    to.agent += "@" + std::exchange(to.session, {});
  }
  return to.agent.contains('@') ? to : site.known_as(to);
}

}  // namespace

core::Owner receiver_of(const std::string& text) {
  const std::size_t at = text.rfind('@');
  if (at == std::string::npos || at == 0) return {text, {}};
  return {text.substr(0, at), text.substr(at + 1)};
}

// Who stands against a request of ours for it: the same question that an acquire asks.
Result<std::vector<core::Owner>> Messages::holders(const Wanted& wanted) {
  CheckCommand check;
  check.wanted = wanted;
  LK_ASSIGN(const core::CheckReply reply, Locks(site_, owner_).check(check));
  std::vector<core::Owner> owners;
  const core::Conflict* other_tool = nullptr;
  for (const core::Conflict& conflict : reply.conflicts) {
    if (conflict.holder.foreign) {
      other_tool = &conflict;
    } else if (std::ranges::find(owners, conflict.holder.owner) == owners.end()) {
      owners.push_back(conflict.holder.owner);
    }
  }
  if (!owners.empty()) return owners;
  const std::string what = wanted.texts.front();
  if (other_tool != nullptr) {
    return fail(Code::kNotFound,
                shown(what) + " is held by " + owner_text(other_tool->holder.owner) +
                    " through another tool, which reads no messages",
                "see: lockkeeper list --under " + shell_name(what));
  }
  return fail(
      Code::kNotFound,
      reply.mine ? "you hold " + shown(what) + " yourself" : "nobody holds " + shown(what),
      reply.mine ? "see: lockkeeper list" : "take it: lockkeeper acquire " + shell_name(what));
}

Result<std::vector<core::Message>> Messages::send(const SendCommand& command) {
  LK_CHECK(check_send(command));
  const core::Owner to = receiver_there(site_, command.to);
  SendCall call{caller(), {to}, command.text, command.type, command.task, command.project};
  if (!command.to_holders_of.texts.empty()) {
    LK_ASSIGN(call.to, holders(command.to_holders_of));
  }
  LK_ASSIGN(Service* const service, site_.service());
  LK_ASSIGN(Reply<std::vector<core::Message>> reply, service->send(call));
  return std::move(reply.value);
}

// Has anybody but the sender been seen under that name: as a holder, in the queue, in the recent
// history, or as a sender of messages?
Result<bool> Messages::is_known(const core::Owner& receiver) {
  const auto meant = [&](const core::Owner& seen) {
    return seen.agent == receiver.agent && !(seen == owner_) &&
           (receiver.session.empty() || seen.session == receiver.session);
  };
  LK_ASSIGN(const ListReply held, Locks(site_, owner_).list({}));
  const bool holds = std::ranges::any_of(
      held.leases, [&](const ListedLease& each) { return meant(each.lease.owner); });
  const bool waits = std::ranges::any_of(
      held.waiters, [&](const core::Waiter& each) { return meant(each.request.owner); });
  if (holds || waits) return true;
  LK_ASSIGN(const std::vector<core::Event> events, last_events(site_, kEventsLookedAt));
  const auto acted = [&](const core::Event& event) {
    return meant(event.owner) || meant(event.by);
  };
  if (std::ranges::any_of(events, acted)) return true;
  MessagesCall wrote{.caller = {receiver, {}, {}, {}}, .sent = true, .peek = true};
  LK_ASSIGN(const std::vector<core::Message> sent, ask(wrote));
  return std::ranges::any_of(sent, [&](const core::Message& each) { return meant(each.from); });
}

std::vector<std::string> Messages::doubts(const std::vector<core::Message>& sent) {
  std::vector<std::string> doubts;
  for (const core::Message& message : sent) {
    if (message.to_everybody()) continue;
    const auto known = is_known(message.to);
    if (!known || *known) continue;  // cannot tell, or fine
    const bool self = message.to.agent == owner_.agent &&
                      (message.to.session.empty() || message.to.session == owner_.session);
    doubts.push_back(self ? "that is your own name, and nobody else of that name has been seen"
                          : "nobody called " + owner_text(message.to) +
                                " has been seen here; it waits until somebody of that name comes");
  }
  return doubts;
}

Result<std::vector<core::Message>> Messages::ask(const MessagesCall& call) {
  LK_ASSIGN(Service* const service, site_.service());
  LK_ASSIGN(Reply<std::vector<core::Message>> reply, service->messages(call));
  return std::move(reply.value);
}

Result<std::vector<core::Message>> Messages::list(bool unread_only) {
  return ask({.caller = caller(), .unread_only = unread_only});
}

Result<std::vector<core::Message>> Messages::peek_unread() {
  return ask({.caller = caller(), .unread_only = true, .peek = true});
}

Result<std::vector<core::Message>> Messages::sent() {
  return ask({.caller = caller(), .sent = true});
}

Result<std::vector<core::Message>> Messages::read(const ReadCommand& command) {
  MessagesCall call{.caller = caller(), .unread_only = command.ids.empty(), .mark_read = true};
  for (const std::string& text : command.ids) {
    const std::optional<std::uint64_t> id = core::Message::id_from_text(text);
    if (!id) {
      return fail(Code::kNotFound, "there is no message " + quote(text) + " for you",
                  "see: lockkeeper message list --all");
    }
    call.ids.push_back(*id);
  }
  return ask(call);
}

Result<core::DeliveredMessages> Messages::take_untold() {
  Caller who = caller();
  who.tell.messages = true;
  LK_ASSIGN(Service* const service, site_.service());
  LK_ASSIGN(Notices notices, service->notices(who));
  return core::DeliveredMessages{std::move(notices.messages), notices.more_messages};
}

Json message_json(const core::Message& message) {
  Json json;
  json["id"] = message.id_text();
  json["from"] = message.from.agent;
  json["from_session"] = text_or_null(message.from.session);
  json["to"] = text_or_null(message.to.agent);
  json["to_session"] = text_or_null(message.to.session);
  json["type"] = message.type;
  json["text"] = message.text;
  json["task"] = text_or_null(message.task);
  json["project"] = text_or_null(message.project);
  json["at"] = format_time(message.at_wall_ms);
  json["read"] = message.read;
  return json;
}

Json messages_json(const char* name, const std::vector<core::Message>& messages) {
  Json json;
  json[name] = Json::array();
  for (const core::Message& message : messages) json[name].push_back(message_json(message));
  return json;
}

std::string sent_text(const core::Message& message, std::int64_t now_wall_ms) {
  std::string text = "to " + (message.to_everybody() ? "everybody" : owner_text(message.to));
  if (message.read) text += " (read)";
  text += ": " + shown(message.type);
  if (!message.task.empty()) text += ", task " + shown(message.task, kTaskBytesTold);
  return text + ", " + format_ago(message.at_wall_ms, now_wall_ms) + ": " +
         quote(message.text, kMessageBytesTold);
}

std::string message_text(const core::Message& message, std::int64_t now_wall_ms) {
  std::string text = shown(message.type) + " from agent " + quote(message.from.agent);
  if (!message.from.session.empty()) text += " (session " + shown(message.from.session) + ")";
  if (message.to_everybody()) text += " to everybody";
  if (!message.task.empty()) text += ", task " + shown(message.task, kTaskBytesTold);
  return text + " (" + format_ago(message.at_wall_ms, now_wall_ms) +
         "): " + quote(message.text, kMessageBytesTold);
}

}  // namespace lockkeeper::service
