// After calls, and when a turn begins or ends: says to the table what became of them, and to the
// model what it should know.
#pragma once

#include "enforce/hook/session.h"

namespace lockkeeper::enforce::hook {

Answer after_calls(Session& session);
Answer at_session_start(Session& session);
Answer at_turn_start(Session& session);
Answer at_subagent_start(Session& session);

// What a session that is refused a file of this place still waits for, as the table keeps it.
std::string refused_word(const Place& place, const std::string& file);
// Those of them that it can edit now: the words, and the files as it knows them.
struct Freed {
  std::vector<std::string> words;
  std::vector<std::string> files;
};
Freed free_of(Session& session, const std::vector<std::string>& refused);
std::string free_words(const Freed& freed);
Answer at_end(Session& session);  // of a turn, a subagent or a session; or idle

}  // namespace lockkeeper::enforce::hook
