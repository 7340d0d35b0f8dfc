// What a transaction on LMDB needs from whoever began it: room on the disk, and word of its end.
#pragma once

#include <lmdb.h>

#include <cstdint>
#include <memory>

#include "kv/store.h"

namespace lockkeeper::kv::internal {

// All calls come from the transaction's thread.
class CommitHooks {
 public:
  virtual ~CommitHooks() = default;

  // Reserves disk space for what is about to be committed. no_space: there is none.
  struct Demand {
    std::uint64_t writes = 0;
    std::uint64_t put_bytes = 0;
    std::uint64_t erased_bytes = 0;
    std::uint64_t overflow_pages = 0;
  };
  virtual Result<void> make_room(MDB_txn* txn, const Demand& demand) = 0;
  // The same for twice what has been written so far; called each time the demand doubles.
  virtual Result<void> keep_room(MDB_txn* txn, const Demand& demand) = 0;

  // The commit has happened (or failed: `version` 0). Lets others in. Success: the commit is as
  // durable as promised.
  virtual Result<void> committed(Version version) = 0;

  // The transaction has ended without a commit.
  virtual void ended() = 0;

  // Did this process begin the transaction? A forked child must not touch it.
  virtual bool ours() const = 0;
};

// For a file that nobody else can have open: no gate, no bookkeeping.
std::unique_ptr<CommitHooks> private_hooks();

}  // namespace lockkeeper::kv::internal
