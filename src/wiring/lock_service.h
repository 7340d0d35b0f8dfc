// The lock service that the program and the embedder's library use: the table of this machine, or
// that of the hub which the settings name.
#pragma once

#include <memory>

#include "layout/lock_table.h"
#include "service/service.h"

namespace lockkeeper::wiring {

// `table` must outlive it. With LOCKKEEPER_TEST_WIRE in the environment, every call becomes JSON
// and comes back (a test seam: docs/internals/test-seams.md).
std::unique_ptr<service::Service> make_service(layout::LockTable& table);

}  // namespace lockkeeper::wiring
