// OUTPUT: what a run leaves for people and for itself.
//
//   journal.jsonl           what has been done (crew/journal.h)
//   run.lock                held while a foreman is at work here
//   agents/AGENT/NUMBER/    one attempt: orders, scope.txt, log, result.json
//   locks/                  the locks as the workflow document shows them (docs/dialects)
//   report.md, report.json, timeline.svg
//   earlier/RUN/            the same of runs before this one
#pragma once

#include <string>
#include <vector>

#include "crew/journal.h"

namespace lockkeeper::crew {

inline constexpr const char* kAgentsName = "agents";

enum class Beginning {
  kFresh,    // a run that was not finished is not begun again by accident
  kResume,   // goes on with what is there
  kRestart,  // begins again, whatever is there
};

struct OpenRun {
  Folder output;
  Fd lock;
  Journal journal;
  Told told;
};

struct NewRun {
  RunRecord record;  // without agents' history
  JournalHead head;
};

// Opens OUTPUT (physical; it exists) for one foreman and begins or continues the run. held: another
// foreman is at work there. With kResume the plan's digest must be the run's own: invalid_input
// says so. What was there of an earlier run is moved to earlier/, never deleted.
Result<OpenRun> open_run(const std::string& output, Beginning beginning, const NewRun& fresh);

}  // namespace lockkeeper::crew
