#include "kv/lmdb/env.h"

#include <fcntl.h>

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "kv/lmdb/page_view.h"
#include "kv/lmdb/process_id.h"

namespace lockkeeper::kv::internal {
namespace {

constexpr std::uint64_t kPagesInATransaction = (1U << 17) - 1;  // LMDB's limit

constexpr std::size_t kMetaBodyBytes = 136;  // LMDB's MDB_meta, behind the page's header
constexpr std::size_t kPagesMax = std::size_t{1} << 40;

void on_assert(MDB_env*, const char*) {
  land();
}

std::uint64_t load_be64(const char* bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return std::endian::native == std::endian::little ? __builtin_bswap64(word) : word;
}

// LMDB's own order (byte by byte, the shorter first) in half the instructions: to take and release
// one lease compares about seven hundred keys.
int compare_keys(const MDB_val* a, const MDB_val* b) {
  const auto* left = static_cast<const char*>(a->mv_data);
  const auto* right = static_cast<const char*>(b->mv_data);
  const std::size_t common = std::min(a->mv_size, b->mv_size);
  std::size_t i = 0;
  for (; i + 8 <= common; i += 8) {
    const std::uint64_t x = load_be64(left + i);
    const std::uint64_t y = load_be64(right + i);
    if (x != y) return x < y ? -1 : 1;
  }
  if (i < common && common >= 8) {
    // Compare the last eight bytes: those that were compared before are equal.
    const std::uint64_t x = load_be64(left + common - 8);
    const std::uint64_t y = load_be64(right + common - 8);
    if (x != y) return x < y ? -1 : 1;
  } else if (i < common) {
    const int order = std::memcmp(left + i, right + i, common - i);
    if (order != 0) return order;
  }
  if (a->mv_size == b->mv_size) return 0;
  return a->mv_size < b->mv_size ? -1 : 1;
}

// Where blocks could not be reserved for certain (copy-on-write filesystems), a write through the
// map can still meet a full disk.
bool disk_full(int fd) {
  constexpr std::uint64_t kLittle = 1 << 20;
  struct statvfs st{};
  return ::fstatvfs(fd, &st) == 0 && st.f_bavail * st.f_frsize < kLittle;
}

}  // namespace

Result<std::unique_ptr<Env>> Env::open(const std::string& path, const Options& options) {
  install_fault_handler();
  std::unique_ptr<Env> env(new Env(path));
  env->owner_pid_ = process_id();
  int code = mdb_env_create(&env->env_);
  if (code != 0) return fail(errno_error(code, path));
  mdb_env_set_assert(env->env_, on_assert);
  // Without read-ahead only the pages that are used become resident. With it the kernel keeps the
  // file in pieces of up to 2 MiB and gives them whole to every process that touches a byte, also
  // to those that ask one question and end.
  unsigned flags = MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOTLS | MDB_NORDAHEAD;
  flags |= options.sync ? MDB_NOMETASYNC : MDB_NOSYNC;
  if (options.read_only) flags |= MDB_RDONLY;
  env->write_map_ = options.write_map && !options.read_only;
  if (env->write_map_) flags |= MDB_WRITEMAP;
  // Where address space is limited (ulimit -v), start smaller: the map grows by itself.
  std::uint64_t map_bytes = options.map_bytes;
  for (;; map_bytes /= 16) {
    mdb_env_set_mapsize(env->env_, map_bytes);
    MDB_env* raw = env->env_;
    code = guarded([&] { return mdb_env_open(raw, path.c_str(), flags, options.file_mode); });
    if (code != ENOMEM || map_bytes < (std::uint64_t{64} << 20)) break;
    // A smaller writable map would truncate the file.
    flags &= ~static_cast<unsigned>(MDB_WRITEMAP);
    env->write_map_ = false;
    mdb_env_close(raw);
    env->env_ = nullptr;
    if (mdb_env_create(&env->env_) != 0) return fail(errno_error(ENOMEM, path));
    mdb_env_set_assert(env->env_, on_assert);
  }
  if (code != 0) return fail(env->error(code, "open"));
  mdb_env_get_fd(env->env_, &env->fd_);
  // LMDB 0.9.24 forgets O_CLOEXEC for this one; programs that we start must not inherit the store.
  if (::fcntl(env->fd_, F_SETFD, FD_CLOEXEC) != 0) return fail(errno_error(errno, path));
  MDB_stat stat{};
  // Opening the unnamed database sets its comparison function, once for the environment.
  MDB_env* raw = env->env_;
  code = guarded([raw, &stat] {
    mdb_env_stat(raw, &stat);
    MDB_txn* txn = nullptr;
    if (const int began = mdb_txn_begin(raw, nullptr, MDB_RDONLY, &txn); began != 0) return began;
    MDB_dbi dbi = 0;
    int opened = mdb_dbi_open(txn, nullptr, 0, &dbi);
    if (opened == 0) opened = mdb_set_compare(txn, dbi, compare_keys);
    mdb_txn_abort(txn);
    return opened;
  });
  if (code != 0) return fail(env->error(code, "open"));
  env->page_bytes_ = stat.ms_psize;
  env->map_bytes_ = env->info().me_mapsize;
  return env;
}

Env::~Env() {
  // A forked child leaves its copy alone: its parent may have been inside a transaction.
  if (env_ != nullptr && !poisoned_ && owner_pid_ == process_id()) mdb_env_close(env_);
}

MDB_envinfo Env::info() {
  MDB_envinfo info{};
  if (guarded([&] { return mdb_env_info(env_, &info); }) != 0) {
    poison();
    info = {};
  }
  // Somebody may have overwritten the meta pages: a number of pages that no file can have would
  // make the arithmetic of lengths wrap around.
  info.me_last_pgno = std::min(info.me_last_pgno, kPagesMax);
  return info;
}

Result<void> Env::resize(std::uint64_t map_bytes) {
  const int code = mdb_env_set_mapsize(env_, map_bytes);
  if (code != 0) {
    poison();  // unmapped by now
    return fail(error(code, "grow the map"));
  }
  map_bytes_ = info().me_mapsize;
  return {};
}

void Env::restore_meta(std::uint64_t failed_txn_id) {
  if (write_map_) return;  // only the commit's last step writes there
  char meta[kMetaBodyBytes];
  const auto bad = static_cast<off_t>((failed_txn_id & 1) * page_bytes_ + kPageHeaderBytes);
  const auto good = static_cast<off_t>((~failed_txn_id & 1) * page_bytes_ + kPageHeaderBytes);
  if (::pread(fd_, meta, sizeof meta, good) != static_cast<ssize_t>(sizeof meta)) return;
  // If the disk does not accept it, that is left to the doctor.
  (void)!::pwrite(fd_, meta, sizeof meta, bad);
}

Error Env::error(int code, std::string_view what) {
  const std::string where = path_ + ": " + std::string(what);
  switch (code) {
    case kFaulted:
      poison();
      if (write_map_ && disk_full(fd_)) {
        return errno_error(ENOSPC, where);
      }
      return {Code::kStoreCorrupt, where + ": the file is damaged (memory fault)",
              "run lockkeeper doctor"};
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_PANIC:
    case MDB_VERSION_MISMATCH:
    case MDB_INVALID:
    case MDB_CURSOR_FULL:
    case MDB_PAGE_FULL:
    case MDB_INCOMPATIBLE:
    case MDB_BAD_TXN:
    case MDB_BAD_VALSIZE:
      return {Code::kStoreCorrupt, where + ": the file is damaged (" + mdb_strerror(code) + ")",
              "run lockkeeper doctor"};
    case MDB_TXN_FULL:
      // No transaction of ours writes twice as much as the file has. One that seems to goes in
      // circles in a damaged tree.
      if (used_pages() < kPagesInATransaction / 2) {
        return {Code::kStoreCorrupt, where + ": the file is damaged (pages without an end)",
                "run lockkeeper doctor"};
      }
      [[fallthrough]];
    case MDB_MAP_FULL:
      return {Code::kLimitExceeded, where + ": more than one transaction can hold",
              "do it in smaller steps"};
    case MDB_MAP_RESIZED:
      return {Code::kStoreUnavailable, where + ": the map has grown", "try again"};
    default:
      return errno_error(code, where);
  }
}

}  // namespace lockkeeper::kv::internal
