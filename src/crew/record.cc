#include "crew/record.h"

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

}  // namespace lockkeeper::crew
