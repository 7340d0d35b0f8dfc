#include "crew/record/record.h"

#include <iterator>

#include "base/assert.h"

namespace lockkeeper::crew {
namespace {

// Each list has the order of its enum.
constexpr const char* kEndings[] = {"none",      "done", "failed",  "timed_out", "lost",
                                    "unstarted", "died", "stopped", "strayed",   "uncommitted"};
constexpr const char* kTreeStates[] = {"none",   "open",     "nothing",  "committed",
                                       "merged", "conflict", "unmerged", "given_up"};
constexpr const char* kWaits[] = {"dependency", "agent", "jobs", "lock", "pause"};
constexpr const char* kChanges[] = {"added", "modified", "removed"};
constexpr const char* kStandings[] = {"pending", "waiting", "running", "done",
                                      "failed",  "skipped", "stopped"};
static_assert(std::size(kEndings) == static_cast<std::size_t>(Ending::kUncommitted) + 1);
static_assert(std::size(kTreeStates) == static_cast<std::size_t>(TreeRecord::State::kGivenUp) + 1);
static_assert(std::size(kWaits) == static_cast<std::size_t>(Wait::For::kPause) + 1);
static_assert(std::size(kChanges) == static_cast<std::size_t>(Change::Kind::kRemoved) + 1);
static_assert(std::size(kStandings) == static_cast<std::size_t>(Standing::kStopped) + 1);

template <class Value, std::size_t count>
const char* name_in(const char* const (&names)[count], Value value) {
  const auto at = static_cast<std::size_t>(value);
  LOCKKEEPER_ASSERT(at < count);
  return names[at];
}

}  // namespace

const char* ending_name(Ending ending) {
  return name_in(kEndings, ending);
}

const char* wait_name(Wait::For what) {
  return name_in(kWaits, what);
}

const char* change_name(Change::Kind kind) {
  return name_in(kChanges, kind);
}

const char* standing_name(Standing standing) {
  return name_in(kStandings, standing);
}

const char* tree_state_name(TreeRecord::State state) {
  return name_in(kTreeStates, state);
}

bool is_unmerged(const TreeRecord& tree) {
  using State = TreeRecord::State;
  return tree.state == State::kCommitted || tree.state == State::kConflict ||
         tree.state == State::kUnmerged;
}

bool yet_to_start(const AgentRecord& agent) {
  return agent.standing == Standing::kPending || agent.standing == Standing::kWaiting;
}

bool has_open_attempt(const AgentRecord& agent) {
  return !agent.attempts.empty() && agent.attempts.back().ending == Ending::kNone;
}

const Wait* open_wait(const AgentRecord& agent) {
  return agent.waits.empty() || agent.waits.back().end_ms != 0 ? nullptr : &agent.waits.back();
}

bool begin_wait(AgentRecord& agent, Wait::For what, const std::string& on, std::int64_t now_ms) {
  // A wait for a free job goes on although the number of running agents in `on` changes.
  const Wait* const open = open_wait(agent);
  if (open != nullptr && open->what == what && (open->on == on || what == Wait::For::kJob)) {
    return false;
  }
  end_wait(agent, now_ms);
  agent.waits.push_back({what, on, now_ms, 0});
  return true;
}

void end_wait(AgentRecord& agent, std::int64_t now_ms) {
  if (open_wait(agent) != nullptr) agent.waits.back().end_ms = now_ms;
}

}  // namespace lockkeeper::crew
