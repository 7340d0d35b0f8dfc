// Pids lie: they are reused, and each PID namespace has its own. What is held is decided by a byte
// lock, or by pid, namespace and start time together (F17, F18). Needs root; skipped elsewhere.
#include <gtest/gtest.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "chaos/crowd.h"
#include "support/campaign.h"

namespace lockkeeper::chaos {
namespace {

using stage::Answer;
using stage::eventually;
using stage::Process;
using stage::Stage;
using stage::state_of;

bool may_make_namespaces() {
  const pid_t child = ::fork();
  if (child == 0) {
    const bool may = ::unshare(CLONE_NEWPID | CLONE_NEWNS) == 0 &&
                     ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    ::_exit(may ? 0 : 1);
  }
  int status = 1;
  ::waitpid(child, &status, 0);
  return status == 0;
}

// A process that does nothing, under exactly this pid; -1 if the kernel will not have it.
pid_t sleeper_with_pid(pid_t pid) {
  clone_args args{};
  std::memset(&args, 0, sizeof args);
  args.exit_signal = SIGCHLD;
  args.set_tid = reinterpret_cast<std::uint64_t>(&pid);
  args.set_tid_size = 1;
  const long child = ::syscall(SYS_clone3, &args, sizeof args);
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  return static_cast<pid_t>(child);
}

void end(pid_t pid) {
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
}

TEST(PidReuse, F17_I5_L1_TheLeaseOfADeadProcessIsNotKeptAliveByItsPid) {
  Stage stage;
  for (int i = 0; i < 10; ++i) {
    SCOPED_TRACE(i);
    Process holder(stage.command({"sleep", "600"}));
    const pid_t pid = holder.pid();
    stage.expect(0, "ann", {"acquire", "a", "--attach", std::to_string(pid)});
    Process waiter = stage.start("bob", {"acquire", "a", "--wait"});
    ASSERT_TRUE(stage.queue_grows_to(1));
    // Stopped, so that it sees the pid only when it belongs to somebody else.
    ASSERT_TRUE(stage.stop_outside(waiter));
    stage::pause_ms(30);  // start times are counted in hundredths of a second
    holder.signal(SIGKILL);
    EXPECT_EQ(holder.wait(), 137);
    const pid_t other = sleeper_with_pid(pid);
    if (other < 0 && errno != EEXIST) GTEST_SKIP() << "no pid can be chosen: errno " << errno;
    waiter.signal(SIGCONT);
    EXPECT_EQ(waiter.wait(), 0) << waiter.err();
    // And the newcomer under that pid can hold a lease of its own, which lasts as long as it.
    stage.expect(0, "bob", {"release", "a"});
    if (other < 0) continue;
    ASSERT_EQ(other, pid);
    stage.expect(0, "cat", {"acquire", "a", "--attach", std::to_string(other)});
    stage.expect(75, "bob", {"acquire", "a"});
    end(other);
    stage.expect(0, "bob", {"acquire", "a"});
    stage.expect(0, "bob", {"release", "a"});
  }
  stage.expect(0, "", {"doctor"});
}

TEST(PidReuse, F17_I5_AWaiterAndAHolderAreTheirByteAndNotTheirPid) {
  Stage stage;
  // A killed `run` takes its command along, if that lets it.
  Process run = stage.start(
      "ann", {"run", "a", "--", "sh", "-c", "trap '' TERM; echo x >ready; exec sleep 600"});
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(stage.repo() + "/ready"); }));
  Process waiter = stage.start("bob", {"acquire", "a", "--wait"});
  ASSERT_TRUE(stage.queue_grows_to(1));
  const pid_t pids[] = {waiter.pid(), run.pid()};
  waiter.signal(SIGKILL);
  EXPECT_EQ(waiter.wait(), 137);
  const pid_t first = sleeper_with_pid(pids[0]);
  if (first < 0) GTEST_SKIP() << "no pid can be chosen: errno " << errno;
  EXPECT_EQ(first, pids[0]);
  // `run` alone is gone and its pid is another's: the command still has the lock.
  run.signal(SIGKILL);
  EXPECT_EQ(run.wait(), 137);
  const pid_t second = sleeper_with_pid(pids[1]);
  stage.expect(75, "cat", {"acquire", "a"});
  run.signal_group(SIGKILL);
  stage.expect(0, "cat", {"acquire", "a", "--wait=60s"});
  EXPECT_EQ(stage.waiters(), 0U) << "the dead waiter lives on in its pid";
  end(first);
  if (second > 0) end(second);
}

// Whether a process of its group is stopped.
bool stands(const Process& process) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const pid_t pid = static_cast<pid_t>(std::atoi(entry.path().filename().c_str()));
    if (pid > 0 && ::getpgid(pid) == process.pid() && state_of(pid) == 'T') return true;
  }
  return false;
}

class Namespaces : public testing::Test {
 protected:
  void SetUp() override {
    if (!may_make_namespaces()) GTEST_SKIP() << "no PID and mount namespaces of our own";
  }
};

// Eight workers, each the first process of its own namespace, so that all their programs have
// equal pids; waiters and holders are killed all the time. With LMDB's own locks this is where two
// writers got in at once.
TEST_F(Namespaces, F18_I1_I2_I3_I5_EqualPidsWithWaitersKilled) {
  const stage::Campaign campaign;
  const std::uint64_t kills = stage::number_from("LOCKKEEPER_CHAOS_NAMESPACE_KILLS", 600);
  constexpr std::uint64_t kKillsPerRound = 2'500;
  std::size_t commits = 0;
  std::uint64_t done = 0;
  for (std::uint64_t round = 1; done < kills && !HasFailure(); ++round) {
    CrowdOptions options;
    options.durability = round % 2 == 0 ? "full" : "process";
    options.seed = campaign.seed_of(round);
    options.namespaces = true;
    const CrowdResult did =
        Crowd(options).run(static_cast<unsigned>(std::min(kKillsPerRound, kills - done)));
    std::string text = campaign.repeat();
    for (const std::string& violation : did.violations) text += violation + "\n";
    if (!did.violations.empty() || HasFailure()) ADD_FAILURE() << text;
    EXPECT_GT(did.holds, 10U) << text << "hardly anything was held: it tells nothing";
    done += did.kills;
    commits += did.commits;
    std::printf(
        "namespaces, seed %u, round %lu: %u kills and %u at store calls in %u calls, %zu holds, "
        "%zu events, %zu violations; %lu kills and %zu events so far\n",
        campaign.seed(), round, did.kills, did.planned, did.calls, did.holds, did.commits,
        did.violations.size(), done, commits);
    std::fflush(stdout);
  }
}

// The measured case: a holder stands inside its transaction, and a waiter with the same pid in
// another namespace is killed. Nobody gets in.
TEST_F(Namespaces, F18_I1_AKilledWaiterWithTheWritersPidLetsNobodyIn) {
  Stage stage;
  stage.expect(0, "first", {"acquire", "x"});
  const auto in_namespace = [&](const std::string& agent, const std::string& fault) {
    stage::Launch launch = stage.launch(agent, {"acquire", "a", "--json"});
    // A shell is the first process: that one could not be stopped.
    const std::vector<std::string> before{"unshare", "--pid", "--fork",          "--mount-proc",
                                          "sh",      "-c",    "\"$@\"; exit $?", "sh"};
    launch.argv.insert(launch.argv.begin(), before.begin(), before.end());
    if (!fault.empty()) launch.env["LOCKKEEPER_TEST_FAULT"] = fault;
    return Process(std::move(launch));
  };
  Process writer = in_namespace("writer", "stop@6");  // pid 2 of its namespace, inside
  ASSERT_TRUE(eventually([&] { return !writer.running() || stands(writer); }));
  ASSERT_TRUE(writer.running()) << writer.err();
  for (int i = 0; i < 5; ++i) {
    Process waiter = in_namespace("waiter", "");  // pid 2 of another, at the gate
    stage::pause_ms(100);
    waiter.signal_group(SIGKILL);
    waiter.wait();
  }
  const Answer busy = stage.expect(69, "third", {"acquire", "b"});
  EXPECT_EQ(busy.json()["error"]["code"], "store_busy") << "I1: two writers: " << busy.out;
  writer.signal_group(SIGCONT);
  EXPECT_EQ(writer.wait(), 0) << writer.err();
  stage.expect(75, "third", {"acquire", "a"});
  stage.expect(0, "third", {"doctor"});
}

}  // namespace
}  // namespace lockkeeper::chaos
