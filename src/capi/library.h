// What the API decides once for the process.
#pragma once

namespace lockkeeper::capi {

// Before the first use of a store: faults are left to the program, unless it has asked for more.
void settle_faults();

}  // namespace lockkeeper::capi
