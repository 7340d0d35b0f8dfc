// The library inside a shared object, as a plugin or an extension module has it: the archive is
// position-independent.
#include <lockkeeper/lockkeeper.h>

// 0: the resource was locked and released. Otherwise the error's code, plus 1.
extern "C" int lock_and_release(const char* resource) {
  const auto realm = lockkeeper::Realm::open({.agent = "plugin"});
  if (!realm) return static_cast<int>(realm.error().code) + 1;
  auto lease = realm->acquire({resource});
  if (!lease) return static_cast<int>(lease.error().code) + 1;
  const auto released = lease->release();
  return released ? 0 : static_cast<int>(released.error().code) + 1;
}
