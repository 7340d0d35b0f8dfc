// What `lockkeeper check` has resident at its largest.
#include "bench/peak.h"
#include "bench/peers/ours.h"
#include "bench/questions/inside.h"
#include "bench/questions/many.h"
#include "bench/questions/questions.h"

namespace lockkeeper::bench {
void ask_memory(const Setup& setup, Answer& answer) {
  if (!has_program(setup, answer)) return;
  const std::string folder = folder_with_many(setup);
  setup.progress->say("measuring");
  const Inside inside(folder);
  const double peak = peak_mib({setup.lockkeeper, "check", "--agent", "bench", path_at(7, 1)});
  if (peak == 0) {
    answer.skipped.push_back("memory: the process could not be traced");
    return;
  }
  answer.targets.push_back({.what = "resident at most, " + grouped(setup.many) + " leases held",
                            .value = peak,
                            .unit = "MiB",
                            .must = 15});
}

}  // namespace lockkeeper::bench
