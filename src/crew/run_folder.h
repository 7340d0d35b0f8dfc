// OUTPUT: the files of a run, for people and for a later foreman.
//
//   journal.jsonl           what has been done (crew/record/journal.h)
//   run.lock                locked while a foreman is at work here
//   agents/AGENT/NUMBER/    one attempt: orders, scope.txt, log, result.json
//   locks/                  the locks as files of the workflow protocol (docs/dialects)
//   report.md, report.json, timeline.svg
//   earlier/RUN/            the same for earlier runs
#pragma once

#include <string>
#include <vector>

#include "crew/record/journal.h"

namespace lockkeeper::crew {

inline constexpr const char* kAgentsName = "agents";

enum class Beginning {
  kFresh,    // refused if an unfinished run is there
  kResume,   // goes on with the run that is there
  kRestart,  // starts again, whatever is there
};

struct OpenRun {
  Folder output;
  Fd lock;
  Journal journal;
  RunState state;
  // kFresh after a run of the same plan that failed: the agents that kResume would have repeated or
  // merged.
  std::vector<std::string> not_resumed = {};
  // Not kResume: where the former run has worktrees that it keeps; empty: nowhere.
  std::string trees_before = {};
};

// Opens OUTPUT (a physical path; it exists) for one foreman, and starts or resumes the run. `fresh`
// has no agents yet. held: another foreman is at work there. invalid_input: kResume with a plan
// that is not the run's. The files of an earlier run are moved to earlier/, never deleted.
Result<OpenRun> open_run(const std::string& output, Beginning beginning, const RunState& fresh);

}  // namespace lockkeeper::crew
