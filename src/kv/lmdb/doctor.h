// Says what is wrong with a store, and saves what can be saved.
//
// Reads with pread only, so no damage makes it crash. inspect() changes nothing. repair() keeps
// every file that it replaces.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "kv/lmdb/options.h"

namespace lockkeeper::kv {

struct Finding {
  bool broken = false;  // false: worth knowing, but the store can be used
  std::string what;
  std::string hint;  // one thing to do; may be empty
};

struct StoreReport {
  bool exists = false;
  bool healthy = false;  // nothing is broken
  std::vector<Finding> findings;
  // As far as they are known.
  std::uint64_t rows = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t version = 0;
  std::uint64_t epoch_id = 0;
  Durability durability = Durability::kFull;
};

// Checks everything that open() would check, and every row. A broken or absent store is not an
// error; a folder that cannot be read is. Keeps writers out while it reads, 2 s for a big store.
Result<StoreReport> inspect(const LmdbOptions& options);

struct RepairReport {
  std::uint64_t kept_rows = 0;
  std::uint64_t cut_off_rows = 0;       // of those, found outside the damaged tree
  std::uint64_t damaged_rows = 0;       // bad checksum: lost
  std::uint64_t unreadable_pages = 0;   // what was on them is lost, unless found elsewhere
  std::uint64_t recorded_rows = 0;      // how many the store said it had; 0: unknown
  std::vector<std::string> kept_files;  // the bad files, where they are now
};

// Builds a new data file from all rows whose checksum is good, under a new epoch: versions and
// fences continue above all that are known (I3). The bad files are kept beside it as
// *.bad-<unix time>. A healthy store is rebuilt in the same way. store_busy: somebody is inside.
// not_found: there is nothing to repair.
Result<RepairReport> repair(const LmdbOptions& options);

}  // namespace lockkeeper::kv
