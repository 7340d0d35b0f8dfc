// F11: the machine boots again. Durability `full` loses nothing that was acknowledged; a store of
// durability `process` is begun anew and says so; fences never go back (I3, I5), whatever the clock
// shows by then. What a power cut does to the files on the way is f12_power_cut_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "chaos/faults/fault_stage.h"
#include "chaos/faults/trace.h"

namespace lockkeeper::faults {
namespace {

using stage::eventually;
using stage::read_text;
using stage::write_text;
using testing::IsSupersetOf;

class F11Reboot : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = no_preload(); !why.empty()) GTEST_SKIP() << why;
    boot();
    stage_.have({{"BOOT", stage_.path("boot")}});
  }

  void boot() {
    write_text(stage_.path("boot"),
               "00000000-0000-0000-0000-00000000000" + std::to_string(boots_++) + "\n");
  }

  // Of the events with this cause, the leases.
  std::vector<std::string> ended_by_reboot() {
    std::vector<std::string> leases;
    for (const Json& event : stage_.expect(0, "", {"log"}).lines()) {
      if (event["cause"] == "reboot") leases.push_back(event["lease"]);
    }
    return leases;
  }

  InMemory in_memory_;
  FaultStage stage_;
  int boots_ = 0;
};

TEST_F(F11Reboot, F11_I3_I5_FullKeepsWhatIsDetachedAndEndsWhatWasBoundToProcesses) {
  const Answer kept = stage_.expect(0, "ann", {"acquire", "kept", "--ttl", "1h"});
  const Answer endless = stage_.expect(0, "ann", {"acquire", "endless", "--ttl", "none"});
  Process run = stage_.start("bob", {"run", "job", "--", "sleep", "600"});
  ASSERT_TRUE(eventually([&] { return stage_.list()["leases"].size() == 3; }));
  Process waiter = stage_.start("cat", {"acquire", "kept", "--wait"});
  ASSERT_TRUE(stage_.queue_grows_to(1));
  std::string job;
  const Json list = stage_.list();
  for (const Json& lease : list["leases"]) {
    if (lease["agent"] == "bob") job = lease["id"];
  }
  run.signal_group(SIGKILL);
  waiter.signal_group(SIGKILL);
  boot();
  stage_.expect(75, "dan", {"acquire", "kept"});
  stage_.expect(75, "dan", {"acquire", "endless"});
  const Answer next = stage_.expect(0, "dan", {"acquire", "job"});
  EXPECT_GT(next.fence(), endless.fence()) << "I3";
  EXPECT_EQ(stage_.list()["waiters"].size(), 0U);
  stage_.expect(0, "ann", {"check", "kept", "--fence", std::to_string(kept.fence())});
  stage_.expect(0, "ann", {"renew", "--lease", kept.lease()});
  stage_.expect(0, "ann", {"release", "--lease", endless.lease()});
  std::size_t ends = 0;
  for (const Json& event : stage_.expect(0, "", {"log"}).lines()) {
    if (event["lease"] == job && event["event"] != "granted") {
      EXPECT_EQ(event["cause"], "reboot") << event.dump();
      ++ends;
    }
  }
  EXPECT_EQ(ends, 1U) << "I11";
  stage_.expect(0, "", {"doctor"});
}

TEST_F(F11Reboot, F11_I3_I5_ProcessBeginsAnewWithTheCauseOnRecord) {
  stage_.set_durability("process");
  const Answer first = stage_.expect(0, "ann", {"acquire", "a"});
  const Answer second = stage_.expect(0, "bob", {"acquire", "b"});
  boot();
  const Answer next = stage_.expect(0, "cat", {"acquire", "a", "b"});
  EXPECT_GT(next.fence(), second.fence()) << "I3";
  EXPECT_THAT(ended_by_reboot(), IsSupersetOf({first.lease(), second.lease()})) << "I5, I11";
  const Answer told = stage_.expect(79, "ann", {"renew", "--lease", first.lease()});
  EXPECT_EQ(code_of(told), "lost");
  stage_.expect(79, "ann", {"check", "a", "--fence", std::to_string(first.fence())});
  stage_.expect(0, "", {"doctor"});
}

// Nothing of it was ever synced: what is left after the boot may be anything.
TEST_F(F11Reboot, F11_I3_I10_ProcessWithNothingLeftOfItsDataStillRaisesFences) {
  stage_.set_durability("process");
  std::uint64_t fence = 0;
  SeededRandom random(11);
  for (int round = 0; round < 8; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    for (const char* name : {"a", "b", "c"}) {
      const Answer held = stage_.expect(0, "ann", {"acquire", name + std::to_string(round)});
      EXPECT_GT(held.fence(), fence) << "I3";
      fence = held.fence();
    }
    boot();
    if (round % 4 == 0) std::filesystem::resize_file(stage_.data(), 0);
    if (round % 4 == 1) std::filesystem::resize_file(stage_.data(), 4096 * 3);
    if (round % 4 == 2) {
      std::string bytes = read_text(stage_.data()).substr(0, 65536);
      for (char& byte : bytes) byte = static_cast<char>(random.next());
      write_text(stage_.data(), bytes);
    }
    if (round % 2 == 1) write_text(stage_.store() + "/gate", std::string(36864, '\0'));
    const Answer probe = stage_.expect(0, "bob", {"acquire", "probe"});
    if (probe.status != 0) return;
    EXPECT_GT(probe.fence(), fence) << "I3";
    fence = probe.fence();
    EXPECT_EQ(stage_.list()["leases"].size(), 1U);
    stage_.expect(0, "", {"doctor"});
  }
}

TEST_F(F11Reboot, F11_I6_ADetachedLeaseGetsItsFullLengthAgain) {
  stage_.expect(0, "ann", {"acquire", "a", "--ttl", "5s"});
  boot();
  const Json lease = stage_.list()["leases"].at(0);
  EXPECT_EQ(lease["agent"], "ann");
  stage_.expect(75, "bob", {"acquire", "a"});
  stage_.expect(0, "bob", {"acquire", "a", "--wait=60s"});
}

}  // namespace
}  // namespace lockkeeper::faults
