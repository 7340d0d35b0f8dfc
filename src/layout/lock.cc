#include "layout/lock.h"

#include <sys/file.h>

#include <chrono>
#include <thread>

#include "base/text.h"

namespace lockkeeper::layout {
namespace {

constexpr std::string_view kLockName = "layouts.lock";  // beside the store
constexpr int kLockTries = 2'000;

}  // namespace

Result<Fd> lock_layouts(const realm::Realm& realm) {
  const std::string path = realm.store_folder + "/" + std::string(kLockName);
  LK_ASSIGN(Fd fd, open_or_create(path, realm.file_mode));
  for (int tries = 0; tries < kLockTries; ++tries) {
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return fail(Code::kStoreBusy, "another process writes into the layouts and does not end",
              "see who holds " + quote(path) + ": lslocks");
}

}  // namespace lockkeeper::layout
