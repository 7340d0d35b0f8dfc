// Messages between agents. core/message.h says what unread, told and read mean.
#include <algorithm>

#include "base/text.h"
#include "service/local/local_service.h"
#include "service/wire/codec.h"

namespace lockkeeper::service::local {
namespace {

constexpr std::size_t kMarkedAtOnce = 20;  // in one commit, whatever the store's budget is

// Those with these ids, in that order. not_found: one is not there.
Result<std::vector<core::Message>> with_ids(const std::vector<core::Message>& all,
                                            const std::vector<std::uint64_t>& ids) {
  std::vector<core::Message> found;
  for (const std::uint64_t id : ids) {
    const auto at = std::ranges::find(all, id, &core::Message::id);
    if (at == all.end()) {
      core::Message missing;
      missing.id = id;
      return fail(Code::kNotFound, "there is no message " + quote(missing.id_text()) + " for you",
                  "see: lockkeeper message list --all");
    }
    found.push_back(*at);
  }
  return found;
}

Result<std::vector<core::Message>> stored_messages(layout::LockTable& table,
                                                   const MessagesCall& call) {
  std::vector<core::Message> found;
  LK_CHECK(table.read([&](core::Table& rows) -> Result<void> {
    LK_ASSIGN(found, call.sent
                         ? core::messages_from(rows.state(), call.caller.owner)
                         : core::messages_for(rows.state(), call.caller.owner, call.unread_only));
    return {};
  }));
  if (call.ids.empty()) return found;
  return with_ids(found, call.ids);
}

}  // namespace

Result<Reply<std::vector<core::Message>>> LocalService::send(const SendCall& call) {
  Change change(table_, call.caller, wire::digest(call, clock()));
  return answer(call.caller, change, send(call, change));
}

Result<std::vector<core::Message>> LocalService::send(const SendCall& call, Change& change) {
  std::vector<core::Message> sent;
  const auto work = [&](core::Table& table) -> Result<bool> {
    sent.clear();
    for (const core::Owner& receiver : call.to) {
      core::Message message;
      message.from = call.caller.owner;
      message.to = receiver;
      message.type = call.type;
      message.text = call.text;
      message.task = call.task;
      message.project = call.project;
      message.at_wall_ms = table.state().context().now.wall_ms;
      LK_ASSIGN(message.id, core::post_message(table.state(), message));
      sent.push_back(std::move(message));
    }
    return false;
  };
  LK_CHECK(change.write(work, {{}, [&] { return wire::text_of(sent, clock()); }, true}));
  if (change.is_repeated()) return change.earlier<std::vector<core::Message>>();
  return sent;
}

Result<Reply<std::vector<core::Message>>> LocalService::messages(const MessagesCall& call) {
  Change change(table_, call.caller, wire::digest(call, clock()));
  return answer(call.caller, change, messages(call, change));
}

Result<std::vector<core::Message>> LocalService::messages(const MessagesCall& call,
                                                          Change& change) {
  LK_CHECK(change.look_for_earlier());
  if (change.is_repeated()) return change.earlier<std::vector<core::Message>>();
  const core::Owner& owner = call.caller.owner;
  std::vector<core::Message> found;
  if (change.has_earlier()) {  // an earlier call was cut short: the rest of its messages is marked
    LK_ASSIGN(found, change.earlier<std::vector<core::Message>>());
  } else {
    LK_ASSIGN(found, stored_messages(table_, call));
  }
  const bool unread = std::ranges::any_of(found, [](const core::Message& m) { return !m.read; });
  if (call.sent || call.peek || !(unread || (call.mark_read && !found.empty()))) return found;
  std::size_t at = 0;
  const auto mark = [&](core::Table& table) -> Result<bool> {
    const std::size_t end = std::min(at + kMarkedAtOnce, found.size());
    for (std::size_t i = at; i < end; ++i) {
      if (call.mark_read) {
        LK_CHECK(core::mark_read(table.state(), owner, found[i].id));
      } else if (!found[i].read) {
        LK_CHECK(core::mark_told(table.state(), owner, found[i].id));
      }
    }
    return end < found.size();
  };
  const auto result = [&] {
    std::vector<core::Message> marked = found;
    for (core::Message& message : marked) message.read |= call.mark_read;
    return marked;
  };
  LK_CHECK(change.write(mark, {[&] { at = std::min(at + kMarkedAtOnce, found.size()); },
                               [&] { return wire::text_of(result(), clock()); }, true}));
  return result();
}

}  // namespace lockkeeper::service::local
