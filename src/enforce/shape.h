// Whose payload is it, and which moment does it tell of?
//
// opencode has no hooks that run a program. Our plugin for it writes this:
//
//   {"hook_event_name": "tool.execute.before", "sessionID": "…", "parentID": "…",
//    "directory": "/repo", "callID": "…", "tool": "edit", "args": {…}}
//
// and reads {"verdict": "pass"} or {"verdict": "refuse", "reason": "…"}; "tell" is for the model,
// "args" replaces arguments of the call.
//
// The names are those of kMoments in shape.cc. "parentID" is the session that started this one;
// "callID", "tool" and "args" are there before and after a call.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "enforce/event.h"

namespace lockkeeper::enforce {

// By the names of the payload's fields; `said` where they fit several clients.
Client client_of(Client said, const nlohmann::json& payload);

struct Named {
  std::string name;  // the client's name of the moment
  Moment moment = Moment::kOther;
  bool failed = false;  // kAfter: the call has failed
};
Result<Named> moment_of(Client client, const nlohmann::json& payload);

// The same by a look at text that may not be JSON; nullopt: it does not say, or says it twice.
std::optional<Moment> moment_in_text(std::string_view payload);

}  // namespace lockkeeper::enforce
