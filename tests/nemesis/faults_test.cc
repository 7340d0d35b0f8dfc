// One fault after the other, in a fixed order: what is told meanwhile, what is kept, and that all
// goes on afterwards. Three members of etcd, a hub and two desks, each with a network of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "linear/door.h"
#include "nemesis/hubs.h"
#include "nemesis/members.h"

namespace lockkeeper::nemesis {
namespace {

using stage::Answer;
using stage::Process;
using testing::AnyOf;
using testing::HasSubstr;

constexpr std::int64_t kMs = 1'000'000;
constexpr int kHeldStatus = 75;

struct Town {
  Network network;
  Members members{network, 48};
  Hubs hubs{network, members, 1, "town"};
  Desk here{network, hubs, "anna"};
  Desk there{network, hubs, "ben"};
};

class Faults : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (why_not().empty()) town_ = std::make_unique<Town>();
  }
  static void TearDownTestSuite() { town_.reset(); }
  void SetUp() override {
    if (!why_not().empty()) GTEST_SKIP() << why_not();
    for (Desk* const desk : {&town_->here, &town_->there}) {
      EXPECT_TRUE(stage::eventually([&] { return ask(*desk, {"check", "z"}).status == 0; }));
    }
    name_ = testing::UnitTest::GetInstance()->current_test_info()->name();
  }
  void TearDown() override {
    if (town_ == nullptr) return;
    town_->network.heal();
    for (std::size_t i = 0; i < Members::kCount; ++i) members().go_on(i);
    members().wait_until_sound();
    for (Desk* const desk : {&town_->here, &town_->there}) {
      EXPECT_TRUE(stage::eventually([&] {
        hubs().tend();
        return ask(*desk, {"release", "--all"}).status == 0;
      }));
    }
  }

  static Members& members() { return town_->members; }
  static Hubs& hubs() { return town_->hubs; }
  static Answer ask(Desk& desk, const stage::Words& words) {
    const Stay stay(desk.machine());
    return desk.stage().json("agent", words);
  }
  static Process begin(Desk& desk, const stage::Words& words) {
    const Stay stay(desk.machine());
    return desk.stage().start("agent", words);
  }
  static bool is_granted_soon(Desk& desk, const stage::Words& words) {
    return stage::eventually([&] { return ask(desk, words).status == 0; });
  }
  // Neither granted, nor free, nor held: nobody can know.
  static void expect_nobody_knows(Desk& desk, const stage::Words& words) {
    const Answer answer = ask(desk, words);
    EXPECT_NE(answer.status, 0) << answer.all();
    EXPECT_NE(answer.status, kHeldStatus) << answer.all();
    EXPECT_THAT(std::string(answer.json()["error"]["code"]),
                AnyOf("store_unavailable", "unknown", "store_busy"))
        << answer.all();
  }
  std::string resource(const std::string& name) const { return name_ + "/" + name; }

  static std::unique_ptr<Town> town_;
  std::string name_;
};

std::unique_ptr<Town> Faults::town_;

TEST_F(Faults, F24_I5_I9_L9_AHubThatIsCutOffFromEtcdKnowsNothingAndThenGoesOn) {
  ASSERT_EQ(ask(town_->here, {"acquire", resource("a")}).status, 0);
  const std::string hub = hubs().machine(0).address;
  std::string rules;
  for (std::size_t i = 0; i < Members::kCount; ++i) {
    rules += "ip saddr " + hub + " ip daddr " + members().machine(i).address + " drop\n";
    rules += "ip saddr " + members().machine(i).address + " ip daddr " + hub + " drop\n";
  }
  town_->network.set_rules(rules);
  expect_nobody_knows(town_->there, {"acquire", resource("b")});
  expect_nobody_knows(town_->there, {"check", resource("a")});
  town_->network.heal();
  EXPECT_TRUE(is_granted_soon(town_->there, {"acquire", resource("b")}));
  EXPECT_EQ(ask(town_->there, {"acquire", resource("a")}).status, kHeldStatus);
  EXPECT_EQ(ask(town_->here, {"acquire", resource("a")}).json()["outcome"], "renewed");
}

// Whatever happened to the first one: the same request is granted once, and has one fence.
TEST_F(Faults, F24_I1_I8_I9_ARequestOnABadWayIsDecidedByAskingAgain) {
  using etcd_testing::Proxy;
  const std::vector<std::pair<const char*, void (*)(Proxy&)>> ways = {
      {"swallowed", [](Proxy& proxy) { proxy.swallow(); }},
      {"late", [](Proxy& proxy) { proxy.hold_requests(); }},
      {"unanswered", [](Proxy& proxy) { proxy.lose_answers(); }},
      {"slow", [](Proxy& proxy) { proxy.delay(2'000); }}};
  for (const auto& [name, spoil] : ways) {
    SCOPED_TRACE(name);
    for (auto& proxy : hubs().through_proxies(0)) spoil(*proxy);
    const stage::Words words = {"acquire", resource(name), "--request-id", name};
    static_cast<void>(ask(town_->here, words));
    for (auto& proxy : hubs().proxies(0)) proxy->deliver_within(std::chrono::milliseconds(300));
    hubs().direct(0);
    Answer granted;
    EXPECT_TRUE(stage::eventually([&] {
      granted = ask(town_->here, words);
      return granted.status == 0;
    })) << granted.all();
    EXPECT_EQ(ask(town_->there, {"acquire", resource(name)}).status, kHeldStatus);
    EXPECT_EQ(ask(town_->here, words).fence(), granted.fence());
    EXPECT_EQ(ask(town_->here, {"release", resource(name)}).status, 0);
    EXPECT_TRUE(is_granted_soon(town_->there, {"acquire", resource(name)}));
  }
}

TEST_F(Faults, F24_I5_L9_LossAndResetsEndNoLease) {
  Process holder = [&] {
    const Stay stay(town_->here.machine());
    return town_->here.stage().start_holding("holder", resource("held"));
  }();
  const std::string& hub = hubs().machine(0).address;
  town_->network.set_rules("ip saddr " + hub + " numgen random mod 100 < 30 drop\nip daddr " + hub +
                           " numgen random mod 100 < 30 drop\n");
  EXPECT_TRUE(is_granted_soon(town_->there, {"acquire", resource("lossy")}));
  town_->network.heal();
  set_rules_of(hubs().machine(0),
               "iif eth0 tcp flags & rst == 0 numgen random mod 100 < 10 reject with tcp reset\n",
               "");
  EXPECT_TRUE(is_granted_soon(town_->there, {"acquire", resource("reset")}));
  set_rules_of(hubs().machine(0), "", "");
  EXPECT_TRUE(is_granted_soon(town_->there, {"acquire", resource("well")}));
  EXPECT_EQ(ask(town_->there, {"acquire", resource("held")}).status, kHeldStatus);
  EXPECT_TRUE(holder.running());
  holder.signal_group(SIGKILL);
  EXPECT_TRUE(is_granted_soon(town_->there, {"acquire", resource("held")}));
}

// While it is away, the two others go on.
TEST_F(Faults, F25_I5_L9_ALeaderThatIsKilledStoppedOrStepsDownEndsNoLease) {
  Process holder = [&] {
    const Stay stay(town_->here.machine());
    return town_->here.stage().start_holding("holder", resource("held"));
  }();
  const auto goes_on = [&](const char* what) {
    SCOPED_TRACE(what);
    EXPECT_TRUE(is_granted_soon(town_->there, {"acquire", resource(what)}));
    EXPECT_TRUE(stage::eventually(
        [&] { return ask(town_->there, {"acquire", resource("held")}).status == kHeldStatus; }));
    EXPECT_TRUE(holder.running());
  };
  std::size_t leader = members().leader().value();
  members().kill(leader);
  goes_on("killed");
  members().start(leader);
  members().wait_until_sound();

  leader = members().leader().value();
  members().stop(leader);
  goes_on("stopped");
  members().go_on(leader);
  members().wait_until_sound();

  members().move_leader();
  goes_on("moved");
  members().replace(members().leader().value());
  goes_on("replaced");
  members().wait_until_sound();
}

TEST_F(Faults, F26_I1_I5_L9_WithoutAQuorumNothingIsGrantedAndThenAllGoesOn) {
  Process holder = [&] {
    const Stay stay(town_->here.machine());
    return town_->here.stage().start_holding("holder", resource("held"));
  }();
  members().kill(0);
  members().stop(1);
  expect_nobody_knows(town_->there, {"acquire", resource("a")});
  expect_nobody_knows(town_->there, {"acquire", resource("held")});
  members().go_on(1);
  members().start(0);
  EXPECT_TRUE(is_granted_soon(town_->there, {"acquire", resource("a")}));
  EXPECT_EQ(ask(town_->there, {"acquire", resource("held")}).status, kHeldStatus);
  EXPECT_TRUE(holder.running());
}

TEST_F(Faults, F27_I10_L9_AnEtcdWithoutSpaceIsNamed) {
  ASSERT_EQ(ask(town_->here, {"acquire", resource("a")}).status, 0);
  members().use_up_quota();
  const Answer full = ask(town_->there, {"acquire", resource("b")});
  EXPECT_EQ(full.status, 69) << full.all();
  EXPECT_EQ(full.json()["error"]["code"], "no_space") << full.all();
  EXPECT_THAT(full.all(), HasSubstr("quota"));
  EXPECT_EQ(ask(town_->there, {"check", resource("a")}).status, kHeldStatus);
  members().give_back_quota();
  EXPECT_TRUE(is_granted_soon(town_->there, {"acquire", resource("b")}));
  EXPECT_EQ(ask(town_->there, {"acquire", resource("a")}).status, kHeldStatus);
}

TEST_F(Faults, F27_L4_ACompactionAndADefragmentationDelayNobodyInTheQueue) {
  ASSERT_EQ(ask(town_->here, {"acquire", resource("a")}).status, 0);
  Process waiter = begin(town_->there, {"acquire", resource("a"), "--wait=1h", "--json"});
  EXPECT_TRUE(
      stage::eventually([&] { return ask(town_->here, {"list"}).json()["waiters"].size() == 1; }));
  members().compact();
  for (std::size_t i = 0; i < Members::kCount; ++i) members().defragment(i);
  EXPECT_EQ(ask(town_->here, {"release", resource("a")}).status, 0);
  EXPECT_EQ(waiter.wait(), 0) << waiter.err();
}

TEST_F(Faults, F13_F27_L9_AMemberWithAFullDiskIsDoneWithout) {
  members().fill_disk(0);
  EXPECT_TRUE(is_granted_soon(town_->here, {"acquire", resource("a")}));
  members().compact();
  EXPECT_TRUE(is_granted_soon(town_->there, {"acquire", resource("b")}));
  members().free_disk(0);
  members().wait_until_sound();
  EXPECT_TRUE(is_granted_soon(town_->there, {"acquire", resource("c")}));
}

// As the manual says: with a revision that nobody has seen.
TEST_F(Faults, F28_I3_ARestoredClusterGoesOnWithGreaterFences) {
  const std::string snapshot = town_->here.stage().path("snapshot");
  members().save(snapshot);
  const Answer forgotten = ask(town_->here, {"acquire", resource("a")});
  ASSERT_EQ(forgotten.status, 0) << forgotten.all();
  hubs().shut_down();
  members().restore(snapshot, Restore::kBumped);
  hubs().start();
  hubs().wait_until_ready();
  Answer granted;
  EXPECT_TRUE(stage::eventually([&] {
    granted = ask(town_->there, {"acquire", resource("a")});
    return granted.status == 0;
  })) << granted.all();
  EXPECT_GT(granted.fence(), forgotten.fence());
}

TEST_F(Faults, F28_I3_OneRestoredWithoutItIsRefusedUntilTheDoctorHasRepairedIt) {
  const std::string snapshot = town_->here.stage().path("snapshot");
  members().save(snapshot);
  const Answer forgotten = ask(town_->here, {"acquire", resource("a")});
  ASSERT_EQ(forgotten.status, 0) << forgotten.all();
  hubs().shut_down();
  members().restore(snapshot, Restore::kPlain);
  const Answer sick = hubs().doctor({});
  EXPECT_EQ(sick.status, 69) << sick.all();
  hubs().start();
  hubs().tend();
  EXPECT_TRUE(stage::eventually([&] {
    return hubs().words_of(0).find("doctor --repair") != std::string::npos;
  })) << hubs().words_of(0);
  hubs().shut_down();
  const Answer repaired = hubs().doctor({"--repair"});
  EXPECT_EQ(repaired.status, 0) << repaired.all();
  hubs().start();
  hubs().wait_until_ready();
  Answer granted;
  EXPECT_TRUE(stage::eventually([&] {
    granted = ask(town_->there, {"acquire", resource("a")});
    return granted.status == 0;
  })) << granted.all();
  EXPECT_GT(granted.fence(), forgotten.fence());
}

// Nobody gives it back. Never early, and never by leases of etcd: every leader begins those anew.
TEST_F(Faults, F25_I6_L3_AcrossAChangeOfLeaderALeaseEndsAfterItsTtl) {
  constexpr std::int64_t kTtlMs = 4'000;
  const std::int64_t asked = linear::monotonic_ns();
  ASSERT_EQ(ask(town_->here, {"acquire", resource("a"), "--ttl", "4s"}).status, 0);
  Process waiter = begin(town_->there, {"acquire", resource("a"), "--wait=1h", "--json"});
  members().kill(members().leader().value());
  EXPECT_EQ(waiter.wait(), 0) << waiter.err();
  const std::int64_t took_ms = (linear::monotonic_ns() - asked) / kMs;
  EXPECT_GE(took_ms, kTtlMs);
  std::printf("granted %lld ms after the lease of %lld ms was asked for\n",
              static_cast<long long>(took_ms), static_cast<long long>(kTtlMs));
}

}  // namespace
}  // namespace lockkeeper::nemesis
