// Notes to a lock's holder: all the messaging there is (design, section 10). A note lies in its
// receiver's box until newer ones push it out. Three states:
//   unread  nobody of the receiving agent has said `message read`;
//   told    shown to this owner once, at its next command: each session is told for itself;
//   read    by one of the agent's sessions, for all of them; it is not told any more.
// A note to everybody lies in one box for all: each agent reads it for itself, and it is told to
// who comes within a day.
//
//   m <agent 4> <id 8>  → the message; to everybody: under the empty name
//   n <agent 4> <id 8>  → it is not read: when it was sent, and who was told
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/state.h"

namespace lockkeeper::core {

inline constexpr std::size_t kMessagesKept = 100;  // for one agent
inline constexpr std::size_t kToldAtOnce = 10;     // the rest at the commands that follow
inline constexpr std::int64_t kToldToAllMs = std::int64_t{24} * 3600 * 1000;

struct Message {
  std::uint64_t id = 0;  // time-ordered, unique for who can see it; odd: to everybody
  Owner from;
  Owner to;          // without a session: every session of that agent; no agent: everybody
  std::string type;  // request update alert question review
  std::string text;
  std::string task;     // what it is about; may be empty
  std::string project;  // of a dialect that has projects; may be empty
  std::int64_t at_wall_ms = 0;
  bool read = false;  // by the agent that looks

  bool to_everybody() const { return to.agent.empty(); }
  std::string id_text() const;  // 16 hexadecimal digits
  static std::optional<std::uint64_t> id_from_text(std::string_view text);
};

// Puts the message into its receiver's box, with the current time and a fresh id, which it gives,
// and drops the oldest beyond kMessagesKept. limit_exceeded for texts and names beyond the table's
// limits.
Result<std::uint64_t> post_message(State& state, Message message);

// What this owner may see, oldest first. Peeks.
Result<std::vector<Message>> messages_for(State& state, const Owner& owner, bool unread_only);

// What its agent has sent and is still kept, oldest first. Peeks; looks at every box.
Result<std::vector<Message>> messages_from(State& state, const Owner& owner);

// Is there something that the owner has not been told? One probe where the realm has nothing
// unread. Peeks; a read transaction will do.
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

// False: there is no such message for this owner.
Result<bool> mark_read(State& state, const Owner& owner, std::uint64_t id);

}  // namespace lockkeeper::core
