// Plays a spec on the lock table and says what came out differently.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isolation/spec.h"
#include "kv/memory/memory_store.h"

namespace lockkeeper::isolation {

// One sentence for each difference; empty: all as expected.
std::vector<std::string> play(const Spec& spec, kv::Flavour flavour);

// The same on a store that is made by `open`: empty, for each machine a Store of its own on the
// same rows. nullopt: it tells of what such a store cannot be made to do (a reboot, the end of a
// row's lifetime).
using OpenStore = std::function<std::unique_ptr<kv::Store>()>;
std::optional<std::vector<std::string>> play(const Spec& spec, const OpenStore& open);

}  // namespace lockkeeper::isolation
