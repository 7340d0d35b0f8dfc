// Brings a store's folder into a state that can be used, or says why not: creation, a new boot, a
// restored copy, a change of schema, and everything that must be refused. Runs alone, behind the
// gate; rare, so it may sync.
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

// Where the files are, and what is the same for all of them.
struct Place {
  explicit Place(const LmdbOptions& options);

  LmdbOptions options;
  FilePolicy policy;
  std::string gate_path;
  std::string data_path;
  EpochFiles epochs;
  std::uint64_t boot = 0;  // hash of the boot id
};

struct Settled {
  EpochRecord epoch;
  bool recreated_after_reboot = false;
};

// store_corrupt: lost, foreign, damaged, rolled back (F15, F16). store_unavailable: another time
// namespace (F19), a newer schema (F23). not_found: there is no store and none is to be created.
// On success the gate's page is in step with the epoch and the data file.
// REQUIRES: inside the gate as a writer.
Result<Settled> settle(const Place& place, Gate& gate);

// Whether nothing needs settling: epoch, gate, boot and data file fit together. REQUIRES: inside
// the gate, and in_place().
bool is_settled(const Place& place, Gate& gate, const EpochRecord& epoch, const DataFacts& facts);

// A store with that few rows is read as a whole at the first open of each boot, and when somebody
// else wrote to its file.
inline constexpr std::uint64_t kVerifyRowsMax = 20'000;

// Opens data.mdb, whose facts were read in the same passage; store_corrupt if it is not the epoch's
// own file.
struct OpenedData {
  std::unique_ptr<Env> env;
  Ledger ledger;
};
// The modification time of the data file is one that we left; see GatePage.
bool time_fits(const GatePage& page, Durability durability, std::uint64_t mtime_ns);
// Notes that this process writes through the map now, or will within `ahead_ns`.
void note_mapped_write(GatePage& page, std::uint64_t ahead_ns);

Result<OpenedData> open_data(const Place& place, const EpochRecord& epoch, const DataFacts& facts,
                             bool read_only);

// The facts of the data file at `path`.
Result<DataFacts> facts_of(const std::string& path);

// This boot, time namespace, gate and parent folder.
void stamp(const Place& place, const Gate& gate, EpochRecord& record);

// Brings the gate's page in step with the epoch and the data file. REQUIRES: inside as a writer.
Result<void> write_page(const Place& place, Gate& gate, const EpochRecord& record);

std::unexpected<Error> lost_state(const Place& place, const std::string& what);

// store_corrupt if the ledger is not of the commit that the newest meta page names: one of the two
// metas is damaged, or the wrong one was taken for the newer.
Result<void> check_newest(const Place& place, const EpochRecord& epoch, const DataFacts& facts,
                          const Ledger& ledger);

// store_unavailable if the store has another schema than this binary.
Result<void> check_schema(const Place& place, std::uint32_t stored);

}  // namespace lockkeeper::kv::internal
