// `message`: a note to a lock's holder, which sees it at its next command.
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/verbs/verbs.h"
#include "service/messages.h"

namespace lockkeeper::cli {
namespace {

struct MessageOptions {
  std::vector<std::string> words;
  std::optional<std::string> type, task, holder;
  bool all = false;
  bool sent = false;
};

Error usage(std::string message) {
  return {Code::kUsage, "message " + std::move(message), "see: lockkeeper message --help"};
}

// "ann@4f2a" is session 4f2a of ann; "ann@" is the agent itself, whatever signs its name has.
core::Owner receiver(const std::string& text) {
  const std::size_t at = text.rfind('@');
  if (at == std::string::npos || at == 0) return {text, {}};
  return {text.substr(0, at), text.substr(at + 1)};
}

std::string receiver_text(const core::Message& message) {
  return message.to_everybody() ? "everybody" : service::owner_text(message.to);
}

int send(VerbContext& context, const MessageOptions& options) {
  Output& out = context.out();
  service::SendCommand command;
  command.type = options.type.value_or(command.type);
  command.task = options.task.value_or("");
  std::vector<std::string> text(options.words.begin() + 1, options.words.end());
  std::vector<std::string> resources;
  if (options.holder) {
    if (options.all) return out.failed(usage("send takes --holder or --all, not both"));
    resources = {*options.holder};
    auto wanted = context.wanted(resources);
    if (!wanted) return out.failed(wanted.error());
    command.to_holders_of = std::move(*wanted);
  } else if (!options.all) {
    if (text.empty()) return out.failed(usage("send needs a receiver: AGENT, --holder or --all"));
    command.to = receiver(text.front());
    if (command.to.agent.empty()) return out.failed(usage("send: the receiver's name is empty"));
    text.erase(text.begin());
  }
  for (const std::string& word : text) command.text += (command.text.empty() ? "" : " ") + word;
  auto open = context.open(resources);
  if (!open) return out.failed(open.error());
  const auto sent = service::Messages((*open)->table, (*open)->locks.owner()).send(command);
  if (!sent) return out.failed(sent.error());
  out.object(service::messages_json("sent", *sent));
  for (const core::Message& message : *sent) {
    out.text("sent " + message.id_text() + " to " + receiver_text(message));
  }
  return 0;
}

void show(VerbContext& context, const char* name, const std::vector<core::Message>& messages,
          bool with_receiver) {
  Output& out = context.out();
  out.object(service::messages_json(name, messages));
  for (const core::Message& message : messages) {
    std::string line = message.id_text() + "  ";
    if (with_receiver) {
      line += "to " + receiver_text(message) + (message.read ? " (read)" : "") + ", ";
    } else if (message.read) {
      line += "(read) ";
    }
    out.text(line + service::message_text(message, context.now_wall_ms()));
  }
}

int list(VerbContext& context, const MessageOptions& options) {
  Output& out = context.out();
  if (options.words.size() > 1) return out.failed(usage("list takes no further word"));
  auto open = context.open(std::vector<std::string>());
  if (!open) return out.failed(open.error());
  service::Messages messages((*open)->table, (*open)->locks.owner());
  const auto found = options.sent ? messages.sent() : messages.list(!options.all);
  if (!found) return out.failed(found.error());
  show(context, "messages", *found, options.sent);
  if (found->empty()) {
    out.text(options.sent  ? "nothing that you sent is kept"
             : options.all ? "no message for " + (*open)->locks.owner().agent
                           : "no unread message for " + (*open)->locks.owner().agent);
  }
  return 0;
}

int read(VerbContext& context, const MessageOptions& options) {
  Output& out = context.out();
  service::ReadCommand command;
  command.ids.assign(options.words.begin() + 1, options.words.end());
  if (options.all && !command.ids.empty()) {
    return out.failed(usage("read takes ids or --all, not both"));
  }
  auto open = context.open(std::vector<std::string>());
  if (!open) return out.failed(open.error());
  const auto found = service::Messages((*open)->table, (*open)->locks.owner()).read(command);
  if (!found) return out.failed(found.error());
  std::vector<core::Message> messages = *found;
  out.object(service::messages_json("read", messages));
  for (const core::Message& message : messages) {
    out.text(service::message_text(message, context.now_wall_ms()));
  }
  if (messages.empty()) out.text("no unread message for " + (*open)->locks.owner().agent);
  return 0;
}

}  // namespace

int message_verb(VerbContext& context) {
  MessageOptions options;
  Arguments& arguments = context.arguments();
  arguments.words("send|list|read", options.words,
                  "send AGENT[@SESSION] TEXT…, list, or read [ID…]");
  arguments.offer({"send", "list", "read"});
  arguments.value("--holder", options.holder, "RESOURCE", "send: to whoever holds it");
  arguments.offer(Arguments::Complete::kFiles);
  arguments.value("--type", options.type, "TYPE",
                  "send: update (default), request, alert,\nquestion or review");
  arguments.offer({"update", "request", "alert", "question", "review"});
  arguments.value("--task", options.task, "ID", "send: what it is about");
  arguments.flag("--all", options.all,
                 "send: to everybody. list: what was read, too.\nread: all that is unread");
  arguments.flag("--sent", options.sent, "list: what you sent, and whether it was read");
  if (const auto status = context.parse_some(options.words, "a word: send, list or read")) {
    return *status;
  }
  const std::string& what = options.words.front();
  if (what == "send") return send(context, options);
  if (what == "list") return list(context, options);
  if (what == "read") return read(context, options);
  return context.out().failed(usage("knows send, list and read, not " + quote(what)));
}

}  // namespace lockkeeper::cli
