// What a hook costs: a process that starts, asks and ends.
#include "bench/peers/ours.h"
#include "bench/questions/inside.h"
#include "bench/questions/questions.h"

namespace lockkeeper::bench {
namespace {

constexpr std::size_t kCheckRunsLeast = 20;

}  // namespace

void ask_check(const Setup& setup, Answer& answer) {
  if (!has_program(setup, answer)) return;
  setup.progress->say("preparing " + grouped(setup.held) + " leases");
  const std::string folder = setup.fresh("check");
  Place(folder, Kept::kProcess).hold_paths(setup.held);
  setup.progress->say("measuring");
  const Inside inside(folder);
  const Words check = {setup.lockkeeper, "check", "--agent", "bench", path_at(7, 1)};
  std::vector<Samples> samples = alternate({[&] { return timed([&] { run_well(check); }); },
                                            [] { return timed([] { run_well({"/bin/true"}); }); }},
                                           setup.seconds, kCheckRunsLeast);
  answer.rows.push_back({"lockkeeper check PATH", "process", std::move(samples[0]), ""});
  answer.rows.push_back({"/bin/true", "-", std::move(samples[1]), "any lock at all"});
  answer.ratio("lockkeeper check PATH", "/bin/true", {.what = "/bin/true", .must = 2, .aim = 1.5});
}

}  // namespace lockkeeper::bench
