#include "crew/report/report_parts.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/text.h"

namespace lockkeeper::crew {
namespace {

const char* ending_phrase(Ending ending) {
  constexpr const char* kPhrases[] = {"is still working",
                                      "is done",
                                      "failed",
                                      "ran out of time",
                                      "lost its locks and was stopped",
                                      "could not be started",
                                      "ended in an unknown way",
                                      "was stopped with the run",
                                      "failed the scope check",
                                      "could not be committed"};
  return kPhrases[static_cast<std::size_t>(ending)];
}

}  // namespace

std::int64_t last_moment(const RunRecord& record) {
  std::int64_t last = std::max(record.started_ms, record.ended_ms);
  for (const AgentRecord& agent : record.agents) {
    for (const Attempt& one : agent.attempts) last = std::max({last, one.started_ms, one.ended_ms});
    for (const Wait& one : agent.waits) last = std::max({last, one.begin_ms, one.end_ms});
  }
  return last;
}

std::int64_t length_ms(std::int64_t begin_ms, std::int64_t end_ms, std::int64_t now_ms) {
  return std::max<std::int64_t>(0, (end_ms == 0 ? now_ms : end_ms) - begin_ms);
}

std::int64_t worked_ms(const AgentRecord& agent, std::int64_t now_ms) {
  std::int64_t sum = 0;
  for (const Attempt& one : agent.attempts) {
    if (one.started_ms != 0) sum += length_ms(one.started_ms, one.ended_ms, now_ms);
  }
  return sum;
}

std::int64_t waited_ms(const AgentRecord& agent, std::int64_t now_ms) {
  std::vector<std::pair<std::int64_t, std::int64_t>> times;
  times.reserve(agent.waits.size());
  for (const Wait& one : agent.waits) {
    times.emplace_back(one.begin_ms, one.begin_ms + length_ms(one.begin_ms, one.end_ms, now_ms));
  }
  std::ranges::sort(times);
  std::int64_t sum = 0;
  std::int64_t until = 0;
  for (const auto& [begin, end] : times) {
    sum += std::max<std::int64_t>(0, end - std::max(begin, until));
    until = std::max(until, end);
  }
  return sum;
}

std::size_t count_of(const RunRecord& record, Standing standing) {
  return static_cast<std::size_t>(
      std::ranges::count(record.agents, standing, &AgentRecord::standing));
}

std::size_t unmerged_count(const RunRecord& record) {
  return static_cast<std::size_t>(std::ranges::count_if(
      record.agents, [](const AgentRecord& agent) { return is_unmerged(agent.tree); }));
}

std::string short_time(std::int64_t ms) {
  constexpr std::int64_t kSecond = 1000;
  constexpr std::int64_t kMinute = 60 * kSecond;
  if (ms < kSecond || ms >= kMinute) return format_duration(std::max<std::int64_t>(0, ms));
  const std::int64_t tenths = ms / 100;
  std::string out = std::to_string(tenths / 10);
  if (tenths % 10 != 0) out += "." + std::to_string(tenths % 10);
  return out + "s";
}

std::string ending_text(const Attempt& attempt) {
  std::string words = ending_phrase(attempt.ending);
  if (!attempt.why.empty()) {
    words += ": " + attempt.why;
  } else if (attempt.ending == Ending::kFailed) {
    words += ": exit status " + std::to_string(attempt.exit_status);
  }
  return words;
}

std::string left_behind_text(std::size_t processes) {
  return "left " + counted(processes, "process", "processes") + " behind, which " +
         (processes == 1 ? "was" : "were") + " ended";
}

std::string tree_text(const TreeRecord& tree) {
  constexpr std::size_t kDigits = 12;
  using State = TreeRecord::State;
  // The reason first: a narrow terminal cuts the end.
  const std::string kept = tree.kept.empty() ? ""
                           : tree.removed
                               ? "; its branch is kept: " + tree.kept + "; " + tree.branch
                               : "; kept: " + tree.kept + "; in " + tree.folder;
  switch (tree.state) {
    case State::kNone:
      return "";
    case State::kOpen:
      return "its work is in " + tree.folder;
    case State::kNothing:
      return "nothing to commit" + kept;
    case State::kCommitted:
      return "not merged yet: " + tree.branch;
    case State::kMerged:
      return "merged" + (tree.merge.empty() ? "" : " as " + tree.merge.substr(0, kDigits)) + kept;
    case State::kConflict:
    case State::kUnmerged:
      return "not merged: " + tree.why;
    case State::kGivenUp:
      return "given up: " + tree.branch + " was deleted" + kept;
  }
  return "";
}

Suspects::Suspects(const RunRecord& record) {
  for (const AgentRecord& agent : record.agents) {
    if (has_open_attempt(agent)) unknown_.insert(agent.id);
    for (const Attempt& one : agent.attempts) {
      if (!one.changes_unknown.empty()) unknown_.insert(agent.id);
      for (const Change& change : one.changes) {
        if (change.outside) seen_by_[change.path].insert(agent.id);
      }
    }
  }
}

std::vector<std::string> Suspects::of(const Change& change) const {
  std::vector<std::string> found;
  const auto seen = seen_by_.find(change.path);
  for (const std::string& agent : change.or_by) {
    const bool saw_it = seen != seen_by_.end() && seen->second.contains(agent);
    if (saw_it || unknown_.contains(agent)) found.push_back(agent);
  }
  return found;
}

std::string wait_text(const Wait& wait, std::size_t jobs, Escape name, Escape words) {
  switch (wait.what) {
    case Wait::For::kNeed:
      return name(wait.on) + ", which it needs";
    case Wait::For::kAgent:
      return name(wait.on) + ", which wanted the same locks";
    case Wait::For::kJob:
      return "a free job: " + (jobs == 0 ? "as many agents as possible" : counted(jobs, "agent")) +
             " ran";
    case Wait::For::kLock:
      return "a lock held outside the plan" + (wait.on.empty() ? "" : ": " + words(wait.on));
    case Wait::For::kPause:
      return "the feature's pause" + (wait.on.empty() ? "" : ": " + words(wait.on));
  }
  return "";
}

}  // namespace lockkeeper::crew
