// LMDB's environment, opened without its own locks, and the calls into it made safe: a damaged file
// can make LMDB run into unmapped memory or fail an assertion, and that must become an error of the
// call, not the death of the process (I10, F16).
//
// Thread safety: the gate above excludes writers; the environment itself needs no more.
#pragma once

#include <lmdb.h>
#include <setjmp.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

namespace lockkeeper::kv::internal {

// LMDB's codes are negative or errno values; this one is ours.
inline constexpr int kFaulted = -1;

// The landing place of the calling thread. Trivial: read by a signal handler.
struct Landing {
  sigjmp_buf place;
  bool active;
};
Landing& landing();
void install_fault_handler();  // once; idempotent

// Calls `call` and returns its code, or kFaulted if it ran into a memory fault or an assertion of
// LMDB. `call` must hold nothing that needs a destructor. After kFaulted the environment is given
// up: see Env::poison().
template <class Call>
int guarded(Call&& call) {
  Landing& here = landing();
  if (sigsetjmp(here.place, 0) != 0) {
    here.active = false;
    return kFaulted;
  }
  here.active = true;
  const int code = call();
  here.active = false;
  return code;
}

class Env {
 public:
  struct Options {
    bool read_only = false;
    bool sync = true;  // data before meta; the meta's own sync is left to the caller
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
  std::uint64_t map_bytes() const;
  std::uint64_t used_pages() const;  // as of the last commit
  std::uint64_t page_bytes() const { return page_bytes_; }

  // REQUIRES: no transaction of this environment is open.
  Result<void> resize(std::uint64_t map_bytes);

  // After a fault LMDB's own state cannot be trusted: it is never touched again, not even to close.
  void poison() { poisoned_ = retired_ = true; }
  bool poisoned() const { return poisoned_; }
  // It must be opened anew before the next transaction, but can be closed.
  void retire() { retired_ = true; }
  bool retired() const { return retired_; }

  // A code of LMDB's as an Error; damage poisons.
  Error error(int code, std::string_view what);

 private:
  explicit Env(std::string path) : path_(std::move(path)) {}

  const std::string path_;
  MDB_env* env_ = nullptr;
  int fd_ = -1;  // LMDB's own
  std::uint64_t page_bytes_ = 0;
  pid_t owner_pid_ = 0;
  // Set by whoever finds out, read by whoever begins.
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
