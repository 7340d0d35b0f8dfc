#include "wiring/etcd/etcd_store.h"

#include "core/schema.h"
#include "kv/etcd/etcd_store.h"
#include "wiring/etcd/sole_store.h"

namespace lockkeeper::wiring {
namespace {

Result<kv::EtcdOptions> etcd_options(std::string_view url, const std::string& seen_file) {
  kv::EtcdOptions options;
  LK_ASSIGN(options.address, kv::etcd::parse_address(url));
  options.seen_file = seen_file;
  options.schema_version = core::kSchemaVersion;
  return options;
}

}  // namespace

bool is_etcd(std::string_view url) {
  return kv::etcd::is_address(url);
}

std::string shown_etcd(std::string_view url) {
  return std::string(url.substr(0, url.find('?')));
}

Result<std::unique_ptr<kv::Store>> open_etcd(std::string_view url, const std::string& seen_file,
                                             EtcdHub hub) {
  LK_ASSIGN(kv::EtcdOptions options, etcd_options(url, seen_file));
  return SoleStore::open(std::move(options), {hub.id, std::move(hub.machine), shown_etcd(url),
                                              std::move(hub.contact_ms)});
}

Result<kv::Epoch> look_at_etcd(std::string_view url, const std::string& seen_file) {
  LK_ASSIGN(kv::EtcdOptions options, etcd_options(url, seen_file));
  options.copy_bytes_max = 0;
  LK_ASSIGN(const auto store, kv::EtcdStore::open(std::move(options)));
  return store->epoch();
}

Result<kv::Epoch> repair_etcd(std::string_view url, const std::string& seen_file) {
  LK_ASSIGN(kv::EtcdOptions options, etcd_options(url, seen_file));
  return kv::EtcdStore::repair(std::move(options));
}

}  // namespace lockkeeper::wiring
