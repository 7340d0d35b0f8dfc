// What the plain HTTP pages of an etcd say. Where users have passwords, etcd tells its status to
// administrators alone, and these pages to everybody; and its quota is told nowhere else.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "base/error.h"
#include "kv/etcd/address.h"
#include "kv/etcd/tls.h"

namespace lockkeeper::kv::etcd {

// store_unavailable: it does not say.
Result<std::string> read_version_page(const Endpoint& endpoint,
                                      std::shared_ptr<const TlsFiles> files,
                                      std::chrono::steady_clock::time_point until);

// The version in such an answer; empty: there is none.
std::string version_in_page(const std::string& answer);

// How large the database may become, in bytes, from its metrics. 0: it does not say.
std::uint64_t read_quota(const Endpoint& endpoint, std::shared_ptr<const TlsFiles> files,
                         std::chrono::steady_clock::time_point until);

// The same in such an answer.
std::uint64_t quota_in_page(const std::string& answer);

}  // namespace lockkeeper::kv::etcd
