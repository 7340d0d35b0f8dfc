#include "kv/lmdb/process_id.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

namespace lockkeeper::kv::internal {
namespace {

std::atomic<pid_t>* make_memory() {
  const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* page = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return nullptr;
  if (::madvise(page, bytes, MADV_WIPEONFORK) != 0) {
    ::munmap(page, bytes);
    return nullptr;
  }
  return new (page) std::atomic<pid_t>(0);
}

}  // namespace

pid_t process_id() {
  static std::atomic<pid_t>* const kMemory = make_memory();
  if (kMemory == nullptr) return ::getpid();
  pid_t pid = kMemory->load(std::memory_order_relaxed);
  if (pid == 0) {
    pid = ::getpid();
    kMemory->store(pid, std::memory_order_relaxed);
  }
  return pid;
}

}  // namespace lockkeeper::kv::internal
