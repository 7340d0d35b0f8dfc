// What the figures depend on: the machine and the versions of all that was measured.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bench/setup.h"

namespace lockkeeper::bench {

// (name, value); of a peer that is not there, nothing.
std::vector<std::pair<std::string, std::string>> gather_facts(const Setup& setup);

}  // namespace lockkeeper::bench
