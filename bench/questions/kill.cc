// From kill -9 of a holder to the next one having the lock: nobody released it, so somebody must
// notice.
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "bench/child.h"
#include "bench/crew.h"
#include "bench/questions/questions.h"
#include "bench/questions/waiting.h"

namespace lockkeeper::bench {
namespace {

constexpr std::size_t kKillRoundsLeast = 3;
// Not always the same moment between two looks of the waiter.
constexpr auto kKillAsleep = std::chrono::milliseconds(3);
constexpr auto kStep = std::chrono::milliseconds(7);
constexpr int kKillSteps = 4;

struct KillScene {
  std::atomic<bool> held{false};
  std::atomic<std::int64_t> granted_ns{0};
};

double one_death(const std::string& folder, service::Locks& looker, KillScene& scene, int round) {
  scene.held = false;
  scene.granted_ns = 0;
  const pid_t holder = fork_child([&] {
    Place place(folder, Kept::kProcess);
    service::Locks locks(place.site(), {"holder", ""});
    take_it(locks, Bound::kAttached);
    scene.held = true;
    ::pause();
  });
  wait_until([&] { return scene.held.load(); });
  const pid_t next = fork_child([&] {
    Place place(folder, Kept::kProcess);
    service::Locks locks(place.site(), {"next", ""});
    take_it(locks);
    scene.granted_ns = now_ns();
    free_it(locks);
  });
  wait_until([&] { return waiters_of(looker) == 1; });
  std::this_thread::sleep_for(kKillAsleep + kStep * (round % kKillSteps));
  const std::int64_t began = now_ns();
  ::kill(holder, SIGKILL);
  wait_until([&] { return scene.granted_ns != 0; });
  join(holder);
  join(next);
  return static_cast<double>(scene.granted_ns - began) / 1000;
}

}  // namespace

void ask_kill(const Setup& setup, Answer& answer) {
  setup.progress->say("measuring");
  const std::string folder = setup.fresh("kill");
  auto& scene = shared<KillScene>();
  Place place(folder, Kept::kProcess);
  service::Locks looker(place.site(), {"looker", ""});
  int round = 0;
  std::vector<Samples> samples = alternate(
      {[&] { return one_death(folder, looker, scene, round++); }}, setup.seconds, kKillRoundsLeast);
  ::munmap(&scene, sizeof scene);
  answer.targets.push_back({.what = "p50, kill -9 to running",
                            .value = samples[0].p50() / 1000,
                            .unit = "ms",
                            .must = 100,
                            .aim = 10});
  answer.targets.push_back({.what = "at worst, kill -9 to running",
                            .value = samples[0].max() / 1000,
                            .unit = "ms",
                            .must = 100});
  answer.rows.push_back({"kill -9 to the next running", "process", std::move(samples[0]), ""});
}

}  // namespace lockkeeper::bench
