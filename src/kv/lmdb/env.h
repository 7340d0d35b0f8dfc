// LMDB's environment, opened without LMDB's own locks. A damaged file can make LMDB run into
// unmapped memory or fail an assertion, so calls into it go through guarded().
//
// Thread safety: the gate above excludes writers; the environment itself needs no more.
#pragma once

#include <lmdb.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "kv/lmdb/fault.h"

namespace lockkeeper::kv::internal {

class Env {
 public:
  struct Options {
    bool read_only = false;
    bool sync = true;  // data before meta; the meta's own sync is left to the caller
    // Writes go through the map instead of the file: for stores that need no order of writing. A
    // write to a hole on a full disk would fault, so a writer reserves blocks first.
    bool write_map = false;
    std::uint64_t map_bytes = 0;
    unsigned file_mode = 0600;
  };

  // REQUIRES: the file, if it exists, was found sound by read_facts().
  static Result<std::unique_ptr<Env>> open(const std::string& path, const Options& options);
  ~Env();
  Env(const Env&) = delete;
  Env& operator=(const Env&) = delete;

  MDB_env* get() const { return env_; }
  int fd() const { return fd_; }
  const std::string& path() const { return path_; }
  std::uint64_t map_bytes() const { return map_bytes_; }
  std::uint64_t used_pages() { return info().me_last_pgno + 1; }  // as of the last commit
  std::uint64_t last_commit() { return info().me_last_txnid; }
  std::uint64_t page_bytes() const { return page_bytes_; }
  bool write_map() const { return write_map_; }

  // REQUIRES: no transaction of this environment is open.
  Result<void> resize(std::uint64_t map_bytes);

  // After a failed commit. If LMDB could not write its new meta page, it leaves a mixture of that
  // and the older one; this writes the good one in its place. REQUIRES: inside the gate.
  void restore_meta(std::uint64_t failed_txn_id);

  // After a fault LMDB's state cannot be trusted: it is never touched again, not even to close.
  void poison() { poisoned_ = retired_ = true; }
  bool poisoned() const { return poisoned_; }
  // It must be opened again before the next transaction, but can be closed.
  void retire() { retired_ = true; }
  bool retired() const { return retired_; }

  // An LMDB code as an Error. Damage poisons.
  Error error(int code, std::string_view what);

 private:
  explicit Env(std::string path) : path_(std::move(path)) {}
  // Poisons if the meta pages are gone; then all numbers are 0.
  MDB_envinfo info();

  const std::string path_;
  MDB_env* env_ = nullptr;
  int fd_ = -1;  // LMDB's own
  std::uint64_t page_bytes_ = 0;
  std::uint64_t map_bytes_ = 0;
  bool write_map_ = false;
  pid_t owner_pid_ = 0;
  // Set by the thread that finds out, read by threads that begin a transaction.
  std::atomic<bool> poisoned_ = false;
  std::atomic<bool> retired_ = false;
};

// The unnamed database: the only one we use. LMDB's MAIN_DBI, the same in every environment.
inline constexpr MDB_dbi kRows = 1;
inline constexpr MDB_dbi kFreeList = 0;

inline MDB_val to_val(std::string_view bytes) {
  return {bytes.size(), const_cast<char*>(bytes.data())};
}
inline std::string_view to_view(const MDB_val& val) {
  return {static_cast<const char*>(val.mv_data), val.mv_size};
}

}  // namespace lockkeeper::kv::internal
