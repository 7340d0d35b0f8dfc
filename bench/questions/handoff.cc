// From the moment a holder begins to release to the moment the next one, asleep in another process,
// has the lock in its hands.
#include <sys/mman.h>

#include <atomic>
#include <thread>

#include "bench/child.h"
#include "bench/crew.h"
#include "bench/questions/questions.h"
#include "bench/questions/waiting.h"

namespace lockkeeper::bench {
namespace {

constexpr std::size_t kHandoffRoundsLeast = 5;
constexpr auto kHandoffAsleep =
    std::chrono::milliseconds(2);  // for the waiter to be asleep for certain

struct HandoffScene {
  std::atomic<bool> held{false};
  std::atomic<bool> over{false};
  std::atomic<std::int64_t> granted_ns{0};
};

void wait_in_turn(const std::string& folder, HandoffScene& scene) {
  Place place(folder, Kept::kProcess);
  service::Locks locks(place.site(), {"waiter", ""});
  for (;;) {
    wait_until([&] { return scene.held || scene.over; });
    if (scene.over) return;
    take_it(locks);
    scene.granted_ns = now_ns();
    scene.held = false;
    free_it(locks);
  }
}

}  // namespace

void ask_handoff(const Setup& setup, Answer& answer) {
  setup.progress->say("measuring");
  const std::string folder = setup.fresh("handoff");
  auto& scene = shared<HandoffScene>();
  Place place(folder, Kept::kProcess);
  service::Locks locks(place.site(), {"holder", ""});
  const pid_t waiter = fork_child([&] { wait_in_turn(folder, scene); });
  const Once once = [&] {
    take_it(locks);
    scene.granted_ns = 0;
    scene.held = true;
    wait_until([&] { return waiters_of(locks) == 1; });
    std::this_thread::sleep_for(kHandoffAsleep);
    const std::int64_t began = now_ns();
    free_it(locks);
    wait_until([&] { return !scene.held; });
    return static_cast<double>(scene.granted_ns - began) / 1000;
  };
  std::vector<Samples> samples = alternate({once}, setup.seconds, kHandoffRoundsLeast);
  scene.over = true;
  join(waiter);
  ::munmap(&scene, sizeof scene);
  answer.targets.push_back({.what = "p50, release to running",
                            .value = samples[0].p50(),
                            .unit = "µs",
                            .must = 300,
                            .aim = 60});
  answer.rows.push_back({"release to the next running", "process", std::move(samples[0]), ""});
}

}  // namespace lockkeeper::bench
