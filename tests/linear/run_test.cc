// Real processes on the real store, killed at random; everything they asked and were told is
// recorded and must be linearizable (I1 I2 I3 I4 I5 I6 I8 I9, L4, L5).
//
// LOCKKEEPER_LINEAR_CALLS scales it, LOCKKEEPER_LINEAR_SEED repeats the choices of the clients and
// of the killer (not the scheduling), LOCKKEEPER_LINEAR_KEEP=FOLDER keeps every history.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "linear/check.h"
#include "linear/client.h"
#include "linear/door.h"
#include "linear/seen.h"
#include "support/campaign.h"
#include "support/stage.h"

namespace lockkeeper::linear {
namespace {

using stage::number_from;
using stage::Stage;

constexpr std::uint64_t kCallsAtOnce = 100'000;  // recorded, checked, forgotten
constexpr std::uint64_t kCallsMore = 10'000;
constexpr std::uint64_t kCallsPerKill = 100;
constexpr std::uint64_t kNumbersPerLife = 1'000'000;
constexpr std::size_t kClients = 8;

// Relay and hub are killed only so long after somebody else, and the other way round: a death is
// then known. Nobody says when.
constexpr int kToldMs = 300;
constexpr std::uint64_t kServerEvery = 14;
constexpr std::int64_t kToldAtMostNs = 3'000'000'000;

struct Setup {
  const char* name;
  const char* durability;
  bool program;
  std::uint64_t calls;
  bool hub = false;  // through a relay and a hub, which are killed as well
};

class Run : public testing::TestWithParam<Setup> {
 protected:
  struct Client {
    pid_t pid = -1;
    std::string process;
  };

  void SetUp() override {
    stage_.file("lockkeeper.toml",
                "[store]\ndurability = \"" + std::string(GetParam().durability) + "\"\n");
    if (GetParam().hub) stage_.use_hub();
    void* page = ::mmap(nullptr, sizeof(Campaign), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(page, MAP_FAILED);
    campaign_ = new (page) Campaign;
    // A death that may take effect seconds later makes the search of a long part very large.
    if (GetParam().hub) campaign_->calls_per_place = 200;
    // What a killed client leaves behind comes to us, so that we can see it gone.
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    seed_ = number_from("LOCKKEEPER_LINEAR_SEED", std::random_device{}());
    random_.seed(seed_);
  }

  void TearDown() override {
    for (Client& client : clients_) {
      if (client.pid > 0) kill_client(client);
    }
    ::munmap(campaign_, sizeof(Campaign));
  }

  std::string log_of(std::size_t i) const { return stage_.path("log" + std::to_string(i)); }

  void spawn(std::size_t i) {
    Client& client = clients_[i];
    ++lives_;
    client.process = "p" + std::to_string(lives_);
    ClientPlan plan;
    plan.repo = stage_.repo();
    plan.env = stage_.env;
    if (GetParam().program) plan.program = Stage::program();
    plan.log = log_of(i);
    plan.process = client.process;
    plan.agent = "w" + std::to_string(i / 2);
    plan.seed = random_();
    plan.first_number = lives_ * kNumbersPerLife;
    plan.heritage = left_behind(plan.log);
    plan.campaign = campaign_;
    plan.told_late_ns = GetParam().hub ? kToldAtMostNs : 0;
    // Told to kill its program before it can have one, it must not die of that itself.
    sigset_t usr1;
    ::sigemptyset(&usr1);
    ::sigaddset(&usr1, SIGUSR1);
    ::sigprocmask(SIG_BLOCK, &usr1, nullptr);
    client.pid = ::fork();
    if (client.pid == 0) ::signal(SIGUSR1, SIG_IGN);
    ::sigprocmask(SIG_UNBLOCK, &usr1, nullptr);
    ASSERT_GE(client.pid, 0);
    if (client.pid == 0) {
      ::setpgid(0, 0);
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // nothing is left behind, whoever ends us
      be_client(plan);
    }
    ::setpgid(client.pid, client.pid);
  }

  // A kill can cut a write short where a page ends. What was cut was told to nobody.
  static void drop_torn_line(const std::string& log) {
    const std::string text = std::filesystem::exists(log) ? stage::read_text(log) : "";
    const std::size_t whole = text.rfind('\n') + 1;  // 0 if there is none
    if (whole != text.size()) std::filesystem::resize_file(log, whole);
  }

  // The client and what it started, at once; returns when all are gone.
  void kill_client(Client& client) {
    Death death;
    death.from = monotonic_ns();
    ::kill(-client.pid, SIGKILL);
    int status = 0;
    for (pid_t gone = 0; (gone = ::waitpid(-client.pid, &status, 0)) > 0;) {
      const bool by_us = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
      const bool stopped = WIFEXITED(status) && WEXITSTATUS(status) == 0;
      // It gave up or crashed before: not to be taken for one that was killed.
      const bool fine = gone != client.pid || by_us || stopped;
      EXPECT_TRUE(fine) << client.process << ": " << status;
    }
    death.to = monotonic_ns() + (GetParam().hub ? kToldAtMostNs : 0);
    drop_torn_line(log_of(static_cast<std::size_t>(&client - &clients_[0])));
    deaths_ += death_line(client.process, death);
    client.pid = -1;
    ++kills_;
  }

  void kill_server() {
    stage::pause_ms(kToldMs);
    if (const pid_t relay = stage_.relay(); relay > 0 && hub_kills_ > relay_kills_) {
      ::kill(relay, SIGKILL);
      ++relay_kills_;
    } else {
      stage_.restart_hub();
      ++hub_kills_;
    }
    stage::pause_ms(kToldMs);
  }

  void kill_one() {
    if (GetParam().hub && ++turns_ % kServerEvery == 0) return kill_server();
    const std::size_t i = random_() % kClients;
    if (GetParam().program && random_() % 4 != 0) {
      ::kill(clients_[i].pid, SIGUSR1);  // the program alone
      ++kills_;
      return;
    }
    kill_client(clients_[i]);
    spawn(i);
  }

  void stop() {
    Death death;
    death.from = monotonic_ns();
    campaign_->stop = 1;
    for (Client& client : clients_) {
      int status = -1;
      const bool ended =
          stage::eventually([&] { return ::waitpid(client.pid, &status, WNOHANG) == client.pid; });
      ASSERT_TRUE(ended) << client.process << " is stuck";
      client.pid = -1;
      death.to = monotonic_ns() + (GetParam().hub ? kToldAtMostNs : 0);
      deaths_ += death_line(client.process, death);
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    }
  }

  // One round: its history as text.
  std::string record(std::uint64_t calls) {
    deaths_.clear();
    // At new names: what the last round left to run out is not in this one's history.
    const std::uint64_t here = campaign_->calls_per_place;
    campaign_->calls += here - campaign_->calls % here;
    const std::uint64_t until = campaign_->calls + calls;
    campaign_->stop = 0;
    for (std::size_t i = 0; i < kClients; ++i) spawn(i);
    const auto is_enough = [&] {
      const bool killed_both = hub_kills_ > 0 && relay_kills_ > 0;
      return campaign_->calls >= until && (!GetParam().hub || killed_both);
    };
    while (!is_enough() && !HasFailure()) {
      const std::uint64_t before = campaign_->calls;
      stage::pause_ms(static_cast<int>(5 + random_() % 20));
      // Each call without an answer may double the search. Through a hub on a slow machine there
      // would be one in every few.
      for (int i = 0; GetParam().hub && i < 200 && campaign_->calls < before + kCallsPerKill; ++i) {
        stage::pause_ms(5);
      }
      kill_one();
    }
    stop();
    std::string text = deaths_;
    for (std::size_t i = 0; i < kClients; ++i) {
      text += stage::read_text(log_of(i));
      if (!text.ends_with('\n')) text += '\n';
      std::filesystem::remove(log_of(i));
    }
    return text;
  }

  bool saw_all() const {
    return std::ranges::all_of(kAlwaysSeen,
                               [this](const char* what) { return seen_.contains(what); });
  }

  static void keep(const std::string& folder, const History& history) {
    std::string path = folder + "/lockkeeper-history-XXXXXX";
    ::close(::mkstemp(path.data()));
    stage::write_text(path, to_text(history));
    std::printf("kept: %s\n", path.c_str());
  }

  void judge(const std::string& text) {
    const History history = parse_history(text);
    for (const auto& [what, count] : seen_in(history)) seen_[what] += count;
    for (const Call& call : history.calls) {
      const bool holds = call.told.word == "granted" || call.told.word == "renewed";
      EXPECT_TRUE(!holds || (call.told.fence != 0 && !call.told.lease.empty()))
          << return_line(call) << "what is not told is not checked";
    }
    calls_ += history.calls.size();
    const auto began = monotonic_ns();
    const Verdict verdict = check(history);
    checking_ms_ += (monotonic_ns() - began) / 1'000'000;
    parts_ += verdict.parts;
    configurations_ += verdict.configurations;
    if (const char* folder = std::getenv("LOCKKEEPER_LINEAR_KEEP")) keep(folder, history);
    if (verdict.outcome == Outcome::kLinearizable) return;
    History part;
    part.deaths = history.deaths;
    for (const Call* call : verdict.part) part.calls.push_back(*call);
    keep(std::filesystem::temp_directory_path(), part.calls.empty() ? history : part);
    FAIL() << "seed " << seed_ << "\n"
           << (verdict.outcome == Outcome::kUndecided ? "undecided\n" : "not linearizable\n")
           << verdict.why << "check it again with: linear_tool FILE";
  }

  Stage stage_;
  Campaign* campaign_ = nullptr;
  Client clients_[kClients];
  std::uint64_t seed_ = 0;
  std::mt19937_64 random_;
  std::uint64_t lives_ = 0;
  std::uint64_t kills_ = 0;
  std::uint64_t turns_ = 0;
  std::uint64_t relay_kills_ = 0;
  std::uint64_t hub_kills_ = 0;
  std::string deaths_;
  std::map<std::string, std::size_t> seen_;
  std::size_t calls_ = 0, parts_ = 0, configurations_ = 0;
  std::int64_t checking_ms_ = 0;
};

TEST_P(Run, F2_F3_F7_I1_I2_I3_I4_I5_I6_I9_L4_L5_IsLinearizable) {
  const std::uint64_t scale = number_from("LOCKKEEPER_LINEAR_CALLS", 100'000);
  const std::uint64_t wanted = std::max<std::uint64_t>(GetParam().calls * scale / 100'000, 200);
  const auto began = monotonic_ns();
  // How often the rarest things happen depends on the machine. They are waited for.
  const bool tells = wanted >= 50'000;
  const auto is_enough = [&] {
    return calls_ >= 10 * wanted || (calls_ >= wanted && (!tells || saw_all()));
  };
  while (!is_enough() && !HasFailure()) {
    judge(record(calls_ < wanted ? std::min(wanted - calls_, kCallsAtOnce) : kCallsMore));
  }
  std::printf("%s: %zu calls, %zu kills, %zu parts, %zu configurations; %lld ms, %lld checking;",
              GetParam().name, calls_, static_cast<std::size_t>(kills_), parts_, configurations_,
              static_cast<long long>((monotonic_ns() - began) / 1'000'000),
              static_cast<long long>(checking_ms_));
  for (const auto& [word, count] : seen_) std::printf(" %s %zu", word.c_str(), count);
  std::printf("\n");
  if (HasFailure()) return;
  // What had no answer, or none that says anything, fits everywhere.
  EXPECT_LE(seen_["no answer"], kills_);
  // Without its hub a client asks in vain, again and again.
  if (!GetParam().hub) {
    EXPECT_LE(seen_["failed"] + seen_["unknown"], calls_ / 20);
  }
  if (GetParam().hub) {
    EXPECT_GT(relay_kills_, 0U);
    EXPECT_GT(hub_kills_, 0U);
  }
  EXPECT_GT(seen_["granted"], 0U);
  EXPECT_GT(seen_["released"], 0U);
  if (!tells) return;
  for (const char* what : kAlwaysSeen) {
    EXPECT_GT(seen_[what], 0U) << what << " never happened: the run tells nothing about it";
  }
}

INSTANTIATE_TEST_SUITE_P(All, Run,
                         testing::Values(Setup{"library", "process", false, 90'000},
                                         Setup{"durable", "full", false, 8'000},
                                         Setup{"program", "process", true, 1'200},
                                         Setup{"hub", "process", false, 8'000, true},
                                         Setup{"hub_program", "process", true, 600, true}),
                         [](const auto& setup) { return std::string(setup.param.name); });

}  // namespace
}  // namespace lockkeeper::linear
