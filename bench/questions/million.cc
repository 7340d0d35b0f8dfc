// Does the table get slower as it fills? Only by the depth of the tree, and by what leaves the
// processor's caches.
#include <filesystem>

#include "bench/peers/ours.h"
#include "bench/questions/many.h"
#include "bench/questions/questions.h"

namespace lockkeeper::bench {
namespace {

constexpr int kFew = 100;

}  // namespace

std::string folder_with_many(const Setup& setup) {
  const std::string folder = setup.folder + "/many";
  if (std::filesystem::exists(folder)) return folder;
  setup.progress->say("preparing " + grouped(setup.many) + " leases");
  Place(setup.fresh("many"), Kept::kProcess).hold_paths(setup.many);
  return folder;
}

void ask_million(const Setup& setup, Answer& answer) {
  Place many(folder_with_many(setup), Kept::kProcess);
  Place few(setup.fresh("few"), Kept::kProcess);
  few.hold_paths(kFew);
  setup.progress->say("measuring");
  int i = 0;
  const auto pair_in = [&i](Place& place) -> Once {
    return [&i, &place] {
      return timed([&] { table_pair(place.table(), ask_for({path_at(7, i++)}, "client")); });
    };
  };
  std::vector<Samples> samples =
      alternate({pair_in(many), pair_in(few)}, setup.seconds, kPairsLeast);
  const std::string many_name = kOursName + (", " + grouped(setup.many)) + " held";
  const std::string few_name = kOursName + (", " + grouped(kFew)) + " held";
  answer.rows.push_back({many_name, "process", std::move(samples[0]), ""});
  answer.rows.push_back({few_name, "process", std::move(samples[1]), ""});
  answer.ratio(many_name, few_name, {.what = "the time with 100 held", .must = 2.5, .aim = 1.6});
}

}  // namespace lockkeeper::bench
