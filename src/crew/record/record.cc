#include "crew/record/record.h"

namespace lockkeeper::crew {

const char* ending_name(Ending ending) {
  switch (ending) {
    case Ending::kNone:
      return "none";
    case Ending::kDone:
      return "done";
    case Ending::kFailed:
      return "failed";
    case Ending::kTimedOut:
      return "timed_out";
    case Ending::kLost:
      return "lost";
    case Ending::kUnstarted:
      return "unstarted";
    case Ending::kDied:
      return "died";
    case Ending::kStopped:
      return "stopped";
    case Ending::kStrayed:
      return "strayed";
  }
  return "";
}

const char* wait_name(Wait::For what) {
  switch (what) {
    case Wait::For::kNeed:
      return "dependency";
    case Wait::For::kAgent:
      return "agent";
    case Wait::For::kJob:
      return "jobs";
    case Wait::For::kLock:
      return "lock";
    case Wait::For::kPause:
      return "pause";
  }
  return "";
}

const char* change_name(Change::Kind kind) {
  switch (kind) {
    case Change::Kind::kAdded:
      return "added";
    case Change::Kind::kModified:
      return "modified";
    case Change::Kind::kRemoved:
      return "removed";
  }
  return "";
}

const char* standing_name(Standing standing) {
  switch (standing) {
    case Standing::kPending:
      return "pending";
    case Standing::kWaiting:
      return "waiting";
    case Standing::kRunning:
      return "running";
    case Standing::kDone:
      return "done";
    case Standing::kFailed:
      return "failed";
    case Standing::kSkipped:
      return "skipped";
    case Standing::kStopped:
      return "stopped";
  }
  return "";
}

bool begin_wait(AgentRecord& agent, Wait::For what, const std::string& on, std::int64_t now_ms) {
  if (!agent.waits.empty()) {
    const Wait& last = agent.waits.back();
    // How many run changes all the time; a place is a place.
    const bool same = last.what == what && (last.on == on || what == Wait::For::kJob);
    if (last.end_ms == 0 && same) return false;
  }
  end_wait(agent, now_ms);
  agent.waits.push_back({what, on, now_ms, 0});
  return true;
}

void end_wait(AgentRecord& agent, std::int64_t now_ms) {
  if (!agent.waits.empty() && agent.waits.back().end_ms == 0) agent.waits.back().end_ms = now_ms;
}

}  // namespace lockkeeper::crew
