#include "host/process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include "base/random.h"
#include "base/test_folder.h"
#include "host/live_slots.h"
#include "host/test_child.h"

namespace lockkeeper::host {
namespace {

constexpr uid_t kNobody = 65534;

int wait_for_ever(const ChildEnd& parent) {
  parent.tell(1);
  parent.await();
  return 0;
}

std::string state_of(int pid) {
  const auto content = read_file("/proc/" + std::to_string(pid) + "/stat");
  if (!content) return "";
  return content->substr(content->rfind(')') + 2, 1);
}

TEST(Process, rule7_knows_itself_and_a_child_and_sees_its_end) {
  const auto self = identify(::getpid());
  ASSERT_TRUE(self) << self.error().message;
  EXPECT_EQ(self->pid, ::getpid());
  EXPECT_NE(self->pid_namespace, 0U);
  EXPECT_EQ(alive(*self), Alive::kAlive);

  TestChild child(wait_for_ever);
  child.hear();
  const auto id = identify(child.pid());
  ASSERT_TRUE(id);
  EXPECT_EQ(alive(*id), Alive::kAlive);
  child.kill();
  EXPECT_EQ(alive(*id), Alive::kDead);
}

TEST(Process, rule7_a_zombie_is_dead) {
  TestChild child(wait_for_ever);
  child.hear();
  const int pid = child.pid();
  const auto id = identify(pid);
  ASSERT_TRUE(id);
  child.kill_only();
  while (state_of(pid) != "Z") std::this_thread::yield();
  EXPECT_EQ(alive(*id), Alive::kDead);
  const auto again = identify(pid);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Code::kNotFound);
}

TEST(Process, rule7_a_process_whose_first_thread_has_ended_is_alive) {
  TestChild child([](const ChildEnd& parent) {
    std::thread([parent] {
      parent.tell(1);
      parent.await();
      ::_exit(0);
    }).detach();
    // Ends this thread alone, without unwinding: /proc shows the process as a zombie from now on.
    ::syscall(SYS_exit, 0);
    return 0;
  });
  child.hear();
  while (state_of(child.pid()) != "Z") std::this_thread::yield();
  const auto id = identify(child.pid());
  ASSERT_TRUE(id) << id.error().message;
  EXPECT_EQ(alive(*id), Alive::kAlive);
  child.kill();
  EXPECT_EQ(alive(*id), Alive::kDead);
}

TEST(Process, rule7_a_thread_is_no_process) {
  std::atomic<int> thread_id = 0;
  std::atomic<bool> done = false;
  std::jthread thread([&] {
    thread_id = static_cast<int>(::syscall(SYS_gettid));
    thread_id.notify_all();
    done.wait(false);
  });
  thread_id.wait(0);
  const auto id = identify(thread_id);
  done = true;
  done.notify_all();
  ASSERT_FALSE(id);
  EXPECT_EQ(id.error().code, Code::kInvalidInput);
  EXPECT_THAT(id.error().hint, testing::HasSubstr(std::to_string(::getpid())));
}

TEST(Process, F17_rule7_another_start_time_is_another_process) {
  auto id = identify(::getpid());
  ASSERT_TRUE(id);
  ++id->start_ticks;
  EXPECT_EQ(alive(*id), Alive::kDead);
}

TEST(Process, F17_rule7_a_pid_that_the_kernel_gives_again) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to choose the next pid of a namespace";
  enum Verdict : int { kRight = 0, kWrong = 1, kCannot = 2 };
  const TestFolder folder;
  TestChild outer([&](const ChildEnd&) -> int {
    if (::unshare(CLONE_NEWPID | CLONE_NEWNS) != 0) return kCannot;
    const pid_t init = ::fork();
    if (init != 0) {
      int status = 0;
      ::waitpid(init, &status, 0);
      return WIFEXITED(status) ? WEXITSTATUS(status) : kWrong;
    }
    ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    if (::mount("proc", "/proc", "proc", 0, nullptr) != 0) ::_exit(kCannot);
    SystemRandom random;
    const auto slots = LiveSlots::open(folder.file("live"), random);
    TestChild first([&](const ChildEnd& parent) {
      const auto slot = slots->take();
      parent.tell(slot->offset());
      parent.await();
      return 0;
    });
    const std::uint64_t offset = first.hear();
    const int pid = first.pid();
    const auto id = identify(pid);
    if (!id || alive(*id) != Alive::kAlive) ::_exit(kWrong);
    first.kill();
    // Start times count in hundredths of a second.
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    std::ofstream("/proc/sys/kernel/ns_last_pid") << pid - 1 << std::flush;
    TestChild second(wait_for_ever);
    second.hear();
    if (second.pid() != pid) ::_exit(kCannot);
    const auto other = identify(pid);
    const bool right = alive(*id) == Alive::kDead && other && alive(*other) == Alive::kAlive &&
                       slots->alive(offset) == Alive::kDead;
    second.kill();
    ::_exit(right ? kRight : kWrong);
  });
  const int verdict = outer.reap();
  if (verdict == kCannot) GTEST_SKIP() << "this kernel does not let us choose a pid";
  EXPECT_EQ(verdict, kRight);
}

TEST(Process, F18_rule7_only_its_own_namespace_judges) {
  auto id = identify(::getpid());
  ASSERT_TRUE(id);
  ++id->pid_namespace;
  EXPECT_EQ(alive(*id), Alive::kUnknown);
  EXPECT_EQ(alive(ProcessId{}), Alive::kUnknown);
}

TEST(Process, F18_rule7_equal_pids_in_two_namespaces_are_not_mixed_up) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to make PID namespaces";
  const auto outer = identify(::getpid());
  ASSERT_TRUE(outer);
  TestChild child([&](const ChildEnd&) -> int {
    if (::unshare(CLONE_NEWPID | CLONE_NEWNS) != 0) return 2;
    const pid_t init = ::fork();
    if (init != 0) {
      int status = 0;
      ::waitpid(init, &status, 0);
      return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
    }
    // Until /proc is mounted again it shows the outer numbers, so nothing is known.
    if (identify(1).has_value() || alive(*outer) != Alive::kUnknown) ::_exit(4);
    if (terminal_session().has_value()) ::_exit(5);
    ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    if (::mount("proc", "/proc", "proc", 0, nullptr) != 0) ::_exit(2);
    const auto inner = identify(1);
    if (!inner || inner->pid_namespace == outer->pid_namespace) ::_exit(6);
    if (alive(*inner) != Alive::kAlive || alive(*outer) != Alive::kUnknown) ::_exit(7);
    ::_exit(0);
  });
  const int verdict = child.reap();
  if (verdict == 2) GTEST_SKIP() << "PID namespaces are not allowed here";
  EXPECT_EQ(verdict, 0);
}

TEST(Process, rule7_a_process_we_may_not_signal_is_alive) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become somebody else";
  const auto root = identify(::getpid());
  ASSERT_TRUE(root);
  TestChild child([&](const ChildEnd&) -> int {
    if (::setuid(kNobody) != 0) return 2;
    if (::kill(root->pid, 0) == 0 || errno != EPERM) return 3;
    return alive(*root) == Alive::kAlive ? 0 : 4;
  });
  EXPECT_EQ(child.reap(), 0);
}

TEST(Process, rule7_a_process_that_proc_hides_is_alive_until_its_pid_is_free) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to mount /proc with hidepid";
  TestChild target(wait_for_ever);
  target.hear();
  const auto id = identify(target.pid());
  ASSERT_TRUE(id);
  TestChild child([&](const ChildEnd& parent) -> int {
    if (::unshare(CLONE_NEWNS) != 0) return 2;
    ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    if (::mount("proc", "/proc", "proc", 0, "hidepid=2") != 0) return 2;
    if (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0) return 2;
    if (read_file("/proc/" + std::to_string(id->pid) + "/stat").has_value()) return 2;
    if (alive(*id) != Alive::kAlive) return 3;
    parent.tell(1);
    parent.await();
    return alive(*id) == Alive::kDead ? 0 : 4;
  });
  std::uint64_t ready = 0;
  if (::read(child.from(), &ready, sizeof ready) == sizeof ready) {
    target.kill();
    child.go();
  }
  const int verdict = child.reap();
  if (verdict == 2) GTEST_SKIP() << "hidepid cannot be had here";
  EXPECT_EQ(verdict, 0);
}

TEST(Process, rule7_a_name_with_blanks_and_parentheses) {
  TestChild child([](const ChildEnd& parent) {
    ::prctl(PR_SET_NAME, "a) Z 1 (b) c");
    return wait_for_ever(parent);
  });
  child.hear();
  const auto id = identify(child.pid());
  ASSERT_TRUE(id) << id.error().message;
  EXPECT_EQ(alive(*id), Alive::kAlive);
  EXPECT_EQ(comm(child.pid()).value_or(""), "a) Z 1 (b) c");
}

TEST(Process, refuses_what_is_no_running_process) {
  for (const int pid : {0, -1}) {
    const auto id = identify(pid);
    ASSERT_FALSE(id);
    EXPECT_EQ(id.error().code, Code::kInvalidInput);
  }
  TestChild child([](const ChildEnd&) { return 0; });
  const int pid = child.pid();
  EXPECT_EQ(child.reap(), 0);
  const auto id = identify(pid);
  ASSERT_FALSE(id);
  EXPECT_EQ(id.error().code, Code::kNotFound);
  EXPECT_THAT(id.error().message, testing::HasSubstr(std::to_string(pid)));
  const auto name = comm(pid);
  ASSERT_FALSE(name);
  EXPECT_EQ(name.error().code, Code::kNotFound);
}

TEST(Process, parse_stat_refuses_garbage) {
  using internal::parse_stat;
  const auto good =
      parse_stat("1 (a) S 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24\n");
  ASSERT_TRUE(good);
  EXPECT_EQ(good->state, 'S');
  EXPECT_EQ(good->threads, 20U);
  EXPECT_EQ(good->start_ticks, 22U);
  EXPECT_EQ(good->parent, 4);
  EXPECT_EQ(good->terminal, 7);
  for (const char* bad : {"", "1 (a", "1 (a) S", "1 (a) S 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18",
                          "1 (a) SS 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24",
                          "1 (a) S 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 -1 23 24",
                          "1 (a) S 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 2x 23 24",
                          "1 (a) S 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 x 21 22 23 24"}) {
    EXPECT_FALSE(parse_stat(bad)) << bad;
  }
}

TEST(BootId, is_one_and_the_same) {
  const auto id = boot_id();
  ASSERT_TRUE(id);
  EXPECT_EQ(id->size(), 36U);
  EXPECT_EQ(*id, boot_id().value_or(""));
}

// Makes the calling child the leader of a session with a terminal of its own.
bool take_a_terminal() {
  if (::setsid() < 0) return false;
  const int master = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (master < 0 || ::grantpt(master) != 0 || ::unlockpt(master) != 0) return false;
  return ::open(::ptsname(master), O_RDWR) >= 0;
}

TEST(TerminalSession, is_shared_by_a_session_and_by_nobody_else) {
  TestChild one([&](const ChildEnd&) {
    if (!take_a_terminal()) return 2;
    const auto own = terminal_session();
    if (!own || !*own || (*own)->size() != 16) return 3;
    if ((*own)->find_first_not_of("0123456789abcdef") != std::string::npos) return 4;
    const pid_t same = ::fork();
    if (same == 0) ::_exit(terminal_session().value_or(std::nullopt) == *own ? 0 : 5);
    const pid_t other = ::fork();
    if (other == 0) {
      if (!take_a_terminal()) ::_exit(6);
      const auto mine = terminal_session();
      ::_exit(mine && *mine && *mine != *own ? 0 : 7);
    }
    int verdict = 0;
    for (const pid_t child : {same, other}) {
      int status = 0;
      ::waitpid(child, &status, 0);
      if (verdict == 0) verdict = WEXITSTATUS(status);
    }
    return verdict;
  });
  EXPECT_EQ(one.reap(), 0);
}

TEST(TerminalSession, B5_there_is_none_without_a_terminal) {
  TestChild child([&](const ChildEnd&) {
    if (::setsid() < 0) return 2;
    const auto none = terminal_session();
    return none && !*none ? 0 : 1;
  });
  EXPECT_EQ(child.reap(), 0);
}

TEST(ClientProcess, B4_is_the_parent_in_every_session_and_another_for_a_grandchild) {
  TestChild child([&](const ChildEnd&) {
    const auto first = client_process();
    if (!first || !*first) return 2;
    const auto age = client_age_ms();
    if (!age || *age < 0) return 3;
    if (::setsid() < 0 || client_process().value_or(std::nullopt) != *first) return 4;
    const pid_t below = ::fork();
    if (below == 0) {
      const auto mine = client_process();
      ::_exit(mine && *mine && *mine != *first ? 0 : 5);
    }
    int status = 0;
    ::waitpid(below, &status, 0);
    return WEXITSTATUS(status);
  });
  EXPECT_EQ(child.reap(), 0);
}

TEST(TimeNamespace, F19_a_shifted_clock_is_refused) {
  EXPECT_TRUE(check_time_namespace());
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to make a time namespace";
  const auto id = identify(::getpid());
  ASSERT_TRUE(id);
  TestChild child([&](const ChildEnd&) -> int {
    if (::unshare(CLONE_NEWTIME) != 0) return 2;
    std::ofstream offsets("/proc/self/timens_offsets");
    offsets << "boottime 1000 0" << std::flush;
    if (!offsets) return 2;
    // The shift holds for children.
    const pid_t inner = ::fork();
    if (inner == 0) {
      const bool refused = !check_time_namespace() && !identify(::getpid());
      ::_exit(refused && alive(*id) == Alive::kUnknown ? 0 : 3);
    }
    int status = 0;
    ::waitpid(inner, &status, 0);
    return WEXITSTATUS(status);
  });
  const int verdict = child.reap();
  if (verdict == 2) GTEST_SKIP() << "this kernel has no time namespaces";
  EXPECT_EQ(verdict, 0);
}

}  // namespace
}  // namespace lockkeeper::host
