#include "git/reader.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string_view>

#include "base/text.h"
#include "host/process.h"
#include "host/spawn.h"
#include "realm/disk_path.h"

namespace lockkeeper::git {
namespace {

bool is_this_program(const std::string& path) {
  struct stat ours{};
  struct stat there{};
  return ::stat(host::own_program().c_str(), &ours) == 0 && ::stat(path.c_str(), &there) == 0 &&
         ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
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
  const auto pass_on = [&](const char* name) {
    const char* const value = std::getenv(name);
    if (value != nullptr && !options_.variables.contains(name)) {
      made.push_back(std::string(name) + "=" + value);
    }
  };
  for (const char* const name : {"PATH", "HOME", "XDG_CONFIG_HOME"}) pass_on(name);
  for (const char* const name : kIdentityVariables) pass_on(name);
  for (const auto& [name, value] : options_.variables) {
    made.push_back(name);
    made.back().append("=").append(value);
  }
  return made;
}

Result<Answer> Reader::try_to_ask(const std::vector<std::string>& words) const {
  host::Program git;
  git.argv = {program_, "-C", root_, "--no-pager", "--literal-pathspecs"};
  git.argv.insert(git.argv.end(), words.begin(), words.end());
  git.environment = environment();
  return carry_out(std::move(git), options_.limits);
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
  reader.has_lfs_ = filters.contains("filter.lfs");
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
