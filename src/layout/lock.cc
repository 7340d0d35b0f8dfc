#include "layout/lock.h"

#include <sys/file.h>

#include <chrono>
#include <thread>

#include "base/text.h"

namespace lockkeeper::layout {
namespace {

constexpr int kTries = 2'000;

Result<Fd> lock_file(const realm::Realm& realm, const char* name, const std::string& what) {
  const std::string path = realm.store_folder + "/" + name;
  LK_ASSIGN(Fd fd, open_or_create(path, realm.file_mode));
  for (int tries = 0; tries < kTries; ++tries) {
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return fail(Code::kStoreBusy, "another process " + what + " and does not end",
              "see who holds " + quote(path) + ": lslocks");
}

}  // namespace

Result<Fd> lock_layouts(const realm::Realm& realm) {
  return lock_file(realm, "layouts.lock", "writes into the layouts");
}

Result<Fd> lock_registry(const realm::Realm& realm) {
  return lock_file(realm, "registry.lock", "registers or removes layouts");
}

}  // namespace lockkeeper::layout
