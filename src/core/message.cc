#include "core/message.h"

#include <algorithm>

#include "base/bytes.h"
#include "core/sessions.h"

namespace lockkeeper::core {
namespace {

constexpr std::uint64_t kMessageFormat = 1;
constexpr std::size_t kIdAt = 5;           // in a key: letter, agent
constexpr std::size_t kNamesKept = 1'000;  // of readers and of told owners, in one record
constexpr char kMessage = 'm';
constexpr char kUnread = 'n';
const Owner kEverybody;

std::string box(char letter, const Owner& owner) {
  return letter + owner_tag(owner).substr(0, 4);
}

std::string key_of(char letter, const Owner& to, std::uint64_t id) {
  std::string key = box(letter, to);
  append_be64(key, id);
  return key;
}

std::uint64_t id_in(std::string_view key) {
  return read_be64(key.substr(kIdAt));
}

// Which of the owner's boxes holds a message with this id.
const Owner& receiver(const Owner& owner, std::uint64_t id) {
  return (id & 1) != 0 ? kEverybody : owner;
}

std::uint64_t name_hash(const Owner& owner) {
  return hash64(owner.agent + '\0', owner.session);
}

// A message as it is stored: with the agents that have read it.
struct Stored {
  Message message;
  std::vector<std::uint64_t> readers;
  bool read_by(const Owner& owner) const {
    return std::ranges::find(readers, hash64(owner.agent)) != readers.end();
  }
};

// The row of an unread message: small, because every command of its receiver reads it.
struct Unread {
  std::int64_t at_wall_ms = 0;
  std::vector<std::uint64_t> told;  // owners
};

void write_names(RecordWriter& out, const std::vector<std::uint64_t>& names) {
  out.number(names.size());
  for (const std::uint64_t name : names) out.number(name);
}

std::vector<std::uint64_t> read_names(RecordReader& in) {
  std::vector<std::uint64_t> names;
  const std::uint64_t count = in.number();
  for (std::uint64_t i = 0; i < count && !in.failed(); ++i) names.push_back(in.number());
  return names;
}

// The newest stay: after a thousand more readers, the first may be told again.
void add_name(std::vector<std::uint64_t>& names, std::uint64_t name) {
  if (std::ranges::find(names, name) != names.end()) return;
  if (names.size() == kNamesKept) names.erase(names.begin());
  names.push_back(name);
}

std::unexpected<Error> damaged() {
  return fail(Code::kStoreCorrupt, "a message in the store cannot be read",
              "run: lockkeeper doctor");
}

std::string encode(const Stored& stored) {
  const Message& message = stored.message;
  RecordWriter out;
  out.number(kMessageFormat);
  for (const std::string* text :
       {&message.from.agent, &message.from.session, &message.to.agent, &message.to.session,
        &message.type, &message.text, &message.task, &message.project}) {
    out.text(*text);
  }
  out.signed_number(message.at_wall_ms);
  write_names(out, stored.readers);
  return out.take();
}

Result<Stored> decode(std::string_view key, std::string_view value) {
  RecordReader in(value);
  const bool known = in.number() == kMessageFormat && key.size() == kIdAt + 8;
  Stored stored;
  Message& message = stored.message;
  for (std::string* text :
       {&message.from.agent, &message.from.session, &message.to.agent, &message.to.session,
        &message.type, &message.text, &message.task, &message.project}) {
    *text = in.text();
  }
  message.at_wall_ms = in.signed_number();
  stored.readers = read_names(in);
  if (!known || !in.at_end()) return damaged();
  message.id = id_in(key);
  return stored;
}

std::string encode(const Unread& unread) {
  RecordWriter out;
  out.signed_number(unread.at_wall_ms);
  write_names(out, unread.told);
  return out.take();
}

Result<Unread> decode_unread(std::string_view key, std::string_view value) {
  RecordReader in(value);
  Unread unread;
  unread.at_wall_ms = in.signed_number();
  unread.told = read_names(in);
  if (!in.at_end() || key.size() != kIdAt + 8) return damaged();
  return unread;
}

bool is_for(const Message& message, const Owner& owner) {
  return message.to_everybody() ||
         (message.to.agent == owner.agent &&
          (message.to.session.empty() || message.to.session == owner.session));
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

Result<void> each_message(State& state, std::string_view prefix,
                          const std::function<void(Stored)>& visit) {
  Result<void> readable;
  LK_CHECK(state.txn().scan(
      kv::prefix_range(prefix),
      [&](const kv::Row& row) {
        auto stored = decode(row.key, row.value);
        if (!stored) {
          readable = fail(std::move(stored.error()));
          return false;
        }
        visit(std::move(*stored));
        return true;
      },
      kv::Read::kPeek));
  return readable;
}

void sort_by_time(std::vector<Message>& messages) {
  std::ranges::stable_sort(messages, {}, &Message::id);
}

// What the owner may not have been told yet, and rows whose time is over, which only cost.
struct Pending {
  std::vector<std::uint64_t> ids;
  std::vector<std::string> late;
};

Result<Pending> pending_for(State& state, const Owner& owner) {
  Pending pending;
  bool any = false;
  LK_CHECK(state.txn().scan(
      kv::prefix_range(std::string(1, kUnread)),
      [&](const kv::Row&) {
        any = true;
        return false;
      },
      kv::Read::kPeek));
  if (!any) return pending;
  const std::int64_t now = state.context().now.wall_ms;
  const std::uint64_t name = name_hash(owner);
  Result<void> readable;
  for (const Owner* const to : {&owner, &kEverybody}) {
    LK_CHECK(state.txn().scan(
        kv::prefix_range(box(kUnread, *to)),
        [&](const kv::Row& row) {
          auto unread = decode_unread(row.key, row.value);
          if (!unread) {
            readable = fail(std::move(unread.error()));
            return false;
          }
          const std::uint64_t id = id_in(row.key);
          const bool late = (id & 1) != 0 && now - unread->at_wall_ms > kToldToAllMs;
          const bool told = std::ranges::find(unread->told, name) != unread->told.end();
          if (late) pending.late.emplace_back(row.key);
          if (!late && !told) pending.ids.push_back(id);
          return true;
        },
        kv::Read::kPeek));
    LK_CHECK(readable);
  }
  std::ranges::sort(pending.ids);
  return pending;
}

Result<std::optional<Stored>> stored_for(State& state, const Owner& owner, std::uint64_t id,
                                         kv::Read read) {
  const std::string key = key_of(kMessage, receiver(owner, id), id);
  LK_ASSIGN(const std::optional<kv::Row> row, state.txn().get(key, read));
  if (!row) return std::nullopt;
  LK_ASSIGN(Stored stored, decode(key, row->value));
  if (!is_for(stored.message, owner)) return std::nullopt;
  stored.message.read = stored.read_by(owner);
  return stored;
}

Result<void> drop_oldest(State& state, const Owner& to) {
  std::vector<std::string> keys;
  LK_CHECK(state.txn().scan(
      kv::prefix_range(box(kMessage, to)),
      [&](const kv::Row& row) {
        keys.emplace_back(row.key);
        return true;
      },
      kv::Read::kPeek));
  for (std::size_t i = 0; i + kMessagesKept < keys.size(); ++i) {
    LK_CHECK(state.txn().erase(keys[i]));
    keys[i][0] = kUnread;
    LK_CHECK(state.txn().erase(keys[i]));
  }
  return {};
}

}  // namespace

std::string Message::id_text() const {
  std::string bytes;
  append_be64(bytes, id);
  return to_hex(bytes);
}

std::optional<std::uint64_t> Message::id_from_text(std::string_view text) {
  const std::string bytes = from_hex(text);
  if (text.size() != 16 || bytes.size() != 8) return std::nullopt;
  return read_be64(bytes);
}

Result<std::uint64_t> post_message(State& state, Message message) {
  const Context& context = state.context();
  message.to = reader_of(message.to);
  LK_CHECK(check_limits(message, context.limits));
  message.at_wall_ms = context.now.wall_ms;
  const std::uint64_t last_bit = message.to_everybody() ? 1 : 0;
  message.id = (context.ticket & ~std::uint64_t{1}) | last_bit;
  // Tickets follow the time, but one commit may post several: the new one goes behind all that are
  // there. The guarded read of the new key confirms what is peeked at here.
  LK_CHECK(
      state.txn().scan_back(kv::prefix_range(box(kMessage, message.to)), [&](const kv::Row& row) {
        message.id = std::max(message.id, id_in(row.key) + 2);
        return false;
      }));
  const std::string key = key_of(kMessage, message.to, message.id);
  LK_ASSIGN(const std::optional<kv::Row> taken, state.txn().get(key));
  if (taken) return damaged();
  Stored stored{std::move(message), {}};
  Unread unread{stored.message.at_wall_ms, {}};
  // Its sender knows it. Other sessions of the same agent do not.
  if (stored.message.to_everybody()) add_name(stored.readers, hash64(stored.message.from.agent));
  if (is_for(stored.message, stored.message.from)) {
    add_name(unread.told, name_hash(stored.message.from));
  }
  const Message& sent = stored.message;
  LK_CHECK(state.txn().put(key, encode(stored)));
  LK_CHECK(state.txn().put(key_of(kUnread, sent.to, sent.id), encode(unread)));
  LK_CHECK(drop_oldest(state, sent.to));
  return sent.id;
}

Result<std::vector<Message>> messages_for(State& state, const Owner& owner, bool unread_only) {
  std::vector<Message> found;
  for (const Owner* const to : {&owner, &kEverybody}) {
    LK_CHECK(each_message(state, box(kMessage, *to), [&](Stored stored) {
      Message& message = stored.message;
      if (!is_for(message, owner) || message.to_everybody() != (to == &kEverybody)) return;
      if (message.from == owner && !message.to_everybody()) return;  // to its name, by itself
      message.read = stored.read_by(owner);
      if (!(unread_only && message.read)) found.push_back(std::move(message));
    }));
  }
  sort_by_time(found);
  return found;
}

Result<std::vector<Message>> messages_from(State& state, const Owner& owner) {
  std::vector<Message> found;
  LK_CHECK(each_message(state, std::string(1, kMessage), [&](Stored stored) {
    if (stored.message.from.agent != owner.agent) return;
    stored.message.read = !stored.message.to_everybody() && stored.read_by(stored.message.to);
    found.push_back(std::move(stored.message));
  }));
  sort_by_time(found);
  return found;
}

Result<bool> has_untold(State& state, const Owner& owner) {
  LK_ASSIGN(const Pending pending, pending_for(state, owner));
  for (const std::uint64_t id : pending.ids) {
    LK_ASSIGN(const std::optional<Stored> stored, stored_for(state, owner, id, kv::Read::kPeek));
    if (stored && !stored->message.read) return true;
  }
  return false;
}

Result<DeliveredMessages> take_untold(State& state, const Owner& owner) {
  DeliveredMessages told;
  LK_ASSIGN(const Pending pending, pending_for(state, owner));
  for (const std::uint64_t id : pending.ids) {
    LK_ASSIGN(std::optional<Stored> stored, stored_for(state, owner, id, kv::Read::kPeek));
    if (!stored || stored->message.read) continue;
    const kv::Budget left = state.txn().left();
    if (told.messages.size() == kToldAtOnce || left.writes == 0 || left.guards == 0) {
      ++told.more;
      continue;
    }
    LK_CHECK(mark_told(state, owner, id));
    told.messages.push_back(std::move(stored->message));
  }
  for (const std::string& key : pending.late) {
    if (state.txn().left().writes > 0) LK_CHECK(state.txn().erase(key));
  }
  return told;
}

Result<void> mark_told(State& state, const Owner& owner, std::uint64_t id) {
  const std::string key = key_of(kUnread, receiver(owner, id), id);
  LK_ASSIGN(const std::optional<kv::Row> row, state.txn().get(key));
  if (!row) return {};
  LK_ASSIGN(Unread unread, decode_unread(key, row->value));
  add_name(unread.told, name_hash(owner));
  return state.txn().put(key, encode(unread));
}

Result<bool> mark_read(State& state, const Owner& owner, std::uint64_t id) {
  LK_ASSIGN(std::optional<Stored> stored, stored_for(state, owner, id, kv::Read::kGuarded));
  if (!stored) return false;
  if (stored->message.read) return true;
  add_name(stored->readers, hash64(owner.agent));
  const Owner& to = receiver(owner, id);
  LK_CHECK(state.txn().put(key_of(kMessage, to, id), encode(*stored)));
  if (stored->message.to_everybody()) {
    LK_CHECK(mark_told(state, owner, id));  // others have not read it
  } else {
    LK_CHECK(state.txn().erase(key_of(kUnread, to, id)));
  }
  return true;
}

}  // namespace lockkeeper::core
