// The most memory a program has resident. Read from the process itself as it ends: the usage that
// wait() reports would count the benchmark's own memory, from before the exec.
#pragma once

#include "bench/child.h"

namespace lockkeeper::bench {

// In MiB, of a run with its output thrown away; 0 if it failed or could not be traced.
double peak_mib(const Words& argv);

}  // namespace lockkeeper::bench
