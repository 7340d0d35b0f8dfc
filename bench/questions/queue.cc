// A long queue on one path, handed from one to the next until it is empty. Once with every waiter a
// process that sleeps, as in life; once with the table alone, without anybody to wake.
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <expected>

#include "base/assert.h"
#include "bench/crew.h"
#include "bench/must.h"
#include "bench/questions/questions.h"
#include "bench/questions/waiting.h"

namespace lockkeeper::bench {
namespace {

constexpr int kMost = 4'000;    // words of the wake board
constexpr int kQueueSteps = 3;  // a hundredth, a tenth, all
constexpr double kFlat = 1.25;

struct QueueScene {
  std::atomic<int> granted{0};
  std::atomic<std::int64_t> granted_ns[kMost];
};

void wait_and_hand_on(const std::string& folder, QueueScene& scene, int number) {
  Place place(folder, Kept::kProcess);
  service::Locks locks(place.site(), {"waiter" + std::to_string(number), ""});
  take_it(locks);
  scene.granted_ns[scene.granted] = now_ns();
  ++scene.granted;  // only the holder is here
  free_it(locks);
}

using Measured = std::expected<Samples, std::string>;

// The time between one grant and the next.
Measured with_processes(const Setup& setup, int waiters) {
  const std::string folder = setup.fresh("queue");
  auto& scene = shared<QueueScene>();
  Place place(folder, Kept::kProcess);
  service::Locks locks(place.site(), {"holder", ""});
  take_it(locks);
  const Waiting waiting(waiters, [&](int i) { wait_and_hand_on(folder, scene, i); });
  if (!waiting.all_queued(locks)) {
    return std::unexpected("they did not all come to stand in the queue");
  }
  std::int64_t before = now_ns();
  free_it(locks);
  if (!waiting.in_time([&] { return scene.granted == waiters; })) {
    return std::unexpected("they did not all get it");
  }
  Samples samples;
  for (int i = 0; i < waiters; ++i) {
    const std::int64_t granted = scene.granted_ns[i];
    samples.add(static_cast<double>(granted - before) / 1000);
    before = granted;
  }
  ::munmap(&scene, sizeof scene);
  return samples;
}

// A release, which grants the next in the same commit, and the next one's confirmation.
Measured in_the_table(const Setup& setup, int waiters) {
  Place place(setup.fresh("queue-table"), Kept::kProcess);
  layout::LockTable& table = place.table();
  const core::Attachment slot = must(table.own_slot());
  std::vector<std::pair<core::Owner, core::LeaseId>> line;
  for (int i = 0; i <= waiters; ++i) {
    core::AcquireRequest wanted = ask_for({"src/api/users.py"}, "waiter" + std::to_string(i));
    wanted.wait = true;
    wanted.waiting_process = slot;
    must(table.write([&](core::Table& rows) -> Result<bool> {
      LK_ASSIGN(const core::AcquireReply reply, rows.acquire(wanted));
      LOCKKEEPER_ASSERT(i == 0 || reply.outcome == core::Outcome::kQueued);
      if (!reply.again) line.emplace_back(wanted.owner, reply.lease.id);
      return reply.again;
    }));
  }
  Samples samples;
  for (std::size_t i = 0; i + 1 < line.size(); ++i) {
    samples.add(timed([&] {
      must(table.write([&](core::Table& rows) -> Result<bool> {
        LK_ASSIGN(const auto reply, rows.release_leases(line[i].first, {line[i].second}));
        return reply.again;
      }));
      must(table.write([&](core::Table& rows) -> Result<bool> {
        LK_ASSIGN(const core::AcquireReply reply, rows.poll(line[i + 1].second));
        LOCKKEEPER_ASSERT(reply.outcome == core::Outcome::kGranted);
        return reply.again;
      }));
    }));
  }
  return samples;
}

// Short queues are emptied several times, so that there is something to take the middle of.
template <class Run>
Measured repeated(int waiters, int longest, const Run& run) {
  Samples all;
  const int rounds = std::clamp(longest / waiters / 10, 1, 10);
  for (int round = 0; round < rounds; ++round) {
    const Measured samples = run(waiters);
    if (!samples) return samples;
    all.micros.insert(all.micros.end(), samples->micros.begin(), samples->micros.end());
  }
  return all;
}

template <class Run>
void grow(const Setup& setup, const std::string& name, const Run& run, Answer& answer) {
  const int longest = std::min(setup.waiters, kMost);
  double first = 0;
  double last = 0;
  const int shortest = std::max(2, longest / 100);
  int waiters = shortest;
  for (int step = 0; step < kQueueSteps; ++step) {
    waiters = std::max(2, static_cast<int>(longest / std::pow(10, kQueueSteps - 1 - step)));
    setup.progress->say(grouped(waiters) + " waiters, " + name);
    Measured samples = repeated(waiters, longest, run);
    if (!samples) {
      answer.skipped.push_back(grouped(waiters) + " waiters, " + name + ": " + samples.error());
      return;
    }
    last = samples->p50();
    if (step == 0) first = last;
    answer.rows.push_back(
        {grouped(waiters) + " waiters, " + name, "process", std::move(*samples), ""});
  }
  answer.targets.push_back(
      {.what = "from " + grouped(shortest) + " to " + grouped(waiters) + " waiters, " + name,
       .value = last / first,
       .unit = "×",
       .must = std::log(waiters) / std::log(shortest),
       .aim = kFlat});
}

}  // namespace

void ask_queue(const Setup& setup, Answer& answer) {
  grow(
      setup, "each a process", [&](int waiters) { return with_processes(setup, waiters); }, answer);
  grow(setup, "the table alone", [&](int waiters) { return in_the_table(setup, waiters); }, answer);
  answer.notes.push_back(
      "grows no faster than the logarithm of the queue's length: the bound is their ratio");
}

}  // namespace lockkeeper::bench
