// What others wrote to the caller, shown once at its next command (core/message.h).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "cli/context.h"

namespace lockkeeper::cli {

// Asks for it, before the verb acts; not where nobody would see it.
void expect_messages(VerbContext& context, OpenLocks& open);
// Shows what came, after the verb: on stderr, and with --json as "messages" of `json`.
void tell_messages(VerbContext& context, OpenLocks& open, service::Json& json);

}  // namespace lockkeeper::cli
