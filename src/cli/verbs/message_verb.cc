// `message`: sends messages to agents and lock holders, and reads them.
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/verbs/notices.h"
#include "cli/verbs/verbs.h"
#include "service/messages.h"

namespace lockkeeper::cli {
namespace {

std::string receiver_text(const core::Message& message) {
  return message.to_everybody() ? "everybody" : service::owner_text(message.to);
}

Result<int> message_send(VerbContext& context) {
  std::vector<std::string> text, resources;
  std::optional<std::string> type, task, holder;
  bool all = false;
  Arguments& arguments = context.arguments();
  arguments.words("[AGENT[@SESSION]] TEXT…", text,
                  "the receiver, unless --holder or --all names it;\nthen the message");
  arguments.offer(Arguments::Complete::kAgents);
  arguments.value("--holder", holder, "RESOURCE", "to whoever holds it");
  arguments.offer(Arguments::Complete::kTaken);
  arguments.flag("--all", all, "to everybody");
  arguments.value("--type", type, "TYPE", "update (default), request, alert, question or\nreview");
  arguments.offer({"update", "request", "alert", "question", "review"});
  arguments.value("--task", task, "ID", "the task it is about");
  if (const auto status = context.parse()) return *status;
  Output& out = context.out();
  service::SendCommand command;
  command.type = type.value_or(command.type);
  command.task = task.value_or("");
  if (holder) {
    if (all) return context.refuse_usage("takes --holder or --all, not both");
    resources = {*holder};
    LK_ASSIGN(command.to_holders_of, context.wanted(resources));
  } else if (!all) {
    if (text.empty()) return context.refuse_usage("needs a receiver: AGENT, --holder or --all");
    command.to = service::receiver_of(text.front());
    if (command.to.agent.empty()) return context.refuse_usage("needs a receiver with a name");
    text.erase(text.begin());
  }
  command.text = join(text, " ");
  if (command.text.empty()) return context.refuse_usage("needs a text");
  LK_ASSIGN(auto open, context.open(resources));
  service::Messages messages(open->site, open->locks.owner());
  LK_ASSIGN(const auto sent, messages.send(command));
  service::Json json = service::messages_json("sent", sent);
  for (const std::string& doubt : messages.doubts(sent)) {
    json["warnings"].push_back(doubt);
    out.warning(doubt);
  }
  out.object(json);
  for (const core::Message& message : sent) {
    out.text("sent " + message.id_text() + " to " + receiver_text(message));
  }
  return 0;
}

Result<int> message_list(VerbContext& context) {
  bool all = false, sent = false;
  context.arguments().flag("--all", all, "include messages that were read");
  context.arguments().flag("--sent", sent, "what you sent, and whether it was read");
  if (const auto status = context.parse()) return *status;
  Output& out = context.out();
  LK_ASSIGN(auto open, context.open(std::vector<std::string>()));
  service::Messages messages(open->site, open->locks.owner());
  LK_ASSIGN(const auto found, sent ? messages.sent() : messages.list(!all));
  service::Json json = service::messages_json("messages", found);
  tell_losses(context, *open, json);
  out.object(json);
  for (const core::Message& message : found) {
    std::string line = message.id_text() + "  ";
    if (!sent && message.read) line += "(read) ";
    line += sent ? service::sent_text(message, context.now_wall_ms())
                 : service::message_text(message, context.now_wall_ms());
    out.prose(line);
  }
  if (found.empty()) {
    out.text(sent  ? "no sent messages"
             : all ? "no messages for " + shown(open->locks.owner().agent)
                   : "no unread messages for " + shown(open->locks.owner().agent));
  }
  return 0;
}

Result<int> message_read(VerbContext& context) {
  service::ReadCommand command;
  bool all = false;
  context.arguments().words("[ID…]", command.ids, "which messages (default: all unread)");
  context.arguments().flag("--all", all, "all unread messages");
  if (const auto status = context.parse()) return *status;
  Output& out = context.out();
  if (all && !command.ids.empty()) return context.refuse_usage("takes ids or --all, not both");
  LK_ASSIGN(auto open, context.open(std::vector<std::string>()));
  LK_ASSIGN(const auto messages, service::Messages(open->site, open->locks.owner()).read(command));
  service::Json json = service::messages_json("read", messages);
  tell_losses(context, *open, json);
  out.object(json);
  for (const core::Message& message : messages) {
    out.prose(service::message_text(message, context.now_wall_ms()));
  }
  if (messages.empty()) out.text("no unread messages for " + shown(open->locks.owner().agent));
  return 0;
}

constexpr Verb kMessageSubcommands[] = {
    {"send", "Send a message to an agent, a lock's holder or everybody",
     "  lockkeeper message send backend \"may I have src/a.py at noon?\" --type question\n"
     "  lockkeeper message send --holder src/a.py \"I am waiting for this\"\n"
     "  lockkeeper message send --all \"rebase, please\" --type alert\n",
     message_send},
    {"list", "Show your messages without marking them as read",
     "  lockkeeper message list --all\n"
     "  lockkeeper message list --sent\n",
     message_list, Does::kLook},
    {"read", "Show unread messages and mark them as read",
     "  lockkeeper message read\n"
     "  lockkeeper message read 0123456789abcdef\n",
     message_read},
};

}  // namespace

std::span<const Verb> message_subcommands() {
  return kMessageSubcommands;
}

}  // namespace lockkeeper::cli
