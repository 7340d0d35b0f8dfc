// The rows' schema, and the way from an older one.
#pragma once

#include <cstdint>

#include "kv/store.h"

namespace lockkeeper::core {

// 1: a lease has one hold, and waiters are not filed under the sessions they are a part of.
inline constexpr std::uint32_t kSchemaVersion = 2;

// Brings the rows of schema `from` to this one, in one transaction.
Result<void> migrate(std::uint32_t from, kv::Txn& txn);

}  // namespace lockkeeper::core
