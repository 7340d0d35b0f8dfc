// How locks are kept on etcd, which only a hub does. Apart from `wiring`, so that programs which
// embed the library need neither HTTP/2 nor TLS.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "kv/store.h"

namespace lockkeeper::wiring {

// Is this the URL of a store on etcd?
bool is_etcd(std::string_view url);

// What of the URL may be shown and names the table: hosts and prefix, without parameters.
std::string shown_etcd(std::string_view url);

// `seen_file`: where this hub remembers the newest state that it has seen; its folder must exist.
Result<std::unique_ptr<kv::Store>> open_etcd(std::string_view url, const std::string& seen_file);

}  // namespace lockkeeper::wiring
