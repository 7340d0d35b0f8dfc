// Before a lease is ended against its holder's will: what the holder has written is kept.
#pragma once

#include "cli/context.h"
#include "snapshot/version.h"

namespace lockkeeper::cli {

// Keeps the files that others hold by name (`agent`: only those of that agent), and those that
// agents have written, as they are in this worktree now. A warning if that cannot be done.
void keep_first(VerbContext& context, OpenLocks& open, snapshot::Why why,
                const std::string& agent = {});

}  // namespace lockkeeper::cli
