// F13: a small disk is full, whatever is being written, and then has space again: `no_space`,
// nothing is granted, what is held can be seen and released, and it recovers by itself (I10, L9).
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <filesystem>

#include "base/fd.h"
#include "chaos/faults/fault_stage.h"
#include "chaos/faults/namespaces.h"

namespace lockkeeper::faults {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBlock = 4096;

class F13FullDisk : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const std::string why = own_mounts(); !why.empty()) GTEST_SKIP() << why;
    ASSERT_EQ(::mount("small", stage_.repo().c_str(), "tmpfs", 0, "size=6m"), 0);
    mounted_ = true;
    stage_.env["XDG_STATE_HOME"] = stage_.repo() + "/.state";  // no way out
    stage_.git("repo", {"init", "-q", "."});
    stage_.set_durability(GetParam());
    fs::create_directory(stage_.repo() + "/.state");
  }

  void TearDown() override {
    if (mounted_) {
      EXPECT_EQ(::umount2(stage_.repo().c_str(), MNT_DETACH), 0);
    }
  }

  std::string filler() const { return stage_.repo() + "/filler"; }

  // Leaves so many blocks, of which a file's name may need one.
  void fill_but(std::size_t blocks) const {
    const Fd fd(::open(filler().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    struct statvfs disk{};
    ASSERT_EQ(::fstatvfs(fd.get(), &disk), 0);
    const std::size_t free = disk.f_bavail * disk.f_frsize / kBlock;
    if (free <= blocks) return;
    const off_t end = ::lseek(fd.get(), 0, SEEK_END);
    ASSERT_EQ(::posix_fallocate(fd.get(), end, static_cast<off_t>((free - blocks) * kBlock)), 0);
  }

  void make_space() const { fs::remove(filler()); }

  InMemory in_memory_;
  FaultStage stage_{Stage::Git::kNo};
  bool mounted_ = false;
};

INSTANTIATE_TEST_SUITE_P(Durability, F13FullDisk, testing::Values("full", "process"),
                         [](const auto& of) { return std::string(of.param); });

TEST_P(F13FullDisk, F13_I10_L9_GrantsAreRefusedReleasesWorkAndSpaceIsFoundAgain) {
  const std::string reason(4'000, 'r');
  std::uint64_t fence = stage_.expect(0, "ann", {"acquire", "first"}).fence();
  Process waiter = stage_.start("bob", {"acquire", "first", "--wait=60s"});
  ASSERT_TRUE(stage_.queue_grows_to(1));
  fill_but(300);
  std::vector<std::string> held;
  Answer last;
  for (int i = 0; i < 2'000; ++i) {
    const std::string name = "f" + std::to_string(i);
    last = stage_.json("ann", {"acquire", name, "--reason", reason});
    if (last.status != 0) break;
    EXPECT_GT(last.fence(), fence) << "I3";
    fence = last.fence();
    held.push_back(name);
  }
  EXPECT_EQ(code_of(last), "no_space") << last.all();
  ASSERT_GT(held.size(), 10U);
  fill_but(0);  // nothing left for anybody
  stage_.expect(75, "bob", {"check", held.back()});
  EXPECT_EQ(stage_.list()["leases"].size(), held.size() + 1) << "half of a grant";
  stage_.expect(0, "", {"doctor"});
  stage_.expect(0, "ann", {"release", "first"});
  for (const std::string& name : held) stage_.expect(0, "ann", {"release", name});
  EXPECT_EQ(waiter.wait(), 0) << waiter.err();
  // The pages of what was released are free again, although the disk is not.
  stage_.expect(0, "ann", {"acquire", "small"});
  make_space();
  for (int i = 0; i < 20; ++i) {
    stage_.expect(0, "cat", {"acquire", "g" + std::to_string(i), "--reason", reason});
  }
  stage_.expect(75, "dan", {"acquire", "first"});
  stage_.expect(0, "", {"doctor"});
}

// A lease is taken with so many blocks left, from none on, in a store that is only being made.
TEST_P(F13FullDisk, F13_I9_I10_L9_CreationAtEveryFill) {
  for (std::size_t blocks = 0; blocks < 600; blocks += blocks < 40 ? 1 : 60) {
    SCOPED_TRACE(std::to_string(blocks) + " blocks left");
    fs::remove_all(stage_.store());
    fs::remove_all(stage_.repo() + "/.state/lockkeeper");
    fill_but(blocks);
    const Answer taken = stage_.json("ann", {"acquire", "a"});
    if (taken.status != 0) {
      EXPECT_EQ(code_of(taken), "no_space") << taken.all();
    }
    make_space();
    stage_.expect(taken.status == 0 ? 75 : 0, "bob", {"acquire", "a"});
    stage_.expect(0, "", {"doctor"});
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace lockkeeper::faults
