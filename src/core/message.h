// Notes to a lock's holder: all the messaging there is (design, section 10). A note lies under its
// receiver until it is forgotten; the newest are kept.
//
//   m <agent 4> <ticket 8>  → the message
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/state.h"

namespace lockkeeper::core {

inline constexpr std::size_t kMessagesKept = 100;  // for one agent

struct Message {
  std::uint64_t id = 0;  // time-ordered, unique for its receiver
  Owner from;
  Owner to;          // without a session: every session of that agent
  std::string type;  // request update alert question review
  std::string text;
  std::string task;     // what it is about; may be empty
  std::string project;  // of a dialect that has projects; may be empty
  std::int64_t at_wall_ms = 0;
  bool read = false;
};

// Puts the message into its receiver's box, with a fresh id and the current time, and drops the
// oldest beyond kMessagesKept. limit_exceeded for texts and names beyond the table's limits.
Result<void> post_message(State& state, Message message);

// The messages of the agent that are for every session or for this one, oldest first. Peeks.
Result<std::vector<Message>> messages_for(State& state, const Owner& owner, bool unread_only);

// False: there is no such message for this owner.
Result<bool> mark_read(State& state, const Owner& owner, std::uint64_t id);

}  // namespace lockkeeper::core
