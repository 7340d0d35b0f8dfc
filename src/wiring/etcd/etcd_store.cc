#include "wiring/etcd/etcd_store.h"

#include "core/schema.h"
#include "kv/etcd/etcd_store.h"

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
  options.kept_ms = std::move(hub.kept_ms);
  options.on_change = std::move(hub.on_change);
  LK_ASSIGN(auto store, kv::EtcdStore::open(std::move(options)));
  return std::unique_ptr<kv::Store>(std::move(store));
}

Result<kv::etcd::EtcdReport> inspect_etcd(std::string_view url, const std::string& seen_file) {
  LK_ASSIGN(const kv::EtcdOptions options, etcd_options(url, seen_file));
  return kv::etcd::inspect(options);
}

Result<kv::Epoch> repair_etcd(std::string_view url, const std::string& seen_file) {
  LK_ASSIGN(kv::EtcdOptions options, etcd_options(url, seen_file));
  return kv::EtcdStore::repair(std::move(options));
}

}  // namespace lockkeeper::wiring
