// F1 with layouts: our verbs are killed at every system call that may change something, and at any
// moment. Whoever comes next finds, or makes, this: every live lease is shown, nothing shows a
// lease that is no more, what other tools wrote stands as they wrote it, and nothing of ours is
// taken for theirs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <set>

#include "chaos/crash_point.h"
#include "layouts/layout_stage.h"
#include "support/campaign.h"

namespace lockkeeper::layouts {
namespace {

namespace fs = std::filesystem;
using stage::kKilled;
using stage::number_from;
using testing::ElementsAreArray;
using testing::IsEmpty;

class CrashedLayouts : public testing::TestWithParam<stage::CrashParam> {
 protected:
  void SetUp() override {
    stage_.set_durability(std::get<0>(GetParam()));
    if (!may_trace(stage_)) GTEST_SKIP() << "this process may not trace its children";
    stage_.bash_takes("theirs");
    stage_.workflow_takes("builder", {"built.c"});
    mkdir_before_ = read_text(stage_.mkdir_lock("theirs") + "/owner");
    workflow_before_ = read_text(stage_.workflow_lock("builder"));
  }

  // For N = 1, 2, 3, … until the verb was not killed.
  void at_every_call(int at_least, const std::function<bool(int place)>& once) {
    for (int place = 1; place < stage::kPlacesMost; place += stage::kPlaceStep) {
      at_.clear();
      const bool killed = once(place);
      if (HasFailure()) {
        ADD_FAILURE() << "killed at call " << place << ", " << at_;
        return;
      }
      if (killed) continue;
      EXPECT_GT(place, at_least) << "hardly any place to be killed at: nothing was tested";
      std::printf("%s: %d calls\n", testing::UnitTest::GetInstance()->current_test_info()->name(),
                  place - 1);
      return;
    }
    FAIL() << "never came to an end";
  }

  bool dies(int place, const std::string& agent, const Words& words) {
    return killed_at(stage_, place, std::get<1>(GetParam()), agent, words, at_).status == kKilled;
  }

  // Somebody else comes along, and then all is as the table says.
  void all_is_well() {
    stage_.expect(0, "next", {"acquire", "elsewhere"});
    stage_.expect(0, "next", {"release", "elsewhere"});
    stage_.expect(0, "", {"layout", "list"});
    std::vector<std::string> expected{"theirs"};
    std::size_t leases = 0;
    const Json list = stage_.list();
    for (const Json& lease : list["leases"]) {
      if (lease.contains("foreign")) continue;
      ++leases;
      for (const Json& resource : lease["resources"]) {
        std::string name = resource["key"];
        if (const auto slash = name.find('/'); slash != std::string::npos) {
          name.replace(slash, 1, "__");
        }
        if (std::ranges::find(expected, name) == expected.end()) expected.push_back(name);
      }
    }
    std::ranges::sort(expected);
    EXPECT_THAT(stage_.mkdir_locks(), ElementsAreArray(expected)) << list.dump(1);
    EXPECT_EQ(stage_.workflow_mirrors().size(), leases) << list.dump(1);
    theirs_stands();
    for (const Json& event : stage_.events("foreign_seen")) {
      EXPECT_TRUE(event["agent"] == "bash" || event["agent"] == "builder")
          << "ours was taken for another's: " << event.dump();
    }
    stage_.healthy();
  }

  void theirs_stands() {
    EXPECT_EQ(read_text(stage_.mkdir_lock("theirs") + "/owner"), mkdir_before_);
    EXPECT_EQ(read_text(stage_.workflow_lock("builder")), workflow_before_);
  }

  LayoutStage stage_;
  std::string at_;
  std::string mkdir_before_;
  std::string workflow_before_;
};

TEST_P(CrashedLayouts, F1_Acquire) {
  stage_.add_both();
  at_every_call(15, [&](int place) {
    const bool killed = dies(place, "ann", {"acquire", "a.c", "src/b.c"});
    all_is_well();
    const Answer released = stage_.json("ann", {"release", "--all"});
    EXPECT_EQ(released.status, 0) << released.all();
    EXPECT_EQ(stage_.mkdir_locks().size(), 1U);
    return killed;
  });
}

TEST_P(CrashedLayouts, F1_F7_Release) {
  stage_.add_both();
  at_every_call(10, [&](int place) {
    const std::string id = stage_.expect(0, "ann", {"acquire", "a.c", "src/b.c"}).lease();
    const bool killed = dies(place, "ann", {"release", "--lease", id});
    all_is_well();
    stage_.json("ann", {"release", "--all"});
    return killed;
  });
}

TEST_P(CrashedLayouts, F1_ReleaseOfAPart) {
  stage_.add_both();
  at_every_call(10, [&](int place) {
    stage_.expect(0, "ann", {"acquire", "a.c", "b.c", "--ttl", "none"});
    const bool killed = dies(place, "ann", {"release", "a.c"});
    all_is_well();
    stage_.json("ann", {"release", "--all"});
    return killed;
  });
}

TEST_P(CrashedLayouts, F1_Renew) {
  stage_.add_both();
  stage_.expect(0, "ann", {"acquire", "a.c", "src/b.c"});
  at_every_call(5, [&](int place) {
    const bool killed = dies(place, "ann", {"renew", "a.c", "--ttl", "2h"});
    all_is_well();
    EXPECT_EQ(stage_.expect(0, "", {"list", "--agent", "ann"}).json()["leases"].size(), 1U);
    EXPECT_THAT(stage_.events("shown_again"), IsEmpty());
    return killed;
  });
}

TEST_P(CrashedLayouts, F1_Run) {
  stage_.add_both();
  at_every_call(20, [&](int place) {
    const bool killed = dies(place, "ann", {"run", "a.c", "--", "true"});
    // Its command may outlive it by a moment, and holds the lease as long.
    EXPECT_TRUE(eventually([&] {
      stage_.expect(0, "", {"layout", "list"});
      return stage_.list()["leases"].size() == 2;
    })) << stage_.list().dump(1);
    all_is_well();
    EXPECT_EQ(stage_.mkdir_locks().size(), 1U) << "the dead are shown";
    return killed;
  });
}

TEST_P(CrashedLayouts, F1_AdoptIsTheirsOrOursAndNeverNobodys) {
  stage_.add_both();
  at_every_call(15, [&](int place) {
    stage_.bash_takes("a.c", "worker");
    stage_.expect(75, "bob", {"acquire", "a.c"});
    const bool killed = dies(place, "ann", {"adopt", "a.c"});
    stage_.expect(75, "bob", {"acquire", "a.c"});
    stage_.expect(0, "", {"layout", "list"});
    stage_.expect(0, "", {"layout", "list"});
    stage_.expect(75, "bob", {"acquire", "a.c"});
    EXPECT_TRUE(exists(stage_.mkdir_lock("a.c")));
    theirs_stands();
    stage_.healthy();
    stage_.json("ann", {"release", "--all"});
    stage_.bash_drops("a.c");
    stage_.expect(0, "bob", {"acquire", "a.c"});
    stage_.expect(0, "bob", {"release", "a.c"});
    EXPECT_EQ(stage_.mkdir_locks().size(), 1U);
    // What was prepared for a commit that never came is swept after a minute.
    EXPECT_TRUE(stage_.workflow_mirrors().empty());
    return killed;
  });
}

TEST_P(CrashedLayouts, F1_LayoutAddWithALeaseThatIsHeldAlready) {
  stage_.add("workflow", "out");
  stage_.expect(0, "ann", {"acquire", "a.c", "src/b.c"});
  at_every_call(15, [&](int place) {
    const bool killed = dies(place, "", {"layout", "add", "mkdir", "spec"});
    stage_.add("mkdir", "spec");
    all_is_well();
    const std::string id = stage_.layout("mkdir")["id"];
    stage_.expect(0, "", {"layout", "remove", id});
    EXPECT_EQ(stage_.mkdir_locks().size(), 1U);
    return killed;
  });
}

TEST_P(CrashedLayouts, F1_LayoutRemove) {
  stage_.add("workflow", "out");
  stage_.expect(0, "ann", {"acquire", "a.c", "src/b.c"});
  at_every_call(10, [&](int place) {
    const std::string id = stage_.add("mkdir", "spec");
    const bool killed = dies(place, "", {"layout", "remove", id});
    const Answer again = stage_.json("", {"layout", "remove", id});
    EXPECT_TRUE(again.status == 0 || again.status == 66) << again.all();
    EXPECT_EQ(stage_.mkdir_locks().size(), 1U);
    theirs_stands();
    stage_.healthy();
    return killed;
  });
}

TEST_P(CrashedLayouts, F1_NothingIsLeftInALayoutThatIsRemoved) {
  std::size_t traces = 0;
  at_every_call(15, [&](int place) {
    const std::string mkdir_id = stage_.add("mkdir", "spec");
    const std::string workflow_id = stage_.add("workflow", "out");
    const bool killed = dies(place, "ann", {"acquire", "a.c"});
    traces += stage_.traces().size();
    stage_.json("ann", {"release", "--all"});
    stage_.expect(0, "", {"layout", "remove", mkdir_id});
    stage_.expect(0, "", {"layout", "remove", workflow_id});
    EXPECT_THAT(stage_.traces(), IsEmpty());
    theirs_stands();
    return killed;
  });
  EXPECT_GT(traces, 0U) << "nothing was tested";
}

// What was being made or removed when its process died stays beside for a minute, and not longer.
TEST_P(CrashedLayouts, F1_TracesOfTheDeadAreRemovedAfterAMinute) {
  stage_.add_both();
  std::size_t traces = 0;
  at_every_call(15, [&](int place) {
    const bool killed = dies(place, "ann", {"acquire", "a.c"});
    for (const std::string& folder :
         {stage_.repo() + "/spec/.locks/", stage_.repo() + "/out/locks/"}) {
      for (const std::string& name : stage_.traces()) {
        if (!exists(folder + name)) continue;
        ++traces;
        fs::last_write_time(folder + name,
                            fs::file_time_type::clock::now() - std::chrono::minutes(2));
      }
    }
    all_is_well();
    EXPECT_THAT(stage_.traces(), IsEmpty());
    stage_.json("ann", {"release", "--all"});
    return killed;
  });
  EXPECT_GT(traces, 0U);
}

// At each place where it opens a file to write, which is outside the store's gate for the layouts'
// own, somebody else does something.
TEST_P(CrashedLayouts, I1_SomebodyElseActsBetweenItsSteps) {
  stage_.add_both();
  for (const Words& other :
       std::vector<Words>{{"layout", "list"}, {"break", "--agent", "ann", "--reason", "r"}}) {
    for (int turn = 1; turn < 40; ++turn) {
      SCOPED_TRACE(other[0] + ", turn " + std::to_string(turn));
      Launch launch = stage_.launch("ann", {"acquire", "--json", "a.c", "src/b.c"});
      launch.traced = true;
      Process process(std::move(launch));
      int opened = 0;
      const int status = process.step([&](const stage::SystemCall& call) {
        if (call.name != "openat" || call.done || ++opened != turn) return true;
        const Answer meanwhile = stage_.json("boss", other);
        // 69: it stands inside the gate; 66: there is nothing to break yet.
        EXPECT_THAT(meanwhile.status, testing::AnyOf(0, 66, 69)) << meanwhile.all();
        return true;
      });
      EXPECT_EQ(status, 0) << process.out() << process.err();
      all_is_well();
      stage_.json("ann", {"release", "--all"});
      if (HasFailure()) return;
      if (opened < turn) break;
    }
  }
}

std::vector<stage::CrashParam> sides() {
  if (number_from("LOCKKEEPER_CHAOS_LONG", 0) == 0) return {{"process", true}};
  return {{"full", false}, {"full", true}, {"process", false}, {"process", true}};
}

INSTANTIATE_TEST_SUITE_P(Each, CrashedLayouts, testing::ValuesIn(sides()), stage::crash_name);

// Several agents and a script of the mkdir document take and leave the same three names; ours are
// killed all the time.
TEST(KilledLayouts, F1_AtAnyMoment) {
  const stage::Campaign campaign;
  SCOPED_TRACE(campaign.repeat());
  LayoutStage stage;
  stage.set_durability("process");
  stage.add_both();
  SeededRandom random(campaign.seed());
  const auto pick = [&](int most) {
    return static_cast<int>(random.next() % static_cast<std::uint64_t>(most));
  };
  const auto until = std::chrono::steady_clock::now() +
                     std::chrono::seconds(number_from("LOCKKEEPER_LAYOUT_SECONDS", 6));
  std::set<std::string> bash;  // what the script holds
  int kills = 0;
  while (std::chrono::steady_clock::now() < until && !testing::Test::HasFailure()) {
    const std::string name = "f" + std::to_string(pick(3));
    if (bash.erase(name) != 0) {
      ASSERT_TRUE(exists(stage.mkdir_lock(name) + "/owner")) << "theirs was removed";
      stage.bash_drops(name);
    } else if (pick(3) == 0 && stage.bash_takes(name)) {
      bash.insert(name);
    }
    const std::string agent = pick(2) == 0 ? "ann" : "bob";
    const std::vector<Words> verbs{
        {"acquire", name},  {"acquire", name, "--mode", "shared"}, {"release", "--all"},
        {"renew", "--all"}, {"run", name, "--", "true"},           {"layout", "list"}};
    Process process = stage.start(agent, verbs[static_cast<std::size_t>(pick(6))]);
    pause_ms(pick(25));
    process.signal(SIGKILL);
    kills += process.wait() == kKilled ? 1 : 0;
  }
  EXPECT_GT(kills, 10);
  for (const std::string& name : bash) {
    EXPECT_TRUE(exists(stage.mkdir_lock(name) + "/owner")) << "theirs was removed";
    stage.bash_drops(name);
  }
  for (const char* agent : {"ann", "bob"}) stage.json(agent, {"release", "--all"});
  EXPECT_TRUE(eventually([&] {
    stage.expect(0, "", {"layout", "list"});
    return stage.list()["leases"].empty();
  })) << stage.list().dump(1);
  stage.expect(0, "", {"layout", "list"});
  EXPECT_THAT(stage.mkdir_locks(), IsEmpty());
  EXPECT_TRUE(stage.workflow_mirrors().empty());
  stage.healthy();
  std::printf("%d kills\n", kills);
}

// F11: durability `process`, another boot: the leases are over, and what showed them goes.
TEST(RebootedLayouts, F11_OurArtefactsAreRemovedAndTheirsStay) {
  if (const std::string why = faults::no_preload(); !why.empty()) GTEST_SKIP() << why;
  for (const char* durability : {"process", "full"}) {
    SCOPED_TRACE(durability);
    LayoutStage stage;
    write_text(stage.path("boot"), "00000000-0000-0000-0000-000000000001\n");
    stage.have({{"BOOT", stage.path("boot")}});
    stage.set_durability(durability);
    stage.add_both();
    stage.bash_takes("theirs");
    stage.workflow_takes("builder", {"built.c"});
    stage.expect(0, "ann", {"acquire", "a.c"});
    stage.expect(0, "ann", {"acquire", "b.c", "c.c"});
    stage.expect(0, "ann", {"release", "c.c"});
    Process run = stage.start_holding("bob", "job");
    ASSERT_TRUE(exists(stage.mkdir_lock("job")));
    run.signal_group(SIGKILL);
    run.wait();
    write_text(stage.path("boot"), "00000000-0000-0000-0000-000000000002\n");
    stage.expect(0, "cat", {"acquire", "d.c"});
    stage.expect(0, "", {"layout", "list"});
    const bool kept = std::string(durability) == "full";
    const std::vector<std::string> expected =
        kept ? std::vector<std::string>{"a.c", "b.c", "d.c", "theirs"}
             : std::vector<std::string>{"d.c", "theirs"};
    EXPECT_THAT(stage.mkdir_locks(), ElementsAreArray(expected));
    EXPECT_EQ(stage.workflow_mirrors().size(), kept ? 3U : 1U);
    EXPECT_TRUE(exists(stage.workflow_lock("builder")));
    stage.expect(75, "cat", {"acquire", "theirs"});
    stage.expect(kept ? 75 : 0, "cat", {"acquire", "a.c"});
    stage.expect(75, "cat", {"acquire", "built.c"});
    stage.healthy();
  }
}

}  // namespace
}  // namespace lockkeeper::layouts
