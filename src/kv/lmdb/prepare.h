// Makes a store's folder usable, or says why it is not: creation, a new boot, a restored copy, a
// change of schema, and everything that must be refused. Runs alone, behind the gate. It is rare,
// so it may sync.
#pragma once

#include <memory>
#include <string>

#include "kv/lmdb/env.h"
#include "kv/lmdb/epoch.h"
#include "kv/lmdb/files.h"
#include "kv/lmdb/gate.h"
#include "kv/lmdb/options.h"
#include "kv/lmdb/pages.h"
#include "kv/lmdb/record.h"

namespace lockkeeper::kv::internal {

// Where the files are, and what they have in common.
struct Place {
  explicit Place(const LmdbOptions& options);

  LmdbOptions options;
  FilePolicy policy;
  std::string gate_path;
  std::string data_path;
  EpochFiles epochs;
  std::uint64_t boot = 0;  // hash of the boot id
};

struct Prepared {
  EpochRecord epoch;
  bool recreated_after_reboot = false;
};

// store_corrupt: lost, foreign, damaged, rolled back (F15, F16). store_unavailable: another time
// namespace (F19), a newer schema (F23). not_found: no store, and options.create is false.
// On success the gate's page agrees with the epoch and the data file.
// REQUIRES: inside the gate as a writer.
Result<Prepared> prepare(const Place& place, Gate& gate);

// True: nothing to do, because epoch, gate, boot and data file fit together. REQUIRES: inside the
// gate, and in_place().
bool is_prepared(const Place& place, Gate& gate, const EpochRecord& epoch, const DataFacts& facts);

// A store with at most this many rows is read completely at the first open of each boot, and after
// somebody else wrote to its file.
inline constexpr std::uint64_t kVerifyRowsMax = 20'000;

// Did we leave the data file with this modification time? See GatePage.
bool time_fits(const GatePage& page, Durability durability, std::uint64_t mtime_ns);
// Records that this process writes through the map now, or will within `ahead_ns`.
void note_mapped_write(GatePage& page, std::uint64_t ahead_ns);

// Opens data.mdb, whose facts were read in the same passage. store_corrupt: it is not the file of
// this epoch.
struct OpenedData {
  std::unique_ptr<Env> env;
  Ledger ledger;
};
Result<OpenedData> open_data(const Place& place, const EpochRecord& epoch, const DataFacts& facts,
                             bool read_only);

// The facts of the data file at `path`.
Result<DataFacts> facts_of(const std::string& path);

// Fills in this boot, time namespace, gate and parent folder.
void stamp(const Place& place, const Gate& gate, EpochRecord& record);

// Makes the gate's page agree with the epoch and the data file. REQUIRES: inside as a writer.
Result<void> write_page(const Place& place, Gate& gate, const EpochRecord& record);

std::unexpected<Error> lost_state(const Place& place, const std::string& what);

// store_corrupt: the ledger is not from the commit that the newest meta page names. One of the two
// metas is damaged, or the wrong one was taken for the newer.
Result<void> check_newest(const Place& place, const EpochRecord& epoch, const DataFacts& facts,
                          const Ledger& ledger);

// store_unavailable: the store has another schema than this binary.
Result<void> check_schema(const Place& place, std::uint32_t stored);

}  // namespace lockkeeper::kv::internal
