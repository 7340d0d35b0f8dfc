// Between the public values and those of the service.
#pragma once

#include <lockkeeper/query.h>

#include "service/commands.h"
#include "service/locks.h"

namespace lockkeeper::embed {

// invalid_input if a duration is negative.
Result<service::AcquireCommand> to_command(const std::vector<std::string>& resources,
                                           const AcquireOptions& options);

service::CheckCommand to_command(const std::vector<std::string>& resources,
                                 const CheckOptions& options);
service::ListCommand to_command(const ListOptions& options);
// invalid_input if the ttl is negative.
Result<service::RenewCommand> to_command(const std::vector<std::string>& resources,
                                         const RenewOptions& options);

// nullopt: kNoEnd.
std::optional<std::chrono::milliseconds> to_ttl(std::int64_t ttl_ms);
CheckResult to_result(const core::CheckReply& reply);
LeaseInfo to_info(const core::Lease& lease, core::Alive alive);
// Without the leases that are over and only wait to be swept.
Listing to_listing(const service::ListReply& reply);

// REQUIRES: the outcome is a refusal.
Refusal to_refusal(const service::AcquireResult& result, const std::vector<std::string>& resources,
                   std::int64_t now_wall_ms);

}  // namespace lockkeeper::embed
