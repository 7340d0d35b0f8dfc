// Entries of git's stash, as .git/logs/refs/stash has them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockkeeper::snapshot {

struct StashEntry {
  std::string commit;  // hexadecimal digits
  std::int64_t at_s = 0;
  std::string words;  // "WIP on main: …"
};

// Oldest first. Lines that are not entries are left out.
std::vector<StashEntry> stash_entries(std::string_view log);

}  // namespace lockkeeper::snapshot
