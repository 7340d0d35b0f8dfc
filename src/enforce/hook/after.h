// After calls, and when a turn begins or ends: says to the table what became of them, and to the
// model what it should know.
#pragma once

#include "enforce/hook/session.h"

namespace lockkeeper::enforce::hook {

Answer after_calls(Session& session);
Answer at_session_start(Session& session);
Answer at_turn_start(Session& session);
Answer at_subagent_start(Session& session);
// Which of the files that it was refused are free now.
std::vector<std::string> free_of(Place& place, const std::vector<std::string>& refused);
std::string free_words(const std::vector<std::string>& files);
Answer at_end(Session& session);  // of a turn, a subagent or a session; or idle

}  // namespace lockkeeper::enforce::hook
