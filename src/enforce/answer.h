// What a hook says to its client, in the client's own dialect.
//
// A refusal holds in every client. A call that passes is never "allowed", because that would skip
// the user's own permission prompts: nothing is said, or what the client takes for nothing.
//
// Thread safety: plain values and free functions.
#pragma once

#include <string>
#include <string_view>

#include "enforce/event.h"

namespace lockkeeper::enforce {

enum class Verdict {
  kPass,
  kRefuse,
  kAsk,  // the client asks its user; one that cannot ask refuses
};

struct Answer {
  Verdict verdict = Verdict::kPass;
  std::string reason = {};    // why it is refused, or what the user is asked
  std::string tell = {};      // more for the model; empty: nothing
  nlohmann::json input = {};  // what the call is made with instead; null: as it is
};

struct Said {
  std::string out = {};  // standard output: empty, or one line of JSON
  std::string err = {};  // standard error
  int exit_code = 0;
};

inline constexpr std::size_t kReasonBytesMax = 4096;  // of each text; longer ones are cut

// Only at Moment::kBefore can a call be refused. At others, reason and `tell` are told to the model
// if the client has a way, otherwise to the user, otherwise to nobody.
Said say(const Event& event, const Answer& answer);

// Can the client ask its user about a call that it is about to make?
bool can_ask(const Event& event);

// Can a hook change what a call that passes is made with?
bool can_rewrite(Client client);

// Does `tell` reach the model at this moment? With a refusal it always does.
bool can_tell(const Event& event);

// For a payload that read_event() does not accept: refuses the call, unless the payload plainly
// tells of another moment. There a refusal would end the agent's turn, so nothing is said.
Said refuse_unread(Client said, std::string_view payload, std::string_view reason);

}  // namespace lockkeeper::enforce
