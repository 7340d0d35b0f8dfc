// The runs of a realm, so that others can find them: `runs` in the store's folder has a file for
// each of the last ones, with the place of its OUTPUT. `workflow run` adds its own; the hub reads
// them.
//
// Thread safety: free functions; safe to call from any thread.
#pragma once

#include <string>
#include <vector>

#include "crew/record/journal.h"

namespace lockkeeper::crew {

inline constexpr std::size_t kRunsListed = 50;
inline constexpr const char* kRunLockName = "run.lock";  // in OUTPUT, while a foreman is at work

struct ListedRun {
  std::string id;      // as file_name_for() has it
  std::string output;  // a physical path
};

// `store`: the store's folder, which exists.
Result<void> list_run(const std::string& store, const std::string& id, const std::string& output);
// The newest first; at most kRunsListed.
Result<std::vector<ListedRun>> listed_runs(const std::string& store);

// What the run has written: in OUTPUT, or under earlier/ if another has followed. not_found: its
// files were removed.
struct FoundRun {
  RunState state;
  bool is_last = false;  // of its OUTPUT: a foreman there is this run's
};
Result<FoundRun> read_run(const ListedRun& run);

}  // namespace lockkeeper::crew
