// F12: the power is cut at any point of a history, also while a commit or an epoch file is being
// written; of what was not synced any 512-byte sectors may have arrived. Then the machine boots: an
// epoch never lower, fences never again (I3), with durability `full` every acknowledged lease (I5),
// a store that works or says that it does not (I10).
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "chaos/faults/power.h"

namespace lockkeeper::faults {
namespace {

// The disk itself, by hand: what must be there after a cut, what may, and what cannot.
TEST(F12Disk, F12_KeepsWhatWasSyncedAndOnlyWhatWasWritten) {
  const std::string old_bytes(2'048, 'o');
  const std::string new_bytes(2'048, 'n');
  Disk disk;
  disk.apply({TraceKind::kMade, 7, 0, "/d/a.new"});
  disk.apply({TraceKind::kWrote, 7, 0, old_bytes});
  disk.apply({TraceKind::kSynced, 7, 0, "/d/a.new"});
  disk.apply({TraceKind::kMovedFrom, 0, 0, "/d/a.new"});
  disk.apply({TraceKind::kMovedTo, 0, 0, "/d/a"});
  disk.apply({TraceKind::kSynced, 1, 0, "/d"});
  disk.apply({TraceKind::kWrote, 7, 0, new_bytes});
  disk.apply({TraceKind::kMade, 8, 0, "/d/b"});
  std::set<std::string> seen;
  std::set<std::size_t> files;
  SeededRandom random(12);
  for (int i = 0; i < 500; ++i) {
    const Disk::Image image = disk.cut(random);
    files.insert(image.size());
    ASSERT_TRUE(image.contains("/d/a"));
    const std::string& bytes = image.at("/d/a").bytes;
    ASSERT_EQ(bytes.size(), 2'048U);
    for (std::size_t at = 0; at < bytes.size(); at += 512) {
      const std::string sector = bytes.substr(at, 512);
      ASSERT_TRUE(sector == std::string(512, 'o') || sector == std::string(512, 'n'));
    }
    seen.insert(bytes);
  }
  EXPECT_EQ(seen.size(), 16U) << "every mixture of four sectors";
  EXPECT_EQ(files, (std::set<std::size_t>{1, 2})) << "a name that was not synced may be there";
}

class F12PowerCut : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const std::string why = no_preload(); !why.empty()) GTEST_SKIP() << why;
  }

  // Cuts at random points, and at every one if there are enough trials.
  static void cut(PowerStage& power, std::uint64_t count) {
    power.finish();
    const std::uint64_t start = seed();
    SeededRandom random(start);
    for (std::uint64_t trial = 0; trial < count && !HasFailure(); ++trial) {
      // In order, so that the disk's state is built once.
      const std::size_t step = trial * power.length() / count;
      const std::size_t most = std::max<std::size_t>(1, power.length() / count);
      const std::size_t at = std::min(step + random_below(random, most) + 1, power.length());
      SCOPED_TRACE("LOCKKEEPER_FAULTS_SEED=" + std::to_string(start) + ", trial " +
                   std::to_string(trial) + ", cut after record " + std::to_string(at));
      power.cut(at, random);
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Durability, F12PowerCut, testing::Values("full", "process"),
                         [](const auto& of) { return std::string(of.param); });

// From nothing: creation, commits, a boot or two with their epochs.
TEST_P(F12PowerCut, F12_F11_I3_I5_I10_OneActor) {
  PowerStage power(GetParam());
  power.take("ann", "a");
  power.take("ann", "b");
  power.free("ann", "a");
  power.run("ann", "job");
  power.reboot();
  power.take("ann", "c");
  power.renew("ann", "c");
  power.take("ann", "dir/");
  power.free("ann", "c");
  power.reboot();
  power.take("ann", "e");
  power.free("ann", "e");
  cut(power, trials(300) / 2);
}

// Commits that overlap: one's sync comes after another's write.
TEST_P(F12PowerCut, F12_I3_I5_I10_FourActorsAtOnce) {
  PowerStage power(GetParam());
  power.take("ann", "first");
  const auto life = [&](const std::string& actor) {
    for (const char* name : {"1", "2", "3"}) {
      power.take(actor, actor + name);
      if (*name != '2') power.free(actor, actor + name);
    }
    power.renew(actor, actor + "2");
  };
  std::vector<std::thread> threads;
  for (const char* name : {"bob", "cat", "dan", "eve"}) threads.emplace_back(life, name);
  for (std::thread& thread : threads) thread.join();
  cut(power, trials(300) / 2);
}

}  // namespace
}  // namespace lockkeeper::faults
