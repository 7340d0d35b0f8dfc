// The epoch file: one life of the store. It is a small text file, replaced durably, with a copy
// outside the folder. It must outlive the data file: it says that there was one, and with which
// numbers a new one may start. (I3, F11, F12)
//
//   version = LMDB's transaction number + version_base
//   fence   = version + fence_offset
//
// Thread safety: plain values and functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "kv/lmdb/files.h"
#include "kv/lmdb/options.h"
#include "kv/store.h"

namespace lockkeeper::kv::internal {

struct EpochRecord {
  std::uint64_t id = 0;
  std::uint64_t revision = 0;  // grows with each save; the gate's page has the same
  // The data file of this epoch is being created. Whatever is there may be created again, because
  // nothing was granted under it.
  bool founding = false;
  Durability durability = Durability::kFull;
  std::uint64_t uid = 0;  // of the data file
  std::uint64_t version_base = 0;
  std::uint64_t version_start = 0;  // commits of this epoch come after this version
  std::int64_t fence_offset = 0;
  std::int64_t start_mono_ms = 0;
  std::string boot_id;
  std::uint64_t time_namespace = 0;  // inode; 0: unknown
  Identity gate;                     // a copied or restored folder has another gate
  Identity parent;                   // of the folder: a store deleted from a living repository
  std::string aside;                 // while founding: the file with the former rows, or empty

  Epoch epoch() const { return {id, fence_offset, start_mono_ms}; }
};

std::string write_epoch(const EpochRecord& record);
// nullopt: torn, damaged or in a format that this binary does not know.
std::optional<EpochRecord> read_epoch(std::string_view text);

struct EpochFiles {
  std::string main;
  std::string copy;  // empty: none

  // The newer of the two that can be read. `main_good`: the main file is that one.
  struct Found {
    std::optional<EpochRecord> record;
    bool main_present = false;
    bool main_good = false;
    bool copy_good = false;  // or none is kept
  };
  // store_unavailable: a file may be there, but it cannot be read.
  Result<Found> load() const;
  // The main file alone: enough while nothing looks wrong.
  std::optional<EpochRecord> load_main() const;

  // Both, durably. The copy is first, so that it is never older than the epoch in use. A copy that
  // cannot be written is not an error: its folder may be missing or read-only.
  Result<void> save(const EpochRecord& record, const FilePolicy& policy) const;
  // One of them alone. The main file is enough for what need not be remembered if the folder is
  // lost.
  void save_copy(const EpochRecord& record, const FilePolicy& policy) const;
  Result<void> save_main(const EpochRecord& record, const FilePolicy& policy) const;
};

// How far versions jump, to be above any that a lost state may have used. Versions stay far below
// 2^45 for hundreds of years of daily restores.
inline constexpr std::uint64_t kBootJump = 1 << 10;
inline constexpr std::uint64_t kLossJump = 1 << 20;

// The next life after `last` (nullptr: the first). `newest`: the highest version known to exist.
// `txn_id`: LMDB's number of the data file's last commit. Fences start above all that `last` may
// have issued and above unix seconds * 2^21.
struct NextEpoch {
  const EpochRecord* last = nullptr;
  Version newest = 0;
  std::uint64_t txn_id = 0;
  std::uint64_t jump = kLossJump;
  std::int64_t mono_ms = 0;
  std::int64_t wall_ms = 0;
};
EpochRecord next_epoch(const NextEpoch& next);

// The inode of this process's time namespace, 0 if it cannot be read.
std::uint64_t time_namespace();

}  // namespace lockkeeper::kv::internal
