// The version of an etcd as its plain HTTP page says it. Where users have passwords, etcd tells its
// status to administrators alone, and this page to everybody.
#pragma once

#include <chrono>
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

}  // namespace lockkeeper::kv::etcd
