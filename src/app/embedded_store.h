// How this program keeps its locks on LMDB: which options, which schema, and what happens at a
// reboot. The only place, beside the doctor, that knows the backend.
#pragma once

#include "kv/lmdb/options.h"
#include "service/runtime.h"

namespace lockkeeper::app {

// The schema of the rows in src/core. A store written by a newer program is refused.
inline constexpr std::uint32_t kSchemaVersion = 1;

Result<kv::LmdbOptions> embedded_options(const service::Runtime& runtime,
                                         const service::StoreRequest& request);

Result<std::unique_ptr<kv::Store>> open_embedded(const service::Runtime& runtime,
                                                 const service::StoreRequest& request);

}  // namespace lockkeeper::app
