#include "guard/stale.h"

#include <sys/stat.h>

#include <algorithm>
#include <set>

#include "base/parse.h"
#include "git/ref_log.h"
#include "realm/disk_path.h"

namespace lockkeeper::guard {
namespace {

bool is_on_disk(const std::string& path) {
  struct stat info{};
  return ::lstat(path.c_str(), &info) == 0;
}

// What later commits made of these paths: "path\0content", as `git log --raw` tells.
Result<std::set<std::string>> contents_since(const Scene& scene, const std::set<std::string>& paths,
                                             std::int64_t since_ms) {
  LK_ASSIGN(const git::Reader reader, reader_of(scene.repository()));
  std::vector<std::string> words = {"--literal-pathspecs",
                                    "log",
                                    "-z",
                                    "--raw",
                                    "--no-abbrev",
                                    "--no-renames",
                                    "-m",
                                    "--format=",
                                    "--max-count=1000",
                                    "--since=@" + std::to_string(since_ms / 1'000),
                                    "HEAD",
                                    "--"};
  words.insert(words.end(), paths.begin(), paths.end());
  LK_ASSIGN(const auto answer, reader.try_to_ask(words));
  std::set<std::string> found;
  const std::vector<std::string> parts = git::split_at_nul(answer.text);
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    // ":100644 100644 OLD NEW M", then the path.
    const std::vector<std::string> fields = words_in(parts[i], " \n");
    if (fields.size() != 5 || !fields.front().starts_with(':')) continue;
    found.insert(parts[i + 1] + '\0' + fields[3]);
    ++i;
  }
  return found;
}

}  // namespace

void drop_committed_since(const Scene& scene, const std::vector<CommittedPath>& paths,
                          std::vector<core::Trace>& traces) {
  std::map<std::string, std::string> asked;  // a trace's path, git's path
  std::int64_t since_ms = INT64_MAX;
  for (const core::Trace& trace : traces) {
    if (scene.party().has(trace.owner) && trace.earlier.empty()) continue;
    const auto path = std::ranges::find(paths, trace.change.path, &CommittedPath::name);
    if (path == paths.end() || !is_uncommitted(trace, path->head_id)) continue;
    asked[trace.change.path] = path->path;
    // When the earlier ones wrote is not known.
    since_ms = std::min(since_ms, trace.at_wall_ms);
    if (!trace.earlier.empty()) since_ms = scene.now_wall_ms() - core::kTraceKeptMs;
  }
  if (asked.empty()) return;
  std::set<std::string> names;
  for (const auto& [name, path] : asked) names.insert(path);
  const auto contents = contents_since(scene, names, std::max<std::int64_t>(0, since_ms));
  if (!contents) return;  // they count
  const auto had = [&](const core::Trace& trace, const std::string& content) {
    const auto path = asked.find(trace.change.path);
    return path != asked.end() && !content.empty() &&
           contents->contains(path->second + '\0' + content);
  };
  std::erase_if(traces, [&](const core::Trace& trace) { return had(trace, trace.change.content); });
  for (core::Trace& trace : traces) {
    for (std::size_t i = trace.earlier.size(); i-- > 0;) {
      if (had(trace, content_of_earlier(trace, i))) trace.earlier[i] = {};
    }
  }
}

Result<std::vector<core::Trace>> clean_traces(const Scene& scene,
                                              const std::map<std::string, std::string>& head,
                                              const std::vector<core::Trace>& traces) {
  std::vector<core::Trace> clean;
  const Repository& repository = scene.repository();
  const bool busy = git::current_operation(repository.git_folder) != git::Operation::kNone ||
                    is_on_disk(realm::join_path(repository.git_folder, "MERGE_AUTOSTASH"));
  if (busy || traces.empty()) return clean;
  const auto stashes = git::newest_log_entries(git::stash_log(repository.common));
  const std::int64_t stashed_s = stashes.empty() ? 0 : stashes.back().at_s;
  std::vector<std::string> paths;
  for (const core::Trace& trace : traces) paths.push_back(trace.change.path);
  git::Options options;
  options.variables = repository.variables;
  options.variables.erase("GIT_INDEX_FILE");  // git may have made one for this commit alone
  LK_ASSIGN(const git::Reader reader, git::Reader::open(scene.worktree(), std::move(options)));
  LK_ASSIGN(const auto changed, git::changed_paths(reader, paths));
  for (const core::Trace& trace : traces) {
    const std::string& path = trace.change.path;
    const bool differs = std::ranges::find(changed, path, &git::ChangedPath::path) != changed.end();
    // Git does not tell of ignored files.
    const bool told = head.contains(path) || !is_on_disk(realm::join_path(scene.worktree(), path));
    if (!differs && told && stashed_s < trace.at_wall_ms / 1'000) clean.push_back(trace);
  }
  return clean;
}

}  // namespace lockkeeper::guard
