#include "cli/verbs/untold_messages.h"

#include <nlohmann/json.hpp>

#include "service/messages.h"

namespace lockkeeper::cli {

void expect_messages(VerbContext& context, OpenLocks& open) {
  if (context.out().json() || !context.out().quiet()) open.locks.take_messages_along();
}

void tell_messages(VerbContext& context, OpenLocks& open, service::Json& json) {
  Output& out = context.out();
  const auto came = open.locks.messages();
  if (!came) {
    out.warning("messages could not be read: " + came.error().message);
    return;
  }
  if (came->messages.empty()) return;
  for (const core::Message& message : came->messages) {
    json["messages"].push_back(service::message_json(message));
    out.note(service::message_text(message, context.now_wall_ms()));
  }
  if (came->more > 0) {
    out.note("and " + std::to_string(came->more) + " more messages: lockkeeper message list" +
             context.repeated_flags());
  }
}

}  // namespace lockkeeper::cli
