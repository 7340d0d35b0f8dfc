#include "git/ref_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/file_time.h"
#include "base/parse.h"

namespace lockkeeper::git {
namespace {

constexpr std::size_t kLogWordsBytesMax = 500;
constexpr off_t kBytesRead = 256 << 10;  // about two thousand entries

// A hash of either kind that git has.
bool is_commit(std::string_view text) {
  return (text.size() == 40 || text.size() == 64) && !from_hex(text).empty();
}

}  // namespace

std::vector<LogEntry> log_entries(std::string_view log) {
  std::vector<LogEntry> entries;
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
        {fields[1], *seconds, std::string(line.substr(tab + 1).substr(0, kLogWordsBytesMax))});
  }
  return entries;
}

std::vector<LogEntry> newest_log_entries(const std::string& file) {
  const Fd fd(::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info{};
  if (!fd || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  const off_t from = std::max<off_t>(0, info.st_size - kBytesRead);
  std::string text(static_cast<std::size_t>(info.st_size - from), '\0');
  const ssize_t got = ::pread(fd.get(), text.data(), text.size(), from);
  return log_entries(
      std::string_view(text).substr(0, got < 0 ? 0U : static_cast<std::size_t>(got)));
}

bool is_older(const std::string& objects, const std::string& commit, std::int64_t than_ms) {
  struct stat info{};
  if (commit.size() < 3) return false;
  const std::string file = objects + "/" + commit.substr(0, 2) + "/" + commit.substr(2);
  if (::stat(file.c_str(), &info) != 0) return false;
  const std::int64_t made_ms =
      std::int64_t{info.st_mtim.tv_sec} * 1000 + info.st_mtim.tv_nsec / 1'000'000;
  return made_ms + kFileTimeLagMs < than_ms;
}

std::string stash_log(const std::string& common_dir) {
  return common_dir + "/logs/refs/stash";
}

}  // namespace lockkeeper::git
