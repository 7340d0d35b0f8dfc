// F13: a small disk is full, whatever is being written, and then has space again: `no_space`,
// nothing is granted, what is held can be seen and released, and it recovers by itself (I10, L9).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "chaos/faults/small_disk.h"

namespace lockkeeper::faults {
namespace {

namespace fs = std::filesystem;

class F13FullDisk : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const std::string why = disk_.mount(); !why.empty()) GTEST_SKIP() << why;
    stage_.set_durability(GetParam());
  }

  InMemory in_memory_;
  FaultStage stage_{Stage::Git::kNo};
  SmallDisk disk_{stage_};
};

INSTANTIATE_TEST_SUITE_P(Durability, F13FullDisk, testing::Values("full", "process"),
                         [](const auto& of) { return std::string(of.param); });

TEST_P(F13FullDisk, F13_I10_L9_GrantsAreRefusedReleasesWorkAndSpaceIsFoundAgain) {
  const std::string reason(4'000, 'r');
  std::uint64_t fence = stage_.expect(0, "ann", {"acquire", "first"}).fence();
  Process waiter = stage_.start("bob", {"acquire", "first", "--wait=60s"});
  ASSERT_TRUE(stage_.queue_grows_to(1));
  disk_.fill_but(300);
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
  disk_.fill_but(0);  // nothing left for anybody
  stage_.expect(75, "bob", {"check", held.back()});
  EXPECT_EQ(stage_.list()["leases"].size(), held.size() + 1) << "half of a grant";
  stage_.expect(0, "", {"doctor"});
  stage_.expect(0, "ann", {"release", "first"});
  for (const std::string& name : held) stage_.expect(0, "ann", {"release", name});
  EXPECT_EQ(waiter.wait(), 0) << waiter.err();
  // The pages of what was released are free again, although the disk is not.
  stage_.expect(0, "ann", {"acquire", "small"});
  disk_.make_space();
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
    disk_.fill_but(blocks);
    const Answer taken = stage_.json("ann", {"acquire", "a"});
    if (taken.status != 0) {
      EXPECT_EQ(code_of(taken), "no_space") << taken.all();
    }
    disk_.make_space();
    stage_.expect(taken.status == 0 ? 75 : 0, "bob", {"acquire", "a"});
    stage_.expect(0, "", {"doctor"});
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace lockkeeper::faults
