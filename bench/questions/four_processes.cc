// Four processes at once, each with paths of its own: nobody excludes anybody, all want the store.
#include "bench/peers/compare.h"
#include "bench/peers/peers.h"
#include "bench/questions/questions.h"

namespace lockkeeper::bench {
namespace {

constexpr int kProcesses = 4;

}  // namespace

void ask_four_processes(const Setup& setup, Answer& answer) {
  setup.progress->say("preparing " + grouped(setup.held) + " locks in each");
  std::vector<Made> made;
  made.push_back(make_ours(setup, Kept::kProcess));
  made.push_back(make_redis(setup));
  made.push_back(make_bare_lmdb(setup, Kept::kProcess));
  made.push_back(make_sqlite(setup, Synchronous::kNormal));
  made.push_back(make_postgres(setup, Kept::kProcess));
  made.push_back(make_folders(setup));
  compare_crowds(setup, present(std::move(made), answer), kProcesses, answer);
  const Row* ours = answer.find(kOursName);
  const Row* redis = answer.find(kRedisName);
  if (redis != nullptr && redis->per_second > 0) {
    answer.targets.push_back({.what = "the throughput of Redis",
                              .value = ours->per_second / redis->per_second,
                              .unit = "×",
                              .better = Target::Better::kMore,
                              .must = 0.6,
                              .aim = 1});
  }
  answer.targets.push_back({.what = "at worst for acquire + release",
                            .value = ours->samples.max() / 1000,
                            .unit = "ms",
                            .must = 100});
}

}  // namespace lockkeeper::bench
