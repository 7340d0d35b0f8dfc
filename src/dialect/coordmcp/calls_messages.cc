// CoordMCP's tools for messages.
#include <algorithm>

#include "base/text.h"
#include "dialect/coordmcp/calls.h"
#include "realm/identity.h"
#include "service/messages.h"

namespace lockkeeper::dialect::coordmcp {
namespace {

constexpr std::string_view kBroadcast = "broadcast";

Json message_json(const core::Message& message) {
  const std::string to = message.to_everybody() ? std::string(kBroadcast) : holder_name(message.to);
  Json json;
  json["id"] = message.id_text();
  json["message_id"] = message.id_text();
  json["from_agent_id"] = holder_name(message.from);
  json["from_agent_name"] = message.from.agent;
  json["to_agent_id"] = to;
  json["project_id"] = text_or_null(message.project);
  json["message_type"] = message.type;
  json["content"] = message.text;
  json["related_task_id"] = text_or_null(message.task);
  json["created_at"] = format_local(LocalTime::from_wall_ms(message.at_wall_ms), 'T');
  json["read"] = message.read;
  return json;
}

// A native message belongs to every project of the repository; without a project, all are meant.
bool is_of(const core::Message& message, const std::string& project) {
  return project.empty() || message.project.empty() || message.project == project;
}

}  // namespace

// The name of a holder as lock_files shows it, "agent@session", or just an agent.
Result<core::Owner> Calls::receiver(const std::string& to) {
  if (to.find('@') == std::string::npos) return core::Owner{to, ""};
  LK_ASSIGN(service::Locks locks, this->locks({"coordmcp", ""}));
  LK_ASSIGN(const service::ListReply list, locks.list({}));
  for (const service::ListedLease& listed : list.leases) {
    const bool meant = !listed.lease.foreign && holder_name(listed.lease.owner) == to;
    if (meant) return listed.lease.owner;
  }
  return core::Owner{to, ""};
}

Result<Reply> Calls::send_message(const SendMessage& call) {
  LK_CHECK(realm::check_agent_name(call.from_agent_id, "from_agent_id"));
  LK_CHECK(realm::check_agent_name(call.to_agent_id, "to_agent_id"));
  if (!is_project_id(call.project_id)) {
    return failure(Code::kInvalidInput, "ProjectNotFound",
                   "Project " + call.project_id + " not found");
  }
  service::SendCommand command;
  const bool all = call.to_agent_id == kBroadcast;
  if (!all) {
    LK_ASSIGN(command.to, receiver(call.to_agent_id));
  }
  command.text = call.content;
  command.task = call.related_task_id;
  command.project = call.project_id;
  const bool known = service::is_message_type(call.message_type);
  if (known) command.type = call.message_type;
  service::Messages messages(site_, owner(call.from_agent_id));
  LK_ASSIGN(const std::vector<core::Message> sent, messages.send(command));
  Reply reply{{{"success", true}, {"message_id", sent.front().id_text()}}, std::nullopt};
  reply.json["message"] = "Message sent to " + (all ? "all agents" : call.to_agent_id);
  if (!known) {
    reply.json["warnings"].push_back("message_type " + quote(call.message_type) +
                                     " is unknown; it was sent as update");
  }
  for (const std::string& doubt : messages.doubts(sent)) reply.json["warnings"].push_back(doubt);
  return reply;
}

Result<Reply> Calls::get_messages(const GetMessages& call) {
  LK_CHECK(realm::check_agent_name(call.agent_id, "agent_id"));
  if (call.limit < 0) {
    return fail(Code::kInvalidInput, "limit " + std::to_string(call.limit) + " is below 0",
                "give 0 or more");
  }
  service::Messages messages(site_, owner(call.agent_id));
  LK_ASSIGN(std::vector<core::Message> found, messages.list(false));
  std::erase_if(found, [&](const core::Message& one) { return !is_of(one, call.project_id); });
  const auto unread =
      std::ranges::count_if(found, [](const core::Message& one) { return !one.read; });
  if (call.unread_only) std::erase_if(found, [](const core::Message& one) { return one.read; });
  std::ranges::reverse(found);  // the newest first
  if (found.size() > static_cast<std::size_t>(call.limit)) {
    found.resize(static_cast<std::size_t>(call.limit));
  }
  Reply reply{{{"success", true}, {"messages", Json::array()}}, std::nullopt};
  for (const core::Message& one : found) reply.json["messages"].push_back(message_json(one));
  reply.json["count"] = found.size();
  reply.json["unread_count"] = unread;
  return reply;
}

// Adds the caller's new messages to the answer, once. Best effort.
void Calls::add_messages(const core::Owner& owner, Json& json) {
  const auto untold = service::Messages(site_, owner).take_untold();
  if (!untold) return;
  for (const core::Message& one : untold->messages) json["messages"].push_back(message_json(one));
}

Result<Reply> Calls::mark_message_read(const std::string& agent_id, const std::string& message_id) {
  service::Messages messages(site_, owner(agent_id));
  const auto read = messages.read({{message_id}});
  if (read) return Reply{{{"success", true}, {"message", "Message marked as read"}}, std::nullopt};
  if (read.error().code != Code::kNotFound) return fail(read.error());
  return failure(Code::kNotFound, "MessageNotFound",
                 "Message not found or you are not the recipient");
}

}  // namespace lockkeeper::dialect::coordmcp
