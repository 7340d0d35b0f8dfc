// What main hands down to every door: the clock, randomness, the environment, the choice of a store
// (layout/runtime.h), and the choice of a lock service.
#pragma once

#include <functional>
#include <memory>

#include "layout/lock_table.h"
#include "layout/runtime.h"
#include "service/service.h"

namespace lockkeeper::service {

// A lease that its caller did not have before.
struct Granted {
  realm::Realm realm;
  core::Owner owner;
  core::LeaseId lease;
  core::Attachment hold;
};

struct Runtime : layout::Runtime {
  std::function<std::unique_ptr<Service>(layout::LockTable&)> make_service;
  // Called after each grant, from any thread, except for one with a request id: whoever has that
  // can ask again. May be empty.
  std::function<void(const Granted&)> on_grant = {};
  // A folder with a `git` for the front of PATH. It protects others' work where `judges`: in what
  // is started under a lock. May be empty: the commands have the real git.
  std::function<Result<std::string>(bool judges)> git_front = {};
};

}  // namespace lockkeeper::service
