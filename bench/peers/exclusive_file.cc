// The lock file of most programs: open with O_EXCL, write the pid, unlink.
#include <fcntl.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/fd.h"
#include "bench/peers/lock_files.h"
#include "bench/peers/peers.h"

namespace lockkeeper::bench {
namespace {

class FileClient final : public Client {
 public:
  explicit FileClient(std::string folder)
      : folder_(std::move(folder)), pid_(std::to_string(::getpid()) + "\n") {}

  std::string acquire(const std::string& path) const {
    std::string lock = folder_ + "/" + flat_name(path);
    const Fd file(::open(lock.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644));
    LOCKKEEPER_ASSERT(file && ::write(file.get(), pid_.data(), pid_.size()) > 0);
    return lock;
  }
  void pair(const std::string& path) override {
    LOCKKEEPER_ASSERT(::unlink(acquire(path).c_str()) == 0);
  }

 private:
  const std::string folder_;
  const std::string pid_;
};

class ExclusiveFiles final : public Peer {
 public:
  explicit ExclusiveFiles(std::string folder)
      : Peer("O_EXCL file with the pid", "process",
             "subtrees, queue, history, fences, safe recovery from death, all or nothing; 10,000 "
             "held"),
        folder_(std::move(folder)) {}
  std::unique_ptr<Client> connect() override { return std::make_unique<FileClient>(folder_); }

 private:
  const std::string folder_;
};

}  // namespace

Made make_exclusive_files(const Setup& setup) {
  const std::string folder = setup.fresh("exclusive");
  const FileClient client(folder);
  for (int i = 0; i < files_to_hold(setup); ++i) client.acquire(held_path(i));
  return std::make_unique<ExclusiveFiles>(folder);
}

}  // namespace lockkeeper::bench
