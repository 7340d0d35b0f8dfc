#include "nemesis/world.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>

#include "base/assert.h"
#include "linear/door.h"

namespace lockkeeper::nemesis {
namespace {

constexpr std::uint64_t kNumbersPerLife = 1'000'000;
// Nobody says when a death was noticed: a fault may have been in the way.
constexpr std::int64_t kNoticedNs = 3'600'000'000'000;
constexpr std::int64_t kMs = 1'000'000;

// Far more than a minute's commits: etcd forgets what is older.
constexpr std::size_t kQuotaMb = 96;

// On each desk.
constexpr Kind kCrew[] = {Kind::kPulse, Kind::kCrowd, Kind::kCrowd, Kind::kTimed};

}  // namespace

World::World(std::size_t hubs) {
  members_ = std::make_unique<Members>(network_, kQuotaMb);
  hubs_ = std::make_unique<Hubs>(network_, *members_, hubs, "nemesis");
  for (const char* const name : {"anna", "ben"}) {
    desks_.push_back(std::make_unique<Desk>(network_, *hubs_, name));
  }
  void* const page =
      ::mmap(nullptr, sizeof(Campaign), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  LOCKKEEPER_ASSERT(page != MAP_FAILED);
  campaign_ = new (page) Campaign;
  for (std::size_t desk = 0; desk < desks_.size(); ++desk) {
    for (const Kind kind : kCrew) workers_.push_back({kind, desk, -1, "", ""});
  }
  workers_.push_back({Kind::kProgram, 0, -1, "", ""});
}

World::~World() {
  for (Worker& worker : workers_) {
    if (worker.pid <= 0) continue;
    ::kill(-worker.pid, SIGKILL);
    ::waitpid(worker.pid, nullptr, 0);
  }
  ::munmap(campaign_, sizeof(Campaign));
}

const Machine& World::any_machine(std::uint64_t choice) const {
  const std::size_t all = Members::kCount + hubs_->size() + desks_.size();
  std::size_t i = choice % all;
  if (i < Members::kCount) return members_->machine(i);
  i -= Members::kCount;
  return i < hubs_->size() ? hubs_->machine(i) : desks_[i - hubs_->size()]->machine();
}

void World::spawn(std::size_t i) {
  Worker& worker = workers_[i];
  Desk& desk = *desks_[worker.desk];
  worker.process = "p" + std::to_string(++lives_);
  worker.log = folder_.file(worker.process);
  logs_.push_back(worker.log);
  WorkerPlan plan;
  plan.kind = worker.kind;
  plan.index = i;
  plan.repo = desk.stage().repo();
  plan.env = desk.stage().env;
  if (plan.kind == Kind::kProgram) plan.program = stage::Stage::program();
  plan.log = worker.log;
  plan.process = worker.process;
  plan.agent = "w" + std::to_string(i);
  plan.seed = random_();
  plan.first_number = lives_ * kNumbersPerLife;
  plan.campaign = campaign_;
  const Stay stay(desk.machine());
  worker.pid = ::fork();
  LOCKKEEPER_ASSERT(worker.pid >= 0);
  if (worker.pid == 0) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    be_worker(plan);
  }
  ::setpgid(worker.pid, worker.pid);
}

void World::begin_round(std::uint64_t round, std::uint64_t seed) {
  random_.seed(seed);
  campaign_->stop = 0;
  campaign_->calls = 0;
  campaign_->unknown = 0;
  campaign_->resolved = 0;
  campaign_->round = round;
  logs_.clear();
  deaths_.clear();
  for (std::size_t i = 0; i < workers_.size(); ++i) spawn(i);
}

void World::kill_worker(std::uint64_t choice) {
  const std::size_t i = choice % workers_.size();
  Worker& worker = workers_[i];
  const std::int64_t now = linear::monotonic_ns();
  ::kill(-worker.pid, SIGKILL);
  ::waitpid(worker.pid, nullptr, 0);
  deaths_ += linear::death_line(worker.process, {now, now + kNoticedNs});
  spawn(i);
}

std::string World::end_round() {
  campaign_->stop = 1;
  const std::int64_t now = linear::monotonic_ns();
  for (Worker& worker : workers_) {
    int status = -1;
    const bool ended =
        stage::eventually([&] { return ::waitpid(worker.pid, &status, WNOHANG) == worker.pid; });
    EXPECT_TRUE(ended) << worker.process << " is stuck";
    if (!ended) continue;
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << worker.process << ": " << status;
    worker.pid = -1;
    deaths_ += linear::death_line(worker.process, {now, now + kNoticedNs});
  }
  std::string text = deaths_;
  for (const std::string& log : logs_) {
    const std::string lines = stage::read_text(log);
    text += lines.substr(0, lines.rfind('\n') + 1);  // a kill can cut the last one short
    std::filesystem::remove(log);
  }
  return text;
}

void World::tend() {
  hubs_->tend();
  for (Worker& worker : workers_) {
    int status = 0;
    if (worker.pid <= 0 || ::waitpid(worker.pid, &status, WNOHANG) != worker.pid) continue;
    worker.pid = -1;
    ADD_FAILURE() << worker.process << " has ended: " << status;
  }
}

stage::Answer World::ask(std::size_t desk, const stage::Words& words) {
  const Stay stay(desks_[desk]->machine());
  return desks_[desk]->stage().json("looker", words);
}

bool World::progressed_since(std::int64_t moment, bool pulse_only) const {
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    if (pulse_only && workers_[i].kind != Kind::kPulse) continue;
    if (campaign_->cycle_began_ns[i] < moment) return false;
  }
  return true;
}

std::string World::slow_since(std::int64_t moment) const {
  std::string names;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    if (campaign_->cycle_began_ns[i] < moment) names += " " + workers_[i].process;
  }
  return names;
}

std::int64_t World::wait_for_progress() {
  const std::int64_t healed = linear::monotonic_ns();
  std::int64_t recovered = -1;
  const bool all = stage::eventually([&] {
    tend();
    if (recovered < 0 && progressed_since(healed, true)) {
      recovered = (linear::monotonic_ns() - healed) / kMs;
    }
    return testing::Test::HasFailure() || progressed_since(healed, false);
  });
  EXPECT_TRUE(all) << "these are still granted nothing, a minute after all was well again:"
                   << slow_since(healed) << "\n"
                   << hubs_->words_of(0) << (all ? "" : ask(0, {"acquire", "is-it-well"}).all());
  return recovered;
}

}  // namespace lockkeeper::nemesis
