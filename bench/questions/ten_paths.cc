// A work package locks several files at once, all or nothing, in one commit.
#include <fmt/format.h>

#include "bench/peers/ours.h"
#include "bench/questions/questions.h"

namespace lockkeeper::bench {
namespace {

constexpr int kPaths = 10;
constexpr int kFolders = 5;

// Two files in each of five folders.
std::vector<std::string> ten(int round) {
  std::vector<std::string> paths;
  for (int i = 0; i < kPaths; ++i) {
    paths.push_back(fmt::format("src/pkg{:03}/mod{:03}/file{:06}.cpp", round % 50, i % kFolders,
                                (round * kPaths + i) % 5000));
  }
  return paths;
}

}  // namespace

void ask_ten_paths(const Setup& setup, Answer& answer) {
  setup.progress->say("preparing " + grouped(setup.held) + " leases");
  Place place(setup.fresh("ten"), Kept::kProcess);
  place.hold_paths(setup.held);
  setup.progress->say("measuring");
  int i = 0;
  const Once ten_at_once = [&] {
    return timed([&] { table_pair(place.table(), ask_for(ten(i++), "client")); });
  };
  const Once one = [&] {
    return timed([&] { table_pair(place.table(), ask_for({ten(i++).front()}, "client")); });
  };
  std::vector<Samples> samples = alternate({ten_at_once, one}, setup.seconds, kPairsLeast);
  answer.rows.push_back({"lockkeeper, ten paths", "process", std::move(samples[0]), ""});
  answer.rows.push_back({"lockkeeper, one path", "process", std::move(samples[1]), ""});
  answer.ratio("lockkeeper, ten paths", "lockkeeper, one path",
               {.what = "the time for one path", .must = 4, .aim = 2.5});
}

}  // namespace lockkeeper::bench
