// What main hands down to every door: the clock, randomness, the environment, the choice of a store
// (layout/runtime.h), and the choice of a lock service.
#pragma once

#include <functional>
#include <memory>

#include "layout/lock_table.h"
#include "layout/runtime.h"
#include "service/service.h"

namespace lockkeeper::service {

struct Runtime : layout::Runtime {
  std::function<std::unique_ptr<Service>(layout::LockTable&)> make_service;
};

}  // namespace lockkeeper::service
