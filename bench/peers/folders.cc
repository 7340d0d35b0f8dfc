// The lock of a shell script: a folder that `mkdir` makes, and a file in it that names the owner.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/fd.h"
#include "bench/peers/lock_files.h"
#include "bench/peers/peers.h"

namespace lockkeeper::bench {
namespace {

class FoldersClient final : public Client {
 public:
  explicit FoldersClient(std::string folder) : folder_(std::move(folder)) {}

  void acquire(const std::string& path) const {
    const std::string lock = folder_ + "/" + flat_name(path);
    LOCKKEEPER_ASSERT(::mkdir(lock.c_str(), 0755) == 0);
    static constexpr std::string_view kOwner =
        "agent: bench\ntask: none\ntimestamp: 2026-01-01T00:00:00+00:00\n";
    const Fd owner(::open((lock + "/owner").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
    LOCKKEEPER_ASSERT(::write(owner.get(), kOwner.data(), kOwner.size()) > 0);
  }
  void pair(const std::string& path) override {
    acquire(path);
    const std::string lock = folder_ + "/" + flat_name(path);
    LOCKKEEPER_ASSERT(::unlink((lock + "/owner").c_str()) == 0 && ::rmdir(lock.c_str()) == 0);
  }

 private:
  const std::string folder_;
};

class Folders final : public Peer {
 public:
  explicit Folders(std::string folder)
      : Peer("mkdir + owner file", "process",
             "subtrees, queue, history, fences, dead holders, all or nothing; 2,000 held"),
        folder_(std::move(folder)) {}
  std::unique_ptr<Client> connect() override { return std::make_unique<FoldersClient>(folder_); }

 private:
  const std::string folder_;
};

}  // namespace

Made make_folders(const Setup& setup) {
  const std::string folder = setup.fresh("mkdir");
  const FoldersClient client(folder);
  for (int i = 0; i < files_to_hold(setup); ++i) client.acquire(held_path(i));
  return std::make_unique<Folders>(folder);
}

}  // namespace lockkeeper::bench
