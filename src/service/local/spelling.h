// A path without a '/' at the end names a file, until a directory of that name is on the disk; then
// it names the folder. To an owner both are one path: what it locked under the one spelling it
// finds under the other.
#pragma once

#include <optional>
#include <vector>

#include "core/table.h"

namespace lockkeeper::service::local {

// `foo` for `foo/` and the other way round; nullopt: it has one spelling only.
std::optional<key::Resource> other_spelling(const key::Resource& resource);

// The owner's leases on either.
Result<std::vector<core::LeaseId>> own_holders(core::Table& table, const core::Owner& owner,
                                               const key::Resource& resource);

// The spelling under which somebody holds it, else as it was named.
Result<key::Resource> as_held(core::Table& table, const key::Resource& resource);

// These, and the other spelling of each that the owner holds under both.
Result<std::vector<key::Resource>> with_other_spellings(
    core::Table& table, const core::Owner& owner, const std::vector<key::Resource>& resources);

// What is true of the request in the spelling under which its paths are held is true of it.
Result<void> check_other_spellings(core::Table& table, core::AcquireRequest request,
                                   std::uint64_t fence, const std::optional<core::LeaseId>& whose,
                                   core::CheckReply& reply);

}  // namespace lockkeeper::service::local
