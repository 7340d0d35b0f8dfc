// How locks are kept on etcd, which only a hub does. Apart from `wiring`, so that programs which
// embed the library need neither HTTP/2 nor TLS.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kv/etcd/doctor.h"
#include "kv/store.h"

namespace lockkeeper::wiring {

// Is this the URL of a store on etcd?
bool is_etcd(std::string_view url);

// What of the URL may be shown and names the table: hosts and prefix, without parameters.
std::string shown_etcd(std::string_view url);

// What a hub hears of its store; see kv::EtcdOptions.
struct EtcdHub {
  std::shared_ptr<std::atomic<std::int64_t>> kept_ms = {};
  std::function<void(const std::vector<std::string>& keys)> on_change = {};
};

// The store, which other hubs may have open as well. Errors: see kv::EtcdStore::open().
// `seen_file`: where this hub remembers the newest state that it has seen; its folder must exist.
Result<std::unique_ptr<kv::Store>> open_etcd(std::string_view url, const std::string& seen_file,
                                             EtcdHub hub);

// What is wrong with it? Changes no row, and a hub may serve it meanwhile. `seen_file` is only
// read; empty: there is none. invalid_input: the URL or a file that it names cannot be used.
Result<kv::etcd::EtcdReport> inspect_etcd(std::string_view url, const std::string& seen_file);
// Begins a new epoch; see kv::EtcdStore::repair().
Result<kv::Epoch> repair_etcd(std::string_view url, const std::string& seen_file);

}  // namespace lockkeeper::wiring
