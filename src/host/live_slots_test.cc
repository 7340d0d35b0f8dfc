#include "host/live_slots.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/test_folder.h"
#include "host/test_child.h"

namespace lockkeeper::host {
namespace {

class LiveSlotsTest : public testing::Test {
 protected:
  LiveSlots open() {
    auto slots = LiveSlots::open(path_, random_);
    LOCKKEEPER_ASSERT(slots.has_value());
    return std::move(*slots);
  }
  // In a child: takes a slot, tells its number, and keeps it until it is told to go.
  int hold(const ChildEnd& parent) {
    const auto slot = open().take();
    parent.tell(slot ? slot->offset() : 0);
    parent.await();
    return 0;
  }
  static LiveSlot take(const LiveSlots& slots) {
    auto slot = slots.take();
    LOCKKEEPER_ASSERT(slot.has_value());
    return std::move(*slot);
  }
  // The kernel drops the lock on the dying process's way out: wait for it, with no claim about how
  // long that takes.
  static bool becomes_dead(const LiveSlots& slots, std::uint64_t offset) {
    for (int i = 0; i < 20'000; ++i) {
      if (slots.alive(offset) == Alive::kDead) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }

  TestFolder folder_;
  std::string path_ = folder_.file("live");
  SystemRandom random_;
};

TEST_F(LiveSlotsTest, I6_ASlotOfAnotherMachineIsNeverDead) {
  const auto here = LiveSlots::open(path_, random_, 0600, 1);
  const auto there = LiveSlots::open(path_, random_, 0600, 2);
  ASSERT_TRUE(here && there);
  std::uint64_t offset = 0;
  {
    const LiveSlot slot = take(*here);
    offset = slot.offset();
    EXPECT_EQ(here->alive(offset), Alive::kAlive);
  }
  EXPECT_TRUE(becomes_dead(*here, offset));
  EXPECT_EQ(there->alive(offset), Alive::kUnknown);
}

TEST_F(LiveSlotsTest, rule7_own_slot_is_seen_alive_and_its_end_is_seen) {
  const LiveSlots slots = open();
  std::uint64_t offset = 0;
  {
    const LiveSlot slot = take(slots);
    offset = slot.offset();
    EXPECT_NE(offset, 0U);
    EXPECT_LT(offset, std::uint64_t{1} << 62);
    EXPECT_EQ(slots.alive(offset), Alive::kAlive);
    EXPECT_EQ(open().alive(offset), Alive::kAlive);
  }
  EXPECT_EQ(slots.alive(offset), Alive::kDead);
}

TEST_F(LiveSlotsTest, rule7_file_is_private_and_never_a_symlink) {
  {
    const LiveSlots slots = open();
  }
  struct stat status{};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  ASSERT_EQ(::symlink(path_.c_str(), folder_.file("link").c_str()), 0);
  EXPECT_FALSE(LiveSlots::open(folder_.file("link"), random_));
}

TEST_F(LiveSlotsTest, rule7_every_slot_has_its_own_number) {
  const LiveSlots slots = open();
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 2000; ++i) EXPECT_TRUE(seen.insert(take(slots).offset()).second);
}

TEST_F(LiveSlotsTest, rule7_a_number_in_use_is_drawn_again) {
  // The same seed draws the same number; the first slot still lives.
  SeededRandom first_random(1);
  SeededRandom second_random(1);
  auto first = LiveSlots::open(path_, first_random);
  auto second = LiveSlots::open(path_, second_random);
  ASSERT_TRUE(first && second);
  const LiveSlot one = take(*first);
  const LiveSlot two = take(*second);
  EXPECT_NE(one.offset(), two.offset());
}

TEST_F(LiveSlotsTest, rule7_a_foreign_lock_on_the_whole_file_is_an_error_not_a_hang) {
  const LiveSlots slots = open();
  TestChild hog([&](const ChildEnd& parent) {
    const int fd = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
    struct flock all{};
    all.l_type = F_WRLCK;
    parent.tell(::fcntl(fd, F_OFD_SETLK, &all) == 0 ? 1 : 0);
    parent.await();
    return 0;
  });
  ASSERT_EQ(hog.hear(), 1U);
  const auto slot = slots.take();
  ASSERT_FALSE(slot);
  EXPECT_EQ(slot.error().code, Code::kStoreUnavailable);
}

TEST_F(LiveSlotsTest, L1_rule7_kill_9_is_seen) {
  const LiveSlots slots = open();
  TestChild holder([&](const ChildEnd& parent) { return hold(parent); });
  const std::uint64_t offset = holder.hear();
  EXPECT_EQ(slots.alive(offset), Alive::kAlive);
  holder.kill_only();  // not reaped: a zombie holds nothing
  EXPECT_TRUE(becomes_dead(slots, offset));
}

TEST_F(LiveSlotsTest, rule7_a_stopped_process_is_alive) {
  const LiveSlots slots = open();
  TestChild holder([&](const ChildEnd& parent) { return hold(parent); });
  const std::uint64_t offset = holder.hear();
  ASSERT_EQ(::kill(holder.pid(), SIGSTOP), 0);
  int status = 0;
  ASSERT_EQ(::waitpid(holder.pid(), &status, WUNTRACED), holder.pid());
  EXPECT_EQ(slots.alive(offset), Alive::kAlive);
}

TEST_F(LiveSlotsTest, rule7_an_inherited_slot_lives_until_both_are_gone) {
  const LiveSlots slots = open();
  // The keeper takes the slot and starts a command, by fork and exec, that inherits it.
  TestChild keeper([&](const ChildEnd& parent) {
    const auto slot = open().take();
    auto copy = slot->inheritable();
    if (!copy) return 1;
    const pid_t command = ::fork();
    if (command == 0) ::execlp("sleep", "sleep", "600", nullptr);
    copy->reset();
    parent.tell(slot->offset());
    parent.tell(static_cast<std::uint64_t>(command));
    parent.await();
    return 0;
  });
  const std::uint64_t offset = keeper.hear();
  const auto command = static_cast<pid_t>(keeper.hear());
  EXPECT_EQ(slots.alive(offset), Alive::kAlive);
  // Wait for the exec: from then on only the inheritable copy is open in the command.
  const std::string comm = "/proc/" + std::to_string(command) + "/comm";
  while (read_file(comm).value_or("sleep\n") != "sleep\n") std::this_thread::yield();
  keeper.kill();
  EXPECT_EQ(slots.alive(offset), Alive::kAlive) << "the command still runs";
  ASSERT_EQ(::kill(command, SIGKILL), 0);
  EXPECT_TRUE(becomes_dead(slots, offset));
}

TEST_F(LiveSlotsTest, rule7_the_slot_outlives_a_command_that_inherited_it) {
  const LiveSlots slots = open();
  const LiveSlot slot = take(slots);
  auto copy = slot.inheritable();
  ASSERT_TRUE(copy);
  EXPECT_EQ(::fcntl(copy->get(), F_GETFD) & FD_CLOEXEC, 0);
  TestChild command([&](const ChildEnd&) { return 0; });
  copy->reset();
  EXPECT_EQ(command.reap(), 0);
  EXPECT_EQ(slots.alive(slot.offset()), Alive::kAlive) << "a child's end unlocks nothing";
}

TEST_F(LiveSlotsTest, rule7_a_command_started_without_a_copy_does_not_hold_the_slot) {
  const LiveSlots slots = open();
  TestChild keeper([&](const ChildEnd& parent) {
    const auto slot = open().take();
    const pid_t command = ::fork();
    if (command == 0) ::execlp("sleep", "sleep", "600", nullptr);
    parent.tell(slot->offset());
    parent.tell(static_cast<std::uint64_t>(command));
    parent.await();
    return 0;
  });
  const std::uint64_t offset = keeper.hear();
  const auto command = static_cast<pid_t>(keeper.hear());
  keeper.kill();
  EXPECT_TRUE(becomes_dead(slots, offset));
  EXPECT_EQ(::kill(command, SIGKILL), 0) << "the command ended too early to prove anything";
}

TEST_F(LiveSlotsTest, rule7_close_in_child_lets_go_without_ending_the_parents_slot) {
  const LiveSlots slots = open();
  LiveSlot slot = take(slots);
  const std::uint64_t offset = slot.offset();
  TestChild forked([&](const ChildEnd& parent) {
    slot.close_in_child();
    parent.tell(1);
    parent.await();
    return 0;
  });
  ASSERT_EQ(forked.hear(), 1U);
  EXPECT_EQ(slots.alive(offset), Alive::kAlive);
  slot.close_in_child();  // the parent's own copy goes; the forked child runs on
  EXPECT_EQ(slots.alive(offset), Alive::kDead);
}

TEST_F(LiveSlotsTest, rule7_a_forked_child_that_keeps_its_copy_keeps_the_slot) {
  const LiveSlots slots = open();
  LiveSlot slot = take(slots);
  const std::uint64_t offset = slot.offset();
  TestChild forked([](const ChildEnd& parent) {
    parent.await();
    return 0;
  });
  slot.close_in_child();
  EXPECT_EQ(slots.alive(offset), Alive::kAlive);
  forked.kill();
  EXPECT_TRUE(becomes_dead(slots, offset));
}

TEST_F(LiveSlotsTest, rule7_I10_what_cannot_be_told_is_unknown_never_dead) {
  const LiveSlots slots = open();
  EXPECT_EQ(slots.alive(0), Alive::kUnknown) << "no slot";
  EXPECT_EQ(slots.alive(~std::uint64_t{0}), Alive::kUnknown) << "beyond 62 bits";
  const LiveSlot slot = take(slots);
  EXPECT_EQ(slots.alive(slot.offset() ^ std::uint64_t{1} << 45), Alive::kUnknown) << "another file";
  EXPECT_EQ(slots.alive(slot.offset() ^ 1), Alive::kDead) << "this file, and nobody has it";
}

TEST_F(LiveSlotsTest, rule7_I10_a_deleted_file_never_makes_a_live_holder_dead) {
  const LiveSlots before = open();
  TestChild holder([&](const ChildEnd& parent) { return hold(parent); });
  const std::uint64_t offset = holder.hear();
  ASSERT_TRUE(before.check_identity());

  ASSERT_EQ(::unlink(path_.c_str()), 0);
  EXPECT_EQ(before.alive(offset), Alive::kAlive);
  const auto gone = before.check_identity();
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, Code::kStoreUnavailable);
  EXPECT_FALSE(before.take()) << "nobody who comes now would see it";

  const LiveSlots after = open();  // makes a new file in its place
  EXPECT_EQ(after.alive(offset), Alive::kUnknown);
  EXPECT_FALSE(before.take());
  EXPECT_FALSE(before.check_identity());
  const LiveSlot fresh = take(after);
  EXPECT_EQ(after.alive(fresh.offset()), Alive::kAlive);
  EXPECT_EQ(before.alive(fresh.offset()), Alive::kUnknown);

  holder.kill();
  EXPECT_TRUE(becomes_dead(before, offset)) << "who has the old file open can still tell";
  EXPECT_EQ(after.alive(offset), Alive::kUnknown);
}

TEST_F(LiveSlotsTest, rule7_I10_many_replacements_in_a_row_never_share_numbers_with_a_live_slot) {
  // Deleting and creating at once is what makes a file system hand out an inode again.
  std::vector<LiveSlot> held;
  for (int i = 0; i < 64; ++i) {
    const LiveSlots slots = open();
    for (const LiveSlot& slot : held) ASSERT_EQ(slots.alive(slot.offset()), Alive::kUnknown);
    held.push_back(take(slots));
    ASSERT_EQ(::unlink(path_.c_str()), 0);
  }
}

TEST_F(LiveSlotsTest, rule7_F15_truncated_or_overwritten_content_changes_nothing) {
  const LiveSlots slots = open();
  TestChild holder([&](const ChildEnd& parent) { return hold(parent); });
  const std::uint64_t offset = holder.hear();
  std::filesystem::resize_file(path_, 12'345);
  EXPECT_EQ(slots.alive(offset), Alive::kAlive);
  std::filesystem::resize_file(path_, 0);
  EXPECT_EQ(open().alive(offset), Alive::kAlive);
  holder.kill();
  EXPECT_TRUE(becomes_dead(slots, offset));
}

TEST_F(LiveSlotsTest, F18_rule7_equal_pids_in_two_pid_namespaces) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to make PID namespaces";
  const LiveSlots slots = open();
  const auto in_new_namespace = [&](const ChildEnd& parent) {
    if (::unshare(CLONE_NEWPID) != 0) {
      parent.tell(0);
      return 1;
    }
    const pid_t first = ::fork();  // pid 1 of its namespace
    if (first == 0) {
      parent.await();
      ::_exit(::getpid() == 1 ? hold(parent) : 1);
    }
    parent.tell(static_cast<std::uint64_t>(first));
    int status = 0;
    ::waitpid(first, &status, 0);
    return 0;
  };
  struct Worker {
    pid_t outer_pid = 0;
    std::uint64_t offset = 0;
  };
  const auto meet = [](const TestChild& child) {
    Worker worker;
    worker.outer_pid = static_cast<pid_t>(child.hear());
    if (worker.outer_pid == 0) return worker;
    child.go();
    worker.offset = child.hear();
    return worker;
  };
  TestChild one(in_new_namespace);
  TestChild two(in_new_namespace);
  const Worker first = meet(one);
  const Worker second = meet(two);
  if (first.offset == 0 || second.offset == 0) GTEST_SKIP() << "unshare(CLONE_NEWPID) refused";
  EXPECT_EQ(slots.alive(first.offset), Alive::kAlive);
  EXPECT_EQ(slots.alive(second.offset), Alive::kAlive);
  ASSERT_EQ(::kill(first.outer_pid, SIGKILL), 0);
  EXPECT_TRUE(becomes_dead(slots, first.offset));
  EXPECT_EQ(slots.alive(second.offset), Alive::kAlive) << "equal pid, another process";
  ASSERT_EQ(::kill(second.outer_pid, SIGKILL), 0);
  EXPECT_TRUE(becomes_dead(slots, second.offset));
}

TEST_F(LiveSlotsTest, rule7_threads_take_and_test_at_once) {
  const LiveSlots slots = open();
  std::atomic<int> wrong = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        std::uint64_t offset = 0;
        {
          const LiveSlot slot = take(slots);
          offset = slot.offset();
          if (slots.alive(offset) != Alive::kAlive) ++wrong;
        }
        if (slots.alive(offset) != Alive::kDead) ++wrong;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace lockkeeper::host
