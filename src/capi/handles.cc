#include "capi/handles.h"

#include <pthread.h>

#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace lockkeeper::capi {
namespace {

// Beside the number of the kind in the low bits, so no handle is an address that malloc has given.
constexpr unsigned kKindBits = 4;

struct Table {
  std::mutex mutex;
  std::unordered_map<std::uintptr_t, std::shared_ptr<void>> states;
  std::uintptr_t last = 0;
};

// Another thread of the parent may be inside when a child is made.
Table* make_table() {
  static auto* const kOnly = new Table;  // never destroyed: a lease may outlive statics
  ::pthread_atfork([] { kOnly->mutex.lock(); }, [] { kOnly->mutex.unlock(); },
                   [] { kOnly->mutex.unlock(); });
  return kOnly;
}

Table& the_table() {
  static Table* const kOnly = make_table();
  return *kOnly;
}

std::uintptr_t number_of(const void* handle) {
  return reinterpret_cast<std::uintptr_t>(handle);
}

bool is_of(unsigned kind, const void* handle) {
  return (number_of(handle) & ((1U << kKindBits) - 1)) == kind;
}

}  // namespace

RealmState::~RealmState() {
  if (owner->in_child()) embed::abandon(std::move(owner));
}

LeaseState::~LeaseState() {
  embed::Handle::let_go(std::move(handle));
}

namespace table {

void* put(unsigned kind, std::shared_ptr<void> state) {
  Table& table = the_table();
  const std::lock_guard lock(table.mutex);
  const std::uintptr_t number = (table.last + 1) << kKindBits | kind;
  table.states.emplace(number, std::move(state));
  ++table.last;
  return reinterpret_cast<void*>(number);  // NOLINT(performance-no-int-to-ptr): see above
}

std::shared_ptr<void> find(unsigned kind, const void* handle) noexcept {
  if (!is_of(kind, handle)) return nullptr;
  Table& table = the_table();
  const std::lock_guard lock(table.mutex);
  const auto found = table.states.find(number_of(handle));
  return found == table.states.end() ? nullptr : found->second;
}

std::shared_ptr<void> erase(unsigned kind, const void* handle) noexcept {
  if (!is_of(kind, handle)) return nullptr;
  Table& table = the_table();
  const std::lock_guard lock(table.mutex);
  const auto found = table.states.find(number_of(handle));
  if (found == table.states.end()) return nullptr;
  std::shared_ptr<void> state = std::move(found->second);
  table.states.erase(found);
  return state;
}

}  // namespace table
}  // namespace lockkeeper::capi
