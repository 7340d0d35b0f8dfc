#include "bench/crew.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <fstream>
#include <thread>

#include "base/assert.h"
#include "bench/child.h"

namespace lockkeeper::bench {
namespace {

constexpr int kNobody = -1;
constexpr int kEnd = -2;
constexpr double kTurnSeconds = 0.2;
constexpr double kTurnsLeast = 5;

struct Board {
  std::atomic<int> turn{kNobody};
  std::atomic<int> ready{0};
  std::atomic<int> busy{0};
};

// std::atomic's own wait is for the threads of one process.
void sleep_while(const std::atomic<int>& word, int value) {
  ::syscall(SYS_futex, &word, FUTEX_WAIT, value, nullptr, nullptr, 0);
}

void set_turn(Board& board, int turn) {
  board.turn = turn;
  ::syscall(SYS_futex, &board.turn, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

std::string file_of(const Setup& setup, std::size_t member) {
  return setup.folder + "/crew-" + std::to_string(member);
}

void work(Board& board, const Member& member, const std::string& file) {
  const Once once = member.join();
  const int mine = static_cast<int>(member.side);
  Samples samples;
  ++board.ready;
  for (int turn = board.turn; turn != kEnd; turn = board.turn) {
    if (turn != mine) {
      sleep_while(board.turn, turn);
      continue;
    }
    ++board.busy;
    while (board.turn == mine) samples.add(once());
    --board.busy;
  }
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(samples.micros.data()),
             static_cast<std::streamsize>(samples.count() * sizeof(double)));
}

Samples read_samples(const std::string& file) {
  std::ifstream stream(file, std::ios::binary | std::ios::ate);
  Samples samples;
  samples.micros.resize(static_cast<std::size_t>(stream.tellg()) / sizeof(double));
  stream.seekg(0);
  stream.read(reinterpret_cast<char*>(samples.micros.data()),
              static_cast<std::streamsize>(samples.count() * sizeof(double)));
  return samples;
}

}  // namespace

void* map_shared(std::size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  LOCKKEEPER_ASSERT(memory != MAP_FAILED);
  return memory;
}

void wait_until(const std::function<bool()>& ready) {
  while (!ready()) std::this_thread::sleep_for(std::chrono::microseconds(500));
}

CrewResult run_crew(const Setup& setup, const std::vector<Member>& members) {
  auto& board = shared<Board>();
  std::vector<pid_t> pids;
  std::size_t sides = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Member& member = members[i];
    sides = std::max(sides, member.side + 1);
    pids.push_back(fork_child([&] { work(board, member, file_of(setup, i)); }));
  }
  wait_until([&] { return board.ready == static_cast<int>(members.size()); });
  CrewResult result;
  result.side_seconds.assign(sides, 0);
  const double turn = std::min(kTurnSeconds, setup.seconds / kTurnsLeast);
  while (result.side_seconds.back() < setup.seconds) {
    for (std::size_t side = 0; side < sides; ++side) {
      const auto began = std::chrono::steady_clock::now();
      set_turn(board, static_cast<int>(side));
      std::this_thread::sleep_for(std::chrono::duration<double>(turn));
      set_turn(board, kNobody);
      wait_until([&] { return board.busy == 0; });
      result.side_seconds[side] += micros_since(began) / 1e6;
    }
  }
  set_turn(board, kEnd);
  for (std::size_t i = 0; i < members.size(); ++i) {
    LOCKKEEPER_ASSERT(join(pids[i]) == 0);
    result.members.push_back(read_samples(file_of(setup, i)));
  }
  ::munmap(&board, sizeof board);
  return result;
}

}  // namespace lockkeeper::bench
