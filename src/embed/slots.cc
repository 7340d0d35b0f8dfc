#include "embed/slots.h"

#include <pthread.h>

#include <map>
#include <mutex>

namespace lockkeeper::embed {
namespace {

struct Registry {
  std::mutex mutex;
  std::map<const void*, host::LiveSlot> slots;
};

Registry& registry() {
  static Registry* const kOnly = new Registry;  // never destroyed: a lease may outlive statics
  return *kOnly;
}

void watch_forks() {
  static const int kRegistered =
      ::pthread_atfork([] { registry().mutex.lock(); }, [] { registry().mutex.unlock(); },
                       [] {
                         for (auto& [owner, slot] : registry().slots) slot.close_in_child();
                         registry().mutex.unlock();
                       });
  (void)kRegistered;
}

}  // namespace

void keep_slot(const void* owner, host::LiveSlot slot) {
  watch_forks();
  const std::lock_guard lock(registry().mutex);
  registry().slots.insert_or_assign(owner, std::move(slot));
}

void drop_slot(const void* owner) {
  const std::lock_guard lock(registry().mutex);
  registry().slots.erase(owner);
}

}  // namespace lockkeeper::embed
