// The store with very many leases, made once in a run for the questions that want it.
#pragma once

#include <string>

#include "bench/setup.h"

namespace lockkeeper::bench {

// The folder of a realm that has `setup.many` leases, durability process.
std::string folder_with_many(const Setup& setup);

}  // namespace lockkeeper::bench
