// What the caller must be told, with whichever command it calls next: leases that it lost, who
// waits for what it holds, messages (core/message.h).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "cli/context.h"
#include "service/names.h"

namespace lockkeeper::cli {

// Requests it before the verb acts. With --quiet: only what was lost.
void expect_notices(VerbContext& context, OpenLocks& open);
// Shows it after the verb: on stderr, and with --json as "lost", "waiting" and "messages" of
// `json`. True: something was lost.
bool tell_notices(VerbContext& context, OpenLocks& open, service::Json& json);
// Only what was lost, for verbs that ask for no lock: by a call of its own.
void tell_losses(VerbContext& context, OpenLocks& open, service::Json& json);

// What people should know about what they were granted, or asked: more "warnings" and, with
// `names`, "unmatched". stderr of `run` is its command's, so a new name is not worth a line there.
void tell_remarks(VerbContext& context, const OpenLocks& open, const service::Wanted& wanted,
                  service::Json& json, bool names = true);
void tell_remarks(VerbContext& context, const OpenLocks& open, const service::Wanted& wanted,
                  const service::Resolved& resolved, service::Json& json, bool names = true);

// How to name to the caller what it typed, or may type.
service::Names names_of(const VerbContext& context, const OpenLocks& open,
                        const service::Wanted& wanted);

// Before the first lock of a realm: which other tools' lock files there do not count yet.
void tell_other_tools(VerbContext& context, const OpenLocks& open);

}  // namespace lockkeeper::cli
