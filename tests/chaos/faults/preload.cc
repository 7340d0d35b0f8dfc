// Loaded in front of the C library into the shipped program (LD_PRELOAD): the faults that a test
// cannot have for real. Nothing happens without a variable that asks for it, and only in a process
// named lockkeeper.
//
//   FAULTS_BOOT=FILE    this file is /proc/sys/kernel/random/boot_id: another boot
//   FAULTS_WALL=FILE    eight bytes: nanoseconds by which the wall clock is wrong, read at each
//   look FAULTS_FAIL=ERRNO:N:K         of the calls that could fail so the N-th and K-1 behind it
//   do FAULTS_HIT=FILE     where the name of the first call that failed so is written
//   FAULTS_SYNC_MS=MS   how long every sync takes
//   FAULTS_TRACE=FILE   what reaches the files under FAULTS_UNDER=DIR[:DIR], in order: trace.h
//
// What the C library does for itself (stdio, opendir) is not seen. Uses nothing of libstdc++.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "chaos/faults/trace_format.h"

namespace {

using lockkeeper::faults::TraceHead;
using lockkeeper::faults::TraceKind;

constexpr const char* kBootId = "/proc/sys/kernel/random/boot_id";
constexpr int kFirst = 3;  // the program's words are not the store's: 0, 1 and 2 never fail

template <class Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

// What a call does, as far as it decides which errors are possible.
enum Does : unsigned {
  kOpens = 1,
  kMakes = 2,  // a name: open with O_CREAT, mkdir, rename
  kReads = 4,
  kWrites = 8,  // bytes or length
  kSyncs = 16,
  kRemoves = 32,
  kMaps = 64,
  kLocks = 128,
  kLooks = 256,  // stat, statfs
};

unsigned possible(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return kMakes | kWrites | kSyncs;
    case EROFS:
      return kMakes | kWrites | kRemoves;
    case EMFILE:
    case ENFILE:
      return kOpens | kMakes;
    case ENOMEM:
      return kOpens | kMakes | kMaps | kLooks | kReads | kLocks;
    case ENOLCK:
      return kLocks;
    default:  // EIO, EACCES and the like
      return kOpens | kMakes | kReads | kWrites | kSyncs | kRemoves | kLooks;
  }
}

struct Config {
  const char* boot = nullptr;
  const int64_t* wall = nullptr;
  const char* hit = nullptr;
  const char* under = nullptr;
  int fail_error = 0;
  long fail_at = 0;
  long fail_times = 0;
  int sync_ms = 0;
  int trace = -1;
};

Config g_config;
long g_calls = 0;  // shared by the threads of a process: counted atomically

__attribute__((constructor)) void read_config() {
  if (::strcmp(program_invocation_short_name, "lockkeeper") != 0) return;
  g_config.boot = ::getenv("FAULTS_BOOT");
  g_config.hit = ::getenv("FAULTS_HIT");
  g_config.under = ::getenv("FAULTS_UNDER");
  if (const char* ms = ::getenv("FAULTS_SYNC_MS")) g_config.sync_ms = ::atoi(ms);
  const auto open_file = real<int (*)(const char*, int, ...)>("open");
  if (const char* wall = ::getenv("FAULTS_WALL")) {
    const int fd = open_file(wall, O_RDONLY | O_CLOEXEC);
    void* const at = ::mmap(nullptr, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);
    if (at != MAP_FAILED) g_config.wall = static_cast<const int64_t*>(at);
    ::close(fd);
  }
  if (const char* trace = ::getenv("FAULTS_TRACE")) {
    const int fd = open_file(trace, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    g_config.trace = ::fcntl(fd, F_DUPFD_CLOEXEC, 900);
    ::close(fd);
  }
  if (const char* plan = ::getenv("FAULTS_FAIL")) {
    const int n =
        ::sscanf(plan, "%d:%ld:%ld", &g_config.fail_error, &g_config.fail_at, &g_config.fail_times);
    if (n != 3) ::abort();
  }
}

// Whether this call is to fail; errno is set then.
bool fails(unsigned does, const char* name) {
  if (g_config.fail_at == 0 || (possible(g_config.fail_error) & does) == 0) return false;
  const long call = __atomic_add_fetch(&g_calls, 1, __ATOMIC_RELAXED);
  if (call < g_config.fail_at || call >= g_config.fail_at + g_config.fail_times) return false;
  if (call == g_config.fail_at && g_config.hit != nullptr) {
    const int fd = real<int (*)(const char*, int, ...)>("open")(
        g_config.hit, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    [[maybe_unused]] const ssize_t n =
        real<ssize_t (*)(int, const void*, size_t)>("write")(fd, name, ::strlen(name));
    ::close(fd);
  }
  errno = g_config.fail_error;
  return true;
}

// --- the trace ----------------------------------------------------------------------------------

bool is_under(const char* path) {
  for (const char* at = g_config.under; at != nullptr && *at != '\0';) {
    const size_t length = ::strcspn(at, ":");
    if (::strncmp(path, at, length) == 0 && (path[length] == '/' || path[length] == '\0')) {
      return true;
    }
    at += length;
    if (*at == ':') ++at;
  }
  return false;
}

// Keeps what happens to the files and its record in one order among all processes.
class Traced {
 public:
  explicit Traced(const char* path) : on_(g_config.trace >= 0 && is_under(path)) { lock(LOCK_EX); }
  explicit Traced(int fd) {
    if (g_config.trace < 0) return;
    char link[64];
    ::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t n = ::readlink(link, path_, sizeof path_ - 1);
    path_[n < 0 ? 0 : n] = '\0';
    on_ = is_under(path_);
    struct stat st{};
    if (on_ && real<int (*)(int, struct stat*)>("fstat")(fd, &st) == 0) inode_ = st.st_ino;
    lock(LOCK_EX);
  }
  ~Traced() { lock(LOCK_UN); }
  Traced(const Traced&) = delete;
  Traced& operator=(const Traced&) = delete;

  void note(TraceKind kind, uint64_t offset, const void* bytes, size_t size) const {
    if (!on_) return;
    const int error = errno;
    const TraceHead head{kind, 0, inode_, offset, size};
    const iovec parts[2] = {{const_cast<TraceHead*>(&head), sizeof head},
                            {const_cast<void*>(bytes), bytes == nullptr ? 0 : size}};
    const auto put = real<ssize_t (*)(int, const iovec*, int)>("writev");
    if (put(g_config.trace, parts, 2) < 0) ::abort();
    errno = error;
  }
  void note_name(TraceKind kind, const char* path) const { note(kind, 0, path, ::strlen(path)); }
  void note_synced() const { note_name(TraceKind::kSynced, path_); }
  void note_made(const char* path, int fd) {
    struct stat st{};
    if (!on_ || real<int (*)(int, struct stat*)>("fstat")(fd, &st) != 0) return;
    inode_ = st.st_ino;
    note_name(TraceKind::kMade, path);
  }

 private:
  void lock(int how) const {
    if (!on_) return;
    // A file lock of a description of its own, since the trace's is shared with children.
    static thread_local int own = -1;
    if (how == LOCK_EX) {
      char link[64];
      ::snprintf(link, sizeof link, "/proc/self/fd/%d", g_config.trace);
      own = real<int (*)(const char*, int, ...)>("open")(link, O_WRONLY | O_CLOEXEC);
      while (::flock(own, LOCK_EX) != 0 && errno == EINTR) {
      }
    } else {
      const int error = errno;
      ::close(own);
      errno = error;
    }
  }

  bool on_ = false;
  uint64_t inode_ = 0;
  char path_[4096] = "";  // of a descriptor
};

void take_long() {
  if (g_config.sync_ms == 0) return;
  timespec left{g_config.sync_ms / 1000, (g_config.sync_ms % 1000) * 1'000'000L};
  while (::nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

int open_as(const char* name, const char* path, int flags, mode_t mode) {
  if (g_config.boot != nullptr && ::strcmp(path, kBootId) == 0) path = g_config.boot;
  if (fails((flags & O_CREAT) != 0 ? kMakes : kOpens, name)) return -1;
  const auto call = real<int (*)(const char*, int, ...)>(name);
  if ((flags & (O_CREAT | O_TRUNC)) == 0) return call(path, flags, mode);
  Traced traced(path);
  const bool there = ::access(path, F_OK) == 0;
  const int fd = call(path, flags, mode);
  if (fd >= 0 && !there) traced.note_made(path, fd);
  return fd;
}

ssize_t pwrite_as(const char* name, int fd, const void* bytes, size_t size, off_t offset) {
  if (fails(kWrites, name)) return -1;
  const Traced traced(fd);
  const ssize_t n =
      real<ssize_t (*)(int, const void*, size_t, off_t)>(name)(fd, bytes, size, offset);
  if (n > 0)
    traced.note(TraceKind::kWrote, static_cast<uint64_t>(offset), bytes, static_cast<size_t>(n));
  return n;
}

int sync_as(const char* name, int fd) {
  take_long();
  if (fails(kSyncs, name)) return -1;
  const Traced traced(fd);
  const int status = real<int (*)(int)>(name)(fd);
  if (status == 0) traced.note_synced();
  return status;
}

int resize_as(const char* name, int fd, off_t size) {
  if (fails(kWrites, name)) return -1;
  const Traced traced(fd);
  const int status = real<int (*)(int, off_t)>(name)(fd, size);
  if (status == 0) traced.note(TraceKind::kResized, static_cast<uint64_t>(size), nullptr, 0);
  return status;
}

void note_grown(const Traced& traced, int fd) {
  struct stat st{};
  if (real<int (*)(int, struct stat*)>("fstat")(fd, &st) != 0) return;
  traced.note(TraceKind::kResized, static_cast<uint64_t>(st.st_size), nullptr, 0);
}

void* map_as(const char* name, void* at, size_t size, int protection, int flags, int fd,
             off_t offset) {
  if (fd >= kFirst && fails(kMaps, name)) return MAP_FAILED;
  return real<void* (*)(void*, size_t, int, int, int, off_t)>(name)(at, size, protection, flags, fd,
                                                                    offset);
}

// The kernel would have written the time that the clock shows.
int stat_shifted(int status, struct stat* st) {
  if (status == 0 && g_config.wall != nullptr) {
    const int64_t ns = st->st_mtim.tv_sec * 1'000'000'000L + st->st_mtim.tv_nsec +
                       __atomic_load_n(g_config.wall, __ATOMIC_RELAXED);
    st->st_mtim = {ns / 1'000'000'000L, ns % 1'000'000'000L};
  }
  return status;
}

int fstat_as(const char* name, int fd, struct stat* st) {
  if (fd >= kFirst && fails(kLooks, name)) return -1;
  return stat_shifted(real<int (*)(int, struct stat*)>(name)(fd, st), st);
}

int stat_as(const char* name, const char* path, struct stat* st) {
  if (fails(kLooks, name)) return -1;
  return stat_shifted(real<int (*)(const char*, struct stat*)>(name)(path, st), st);
}

ssize_t pread_as(const char* name, int fd, void* bytes, size_t size, off_t offset) {
  if (fails(kReads, name)) return -1;
  return real<ssize_t (*)(int, void*, size_t, off_t)>(name)(fd, bytes, size, offset);
}

int fcntl_as(const char* name, int fd, int command, void* argument) {
  const bool locks = command == F_OFD_SETLK || command == F_OFD_SETLKW;
  const bool unlocks = locks && static_cast<struct flock*>(argument)->l_type == F_UNLCK;
  if (locks && !unlocks && fails(kLocks, name)) return -1;
  return real<int (*)(int, int, ...)>(name)(fd, command, argument);
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = static_cast<mode_t>(va_arg(rest, int));
  va_end(rest);
  return open_as("open", path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = static_cast<mode_t>(va_arg(rest, int));
  va_end(rest);
  return open_as("open64", path, flags, mode);
}

// The calls relative to a folder are those without one when they name none.
int openat(int folder, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = static_cast<mode_t>(va_arg(rest, int));
  va_end(rest);
  if (folder == AT_FDCWD) return open_as("open", path, flags, mode);
  return real<int (*)(int, const char*, int, ...)>("openat")(folder, path, flags, mode);
}

int openat64(int folder, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = static_cast<mode_t>(va_arg(rest, int));
  va_end(rest);
  if (folder == AT_FDCWD) return open_as("open64", path, flags, mode);
  return real<int (*)(int, const char*, int, ...)>("openat64")(folder, path, flags, mode);
}

ssize_t read(int fd, void* bytes, size_t size) {
  if (fd >= kFirst && fails(kReads, "read")) return -1;
  return real<ssize_t (*)(int, void*, size_t)>("read")(fd, bytes, size);
}

ssize_t pread(int fd, void* bytes, size_t size, off_t offset) {
  return pread_as("pread", fd, bytes, size, offset);
}

ssize_t pread64(int fd, void* bytes, size_t size, off_t offset) {
  return pread_as("pread64", fd, bytes, size, offset);
}

ssize_t write(int fd, const void* bytes, size_t size) {
  if (fd >= kFirst && fails(kWrites, "write")) return -1;
  const Traced traced(fd);
  const off_t offset = ::lseek(fd, 0, SEEK_CUR);
  const ssize_t n = real<ssize_t (*)(int, const void*, size_t)>("write")(fd, bytes, size);
  if (n > 0)
    traced.note(TraceKind::kWrote, static_cast<uint64_t>(offset), bytes, static_cast<size_t>(n));
  return n;
}

ssize_t pwrite(int fd, const void* bytes, size_t size, off_t offset) {
  return pwrite_as("pwrite", fd, bytes, size, offset);
}

ssize_t pwrite64(int fd, const void* bytes, size_t size, off_t offset) {
  return pwrite_as("pwrite64", fd, bytes, size, offset);
}

ssize_t writev(int fd, const iovec* parts, int count) {
  if (fd >= kFirst && fails(kWrites, "writev")) return -1;
  const Traced traced(fd);
  off_t offset = ::lseek(fd, 0, SEEK_CUR);
  ssize_t n = real<ssize_t (*)(int, const iovec*, int)>("writev")(fd, parts, count);
  const ssize_t all = n;
  for (int i = 0; i < count && n > 0; ++i) {
    const size_t size =
        parts[i].iov_len < static_cast<size_t>(n) ? parts[i].iov_len : static_cast<size_t>(n);
    traced.note(TraceKind::kWrote, static_cast<uint64_t>(offset), parts[i].iov_base, size);
    offset += static_cast<off_t>(size);
    n -= static_cast<ssize_t>(size);
  }
  return all;
}

int fsync(int fd) {
  return sync_as("fsync", fd);
}

int fdatasync(int fd) {
  return sync_as("fdatasync", fd);
}

int msync(void* at, size_t size, int flags) {
  take_long();
  if (fails(kSyncs, "msync")) return -1;
  return real<int (*)(void*, size_t, int)>("msync")(at, size, flags);
}

int ftruncate(int fd, off_t size) {
  return resize_as("ftruncate", fd, size);
}

int ftruncate64(int fd, off_t size) {
  return resize_as("ftruncate64", fd, size);
}

int fallocate64(int fd, int mode, off_t offset, off_t size) {
  if (fails(kWrites, "fallocate")) return -1;
  const Traced traced(fd);
  const int status = real<int (*)(int, int, off_t, off_t)>("fallocate64")(fd, mode, offset, size);
  if (status == 0) note_grown(traced, fd);
  return status;
}

int posix_fallocate64(int fd, off_t offset, off_t size) {
  if (fails(kWrites, "posix_fallocate")) return g_config.fail_error;
  const Traced traced(fd);
  const int error = real<int (*)(int, off_t, off_t)>("posix_fallocate64")(fd, offset, size);
  if (error == 0) note_grown(traced, fd);
  return error;
}

int rename(const char* from, const char* to) {
  if (fails(kMakes | kRemoves, "rename")) return -1;
  const Traced traced(to);
  const int status = real<int (*)(const char*, const char*)>("rename")(from, to);
  if (status == 0) {
    traced.note_name(TraceKind::kMovedFrom, from);
    traced.note_name(TraceKind::kMovedTo, to);
  }
  return status;
}

int unlink(const char* path) {
  if (fails(kRemoves, "unlink")) return -1;
  const Traced traced(path);
  const int status = real<int (*)(const char*)>("unlink")(path);
  if (status == 0) traced.note_name(TraceKind::kRemoved, path);
  return status;
}

int renameat(int from_folder, const char* from, int to_folder, const char* to) {
  if (from_folder == AT_FDCWD && to_folder == AT_FDCWD) return rename(from, to);
  return real<int (*)(int, const char*, int, const char*)>("renameat")(from_folder, from, to_folder,
                                                                       to);
}

int unlinkat(int folder, const char* path, int flags) {
  if (folder == AT_FDCWD && flags == 0) return unlink(path);
  return real<int (*)(int, const char*, int)>("unlinkat")(folder, path, flags);
}

int mkdir(const char* path, mode_t mode) {
  if (fails(kMakes, "mkdir")) return -1;
  return real<int (*)(const char*, mode_t)>("mkdir")(path, mode);
}

void* mmap(void* at, size_t size, int protection, int flags, int fd, off_t offset) {
  return map_as("mmap", at, size, protection, flags, fd, offset);
}

void* mmap64(void* at, size_t size, int protection, int flags, int fd, off_t offset) {
  return map_as("mmap64", at, size, protection, flags, fd, offset);
}

int fstat(int fd, struct stat* st) {
  return fstat_as("fstat", fd, st);
}

int fstat64(int fd, struct stat64* st) {
  return fstat_as("fstat64", fd, reinterpret_cast<struct stat*>(st));
}

int stat64(const char* path, struct stat64* st) {
  return stat_as("stat64", path, reinterpret_cast<struct stat*>(st));
}

int lstat64(const char* path, struct stat64* st) {
  return stat_as("lstat64", path, reinterpret_cast<struct stat*>(st));
}

int statfs64(const char* path, struct statfs64* fs) {
  if (fails(kLooks, "statfs")) return -1;
  return real<int (*)(const char*, struct statfs64*)>("statfs64")(path, fs);
}

int statx(int folder, const char* path, int flags, unsigned mask, struct statx* st) {
  if (fails(kLooks, "statx")) return -1;
  return real<int (*)(int, const char*, int, unsigned, struct statx*)>("statx")(folder, path, flags,
                                                                                mask, st);
}

int fcntl(int fd, int command, ...) {
  va_list rest;
  va_start(rest, command);
  void* const argument = va_arg(rest, void*);
  va_end(rest);
  return fcntl_as("fcntl", fd, command, argument);
}

int fcntl64(int fd, int command, ...) {
  va_list rest;
  va_start(rest, command);
  void* const argument = va_arg(rest, void*);
  va_end(rest);
  return fcntl_as("fcntl64", fd, command, argument);
}

int clock_gettime(clockid_t clock, timespec* now) {
  const int status = real<int (*)(clockid_t, timespec*)>("clock_gettime")(clock, now);
  const bool wall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
  if (status != 0 || !wall || g_config.wall == nullptr) return status;
  const int64_t ns = now->tv_sec * 1'000'000'000L + now->tv_nsec +
                     __atomic_load_n(g_config.wall, __ATOMIC_RELAXED);
  *now = {ns / 1'000'000'000L, ns % 1'000'000'000L};
  return 0;
}

}  // extern "C"
