#include "wiring/etcd/etcd_store.h"

#include "core/schema.h"
#include "kv/etcd/etcd_store.h"

namespace lockkeeper::wiring {

bool is_etcd(std::string_view url) {
  return kv::etcd::is_address(url);
}

std::string shown_etcd(std::string_view url) {
  return std::string(url.substr(0, url.find('?')));
}

Result<std::unique_ptr<kv::Store>> open_etcd(std::string_view url, const std::string& seen_file) {
  kv::EtcdOptions options;
  LK_ASSIGN(options.address, kv::etcd::parse_address(url));
  options.seen_file = seen_file;
  options.schema_version = core::kSchemaVersion;
  return kv::EtcdStore::open(std::move(options));
}

}  // namespace lockkeeper::wiring
