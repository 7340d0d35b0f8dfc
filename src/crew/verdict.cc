#include "crew/verdict.h"

#include <algorithm>

#include "base/text.h"

namespace lockkeeper::crew {
namespace {

constexpr int kNotExecutable = 126;
constexpr int kNotFound = 127;

bool counts(Ending ending) {
  return ending != Ending::kNone && ending != Ending::kDone && ending != Ending::kStopped;
}

std::vector<const Change*> outside_of(const Attempt& attempt) {
  std::vector<const Change*> list;
  for (const Change& change : attempt.changes) {
    if (change.outside) list.push_back(&change);
  }
  return list;
}

// Nobody can see which process wrote a file, so the agent is not accused.
std::string note_on_changes(const Attempt& attempt, const Suspects& suspects) {
  constexpr std::size_t kNamed = 3;
  const std::vector<const Change*> outside = outside_of(attempt);
  if (outside.empty()) return "";
  const std::string path = quote(outside.front()->path);
  const std::vector<std::string> found = suspects.of(*outside.front());
  const std::string others = found.empty() ? "" : shown_list(found, kNamed);
  if (attempt.ending == Ending::kStrayed) {  // its end has told the rest
    return others.empty() ? "" : path + " may have been changed by " + others + " instead";
  }
  return counted(outside.size(), "change") + " outside every scope while it ran: " + path +
         (outside.size() > 1 ? ", …" : "") +
         (others.empty() ? "" : " (by it or by " + others + ")");
}

}  // namespace

WriteScope scope_of(const plan::Job& job, bool fold_case) {
  return {job.id, job.writes, job.denies, fold_case};
}

bool worked_between(const AgentRecord& agent, const Attempt& attempt) {
  return std::ranges::any_of(agent.attempts, [&](const Attempt& other) {
    const std::int64_t ended = other.ended_ms == 0 ? INT64_MAX : other.ended_ms;
    return other.started_ms != 0 && other.started_ms <= attempt.ended_ms &&
           ended >= attempt.started_ms;
  });
}

void attribute(Attempt& attempt, const WriteScope& mine, const std::vector<WriteScope>& others) {
  std::vector<Change> kept;
  for (Change& change : attempt.changes) {
    change.outside = !may_write(mine, change.path);
    change.or_by.clear();
    if (change.outside) {
      const bool theirs = std::ranges::any_of(
          others, [&](const WriteScope& scope) { return may_write(scope, change.path); });
      if (theirs) continue;
      for (const WriteScope& scope : others) change.or_by.push_back(scope.agent);
    }
    kept.push_back(std::move(change));
  }
  attempt.changes = std::move(kept);
}

void insist_on_scope(Attempt& attempt) {
  const std::vector<const Change*> outside = outside_of(attempt);
  if (attempt.ending != Ending::kDone || outside.empty()) return;
  attempt.ending = Ending::kStrayed;
  const std::size_t more = outside.size() - 1;
  attempt.why = quote(outside.front()->path) +
                (more == 0 ? " was" : " and " + counted(more, "other file") + " were") +
                " changed outside every scope while it ran";
}

bool may_try_again(const AgentRecord& agent, std::int64_t retries) {
  const std::vector<Attempt>& attempts = agent.attempts;
  const Attempt& last = attempts.back();
  const bool cannot = last.exit_status == kNotExecutable || last.exit_status == kNotFound;
  if (last.ending == Ending::kUnstarted && cannot) return false;
  const auto first =
      attempts.begin() + static_cast<std::ptrdiff_t>(std::min(agent.forgiven, attempts.size()));
  const auto failed =
      std::count_if(first, attempts.end(), [](const Attempt& each) { return counts(each.ending); });
  return failed <= retries;
}

std::vector<std::string> notes_on(const Attempt& attempt, const Suspects& suspects) {
  std::vector<std::string> notes;
  if (std::string note = note_on_changes(attempt, suspects); !note.empty()) {
    notes.push_back(std::move(note));
  }
  const bool by_itself = attempt.ending == Ending::kDone || attempt.ending == Ending::kFailed;
  if (attempt.processes_ended > 0 && by_itself) {
    notes.push_back(left_behind_text(attempt.processes_ended));
  }
  if (attempt.log_cut) {
    notes.push_back("printed " + std::to_string(attempt.log_bytes) + " bytes; its log is cut");
  }
  if (!attempt.changes_unknown.empty()) {
    notes.push_back("its changes are unknown: " + attempt.changes_unknown);
  }
  return notes;
}

}  // namespace lockkeeper::crew
