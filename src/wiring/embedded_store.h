// How locks are kept on LMDB: which options, which schema, and what happens at a reboot. The only
// place, beside the doctor, that knows the backend; the program and the embedder's library open
// their stores here, so that they can never disagree about it.
#pragma once

#include "kv/lmdb/options.h"
#include "layout/runtime.h"

namespace lockkeeper::wiring {

Result<kv::LmdbOptions> embedded_options(const layout::Runtime& runtime,
                                         const layout::StoreRequest& request);

// Opens the realm's store as the request says, and gives it the durability of the settings.
Result<std::unique_ptr<kv::Store>> open_embedded(const layout::Runtime& runtime,
                                                 const layout::StoreRequest& request);

// As open_embedded(); a store that did not exist is remembered for `list --all-realms`.
Result<std::unique_ptr<kv::Store>> open_remembered(const layout::Runtime& runtime,
                                                   const layout::StoreRequest& request);

// Can the realm have a store, if it has none yet? store_unavailable: its filesystem is not
// supported, or nothing can be created there.
Result<void> check_possible(const realm::Realm& realm);

// Keeps the store from handling SIGSEGV and SIGBUS; see kv::forbid_fault_handler().
bool forbid_fault_handler();

// The tools whose locks are read and written, the same for everybody who opens a store here.
layout::LayoutKinds layout_kinds();

}  // namespace lockkeeper::wiring
