// F14: the N-th call that could fail with quota, EIO, EROFS, EMFILE, ENOMEM or ENOLCK does, once,
// a few times or from then on, N = 1, 2, 3, … until the program completes without. For every N: a
// known error, never a signal. An error means that nothing happened, `unknown` that the caller must
// ask again (I9). Nothing is half done (I2, I10). Afterwards everything works by itself (L9).
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>

#include "chaos/faults/fault_stage.h"

namespace lockkeeper::faults {
namespace {

constexpr int kCallsMost = 1'000;

constexpr long kOn = 1'000'000;

struct Fault {
  int error;
  long times;
  const char* durability;

  std::string name() const {
    return std::string(::strerrorname_np(error)) + "_" +
           (times == kOn ? "on" : std::to_string(times)) + "_" + durability;
  }
};

std::ostream& operator<<(std::ostream& out, const Fault& fault) {
  return out << fault.name();
}

// Those of the default run are enough to reach every call; with LOCKKEEPER_FAULTS_TRIALS all.
std::vector<Fault> faults() {
  if (trials(0) == 0) {
    return {{EIO, 1, "full"},    {EIO, kOn, "full"},     {EDQUOT, 1, "full"}, {EROFS, 1, "process"},
            {EMFILE, 1, "full"}, {ENOMEM, 1, "process"}, {ENOLCK, 1, "full"}};
  }
  std::vector<Fault> all;
  for (const int error : {EIO, EDQUOT, ENOSPC, EROFS, EMFILE, ENFILE, ENOMEM, ENOLCK, EACCES}) {
    for (const long times : {1L, 2L, 3L, 7L, kOn}) {
      for (const char* durability : {"full", "process"}) all.push_back({error, times, durability});
    }
  }
  return all;
}

class F14FailingCalls : public testing::TestWithParam<Fault> {
 protected:
  void SetUp() override {
    if (const std::string why = no_preload(); !why.empty()) GTEST_SKIP() << why;
    stage_.set_durability(GetParam().durability);
  }

  // The program with its N-th call failing; the name of that call is in hit().
  Answer faulty(const std::string& agent, const Words& words) {
    std::filesystem::remove(stage_.path("hit"));
    const std::string plan = std::to_string(GetParam().error) + ":" + std::to_string(call_) + ":" +
                             std::to_string(GetParam().times);
    return stage_.with({{"FAIL", plan}, {"HIT", stage_.path("hit")}}, agent, words);
  }

  std::string hit() const { return stage::read_text(stage_.path("hit")); }

  // Calls `once` with N = 1, 2, … until the fault did not come.
  void at_every_call(const std::function<void()>& once) {
    for (call_ = 1; call_ < kCallsMost; ++call_) {
      SCOPED_TRACE("call " + std::to_string(call_));
      once();
      SCOPED_TRACE("failed: " + hit());
      if (HasFailure()) return;
      if (hit().empty()) {
        EXPECT_GT(call_, 1) << "the plan had no effect";
        return;
      }
    }
    FAIL() << "never came to an end";
  }

  Json leases_of(const std::string& agent) {
    Json found = Json::array();
    const Json list = stage_.list();
    for (const Json& lease : list["leases"]) {
      if (lease["agent"] == agent) found.push_back(lease);
    }
    return found;
  }

  // An error other than `unknown` means that nothing happened.
  void expect_honest(const Answer& answer, bool happened) const {
    SCOPED_TRACE("failed: " + hit());
    if (answer.status == 0) {
      EXPECT_TRUE(happened) << "I9: said so, but it is not\n" << answer.all();
      return;
    }
    expect_named(answer);
    if (code_of(answer) != "unknown") {
      EXPECT_FALSE(happened) << "I9: said no, but it did\n" << answer.all();
    }
  }

  InMemory in_memory_;
  FaultStage stage_;
  int call_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Errors, F14FailingCalls, testing::ValuesIn(faults()),
                         [](const auto& of) { return of.param.name(); });

TEST_P(F14FailingCalls, F14_I2_I9_I10_L9_AcquireAndRelease) {
  stage_.expect(0, "ann", {"acquire", "kept"});
  at_every_call([&] {
    const Words words{"acquire", "a", "dir/", "--request-id", "r" + std::to_string(call_)};
    const Answer taken = faulty("bob", words);
    const Json held = leases_of("bob");
    expect_honest(taken, !held.empty());
    if (!held.empty()) {
      EXPECT_EQ(held[0]["resources"].size(), 2U) << "I2: " << held.dump();
    }
    const Answer again = stage_.expect(0, "bob", words);  // L9, I8
    if (!held.empty()) {
      EXPECT_EQ(again.lease(), held[0]["id"]) << "I8";
    }
    stage_.expect(75, "cat", {"acquire", "kept"});
    stage_.expect(0, "bob", {"release", "--all"});
  });
  stage_.expect(0, "", {"doctor"});
}

TEST_P(F14FailingCalls, F14_I9_I10_L9_ReleaseAndCheck) {
  stage_.expect(0, "ann", {"acquire", "kept"});
  at_every_call([&] {
    stage_.expect(0, "bob", {"acquire", "a", "b"});
    const Answer freed = faulty("bob", {"release", "a", "b"});
    const Json held = leases_of("bob");
    expect_honest(freed, held.empty());
    if (!held.empty()) {
      EXPECT_EQ(held[0]["resources"].size(), 2U) << "half: " << held.dump();
      stage_.expect(0, "bob", {"release", "--all"});
    }
  });
  at_every_call([&] {
    const Answer checked = faulty("cat", {"check", "kept"});
    EXPECT_NE(checked.status, 0) << "I10: cannot tell is not free\n" << checked.all();
    expect_named(checked);
  });
  stage_.expect(0, "", {"doctor"});
}

// A store that is being made: made, or not there, or finished by the next.
TEST_P(F14FailingCalls, F14_I9_I10_L9_Creation) {
  at_every_call([&] {
    std::filesystem::remove_all(stage_.store());
    std::filesystem::remove_all(stage_.path("state/lockkeeper"));
    const Answer taken = faulty("bob", {"acquire", "a"});
    const bool held = !leases_of("bob").empty();
    expect_honest(taken, held);
    stage_.expect(0, "bob", {"acquire", "a"});
    stage_.expect(75, "cat", {"acquire", "a"});
    stage_.expect(0, "", {"doctor"});
  });
}

}  // namespace
}  // namespace lockkeeper::faults
