#include "core/message.h"

#include <algorithm>

#include "base/bytes.h"

namespace lockkeeper::core {
namespace {

constexpr std::uint64_t kFormat = 1;

std::string box(const Owner& owner) {
  return "m" + owner_tag(owner).substr(0, 4);
}

std::string message_key(const Owner& to, std::uint64_t id) {
  std::string key = box(to);
  append_be64(key, id);
  return key;
}

std::string encode(const Message& message) {
  RecordWriter out;
  out.number(kFormat);
  for (const std::string* text :
       {&message.from.agent, &message.from.session, &message.to.agent, &message.to.session,
        &message.type, &message.text, &message.task, &message.project}) {
    out.text(*text);
  }
  out.signed_number(message.at_wall_ms);
  out.number(message.read ? 1 : 0);
  return out.take();
}

Result<Message> decode(std::string_view key, std::string_view value) {
  RecordReader in(value);
  const bool known = in.number() == kFormat && key.size() == 13;
  Message message;
  for (std::string* text :
       {&message.from.agent, &message.from.session, &message.to.agent, &message.to.session,
        &message.type, &message.text, &message.task, &message.project}) {
    *text = in.text();
  }
  message.at_wall_ms = in.signed_number();
  message.read = in.number() != 0;
  if (!known || !in.at_end()) {
    return fail(Code::kStoreCorrupt, "a message in the store cannot be read",
                "run: lockkeeper doctor");
  }
  message.id = read_be64(key.substr(5));
  return message;
}

Result<void> check_limits(const Message& message, const Limits& limits) {
  for (const std::string* name : {&message.from.agent, &message.from.session, &message.to.agent,
                                  &message.to.session, &message.type, &message.project}) {
    if (name->size() <= limits.name_bytes) continue;
    return fail(Code::kLimitExceeded,
                "a name of " + std::to_string(name->size()) + " bytes; the limit is " +
                    std::to_string(limits.name_bytes),
                "use a shorter name");
  }
  for (const std::string* text : {&message.text, &message.task}) {
    if (text->size() <= limits.text_bytes) continue;
    return fail(Code::kLimitExceeded,
                "a message of " + std::to_string(text->size()) + " bytes; the limit is " +
                    std::to_string(limits.text_bytes),
                "shorten it");
  }
  return {};
}

}  // namespace

Result<void> post_message(State& state, Message message) {
  const Context& context = state.context();
  LK_CHECK(check_limits(message, context.limits));
  message.at_wall_ms = context.now.wall_ms;
  message.id = context.ticket;
  std::vector<std::string> keys;
  LK_CHECK(state.txn().scan(kv::prefix_range(box(message.to)), [&](const kv::Row& row) {
    keys.emplace_back(row.key);
    return true;
  }));
  // Tickets follow the time, and one commit may post several: behind all that are there.
  if (!keys.empty()) {
    const std::uint64_t last = read_be64(std::string_view(keys.back()).substr(5));
    message.id = std::max(message.id, last + 1);
  }
  for (std::size_t i = 0; i + kMessagesKept <= keys.size(); ++i) {
    LK_CHECK(state.txn().erase(keys[i]));
  }
  return state.txn().put(message_key(message.to, message.id), encode(message));
}

Result<std::vector<Message>> messages_for(State& state, const Owner& owner, bool unread_only) {
  std::vector<Message> found;
  Result<void> readable;
  LK_CHECK(state.txn().scan(
      kv::prefix_range(box(owner)),
      [&](const kv::Row& row) {
        auto message = decode(row.key, row.value);
        if (!message) {
          readable = fail(std::move(message.error()));
          return false;
        }
        const bool for_us = message->to.agent == owner.agent &&
                            (message->to.session.empty() || message->to.session == owner.session);
        if (for_us && !(unread_only && message->read)) found.push_back(std::move(*message));
        return true;
      },
      kv::Read::kPeek));
  LK_CHECK(readable);
  return found;
}

Result<bool> mark_read(State& state, const Owner& owner, std::uint64_t id) {
  const std::string key = message_key(owner, id);
  LK_ASSIGN(const std::optional<kv::Row> row, state.txn().get(key));
  if (!row) return false;
  LK_ASSIGN(Message message, decode(key, row->value));
  const bool for_us = message.to.agent == owner.agent &&
                      (message.to.session.empty() || message.to.session == owner.session);
  if (!for_us) return false;
  message.read = true;
  LK_CHECK(state.txn().put(key, encode(message)));
  return true;
}

}  // namespace lockkeeper::core
