// What is wrong with a store, in words, and what can be saved of it.
//
// Reads with pread only: no damage makes it crash. inspect() changes nothing; repair() keeps every
// file it replaces.
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
  std::string next;  // one thing to do; may be empty
};

struct StoreReport {
  bool exists = false;
  bool healthy = false;  // nothing is broken
  std::vector<Finding> findings;
  // As far as they could be told.
  std::uint64_t rows = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t version = 0;
  std::uint64_t epoch_id = 0;
  Durability durability = Durability::kFull;
};

// Everything that open() would check, and every row. Not an error: a broken or absent store. Errors
// only if the folder cannot be looked at. Keeps writers out while it reads, 2 s for a big store.
Result<StoreReport> inspect(const LmdbOptions& options);

struct RepairReport {
  std::uint64_t kept_rows = 0;
  std::uint64_t cut_off_rows = 0;       // of those, found outside the damaged tree
  std::uint64_t damaged_rows = 0;       // bad checksum: lost
  std::uint64_t unreadable_pages = 0;   // what was on them is lost, unless found elsewhere
  std::uint64_t recorded_rows = 0;      // how many the store said it had; 0 if that is unknown
  std::vector<std::string> kept_files;  // the bad files, where they are now
};

// Builds a new data file of all rows whose checksum is good, under a new epoch: versions and fences
// go on above all that is known (I3). The bad files are kept beside it as *.bad-<unix time>. A
// store that is healthy is rebuilt just the same. store_busy if somebody is inside; not_found if
// there is nothing to repair.
Result<RepairReport> repair(const LmdbOptions& options);

}  // namespace lockkeeper::kv
