// Ends what is due in a table that several machines write.
#pragma once

#include "base/error.h"
#include "layout/lock_table.h"

namespace lockkeeper::layout {

// Call it once a second. The times of others count from when somebody here first saw them, so
// somebody has to look at them all the time. Does nothing if the table is of this machine alone.
Result<void> keep_up(LockTable& table);

}  // namespace lockkeeper::layout
