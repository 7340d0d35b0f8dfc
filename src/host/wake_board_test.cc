#include "host/wake_board.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/test_folder.h"
#include "host/test_child.h"

namespace lockkeeper::host {
namespace {

// Far longer than any test may take: a waiter that sleeps this long was not woken.
constexpr std::int64_t kForEverMs = 600'000;

class WakeBoardTest : public testing::Test {
 protected:
  WakeBoard open() {
    auto board = WakeBoard::open(path_);
    LOCKKEEPER_ASSERT(board.has_value());
    return std::move(*board);
  }
  TestFolder folder_;
  std::string path_ = folder_.file("wake");
};

TEST_F(WakeBoardTest, rule10_file_is_private_has_its_size_and_is_no_symlink) {
  {
    const WakeBoard board = open();
  }
  struct stat status{};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  EXPECT_EQ(status.st_size, 16384);
  ASSERT_EQ(::symlink(path_.c_str(), folder_.file("link").c_str()), 0);
  EXPECT_FALSE(WakeBoard::open(folder_.file("link")));
}

TEST_F(WakeBoardTest, rule10_opening_again_keeps_the_words) {
  const WakeBoard board = open();
  board.wake(5);
  const std::uint32_t word = board.read(5);
  EXPECT_EQ(open().read(5), word);
  EXPECT_EQ(board.read(5), word);
}

TEST_F(WakeBoardTest, rule10_a_wake_before_the_sleep_is_not_lost) {
  const WakeBoard board = open();
  const std::uint32_t seen = board.read(7);
  open().wake(7);
  EXPECT_NE(board.read(7), seen);
  EXPECT_EQ(board.wait(7, seen, kForEverMs), Woken::kWake);
}

TEST_F(WakeBoardTest, rule10_wakes_every_sleeper_of_other_processes) {
  const WakeBoard board = open();
  const auto sleeper = [&](const ChildEnd& parent) {
    const WakeBoard own = open();
    const std::uint32_t seen = own.read(9);
    parent.tell(1);
    return own.wait(9, seen, kForEverMs) == Woken::kWake ? 0 : 1;
  };
  TestChild one(sleeper);
  TestChild two(sleeper);
  one.hear();
  two.hear();
  board.wake(9);
  EXPECT_EQ(one.reap(), 0);
  EXPECT_EQ(two.reap(), 0);
}

TEST_F(WakeBoardTest, rule10_only_the_named_word_wakes_and_ids_wrap) {
  const WakeBoard board = open();
  const std::uint32_t seen = board.read(1);
  board.wake(2);
  EXPECT_EQ(board.read(1), seen);
  EXPECT_EQ(board.wait(1, seen, 1), Woken::kTimeout);
  board.wake(1 + WakeBoard::kWords * 1'000'003);
  EXPECT_NE(board.read(1), seen);
  EXPECT_EQ(board.read(1), board.read(1 + WakeBoard::kWords));
}

TEST_F(WakeBoardTest, rule10_no_time_means_no_sleep) {
  const WakeBoard board = open();
  const std::uint32_t seen = board.read(3);
  EXPECT_EQ(board.wait(3, seen, 0), Woken::kTimeout);
  EXPECT_EQ(board.wait(3, seen, -5), Woken::kTimeout);
  board.wake(3);
  EXPECT_EQ(board.wait(3, seen, 0), Woken::kWake);
}

TEST_F(WakeBoardTest, rule10_a_signal_ends_the_sleep) {
  TestChild child([&](const ChildEnd& parent) {
    struct sigaction action{};
    action.sa_handler = [](int) {};
    ::sigaction(SIGUSR1, &action, nullptr);
    const WakeBoard board = open();
    parent.tell(1);
    return board.wait(4, board.read(4), kForEverMs) == Woken::kInterrupted ? 0 : 1;
  });
  child.hear();
  // A signal before the sleep has begun is lost on it, so send until it has worked.
  const int pid = child.pid();
  std::atomic<bool> ended = false;
  std::jthread sender([&] {
    while (!ended) {
      ::kill(pid, SIGUSR1);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  siginfo_t info{};
  EXPECT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
  ended = true;
  sender.join();
  EXPECT_EQ(child.reap(), 0);
}

TEST_F(WakeBoardTest, rule10_F15_a_truncated_file_costs_hints_and_never_a_signal) {
  const WakeBoard board = open();
  board.wake(4000);
  std::filesystem::resize_file(path_, 0);
  EXPECT_EQ(board.read(4000), 0U);
  EXPECT_EQ(board.wait(4000, 0, 5), Woken::kTimeout) << "sleeps instead";
  board.wake(4000);
  EXPECT_NE(board.read(4000), 0U) << "heals by itself";
  EXPECT_EQ(board.wait(4000, 0, kForEverMs), Woken::kWake);
  std::filesystem::resize_file(path_, 3);
  board.wake(0);
  EXPECT_EQ(open().wait(1, 0, 1), Woken::kTimeout) << "opening restores the size";
}

TEST_F(WakeBoardTest, rule10_F15_truncated_under_a_sleeper) {
  const WakeBoard board = open();
  TestChild sleeper([&](const ChildEnd& parent) {
    const WakeBoard own = open();
    parent.tell(1);
    // The result is free; dying of a signal is not.
    static_cast<void>(own.wait(11, own.read(11), 200));
    return own.read(11) == 0 ? 0 : 1;
  });
  sleeper.hear();
  std::filesystem::resize_file(path_, 0);
  EXPECT_EQ(sleeper.reap(), 0);
}

TEST_F(WakeBoardTest, rule10_a_deleted_board_still_works_for_those_who_have_it) {
  const WakeBoard board = open();
  ASSERT_EQ(::unlink(path_.c_str()), 0);
  const std::uint32_t seen = board.read(1);
  board.wake(1);
  EXPECT_EQ(board.wait(1, seen, kForEverMs), Woken::kWake);
  const WakeBoard fresh = open();
  EXPECT_EQ(fresh.read(1), 0U);
}

TEST_F(WakeBoardTest, rule10_F13_a_full_disk_is_an_error_at_open_and_no_signal_later) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to mount a small file system";
  TestChild child([&](const ChildEnd&) -> int {
    if (::unshare(CLONE_NEWNS) != 0) return 2;
    ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    if (::mount("none", folder_.path().c_str(), "tmpfs", 0, "size=64k") != 0) return 2;
    const auto board = WakeBoard::open(path_);
    if (!board) return 3;
    std::ofstream filler(folder_.file("filler"));
    filler << std::string(65536, 'x') << std::flush;
    const auto other = WakeBoard::open(folder_.file("other"));
    if (other || other.error().code != Code::kNoSpace) return 4;
    // Words without a page on the full disk.
    std::filesystem::resize_file(path_, 0);
    std::filesystem::resize_file(path_, 16384);
    std::ofstream(folder_.file("filler2")) << std::string(65536, 'x') << std::flush;
    for (std::uint64_t id = 0; id < WakeBoard::kWords; id += 100) {
      board->wake(id);
      static_cast<void>(board->wait(id, board->read(id) + 1, 1));
    }
    return 0;
  });
  const int verdict = child.reap();
  if (verdict == 2) GTEST_SKIP() << "tmpfs cannot be mounted here";
  EXPECT_EQ(verdict, 0);
}

TEST_F(WakeBoardTest, rule10_read_look_wait_never_misses_a_change) {
  // The order of the header's comment, with a file's size in the table's place. A hint that got
  // lost would leave both asleep until the test's time is over.
  constexpr std::uintmax_t kMoves = 4000;
  const std::string table = folder_.file("table");
  std::ofstream(table).close();
  const auto play = [&](std::uintmax_t parity, std::uint64_t mine, std::uint64_t theirs) {
    const WakeBoard board = open();
    for (;;) {
      const std::uint32_t seen = board.read(mine);
      const std::uintmax_t moves = std::filesystem::file_size(table);
      if (moves >= kMoves) return 0;
      if (moves % 2 != parity) {
        static_cast<void>(board.wait(mine, seen, kForEverMs));
        continue;
      }
      std::ofstream(table, std::ios::app) << 'x' << std::flush;
      board.wake(theirs);
    }
  };
  TestChild one([&](const ChildEnd&) { return play(0, 100, 101); });
  TestChild two([&](const ChildEnd&) { return play(1, 101, 100); });
  EXPECT_EQ(one.reap(), 0);
  EXPECT_EQ(two.reap(), 0);
}

}  // namespace
}  // namespace lockkeeper::host
