#include "chaos/crowd.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <new>

#include "chaos/history.h"
#include "chaos/ledger.h"

namespace lockkeeper::chaos {
namespace {

constexpr const char* kLast = "last";

// The worker becomes the first process of a new PID namespace; the caller only waits for it.
void enter_namespace() {
  if (::unshare(CLONE_NEWPID | CLONE_NEWNS) != 0) ::_exit(5);
  const pid_t first = ::fork();
  if (first < 0) ::_exit(5);
  if (first > 0) {
    int status = 0;
    while (::waitpid(first, &status, 0) < 0) {
    }
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 6);
  }
  const bool mounted = ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                       ::mount("proc", "/proc", "proc", 0, nullptr) == 0;
  if (!mounted || ::getpid() != 1) ::_exit(5);
}

// The worker, the program and its command, at once; returns when all are gone.
void kill_group(pid_t& group) {
  ::kill(-group, SIGKILL);
  while (::waitpid(-group, nullptr, 0) > 0) {
  }
  group = -1;
}

}  // namespace

Crowd::Crowd(CrowdOptions options) : options_(std::move(options)), random_(options_.seed) {
  for (const char* name : {"a/1", "a/2", "b/1", "b/2"}) stage_.file(name);
  stage_.file("lockkeeper.toml", "[store]\ndurability = \"" + options_.durability + "\"\n");
  void* page =
      ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  EXPECT_NE(page, MAP_FAILED);
  board_ = new (page) Board;
  // What a killed worker leaves behind comes to us, so that we can see it gone.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

Crowd::~Crowd() {
  for (Member& member : members_) {
    if (member.pid > 0) kill_group(member.pid);
  }
  ::munmap(board_, sizeof(Board));
}

std::string Crowd::name_of(std::size_t i) const {
  return "w" + std::to_string(i) + "." + std::to_string(members_[i].life);
}

void Crowd::spawn(std::size_t i) {
  Member& member = members_[i];
  ++member.life;
  WorkerPlan plan;
  plan.program = stage::Stage::program();
  plan.repo = stage_.repo();
  plan.ledger = ledger();
  plan.env = stage_.env;
  plan.name = name_of(i);
  plan.seed = static_cast<unsigned>(random_());
  plan.own_namespace = options_.namespaces;
  plan.board = board_;
  member.pid = ::fork();
  ASSERT_GE(member.pid, 0);
  if (member.pid == 0) {
    ::setpgid(0, 0);
    if (options_.namespaces) enter_namespace();
    work(plan);
  }
  ::setpgid(member.pid, member.pid);
}

// Workers kill what they start; here whole workers are killed with all that they have started.
void Crowd::storm(unsigned kills) {
  for (std::size_t i = 0; i < kWorkers; ++i) spawn(i);
  while (board_->kills < kills && !testing::Test::HasFatalFailure()) {
    stage::pause_ms(static_cast<int>(20 + random_() % 80));
    const std::size_t i = static_cast<std::size_t>(random_()) % kWorkers;
    append_line(ledger(), "K " + name_of(i));
    kill_group(members_[i].pid);
    ++board_->kills;
    spawn(i);
  }
}

// Faults stop: what lives must come to its end (L9).
void Crowd::calm() {
  board_->stop = 1;
  for (std::size_t i = 0; i < kWorkers; ++i) {
    Member& member = members_[i];
    int status = -1;
    const bool ended =
        stage::eventually([&] { return ::waitpid(member.pid, &status, WNOHANG) == member.pid; });
    EXPECT_TRUE(ended) << "L9: worker " << name_of(i) << " is stuck";
    if (!ended) continue;
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    const pid_t group = member.pid;
    member.pid = -1;
    // Commands that outlived their `run`.
    while (::waitpid(-group, nullptr, 0) > 0) {
    }
  }
}

// Nothing is left of the dead (L1: their leases have an hour to go).
void Crowd::last_one() {
  stage_.expect(0, kLast, {"acquire", "./", "--wait=60s"});
  const stage::Json list = stage_.list();
  EXPECT_EQ(list["leases"].size(), 1U) << list.dump(1);
  EXPECT_EQ(list["waiters"].size(), 0U) << list.dump(1);
  stage_.expect(0, kLast, {"doctor"});
}

CrowdResult Crowd::judge() {
  CrowdResult result;
  result.ledger = stage::read_text(ledger());
  Verdict verdict = judge_ledger(result.ledger);
  const auto events = stage_.expect(0, kLast, {"log"}).lines();
  result.commits = events.size();
  result.violations = judge_history(events, verdict, kLast);
  result.violations.insert(result.violations.begin(), verdict.violations.begin(),
                           verdict.violations.end());
  result.holds = verdict.holds;
  result.kills = board_->kills;
  result.planned = board_->planned;
  result.calls = board_->calls;
  result.busy = board_->busy;
  return result;
}

CrowdResult Crowd::run(unsigned kills) {
  storm(kills);
  calm();
  last_one();
  return judge();
}

}  // namespace lockkeeper::chaos
