// Between the public values and those of the service.
#pragma once

#include <lockkeeper/acquire.h>

#include "service/commands.h"
#include "service/locks.h"

namespace lockkeeper::embed {

// invalid_input if a duration is negative.
Result<service::AcquireCommand> to_command(const std::vector<std::string>& resources,
                                           const AcquireOptions& options);

// REQUIRES: the outcome is a refusal.
Refusal to_refusal(const service::AcquireResult& result, const std::vector<std::string>& resources,
                   std::int64_t now_wall_ms);

}  // namespace lockkeeper::embed
