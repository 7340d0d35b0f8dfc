// The logs that git keeps of its names: what HEAD, or the stash, became, and when. Git is not
// started.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockkeeper::git {

struct LogEntry {
  std::string commit;  // what the name became, in hexadecimal digits
  std::int64_t at_s = 0;
  std::string words;  // "commit: fix it", "WIP on main: …"
};

// Oldest first. Lines that are not entries are left out.
std::vector<LogEntry> log_entries(std::string_view log);
// Those at the end of a log's file. Empty: there is no such log, or it cannot be read.
std::vector<LogEntry> newest_log_entries(const std::string& file);

// Logs have whole seconds; the file of a commit tells more. `objects`: the folder of them. False
// also if there is no such file: it is in a pack.
bool is_older(const std::string& objects, const std::string& commit, std::int64_t than_ms);

// The log of the stash; `common_dir`: of the repository.
std::string stash_log(const std::string& common_dir);

}  // namespace lockkeeper::git
