// One client, nothing synced: what a server of ours pays for a lock, beside everything else that a
// user could pick.
#include "bench/peers/compare.h"
#include "bench/peers/peers.h"
#include "bench/questions/questions.h"

namespace lockkeeper::bench {

void ask_one_client(const Setup& setup, Answer& answer) {
  setup.progress->say("preparing " + grouped(setup.held) + " locks in each");
  std::vector<Made> made;
  made.push_back(make_ours(setup, Kept::kProcess));
  made.push_back(make_ours_verbs(setup, Kept::kProcess));
  made.push_back(make_bare_lmdb(setup, Kept::kProcess));
  made.push_back(make_bare_lmdb_map(setup));
  made.push_back(make_redis(setup));
  made.push_back(make_sqlite(setup, Synchronous::kOff));
  made.push_back(make_sqlite(setup, Synchronous::kNormal));
  made.push_back(make_postgres(setup, Kept::kProcess));
  made.push_back(make_exclusive_files(setup));
  made.push_back(make_folders(setup));
  made.push_back(make_proper_lockfile(setup));
  compare(setup, present(std::move(made), answer), answer);
  answer.ratio(kOursName, kBareName, {.what = "the bare LMDB pair", .must = 4});
  answer.ratio(kOursName, kBareMapName, {.what = "the bare LMDB pair through the map", .must = 4});
  answer.ratio(
      kRedisName, kOursName,
      {.what = "as fast as Redis", .better = Target::Better::kMore, .must = 1, .aim = 1.5});
}

}  // namespace lockkeeper::bench
