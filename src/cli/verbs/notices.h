// What the caller must be told, with whichever command it calls next: leases that it lost, who
// waits for what it holds, messages (core/message.h).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "cli/context.h"

namespace lockkeeper::cli {

// Requests it before the verb acts. With --quiet: only what was lost.
void expect_notices(VerbContext& context, OpenLocks& open);
// Shows it after the verb: on stderr, and with --json as "lost", "waiting" and "messages" of
// `json`. True: something was lost.
bool tell_notices(VerbContext& context, OpenLocks& open, service::Json& json);
// Only what was lost, for verbs that ask for no lock: by a call of its own.
void tell_losses(VerbContext& context, OpenLocks& open, service::Json& json);

// Before the first lock of a realm: which other tools' lock files there do not count yet.
void tell_other_tools(VerbContext& context, const OpenLocks& open);

}  // namespace lockkeeper::cli
