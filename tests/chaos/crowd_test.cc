// Eight workers and a killer on the shipped program (F2): no two holders ever, whoever is killed
// when. LOCKKEEPER_CHAOS_KILLS scales it, LOCKKEEPER_CHAOS_SEED repeats the killer's choices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>

#include "chaos/ledger.h"
#include "chaos/worker.h"
#include "support/stage.h"

namespace lockkeeper::chaos {
namespace {

using stage::Json;
using stage::Stage;
using testing::IsEmpty;

constexpr std::size_t kWorkers = 8;
constexpr unsigned kKillsByDefault = 320;  // of both durabilities together

unsigned number_from(const char* name, unsigned otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : static_cast<unsigned>(std::strtoul(text, nullptr, 10));
}

class Crowd : public testing::TestWithParam<const char*> {
 protected:
  struct Member {
    pid_t pid = -1;
    unsigned life = 0;
  };

  void SetUp() override {
    for (const char* name : {"a/1", "a/2", "b/1", "b/2"}) stage_.file(name);
    stage_.file("lockkeeper.toml", "[store]\ndurability = \"" + std::string(GetParam()) + "\"\n");
    void* page =
        ::mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(page, MAP_FAILED);
    stop_ = static_cast<volatile int*>(page);
    // What a killed worker leaves behind comes to us, so that we can see it gone.
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    seed_ = number_from("LOCKKEEPER_CHAOS_SEED", std::random_device{}());
    random_.seed(seed_);
  }

  void TearDown() override {
    for (Member& member : members_) {
      if (member.pid > 0) kill_group(member);
    }
    ::munmap(const_cast<int*>(stop_), sizeof(int));
  }

  std::string ledger() const { return stage_.path("ledger"); }
  std::string name_of(std::size_t i) const {
    return "w" + std::to_string(i) + "." + std::to_string(members_[i].life);
  }

  void spawn(std::size_t i) {
    Member& member = members_[i];
    ++member.life;
    WorkerPlan plan;
    plan.program = Stage::program();
    plan.repo = stage_.repo();
    plan.ledger = ledger();
    plan.env = stage_.env;
    plan.name = name_of(i);
    plan.seed = static_cast<unsigned>(random_());
    plan.stop = stop_;
    member.pid = ::fork();
    ASSERT_GE(member.pid, 0);
    if (member.pid == 0) {
      ::setpgid(0, 0);
      work(plan);
    }
    ::setpgid(member.pid, member.pid);
  }

  // The worker, the program and its command, at once; returns when all are gone.
  static void kill_group(Member& member) {
    ::kill(-member.pid, SIGKILL);
    while (::waitpid(-member.pid, nullptr, 0) > 0) {
    }
    member.pid = -1;
  }

  void kill_one() {
    const std::size_t i = static_cast<std::size_t>(random_()) % kWorkers;
    if (random_() % 2 == 0) {
      ::kill(members_[i].pid, SIGUSR1);  // the program alone
      return;
    }
    append_line(ledger(), "K " + name_of(i));
    kill_group(members_[i]);
    spawn(i);
  }

  void storm(unsigned kills) {
    for (std::size_t i = 0; i < kWorkers; ++i) spawn(i);
    for (unsigned done = 0; done < kills && !HasFatalFailure(); ++done) {
      stage::pause_ms(static_cast<int>(10 + random_() % 90));
      kill_one();
    }
  }

  // Faults stop: what lives must come to its end.
  void calm() {
    *stop_ = 1;
    for (std::size_t i = 0; i < kWorkers; ++i) {
      Member& member = members_[i];
      int status = -1;
      const bool ended =
          stage::eventually([&] { return ::waitpid(member.pid, &status, WNOHANG) == member.pid; });
      EXPECT_TRUE(ended) << "worker " << name_of(i) << " is stuck";
      if (!ended) continue;
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
      const pid_t group = member.pid;
      member.pid = -1;
      // Commands that outlived their `run`.
      while (::waitpid(-group, nullptr, 0) > 0) {
      }
    }
  }

  // L9, and nothing left of the dead.
  void last_one() {
    stage_.expect(0, "last", {"acquire", "./", "--wait=60s"});
    const Json list = stage_.list();
    EXPECT_EQ(list["leases"].size(), 1U) << list.dump(1);
    EXPECT_EQ(list["waiters"].size(), 0U) << list.dump(1);
    stage_.expect(0, "last", {"doctor"});
  }

  // The history says the same: replayed, no two leases that conflict, each whole, fences growing.
  void judge_history(const Verdict& worked) {
    struct Live {
      const Scope* scope;
      std::uint64_t fence;
    };
    std::map<std::string, Live> live;
    std::set<std::uint64_t> fences;
    std::uint64_t highest = 0;
    for (const Json& event : stage_.expect(0, "judge", {"log"}).lines()) {
      const std::string what = event["event"].get<std::string>();
      const std::string lease = event["lease"].is_null() ? "" : event["lease"].get<std::string>();
      if (what == "released" || what == "expired" || what == "ended" || what == "broken") {
        EXPECT_EQ(live.erase(lease), event["agent"] == "last" ? 0U : 1U) << event.dump();
        continue;
      }
      if (what != "granted" || event["agent"] == "last") continue;
      const Scope* const scope = scope_named(event["task"].get<std::string>());
      ASSERT_NE(scope, nullptr) << event.dump();
      EXPECT_THAT(event["resources"].get<std::vector<std::string>>(),
                  testing::UnorderedElementsAreArray(scope->resources))
          << "I2";
      const std::uint64_t fence = event["fence"].get<std::uint64_t>();
      EXPECT_GE(fence, highest) << "I3 " << event.dump();
      highest = fence;
      fences.insert(fence);
      for (const auto& [id, other] : live) {
        EXPECT_FALSE(conflict(*scope, *other.scope)) << "I1 " << event.dump() << " and " << id;
      }
      EXPECT_TRUE(live.emplace(lease, Live{scope, fence}).second) << "I11 " << event.dump();
    }
    EXPECT_TRUE(live.empty()) << "held in the history after everybody was gone";
    for (const std::uint64_t fence : worked.fences) {
      EXPECT_TRUE(fences.contains(fence)) << "I11: fence " << fence << " is in no event";
    }
  }

  Stage stage_;
  volatile int* stop_ = nullptr;
  Member members_[kWorkers];
  unsigned seed_ = 0;
  std::mt19937 random_;
};

TEST_P(Crowd, F2_I1_I2_I3_I6_I8_L9_KilledAtRandomNoTwoHoldTheSame) {
  storm(number_from("LOCKKEEPER_CHAOS_KILLS", kKillsByDefault) / 2);
  calm();
  last_one();
  const Verdict verdict = judge_ledger(stage::read_text(ledger()));
  EXPECT_THAT(verdict.violations, IsEmpty());
  judge_history(verdict);
  EXPECT_GT(verdict.holds, 50U) << "hardly anything was held: the test tells nothing";
  RecordProperty("holds", static_cast<int>(verdict.holds));
  std::printf("%s: %zu holds, %zu judged by order\n", GetParam(), verdict.holds, verdict.sure);
  if (!HasFailure()) return;
  std::string kept = (std::filesystem::temp_directory_path() / "lockkeeper-ledger-XXXXXX").string();
  ::close(::mkstemp(kept.data()));
  stage::write_text(kept, stage::read_text(ledger()));
  ADD_FAILURE() << "seed " << seed_ << ", the ledger is in " << kept;
}

INSTANTIATE_TEST_SUITE_P(Durability, Crowd, testing::Values("full", "process"),
                         [](const auto& chosen) { return std::string(chosen.param); });

}  // namespace
}  // namespace lockkeeper::chaos
