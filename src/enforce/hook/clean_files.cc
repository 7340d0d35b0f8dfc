#include "enforce/hook/clean_files.h"

#include <algorithm>

#include "core/traces.h"
#include "enforce/hook/files.h"
#include "git/paths.h"

namespace lockkeeper::enforce::hook {
namespace {

constexpr std::int64_t kGitPatienceMs = 5'000;  // below what the clients give a hook
constexpr std::size_t kGitAnswerBytesMax = 64U << 20;

}  // namespace

Result<git::Reader> git_in(Place& place) {
  git::Options options;
  options.limits = {kGitAnswerBytesMax, kGitPatienceMs};
  return git::Reader::open(place.worktree(), options);
}

std::set<std::string> clean_among(Place& place, const std::vector<std::string>& paths) {
  if (paths.empty() || place.realm().common_dir.empty()) return {};
  const auto reader = git_in(place);
  if (!reader) return {};
  return git::as_committed(*reader, paths).value_or(std::set<std::string>());
}

void put_away_clean(Session& session, Place& place, const std::vector<core::Trace>& traces) {
  std::vector<std::string> paths;
  for (const core::Trace& trace : traces) {
    const auto writers = core::writers_of(trace);
    const bool others = std::ranges::any_of(
        writers, [&](const core::Written& one) { return one.owner != session.owner(); });
    if (others && !trace.change.clean) paths.push_back(trace.change.path);
  }
  const Files files(place.worktree());
  std::vector<core::Change> clean;
  for (const std::string& path : clean_among(place, paths)) clean.push_back(files.change(path));
  // If the table cannot be written, they count until it can.
  static_cast<void>(place.locks().put_away(place.worktree(), clean));
}

}  // namespace lockkeeper::enforce::hook
