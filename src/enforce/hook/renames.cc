#include "enforce/hook/renames.h"

#include <algorithm>

#include "enforce/hook/clean_files.h"
#include "enforce/hook/files.h"
#include "enforce/hook/keeping.h"
#include "git/paths.h"
#include "key/resource.h"
#include "realm/hook_settings.h"

namespace lockkeeper::enforce::hook {
namespace {

bool is_guarded(Place& place, const std::string& path) {
  const realm::Settings& settings = place.settings();
  if (realm::hook_ignores(settings, path)) return false;
  const auto file = key::parse(path, settings.key_rules(place.realm()), key::Syntax::kLiteral);
  return file && realm::hook_policy_for(settings, file->resource) != realm::HookPolicy::kOff;
}

// Files that are not as the last commit has them, without those that somebody is known to have
// written.
std::vector<std::string> new_files(Place& place, const service::LookReply& look,
                                   const std::set<std::string>& edited) {
  if (place.realm().common_dir.empty()) return {};
  const auto reader = git_in(place);
  if (!reader) return {};
  const auto changed = git::all_changed_paths(*reader);
  if (!changed) return {};
  std::set<std::string> known = edited;
  for (const core::Trace& trace : look.traces) known.insert(trace.change.path);
  std::vector<std::string> files;
  for (const git::ChangedPath& one : *changed) {
    if (!known.contains(one.path) && is_guarded(place, one.path)) files.push_back(one.path);
  }
  return files;
}

}  // namespace

void follow_renames(Session& session, Place& place, const std::vector<const core::Trace*>& gone,
                    const service::LookReply& look, const std::set<std::string>& edited,
                    core::ReportRequest& report) {
  if (gone.empty()) return;
  const Files files(place.worktree());
  std::vector<core::Change> candidates;  // read as far as was needed
  for (const std::string& path : new_files(place, look, edited)) {
    const core::FileMark mark = files.mark(path);
    const bool may_be = std::ranges::any_of(
        gone, [&](const core::Trace* trace) { return trace->change.mark.size == mark.size; });
    if (may_be) candidates.push_back(files.change(path));
  }
  std::set<std::string> found;
  for (const core::Trace* const trace : gone) {
    const auto same = [&](const core::Change& one) { return one.content == trace->change.content; };
    // The file itself, if it was moved and not copied; others may have a copy of their own.
    const auto itself = std::ranges::find_if(candidates, [&](const core::Change& one) {
      return same(one) && one.mark.inode == trace->change.mark.inode;
    });
    for (const core::Change& one : candidates) {
      const bool taken = itself == candidates.end() ? same(one) : one.path == itself->path;
      if (!taken || !found.insert(one.path).second) continue;
      keep_change(session, place, one.path, true);
      report.changed.push_back(one);
    }
  }
}

}  // namespace lockkeeper::enforce::hook
