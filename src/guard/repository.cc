#include "guard/repository.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "base/fd.h"
#include "realm/disk_path.h"

namespace lockkeeper::guard {
namespace {

constexpr const char* kPlaces[] = {"GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE",
                                   "GIT_OBJECT_DIRECTORY"};
constexpr const char* kPassedOn[] = {"GIT_ALTERNATE_OBJECT_DIRECTORIES", "HOME", "XDG_CONFIG_HOME"};
constexpr std::size_t kPointerBytesMax = 64U << 10;
// A hook that asks longer than this does more harm than good.
constexpr std::int64_t kHookPatienceMs = 20'000;

std::string absolute(const std::string& path, const std::string& from) {
  if (path.starts_with('/')) return path;
  std::string clean = std::filesystem::path(from + "/" + path).lexically_normal().string();
  while (clean.size() > 1 && clean.ends_with('/')) clean.pop_back();
  return clean;
}

// As git finds it: a worktree's own folder names the common one.
std::string common_folder(const std::string& git_folder) {
  const auto text = read_file(realm::join_path(git_folder, "commondir"), kPointerBytesMax);
  if (!text) return git_folder;
  const std::size_t end = std::min(text->find_last_not_of("\r\n") + 1, text->size());
  return absolute(text->substr(0, end), git_folder);
}

}  // namespace

Result<Repository> repository_of(const std::string& cwd, const realm::Environment& env) {
  Repository found;
  found.folder = cwd;
  for (const char* const name : kPlaces) {
    if (const auto value = realm::variable(env, name)) {
      found.variables[name] = absolute(*value, cwd);
    }
  }
  for (const char* const name : kPassedOn) {
    if (const auto value = realm::variable(env, name)) found.variables[name] = *value;
  }
  const auto named = found.variables.find("GIT_DIR");
  if (named != found.variables.end()) {
    found.git_folder = named->second;
  } else if (const auto inside = git::own_git_folder(cwd)) {
    found.git_folder = *inside;
  } else if (file_stamp(realm::join_path(cwd, "HEAD")) != 0) {
    found.git_folder = cwd;
  } else {
    return fail(Code::kNotFound, cwd + " is not a git repository");
  }
  found.common = common_folder(found.git_folder);
  found.index = realm::join_path(found.git_folder, "index");
  const auto index = found.variables.find("GIT_INDEX_FILE");
  if (index != found.variables.end()) {
    found.own_index = index->second == found.index;
    found.index = index->second;
  }
  return found;
}

Result<git::Reader> reader_of(const Repository& repository) {
  git::Options options;
  options.limits.patience_ms = kHookPatienceMs;
  options.variables = repository.variables;
  options.reads_files = false;
  return git::Reader::open(repository.folder, std::move(options));
}

}  // namespace lockkeeper::guard
