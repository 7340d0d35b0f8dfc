// A lock service over a table in this process's memory, for targets that call it.
#pragma once

#include "kv/memory/memory_store.h"
#include "service/local/local_service.h"
#include "service/runtime.h"

namespace lockkeeper::fuzz {

// `clock` and `random` must outlive it.
inline service::Runtime memory_runtime(const Clock& clock, Random& random) {
  service::Runtime runtime;
  runtime.clock = &clock;
  runtime.random = &random;
  runtime.env = [](const char*) -> std::optional<std::string> { return std::nullopt; };
  runtime.open_store = [](const layout::StoreRequest&) -> Result<std::unique_ptr<kv::Store>> {
    return std::make_unique<kv::MemoryStore>();
  };
  runtime.make_service = service::local::make_service;
  return runtime;
}

}  // namespace lockkeeper::fuzz
