// A repository on a disk of its own that is soon full. Ends with the test.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/fd.h"
#include "chaos/faults/fault_stage.h"
#include "chaos/faults/namespaces.h"

namespace lockkeeper::faults {

class SmallDisk {
 public:
  // `stage`: without git; must outlive it.
  explicit SmallDisk(FaultStage& stage) : stage_(stage) {}
  ~SmallDisk() {
    if (mounted_) {
      EXPECT_EQ(::umount2(stage_.repo().c_str(), MNT_DETACH), 0);
    }
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  // Why that cannot be, or empty.
  std::string mount() {
    if (std::string why = own_mounts(); !why.empty()) return why;
    if (::mount("small", stage_.repo().c_str(), "tmpfs", 0, "size=6m") != 0) {
      ADD_FAILURE() << std::strerror(errno);
      return "";
    }
    mounted_ = true;
    stage_.env["XDG_STATE_HOME"] = stage_.repo() + "/.state";  // no way out
    stage_.git("repo", {"init", "-q", "."});
    std::filesystem::create_directory(stage_.repo() + "/.state");
    return "";
  }

  // Leaves so many blocks, of which a file's name may need one.
  void fill_but(std::size_t blocks) const {
    constexpr std::size_t kBlock = 4096;
    const Fd fd(::open(filler().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    struct statvfs disk{};
    ASSERT_EQ(::fstatvfs(fd.get(), &disk), 0);
    const std::size_t free = disk.f_bavail * disk.f_frsize / kBlock;
    if (free <= blocks) return;
    const off_t end = ::lseek(fd.get(), 0, SEEK_END);
    ASSERT_EQ(::posix_fallocate(fd.get(), end, static_cast<off_t>((free - blocks) * kBlock)), 0);
  }

  void make_space() const { std::filesystem::remove(filler()); }

 private:
  std::string filler() const { return stage_.repo() + "/filler"; }

  FaultStage& stage_;
  bool mounted_ = false;
};

}  // namespace lockkeeper::faults
