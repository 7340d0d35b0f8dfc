// What main hands down: the clock, randomness, the environment and the choice of a store. The
// service never picks a backend itself, so that a test or an embedder can bring another.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/random.h"
#include "kv/store.h"
#include "service/config.h"
#include "service/environment.h"
#include "service/layout.h"
#include "service/realm.h"

namespace lockkeeper::service {

struct StoreRequest {
  const Realm& realm;
  Durability durability;
  bool create;  // false: an absent store is not_found and nothing is created
};

struct Runtime {
  const Clock* clock = nullptr;
  Random* random = nullptr;
  Environment env;
  std::function<Result<std::unique_ptr<kv::Store>>(const StoreRequest&)> open_store;
  LayoutKinds layout_kinds;  // the tools whose locks we can read and write
};

}  // namespace lockkeeper::service
