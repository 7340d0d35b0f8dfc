// What globs that others hold cost somebody who wants one path: those filed near it are looked at,
// the others are not; one that begins with `**/` is near everything.
#include <fmt/format.h>

#include "bench/peers/ours.h"
#include "bench/questions/questions.h"

namespace lockkeeper::bench {
namespace {

constexpr int kPackages = 997;  // as held_path() has them

// One at each package, the others at its modules.
std::string spread_glob(int i) {
  if (i < kPackages) return fmt::format("src/pkg{:03}/**/*.md", i);
  return fmt::format("src/pkg{:03}/mod{:03}/*_{}.h", i % kPackages, i / kPackages * 7 % 50, i);
}

std::string starred_glob(int i) {
  return fmt::format("**/generated_{}.h", i);
}

}  // namespace

void ask_globs(const Setup& setup, Answer& answer) {
  setup.progress->say("preparing " + grouped(setup.held) + " leases, three times");
  Place none(setup.fresh("globs-none"), Kept::kProcess);
  Place spread(setup.fresh("globs-spread"), Kept::kProcess);
  Place starred(setup.fresh("globs-starred"), Kept::kProcess);
  for (Place* place : {&none, &spread, &starred}) place->hold_paths(setup.held);
  spread.hold("globs", setup.globs, spread_glob);
  starred.hold("globs", setup.globs, starred_glob, Place::Fill::kUnchecked);
  setup.progress->say("measuring");
  int i = 0;
  const auto pair_in = [&i](Place& place) -> Once {
    return [&i, &place] {
      return timed([&] { table_pair(place.table(), ask_for({path_at(7, i++)}, "client")); });
    };
  };
  std::vector<Samples> samples =
      alternate({pair_in(none), pair_in(spread), pair_in(starred)}, setup.seconds, kPairsLeast);
  const std::string count = grouped(setup.globs);
  const std::string names[] = {"lockkeeper, no globs", "lockkeeper, " + count + " globs spread",
                               "lockkeeper, " + count + " globs **/…"};
  for (std::size_t side = 0; side < samples.size(); ++side) {
    answer.rows.push_back({names[side], "process", std::move(samples[side]), ""});
  }
  answer.ratio(names[1], names[0], {.what = "the time without globs, if spread", .must = 2});
  answer.ratio(names[2], names[0], {.what = "the time without globs, if all begin with **/"});
}

}  // namespace lockkeeper::bench
