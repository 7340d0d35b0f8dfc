// Which versions of etcd are good enough to keep locks. Older ones have faults that lose leases,
// answer with old rows, or lose rows.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace lockkeeper::kv::etcd {

// store_unavailable: `version`, as a server calls itself, is not good enough; `where` is named.
// With `authenticated` others share the server behind passwords, and more of its faults count.
Result<void> check_version(std::string_view version, bool authenticated, bool allow_old,
                           const std::string& where);

}  // namespace lockkeeper::kv::etcd
