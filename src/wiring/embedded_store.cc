#include "wiring/embedded_store.h"

#include <unistd.h>

#include "core/reboot.h"
#include "core/schema.h"
#include "dialect/kinds.h"
#include "host/process.h"
#include "kv/lmdb/files.h"
#include "kv/lmdb/lmdb_store.h"
#include "realm/registry.h"

namespace lockkeeper::wiring {

Result<kv::LmdbOptions> embedded_options(const layout::Runtime& runtime,
                                         const layout::StoreRequest& request) {
  LK_CHECK(host::check_time_namespace());
  const realm::Realm& realm = request.realm;
  kv::LmdbOptions options;
  options.folder = realm.store_folder;
  options.create = request.create;
  options.durability = request.durability == realm::Durability::kProcess ? kv::Durability::kProcess
                                                                         : kv::Durability::kFull;
  options.epoch_copy = realm.epoch_copy;
  options.clock = runtime.clock;
  options.schema_version = core::kSchemaVersion;
  options.migrate = core::migrate;
  options.folder_mode = realm.folder_mode;
  options.file_mode = realm.file_mode;
  options.uid = realm.owner_uid;
  options.gid = realm.owner_gid;
  LK_ASSIGN(options.boot_id, host::boot_id());
  options.on_reboot = [clock = runtime.clock](kv::Txn& former, kv::Txn& txn) {
    core::Context context;
    context.now = clock->now();
    return core::end_by_reboot(former, txn, context);
  };
  return options;
}

Result<std::unique_ptr<kv::Store>> open_embedded(const layout::Runtime& runtime,
                                                 const layout::StoreRequest& request) {
  LK_ASSIGN(kv::LmdbOptions options, embedded_options(runtime, request));
  const kv::Durability wanted = options.durability;
  LK_ASSIGN(std::unique_ptr<kv::LmdbStore> store, kv::LmdbStore::open(std::move(options)));
  // The settings have changed since the store was made: it follows them.
  if (store->durability() != wanted) LK_CHECK(store->set_durability(wanted));
  return store;
}

Result<std::unique_ptr<kv::Store>> open_remembered(const layout::Runtime& runtime,
                                                   const layout::StoreRequest& request) {
  const bool is_new =
      request.create && ::access((request.realm.store_folder + "/epoch").c_str(), F_OK) != 0;
  LK_ASSIGN(std::unique_ptr<kv::Store> store, open_embedded(runtime, request));
  if (is_new) static_cast<void>(realm::remember_realm(request.realm, runtime.env));
  return store;
}

Result<void> check_possible(const realm::Realm& realm) {
  const std::string folder = kv::internal::parent_of(realm.store_folder);
  LK_CHECK(kv::internal::check_filesystem(folder));
  if (::access(folder.c_str(), W_OK) == 0) return {};
  return fail(errno_error(errno, folder));
}

bool forbid_fault_handler() {
  return kv::forbid_fault_handler();
}

layout::LayoutKinds layout_kinds() {
  return dialect::layout_kinds();
}

}  // namespace lockkeeper::wiring
