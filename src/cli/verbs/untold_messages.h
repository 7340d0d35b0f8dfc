// Messages to the caller, shown once with its next command (core/message.h).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "cli/context.h"

namespace lockkeeper::cli {

// Requests them before the verb acts, unless --quiet would hide them.
void expect_messages(VerbContext& context, OpenLocks& open);
// Shows them after the verb: on stderr, and with --json as "messages" of `json`.
void tell_messages(VerbContext& context, OpenLocks& open, service::Json& json);

}  // namespace lockkeeper::cli
