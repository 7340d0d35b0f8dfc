// The live slots of this process's owners. They are closed in every forked child, so that a lease
// ends with the process that took it and not with the last of its children.
//
// Thread safety: may be called from any thread, also while another one forks.
#pragma once

#include "host/live_slots.h"

namespace lockkeeper::embed {

// Keeps `slot` for `owner`, in place of the one before.
void keep_slot(const void* owner, host::LiveSlot slot);
// Ends it: everything that is bound to it is free. Does nothing if there is none.
void drop_slot(const void* owner);

}  // namespace lockkeeper::embed
