#include "guard/head_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/fd.h"
#include "base/parse.h"
#include "realm/disk_path.h"

namespace lockkeeper::guard {
namespace {

constexpr std::uint64_t kLogBytesRead = 256U << 10;

std::string log_of_head(const Repository& repository) {
  return realm::join_path(repository.git_folder, "logs/HEAD");
}

// From `from` to the end, but not more than the last 256 KiB. `bytes`: of the whole file.
std::string end_of(const std::string& file, std::uint64_t from, std::uint64_t& bytes) {
  const Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info{};
  if (!fd || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  bytes = static_cast<std::uint64_t>(info.st_size);
  from = std::max(std::min(from, bytes), bytes - std::min(bytes, kLogBytesRead));
  std::string text(bytes - from, '\0');
  const ssize_t n = ::pread(fd.get(), text.data(), text.size(), static_cast<off_t>(from));
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  return text;
}

Move::How how_of(std::string_view words) {
  if (words.starts_with("commit (amend)")) return Move::How::kAmended;
  if (words.starts_with("commit:") || words.starts_with("commit (")) return Move::How::kCommit;
  constexpr std::string_view kReplays[] = {"merge",        "pull",   "rebase",   "cherry-pick",
                                           "revert",       "am",     "checkout", "clone",
                                           "initial pull", "Branch:"};
  const bool replay =
      std::ranges::any_of(kReplays, [&](std::string_view each) { return words.starts_with(each); });
  return replay ? Move::How::kReplay : Move::How::kOther;
}

}  // namespace

// "OLD NEW Name <mail> seconds zone\tcommit (amend): subject"; no words: no tab.
std::vector<Move> moves_in(std::string_view log) {
  std::vector<Move> moves;
  for (const std::string& line : words_in(log, "\n")) {
    const std::size_t tab = std::min(line.find('\t'), line.size());
    const std::vector<std::string> fields = words_in(line.substr(0, tab), " ");
    if (fields.size() < 4 || fields[0] == fields[1]) continue;  // a stash resets to HEAD
    const std::string words = line.substr(std::min(tab + 1, line.size()));
    moves.push_back({.from = fields[0],
                     .to = fields[1],
                     .at_s = number_in<std::int64_t>(fields[fields.size() - 2]).value_or(0),
                     .how = how_of(words),
                     .rewrites = words.starts_with("rebase") || words.starts_with("pull")});
  }
  return moves;
}

std::vector<Move> moves_after(const std::vector<Move>& moves, std::string_view known) {
  const auto last = std::ranges::find(moves.rbegin(), moves.rend(), known, &Move::to);
  if (known.empty() || last == moves.rend()) return {};
  return {last.base(), moves.end()};
}

HeadLog read_head_log(const Repository& repository) {
  HeadLog log;
  log.moves = moves_in(end_of(log_of_head(repository), 0, log.bytes));
  return log;
}

std::vector<Move> moves_since(const Repository& repository, const KnownHead& known) {
  std::uint64_t bytes = 0;
  const std::string log = end_of(log_of_head(repository), known.log_bytes, bytes);
  if (known.log_bytes != 0 && known.log_bytes <= bytes) {
    std::vector<Move> moves = moves_in(log);
    // A log that git has written anew goes on in another way.
    if (moves.empty() || moves.front().from == known.commit) return moves;
  }
  return moves_after(read_head_log(repository).moves, known.commit);
}

}  // namespace lockkeeper::guard
