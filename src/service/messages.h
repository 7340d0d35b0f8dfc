// Messages between agents of one realm: to a name, to whoever holds something, or to everybody.
// core/message.h says what unread, told and read mean.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/message.h"
#include "core/sessions.h"
#include "service/commands.h"
#include "service/report.h"
#include "service/site.h"

namespace lockkeeper::service {

// The first is what a message is where nobody says otherwise.
inline constexpr std::string_view kMessageTypes[] = {"update", "request", "alert", "question",
                                                     "review"};
bool is_message_type(std::string_view type);

struct SendCommand {
  core::Owner to;        // no agent: everybody
  Wanted to_holders_of;  // instead: whoever of ours holds what overlaps these
  std::string text;
  std::string type = "update";
  std::string task;
  std::string project;
};

// What `read` was asked for; no id: all that is unread.
struct ReadCommand {
  std::vector<std::string> ids;
};

// "ann@4f2a" is session 4f2a of ann; "ann@" is the agent ann, even if the name contains '@'.
core::Owner receiver_of(const std::string& text);

class Messages {
 public:
  // `site` must outlive it.
  Messages(Site& site, const core::Owner& owner) : site_(site), owner_(core::reader_of(owner)) {}

  // One message for each receiver, as it was sent. invalid_input: no text, an unknown type, a name
  // that breaks a rule; not_found: nobody holds it, or another tool does, which reads no messages.
  Result<std::vector<core::Message>> send(const SendCommand& command);
  // What the sender should know of its receivers: nobody of that name has been seen, or only the
  // sender itself. Empty: nothing.
  std::vector<std::string> doubts(const std::vector<core::Message>& sent);
  // Oldest first. They count as told. Creates no store.
  Result<std::vector<core::Message>> list(bool unread_only);
  Result<std::vector<core::Message>> peek_unread();  // they do not count as told
  Result<std::vector<core::Message>> sent();
  // Those, marked as read. not_found: an id of no message for this owner; then none was marked.
  Result<std::vector<core::Message>> read(const ReadCommand& command);
  // What the owner has not been told of; it counts as told now. For callers that answer it anyway.
  Result<core::DeliveredMessages> take_untold();

 private:
  Caller caller() const { return {owner_, {}, {}, {}}; }
  Result<std::vector<core::Owner>> holders(const Wanted& wanted);
  Result<std::vector<core::Message>> ask(const MessagesCall& call);
  Result<bool> is_known(const core::Owner& receiver);

  Site& site_;
  const core::Owner owner_;
};

// {"id","from","from_session","to","to_session","type","text","task","project","at","read"}; to
// everybody: "to" is null.
Json message_json(const core::Message& message);
// {name:[…]}.
Json messages_json(const char* name, const std::vector<core::Message>& messages);
// request from agent "bob" (session 4f2a), task T-1 (2m ago): "may I have src/a.py?"
// One line, the text cut to kMessageBytesTold; message_json has all of it.
inline constexpr std::size_t kMessageBytesTold = 500;
std::string message_text(const core::Message& message, std::int64_t now_wall_ms);
// For its sender: "to ann (read): update, 5s ago: …".
std::string sent_text(const core::Message& message, std::int64_t now_wall_ms);

}  // namespace lockkeeper::service
