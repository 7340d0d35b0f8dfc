#include "guard/stale.h"

#include <algorithm>
#include <set>

#include "git/paths.h"

namespace lockkeeper::guard {
void drop_committed_since(const Scene& scene, const std::vector<CommittedPath>& paths,
                          std::vector<core::Trace>& traces) {
  std::map<std::string, std::string> asked;  // a trace's path, git's path
  std::int64_t since_ms = INT64_MAX;
  for (const core::Trace& trace : traces) {
    if (scene.party().has(trace.owner) && trace.earlier.empty()) continue;
    const auto path = std::ranges::find(paths, trace.change.path, &CommittedPath::name);
    if (path == paths.end() || trace.change.clean) continue;
    if (!is_uncommitted(trace, path->head_id)) continue;
    asked[trace.change.path] = path->path;
    // When the earlier ones wrote is not known.
    since_ms = std::min(since_ms, trace.at_wall_ms);
    if (!trace.earlier.empty()) since_ms = scene.now_wall_ms() - core::kTraceKeptMs;
  }
  if (asked.empty()) return;
  std::set<std::string> names;
  for (const auto& [name, path] : asked) names.insert(path);
  const auto reader = reader_of(scene.repository());
  if (!reader) return;  // they count
  const auto contents = git::contents_since(*reader, names, std::max<std::int64_t>(0, since_ms));
  if (!contents) return;
  const auto had = [&](const core::Trace& trace, const std::string& content) {
    const auto path = asked.find(trace.change.path);
    return path != asked.end() && !content.empty() && contents->contains({path->second, content});
  };
  std::erase_if(traces, [&](const core::Trace& trace) { return had(trace, trace.change.content); });
  for (core::Trace& trace : traces) {
    for (std::size_t i = 0; i < trace.earlier_content.size(); ++i) {
      if (had(trace, trace.earlier_content[i])) trace.earlier[i] = {};
    }
  }
}

Result<std::vector<core::Change>> clean_changes(const Scene& scene,
                                                const std::map<std::string, std::string>& head,
                                                const std::vector<core::Trace>& traces) {
  std::vector<core::Change> clean;
  std::vector<std::string> paths;
  for (const core::Trace& trace : traces) {
    if (!trace.change.clean) paths.push_back(trace.change.path);
  }
  if (paths.empty()) return clean;
  git::Options options;
  options.variables = scene.repository().variables;
  options.variables.erase("GIT_INDEX_FILE");  // git may have made one for this commit alone
  LK_ASSIGN(const git::Reader reader, git::Reader::open(scene.worktree(), std::move(options)));
  LK_ASSIGN(const std::set<std::string> same, git::as_committed(reader, paths));
  for (const std::string& path : same) {
    const auto content = head.find(path);
    clean.push_back({path, {}, content == head.end() ? std::string() : content->second, true});
  }
  return clean;
}

}  // namespace lockkeeper::guard
