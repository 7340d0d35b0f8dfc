#include "guard/bypass.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/fd.h"
#include "base/parse.h"
#include "realm/disk_path.h"

namespace lockkeeper::guard {
namespace {

constexpr std::size_t kLogBytesRead = 256U << 10;
constexpr std::size_t kBypassesMax = 50;

// The end of a file that may be long.
std::string tail_of(const std::string& file) {
  const Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info{};
  if (!fd || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  const off_t from = std::max<off_t>(0, info.st_size - static_cast<off_t>(kLogBytesRead));
  std::string text(static_cast<std::size_t>(info.st_size - from), '\0');
  const ssize_t n = ::pread(fd.get(), text.data(), text.size(), from);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  return text;
}

struct LogLine {
  std::string id;  // where HEAD went
  bool commit = false;
};

// "OLD NEW Name <mail> time zone\tcommit (amend): subject"
LogLine read_line(const std::string& line) {
  const std::vector<std::string> words = words_in(line.substr(0, line.find('\t')), " ");
  const std::size_t tab = line.find('\t');
  if (words.size() < 2 || tab == std::string::npos) return {};
  const std::string_view message = std::string_view(line).substr(tab + 1);
  return {words[1], message.starts_with("commit:") || message.starts_with("commit (")};
}

// Whose work the commit carries, and whether that had been refused.
Result<void> look_at_bypass(Scene& scene, const git::Reader& reader, const std::string& commit) {
  LK_ASSIGN(const auto made, git::made_by(reader, commit));
  const std::vector<Refused> refused = scene.notebook()->refused();
  const bool against = std::ranges::any_of(made, [&](const git::Difference& each) {
    return std::ranges::find(refused, Refused{each.path, each.id}) != refused.end();
  });
  LK_ASSIGN(const auto findings, scene.judge_paths(scene.committed(made)));
  scene.tell("bypassed", "unattributed", "sees that somebody committed, past the commit guard,",
             findings);
  if (against) {
    scene.notebook()->mark(
        {commit, "it has what the commit guard had refused, and was made past it"});
  }
  return {};
}

}  // namespace

std::vector<std::string> commits_since(std::string_view log, std::string_view known) {
  std::vector<std::string> found;
  bool reached = false;
  for (const std::string& line : words_in(log, "\n")) {
    const LogLine read = read_line(line);
    if (read.id == known && !known.empty()) {
      reached = true;
      found.clear();
    } else if (read.commit) {
      found.push_back(read.id);
    }
  }
  // Without a place to begin at, everybody's old commits would count.
  return reached ? found : std::vector<std::string>();
}

Result<void> notice_bypass(Scene& scene, std::size_t seen) {
  if (!scene.notebook()) return {};
  const std::string known = scene.notebook()->head(scene.worktree());
  const std::string log = tail_of(realm::join_path(scene.repository().git_folder, "logs/HEAD"));
  if (known.empty()) {  // from here on
    const std::vector<std::string> lines = words_in(log, "\n");
    if (!lines.empty()) scene.notebook()->put_head(scene.worktree(), read_line(lines.back()).id);
    return {};
  }
  std::vector<std::string> commits = commits_since(log, known);
  commits.resize(commits.size() - std::min(seen, commits.size()));
  if (commits.empty()) return {};
  LK_ASSIGN(const git::Reader reader, reader_of(scene.repository()));
  const std::size_t first = commits.size() - std::min(commits.size(), kBypassesMax);
  for (std::size_t i = first; i < commits.size(); ++i) {
    static_cast<void>(look_at_bypass(scene, reader, commits[i]));
  }
  scene.notebook()->put_head(scene.worktree(), commits.back());
  return {};
}

}  // namespace lockkeeper::guard
