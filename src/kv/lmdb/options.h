// The options of a store on LMDB.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "kv/store.h"

namespace lockkeeper::kv {

// kFull: commits survive power loss. kProcess: commits survive the death of any process; there is
// no sync, and the store starts empty after each boot.
enum class Durability { kFull, kProcess };

// From now on no handler for SIGSEGV and SIGBUS is installed, so a damaged or shortened file can
// end the process. False if the handler is there already: it stays.
bool forbid_fault_handler();

struct LmdbOptions {
  std::string folder;   // holds `gate`, `data.mdb`, `epoch`; its parent must exist
  bool create = false;  // false: an absent store is not_found, and nothing is created
  Durability durability = Durability::kFull;
  std::string epoch_copy;  // a file outside the folder; empty: none
  std::string boot_id;
  const Clock* clock = nullptr;  // must outlive the store

  std::uint32_t schema_version = 1;
  // Converts the rows of an older schema to this one, in one transaction. A copy of the data file
  // is kept as data.mdb.schema-<from>. Absent: an older store is refused.
  std::function<Result<void>(std::uint32_t from, Txn& txn)> migrate;

  // repair(): gets the first transaction of the rebuilt store, under its new epoch, before anybody
  // can see that store. Absent: the rows stay as they were saved.
  std::function<Result<void>(Txn& txn, const Epoch& epoch)> on_repair;

  // kProcess, first open after a boot: gets the former rows and the first transaction of the new
  // store, which is committed afterwards. Absent: the new store is empty.
  std::function<Result<void>(Txn& before, Txn& txn)> on_reboot;

  unsigned folder_mode = 0700;
  unsigned file_mode = 0600;
  std::optional<uid_t> uid;  // the owner of what is created; needs privilege
  std::optional<gid_t> gid;

  std::uint64_t map_bytes = std::uint64_t{1} << 32;  // address space at first; it grows by itself
  int patience_ms = 2000;                            // store_busy after that long without progress
};

}  // namespace lockkeeper::kv
