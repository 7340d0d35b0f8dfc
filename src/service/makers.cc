#include "service/makers.h"

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

}  // namespace lockkeeper::service
