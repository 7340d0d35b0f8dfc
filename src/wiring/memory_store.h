// A store in this process's memory, as MemoryRealm uses it.
#pragma once

#include <memory>

#include "kv/store.h"

namespace lockkeeper::wiring {

std::shared_ptr<kv::Store> make_memory_store();

// The same store, for one of several tables that each want to own theirs.
std::unique_ptr<kv::Store> share_store(std::shared_ptr<kv::Store> store);

}  // namespace lockkeeper::wiring
