// Messages to agents and to the holders of locks. A message stays in its receiver's box until newer
// ones push it out. It is in one of three states:
//   unread  no session of the receiving agent has called `message read`;
//   told    shown to this owner once, at its next command; each session is told separately;
//   read    by one of the agent's sessions, for all of them; it is not told again.
// A message to the sender's own name is for the other sessions of that name.
// A message to everybody is in one box for all. Each agent reads it separately, and every owner
// that comes within a day is told.
//
//   m <agent 4> <id 8>  → the message; one to everybody is under the empty name
//   n <agent 4> <id 8>  → it is unread: when it was sent, and who was told
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/state.h"

namespace lockkeeper::core {

inline constexpr std::size_t kMessagesKept = 100;  // for one agent
inline constexpr std::size_t kToldAtOnce = 10;     // the rest with the next commands
inline constexpr std::int64_t kToldToAllMs = std::int64_t{24} * 3600 * 1000;

struct Message {
  std::uint64_t id = 0;  // time-ordered, unique among what one agent can see; odd: to everybody
  Owner from;
  Owner to;          // without a session: every session of that agent; no agent: everybody
  std::string type;  // request update alert question review
  std::string text;
  std::string task;     // what it is about; may be empty
  std::string project;  // for dialects that have projects; may be empty
  std::int64_t at_wall_ms = 0;
  bool read = false;  // by the agent that asks

  bool to_everybody() const { return to.agent.empty(); }
  std::string id_text() const;  // 16 hexadecimal digits
  static std::optional<std::uint64_t> id_from_text(std::string_view text);
};

// Puts the message into its receiver's box with the current time and a fresh id, and drops the
// oldest beyond kMessagesKept. Returns the id. limit_exceeded: a text or name is too long.
Result<std::uint64_t> post_message(State& state, Message message);

// The messages that this owner may see, oldest first. Peeks.
Result<std::vector<Message>> messages_for(State& state, const Owner& owner, bool unread_only);

// The messages of its agent that are still kept, oldest first. Peeks at every box.
Result<std::vector<Message>> messages_from(State& state, const Owner& owner);

// Is there a message that the owner has not been told? One probe if the realm has nothing unread.
// Peeks; a read transaction is enough.
Result<bool> has_untold(State& state, const Owner& owner);
// That, oldest first, at most kToldAtOnce and what the transaction's budget takes; it is told
// now. `more`: how many are left.
struct DeliveredMessages {
  std::vector<Message> messages;
  std::size_t more = 0;
};
Result<DeliveredMessages> take_untold(State& state, const Owner& owner);
// These were shown in another way.
Result<void> mark_told(State& state, const Owner& owner, std::uint64_t id);

// False: this owner has no such message.
Result<bool> mark_read(State& state, const Owner& owner, std::uint64_t id);

}  // namespace lockkeeper::core
