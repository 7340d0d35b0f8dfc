#include "snapshot/stash_log.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/parse.h"

namespace lockkeeper::snapshot {
namespace {

constexpr std::size_t kWordsBytesMax = 500;

// A hash of either kind that git has.
bool is_commit(std::string_view text) {
  return (text.size() == 40 || text.size() == 64) && !from_hex(text).empty();
}

}  // namespace

std::vector<StashEntry> stash_entries(std::string_view log) {
  std::vector<StashEntry> entries;
  while (!log.empty()) {
    const std::string_view line = log.substr(0, log.find('\n'));
    log.remove_prefix(std::min(line.size() + 1, log.size()));
    // OLD NEW NAME <MAIL> SECONDS ZONE\tWORDS
    const std::size_t tab = line.find('\t');
    const std::vector<std::string> fields = words_in(line.substr(0, tab), " ");
    if (tab == std::string_view::npos || fields.size() < 4 || !is_commit(fields[1])) continue;
    const auto seconds = number_in<std::int64_t>(fields[fields.size() - 2]);
    if (!seconds) continue;
    entries.push_back(
        {fields[1], *seconds, std::string(line.substr(tab + 1).substr(0, kWordsBytesMax))});
  }
  return entries;
}

}  // namespace lockkeeper::snapshot
