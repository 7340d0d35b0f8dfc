#include "git/reader.h"

#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <set>
#include <string_view>

#include "base/fd.h"
#include "base/text.h"
#include "host/pipes.h"
#include "host/process.h"
#include "host/spawn.h"
#include "realm/disk_path.h"

namespace lockkeeper::git {
namespace {

using SteadyClock = std::chrono::steady_clock;

bool is_this_program(const std::string& path) {
  struct stat ours{};
  struct stat there{};
  return ::stat(host::own_program().c_str(), &ours) == 0 && ::stat(path.c_str(), &there) == 0 &&
         ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

Result<std::string> read_answer(const Fd& from, const Limits& limits) {
  const auto deadline = SteadyClock::now() + std::chrono::milliseconds(limits.patience_ms);
  std::string answer;
  std::vector<char> buffer(64U << 10);
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - SteadyClock::now());
    if (left.count() <= 0) {
      return fail(Code::kTimeout,
                  "git did not answer for " + std::to_string(limits.patience_ms / 1000) + " s");
    }
    pollfd waiting{from.get(), POLLIN, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno != EINTR) return fail(errno_error(errno, "poll", Code::kFailed));
    if (ready <= 0) continue;
    const ssize_t count = ::read(from.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(errno_error(errno, "git's answer", Code::kFailed));
    if (count == 0) return answer;
    answer.append(buffer.data(), static_cast<std::size_t>(count));
    if (answer.size() > limits.answer_bytes) {
      return fail(Code::kLimitExceeded,
                  "git's answer is longer than " + std::to_string(limits.answer_bytes) + " bytes");
    }
  }
}

}  // namespace

Result<std::string> find_git() {
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path;
  while (!rest.empty()) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
    if (!folder.starts_with('/')) continue;
    std::string program = std::string(folder) + "/git";
    if (::access(program.c_str(), X_OK) == 0 && !is_this_program(program)) return program;
  }
  return fail(Code::kFailed, "git is not installed");
}

// Inherits only the way to the user's own configuration, which decides what is ignored and which
// repositories are safe.
std::vector<std::string> Reader::environment() const {
  std::vector<std::string> made = {
      "LC_ALL=C",
      "GIT_CEILING_DIRECTORIES=" + realm::parent_path(root_),
      "GIT_OPTIONAL_LOCKS=0",
      "GIT_TERMINAL_PROMPT=0",
      "GIT_NO_LAZY_FETCH=1",
      "GIT_ALLOW_PROTOCOL=none",
      "GIT_CONFIG_COUNT=" + std::to_string(settings_.size()),
  };
  for (std::size_t i = 0; i < settings_.size(); ++i) {
    made.push_back("GIT_CONFIG_KEY_" + std::to_string(i) + "=" + settings_[i].first);
    made.push_back("GIT_CONFIG_VALUE_" + std::to_string(i) + "=" + settings_[i].second);
  }
  for (const char* name : {"PATH", "HOME", "XDG_CONFIG_HOME"}) {
    const char* const value = std::getenv(name);
    if (value != nullptr && !options_.variables.contains(name)) {
      made.push_back(std::string(name) + "=" + value);
    }
  }
  for (const auto& [name, value] : options_.variables) {
    made.push_back(name);
    made.back().append("=").append(value);
  }
  return made;
}

Result<Reader::Answer> Reader::try_to_ask(const std::vector<std::string>& words) const {
  LK_ASSIGN(host::Pipe pipe, host::make_pipe());
  host::Program git;
  git.argv = {program_, "-C", root_, "--no-pager", "--literal-pathspecs"};
  git.argv.insert(git.argv.end(), words.begin(), words.end());
  git.environment = environment();
  git.in = git.err = host::kNothing;
  git.out = pipe.writer.get();
  git.group = host::Program::Group::kOwn;  // Ctrl-C at the terminal is for us to handle
  LK_ASSIGN(const pid_t pid, host::start_program(git));
  pipe.writer.reset();
  Result<std::string> answer = read_answer(pipe.reader, options_.limits);
  if (!answer) ::kill(-pid, SIGKILL);
  const std::optional<int> status = host::wait_for(pid);
  if (!answer) return fail(std::move(answer.error()));
  if (!status) return fail(Code::kFailed, "git " + words.front() + " ended unseen");
  return Answer{*status, std::move(*answer)};
}

Result<std::string> Reader::ask(const std::vector<std::string>& words) const {
  LK_ASSIGN(Answer answer, try_to_ask(words));
  if (answer.status == 0) return std::move(answer.text);
  return fail(Code::kFailed, "git " + words.front() + " failed in " + quote(root_) +
                                 " with exit status " + std::to_string(answer.status));
}

Result<Reader> Reader::open(const std::string& root, Options options) {
  LK_ASSIGN(std::string program, find_git());
  Reader reader(std::move(program), root, std::move(options));
  reader.settings_ = {{"core.fsmonitor", "false"},
                      {"core.hooksPath", "/dev/null"},
                      {"core.untrackedCache", "false"},
                      {"protocol.allow", "never"}};
  if (!reader.options_.reads_files) return reader;
  // Git runs filters to see whether a touched file is unchanged. No switch turns all of them off.
  LK_ASSIGN(const std::string listed, reader.ask({"config", "-z", "--name-only", "--list"}));
  constexpr std::string_view kFilter = "filter.";
  std::set<std::string> filters;
  for (const std::string& name : split_at_nul(listed)) {
    const std::size_t dot = name.find_last_of('.');
    if (name.starts_with(kFilter) && dot >= kFilter.size()) filters.insert(name.substr(0, dot));
  }
  for (const std::string& filter : filters) {
    for (const char* program_key : {".clean", ".smudge", ".process"}) {
      reader.settings_.emplace_back(filter + program_key, "");
    }
    reader.settings_.emplace_back(filter + ".required", "false");
  }
  return reader;
}

std::vector<std::string> split_at_nul(std::string_view answer) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < answer.size();) {
    const std::size_t end = std::min(answer.find('\0', at), answer.size());
    parts.emplace_back(answer.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

}  // namespace lockkeeper::git
