// What main hands down: the clock, randomness, the environment and the choice of a store. The
// service never chooses a backend itself, so that a test or an embedder can bring another.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "core/types.h"
#include "host/waker.h"
#include "kv/store.h"
#include "layout/layout.h"
#include "realm/config.h"
#include "realm/environment.h"
#include "realm/realm.h"

namespace lockkeeper::layout {

struct StoreRequest {
  const realm::Realm& realm;
  realm::Durability durability;
  bool create;  // false: an absent store is not_found and nothing is created
};

// What a machine is called in a table that several machines use, one after the other or at once.
struct Sharing {
  std::uint64_t clock = 0;    // its clock, as for core::Sightings; 0: no other machine uses it
  std::uint64_t machine = 0;  // so that its slots are nobody else's
};

// What a realm in memory has instead of the files `wake` and `live`.
struct InMemory {
  host::Waker* waker = nullptr;
  const core::Prober* prober = nullptr;
};

struct Runtime {
  const Clock* clock = nullptr;
  Random* random = nullptr;
  realm::Environment env;
  std::function<Result<std::unique_ptr<kv::Store>>(const StoreRequest&)> open_store;
  LayoutKinds layout_kinds;  // the tools whose locks we can read and write
  InMemory in_memory;        // for realms with `in_memory` alone
  // Of a hub: the tables here are used, whatever server this user is logged in to.
  bool is_hub = false;
  // The program that becomes the relay to a hub; empty: `lockkeeper`, found by PATH.
  std::string relay_program = {};
  // Of a hub: who else uses the table of a realm, once its store is open. Empty: nobody.
  std::function<Sharing(const realm::Realm&)> sharing = {};
  // Of a hub: does that client on another machine live? Must not block. Empty: nobody can tell.
  std::function<core::Alive(const core::Attachment& client)> remote_alive = {};
  // Of a hub: these words were woken by a commit of this process. From any thread; may be empty.
  std::function<void(const std::vector<std::uint64_t>& words)> woken = {};
};

}  // namespace lockkeeper::layout
