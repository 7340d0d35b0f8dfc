// F15: the store's files are emptied, cut, deleted, swapped, restored from an old copy or rolled
// back, while processes use them: lost state, nothing is granted (I10), nobody dies of a signal,
// the doctor repairs, and fences go on (I3). A whole folder restored from a copy is a store again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>

#include "chaos/faults/fault_stage.h"

namespace lockkeeper::faults {
namespace {

namespace fs = std::filesystem;
using stage::eventually;
using stage::read_text;
using stage::write_text;
using testing::AnyOf;

struct Loss {
  const char* name;
  // What happens to the store of `stage`; there is an old copy of its folder at `copy`.
  std::function<void(const FaultStage& stage, const std::string& copy)> happen;
  bool usable = false;  // afterwards it is a store again, and says what it knew by then
};

std::ostream& operator<<(std::ostream& out, const Loss& loss) {
  return out << loss.name;
}

// As a careful tool does: the old name is never without a file.
void replace(const std::string& path, const std::string& by) {
  fs::copy_file(by, path + ".tmp", fs::copy_options::overwrite_existing);
  fs::rename(path + ".tmp", path);
}

const Loss kLosses[] = {
    {"Emptied", [](const auto& stage, const auto&) { fs::resize_file(stage.data(), 0); }},
    {"CutToHalf",
     [](const auto& stage, const auto&) {
       const std::size_t used = read_text(stage.data()).find_last_not_of('\0');
       fs::resize_file(stage.data(), used / 2 / 4096 * 4096);
     }},
    {"CutInsideTheMetas",
     [](const auto& stage, const auto&) { fs::resize_file(stage.data(), 5'000); }},
    {"DataDeleted", [](const auto& stage, const auto&) { fs::remove(stage.data()); }},
    {"FolderDeleted", [](const auto& stage, const auto&) { fs::remove_all(stage.store()); }},
    {"EpochsDeleted",
     [](const auto& stage, const auto&) {
       fs::remove(stage.epoch_copy());
       fs::remove(stage.store() + "/epoch");
     }},
    {"DataOfAnotherStore",
     [](const auto& stage, const auto&) {
       FaultStage other;
       other.expect(0, "zed", {"acquire", "z"});
       replace(stage.data(), other.data());
     }},
    {"DataOfAnotherStoreInPlace",
     [](const auto& stage, const auto&) {
       FaultStage other;
       other.expect(0, "zed", {"acquire", "z"});
       write_text(stage.data(), read_text(other.data()));
     }},
    {"DataRolledBack",
     [](const auto& stage, const auto& copy) { replace(stage.data(), copy + "/data.mdb"); }},
    {"DataRolledBackInPlace",
     [](const auto& stage, const auto& copy) {
       write_text(stage.data(), read_text(copy + "/data.mdb"));
     }},
    {"DataAndEpochRolledBack",
     [](const auto& stage, const auto& copy) {
       replace(stage.data(), copy + "/data.mdb");
       replace(stage.store() + "/epoch", copy + "/epoch");
     }},
    {"Overwritten",
     [](const auto& stage, const auto&) { write_text(stage.data(), std::string(80'000, 'x')); }},
    {"FolderRestoredFromAnOldCopy",
     [](const auto& stage, const auto& copy) {
       fs::rename(stage.store(), stage.path("former"));
       fs::copy(copy, stage.store(), fs::copy_options::recursive);
     },
     true},
    {"FolderAndEpochCopyRestored",
     [](const auto& stage, const auto& copy) {
       fs::rename(stage.store(), stage.path("former"));
       fs::copy(copy, stage.store(), fs::copy_options::recursive);
       replace(stage.epoch_copy(), copy + "/epoch");
     },
     true},
    {"GateDeleted", [](const auto& stage, const auto&) { fs::remove(stage.store() + "/gate"); },
     true},
    {"GateEmptied",
     [](const auto& stage, const auto&) { fs::resize_file(stage.store() + "/gate", 0); }, true},
};

class F15LostStore : public testing::TestWithParam<std::tuple<Loss, const char*>> {
 protected:
  const Loss& loss() const { return std::get<0>(GetParam()); }

  void SetUp() override {
    stage_.set_durability(std::get<1>(GetParam()));
    for (int i = 0; i < 12; ++i) stage_.expect(0, "ann", {"acquire", "old" + std::to_string(i)});
    fs::copy(stage_.store(), stage_.path("copy"), fs::copy_options::recursive);
    for (int i = 0; i < 5; ++i) {
      fence_ = stage_.expect(0, "ann", {"acquire", "new" + std::to_string(i)}).fence();
    }
  }

  void lose() { loss().happen(stage_, stage_.path("copy")); }

  // Nothing is granted and nothing is called free, or all is well with greater fences.
  void expect_closed_or_usable() {
    if (loss().usable) {
      stage_.expect(75, "dan", {"acquire", "old3"});
      const Answer taken = stage_.expect(0, "dan", {"acquire", "else"});
      if (taken.status == 0) {
        EXPECT_GT(taken.fence(), fence_) << "I3";
      }
      stage_.expect(0, "", {"doctor"});
      return;
    }
    for (const Words& words :
         std::vector<Words>{{"acquire", "else"}, {"check", "old3"}, {"list"}, {"doctor"}}) {
      const Answer refused = stage_.expect(69, "dan", words);
      EXPECT_EQ(code_of(refused), "store_corrupt") << words[0] << "\n" << refused.all();
    }
  }

  void expect_repaired() {
    stage_.expect(0, "", {"doctor", "--repair"});
    EXPECT_EQ(stage_.expect(0, "", {"doctor"}).json()["healthy"], true);
    const Answer taken = stage_.expect(0, "eve", {"acquire", "after"});
    if (taken.status == 0) {
      EXPECT_GT(taken.fence(), fence_) << "I3";
    }
  }

  InMemory in_memory_;
  FaultStage stage_;
  std::uint64_t fence_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Losses, F15LostStore,
                         testing::Combine(testing::ValuesIn(kLosses),
                                          testing::Values("full", "process")),
                         [](const auto& of) {
                           return std::get<0>(of.param).name + std::string("_") +
                                  std::get<1>(of.param);
                         });

// Three processes have it open: one waits, one renews, one follows.
TEST_P(F15LostStore, F15_I3_I10_UnderRunningProcesses) {
  Process waiter = stage_.start("bob", {"acquire", "old3", "--wait", "--json"});
  ASSERT_TRUE(stage_.queue_grows_to(1));
  Process run = stage_.start("cat", {"run", "--ttl", "1s", "job", "--", "sleep", "600"});
  ASSERT_TRUE(eventually([&] { return stage_.list()["leases"].size() == 18; }));
  Process follower = stage_.start("", {"log", "--follow", "--json"});
  ASSERT_TRUE(eventually([&] { return !follower.out().empty(); }));
  for (const Json& lease : stage_.list()["leases"].get<std::vector<Json>>()) {
    fence_ = std::max(fence_, lease["fence"].get<std::uint64_t>());
  }
  lose();
  expect_closed_or_usable();
  // By its next look, a second away at most, the one that renews has seen it too.
  const bool patient = std::get<1>(GetParam()) == std::string("full");
  if (eventually([&] { return !run.running(); }, patient ? 1'000 : 0)) {
    EXPECT_THAT(run.wait(), AnyOf(69, 79)) << run.err();
  }
  if (!waiter.running()) {
    EXPECT_THAT(waiter.wait(), AnyOf(69, 79)) << "granted what ann holds, or died\n"
                                              << waiter.out() << waiter.err();
  }
  if (!follower.running()) {
    EXPECT_EQ(follower.wait(), 69) << follower.err();
  }
  expect_repaired();
}

}  // namespace
}  // namespace lockkeeper::faults
