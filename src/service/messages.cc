#include "service/messages.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "realm/identity.h"
#include "service/locks.h"

namespace lockkeeper::service {
namespace {

constexpr std::size_t kMarkedAtOnce = 20;  // in one commit, whatever the store's budget is

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

// Who stands against a request of ours for it: the same question that an acquire asks.
Result<std::vector<core::Owner>> Messages::holders(const Wanted& wanted) {
  CheckCommand check;
  check.wanted = wanted;
  LK_ASSIGN(const core::CheckReply reply, Locks(table_, owner_).check(check));
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
                what + " is held by " + owner_text(other_tool->holder.owner) +
                    " through another tool, which reads no messages",
                "see: lockkeeper list --under " + shell_quote(what));
  }
  return fail(
      Code::kNotFound, reply.mine ? "you hold " + what + " yourself" : "nobody holds " + what,
      reply.mine ? "see: lockkeeper list" : "take it: lockkeeper acquire " + shell_quote(what));
}

Result<std::vector<core::Message>> Messages::send(const SendCommand& command) {
  LK_CHECK(check_send(command));
  std::vector<core::Owner> to = {command.to};
  if (!command.to_holders_of.texts.empty()) {
    LK_ASSIGN(to, holders(command.to_holders_of));
  }
  std::vector<core::Message> sent;
  LK_CHECK(table_.write([&](core::Table& table) -> Result<bool> {
    sent.clear();
    for (const core::Owner& receiver : to) {
      core::Message message;
      message.from = owner_;
      message.to = receiver;
      message.type = command.type;
      message.text = command.text;
      message.task = command.task;
      message.project = command.project;
      message.at_wall_ms = table.state().context().now.wall_ms;
      LK_ASSIGN(message.id, core::post_message(table.state(), message));
      sent.push_back(std::move(message));
    }
    return false;
  }));
  return sent;
}

Result<std::vector<core::Message>> Messages::peek(bool unread_only) {
  std::vector<core::Message> found;
  LK_CHECK(table_.read([&](core::Table& table) -> Result<void> {
    LK_ASSIGN(found, core::messages_for(table.state(), owner_, unread_only));
    return {};
  }));
  return found;
}

Result<std::vector<core::Message>> Messages::list(bool unread_only) {
  LK_ASSIGN(std::vector<core::Message> found, peek(unread_only));
  const bool news = std::ranges::any_of(found, [](const core::Message& m) { return !m.read; });
  if (!news) return found;
  std::size_t at = 0;
  LK_CHECK(table_.write(
      [&](core::Table& table) -> Result<bool> {
        const std::size_t end = std::min(at + kMarkedAtOnce, found.size());
        for (std::size_t i = at; i < end; ++i) {
          if (!found[i].read) LK_CHECK(core::mark_told(table.state(), owner_, found[i].id));
        }
        return end < found.size();
      },
      [&] { at = std::min(at + kMarkedAtOnce, found.size()); }));
  return found;
}

Result<std::vector<core::Message>> Messages::sent() {
  std::vector<core::Message> found;
  LK_CHECK(table_.read([&](core::Table& table) -> Result<void> {
    LK_ASSIGN(found, core::messages_from(table.state(), owner_));
    return {};
  }));
  return found;
}

Result<core::Told> Messages::take_untold() {
  bool any = false;
  LK_CHECK(table_.read([&](core::Table& table) -> Result<void> {
    LK_ASSIGN(any, core::has_untold(table.state(), owner_));
    return {};
  }));
  core::Told told;
  if (!any) return told;
  LK_CHECK(table_.write([&](core::Table& table) -> Result<bool> {
    LK_ASSIGN(told, core::take_untold(table.state(), owner_));
    return false;
  }));
  return told;
}

Result<std::vector<core::Message>> Messages::read(const ReadCommand& command) {
  LK_ASSIGN(std::vector<core::Message> found, peek(command.ids.empty()));
  if (!command.ids.empty()) {
    std::vector<core::Message> named;
    for (const std::string& text : command.ids) {
      const std::optional<std::uint64_t> id = core::Message::id_from_text(text);
      const auto at = std::ranges::find_if(
          found, [&](const core::Message& message) { return message.id == id; });
      if (!id || at == found.end()) {
        return fail(Code::kNotFound, "there is no message " + quote(text) + " for you",
                    "see: lockkeeper message list --all");
      }
      named.push_back(*at);
    }
    found = std::move(named);
  }
  if (found.empty()) return found;
  std::size_t at = 0;
  LK_CHECK(table_.write(
      [&](core::Table& table) -> Result<bool> {
        const std::size_t end = std::min(at + kMarkedAtOnce, found.size());
        for (std::size_t i = at; i < end; ++i) {
          LK_CHECK(core::mark_read(table.state(), owner_, found[i].id));
        }
        return end < found.size();
      },
      [&] { at = std::min(at + kMarkedAtOnce, found.size()); }));
  for (core::Message& message : found) message.read = true;
  return found;
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

std::string message_text(const core::Message& message, std::int64_t now_wall_ms) {
  const std::int64_t age = std::max<std::int64_t>(0, now_wall_ms - message.at_wall_ms);
  std::string text = message.type + " from " + owner_text(message.from);
  if (message.to_everybody()) text += " to everybody";
  if (!message.task.empty()) text += ", task " + message.task;
  return text + " (" + format_duration(age / 1000 * 1000) + " ago): " + message.text;
}

}  // namespace lockkeeper::service
