// Plays a spec on the lock table and says what came out differently.
#pragma once

#include <string>
#include <vector>

#include "isolation/spec.h"
#include "kv/memory/memory_store.h"

namespace lockkeeper::isolation {

// One sentence for each difference; empty: all as expected.
std::vector<std::string> play(const Spec& spec, kv::Flavour flavour);

}  // namespace lockkeeper::isolation
