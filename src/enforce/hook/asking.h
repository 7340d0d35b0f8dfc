// While a client asks its user about a call, nobody hears of the call, and its claim would give way
// after a minute (core rule 16). The question counts as a call on the file that was done: so the
// claim is kept as long as for any other call that is running.
#pragma once

#include <string>
#include <vector>

#include "enforce/hook/session.h"

namespace lockkeeper::enforce::hook {

// Is its user being asked about one of its calls?
bool is_asked(const core::Edit& edit);
// Beside the call's own id among the calls of an edit: its user was asked about it.
std::string asked_id(const std::string& edit_id);

// A question to the user is open: it is about those calls of the session that nothing has confirmed
// yet.
Answer at_question(Session& session);

// A claim of this owner that a question has confirmed. If the call failed, and no other on the same
// file was done, it must be given up: the table takes the question for something done.
struct AskedClaim {
  std::string lease_id;
  std::string call;                // its edit_id
  std::vector<std::string> calls;  // all on that claim
};
std::vector<AskedClaim> asked_claims(Session& session, Place& place);
void give_up(Place& place, const std::vector<AskedClaim>& claims);

}  // namespace lockkeeper::enforce::hook
