#include "service/makers.h"

#include <algorithm>

#include "core/trace.h"

namespace lockkeeper::service {

Result<std::map<std::string, core::Owner>> makers(Locks& locks, std::int64_t now_wall_ms) {
  LogCommand command;
  command.since_wall_ms = now_wall_ms - core::kTraceKeptMs;
  LK_ASSIGN(const std::vector<core::Event> events, locks.log(command));
  std::map<std::string, core::Owner> made;
  for (const core::Event& event : events) {
    const bool ours = event.what == kMadeCommit || event.what == kMadeStash;
    if (ours && !event.resources.empty()) made.try_emplace(event.resources.front(), event.owner);
  }
  return made;
}

std::vector<core::Owner> working_in(const LookReply& seen) {
  std::vector<core::Owner> working = seen.busy;
  for (const core::Lease& edit : seen.edits) working.push_back(edit.owner);
  for (const core::Trace& trace : seen.traces) {
    const bool over = std::ranges::find(seen.gone, trace.owner) != seen.gone.end();
    if (!over && !trace.change.clean) working.push_back(trace.owner);
  }
  return working;
}

}  // namespace lockkeeper::service
