// What the reports share: sums over a record, and texts about it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "crew/record/record.h"

namespace lockkeeper::crew {

// The latest time in the record.
std::int64_t last_moment(const RunRecord& record);

// The duration; if it has not ended, until `now_ms`. Never negative.
std::int64_t length_ms(std::int64_t begin_ms, std::int64_t end_ms, std::int64_t now_ms);

std::int64_t worked_ms(const AgentRecord& agent, std::int64_t now_ms);
std::int64_t waited_ms(const AgentRecord& agent, std::int64_t now_ms);  // overlaps count once

std::size_t count_of(const RunRecord& record, Standing standing);

// Agents that are done, but whose work is on their branch alone.
std::size_t unmerged_count(const RunRecord& record);

// "4.2s", "300ms", "1h 5m": short, for tables.
std::string short_time(std::int64_t ms);

// "failed: exit status 3", "ran out of time: stopped after 2h", …
std::string ending_text(const Attempt& attempt);

// "left 2 processes behind, which were ended"
std::string left_behind_text(std::size_t processes);

// What became of an agent's worktree: "merged as 0123456789ab", "not merged: conflict in a.c",
// "its work is in /home/…". Empty: nothing to tell.
std::string tree_text(const TreeRecord& tree);

// Who else may have made a change outside all scopes: of the others that were at work, those that
// list it among their own changes, whose changes are unknown, or who are still working.
class Suspects {
 public:
  explicit Suspects(const RunRecord& record);
  std::vector<std::string> of(const Change& change) const;

 private:
  std::map<std::string, std::set<std::string>> seen_by_;  // a path: the agents that list it
  std::set<std::string> unknown_;                         // agents whose changes are unknown
};

// What an agent waited for: "wp-a, which it needs". Names and foreign text are escaped for the
// format.
using Escape = std::string (*)(std::string_view);
std::string wait_text(const Wait& wait, std::size_t jobs, Escape name, Escape words);

}  // namespace lockkeeper::crew
