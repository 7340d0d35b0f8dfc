#include "crew/verdict.h"

#include <algorithm>

#include "base/text.h"
#include "crew/report/report_parts.h"

namespace lockkeeper::crew {
namespace {

constexpr int kNotExecutable = 126;
constexpr int kNotFound = 127;

bool counts(Ending ending) {
  return ending != Ending::kNone && ending != Ending::kDone && ending != Ending::kStopped;
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
  const auto strayed = std::ranges::find_if(attempt.changes, &Change::outside);
  if (attempt.ending != Ending::kDone || strayed == attempt.changes.end()) return;
  attempt.ending = Ending::kStrayed;
  attempt.why = "it changed " + quote(strayed->path) + ", which is outside its scope";
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

std::vector<std::string> notes_on(const Attempt& attempt) {
  std::vector<std::string> notes;
  const auto outside =
      static_cast<std::size_t>(std::ranges::count_if(attempt.changes, &Change::outside));
  if (outside > 0) {
    const Change& first = *std::ranges::find_if(attempt.changes, &Change::outside);
    std::string note = counted(outside, "change", "changes") +
                       " outside its scope: " + quote(first.path) + (outside > 1 ? ", …" : "");
    if (!first.or_by.empty()) {
      note += " (or by " + first.or_by.front() + (first.or_by.size() > 1 ? ", …" : "") + ")";
    }
    notes.push_back(std::move(note));
  }
  const bool by_itself = attempt.ending == Ending::kDone || attempt.ending == Ending::kFailed;
  if (attempt.processes_ended > 0 && by_itself) {
    notes.push_back("left " + counted(attempt.processes_ended, "process", "processes") +
                    " behind, which were ended");
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
