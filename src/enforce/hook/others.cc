#include "enforce/hook/others.h"

#include <sys/stat.h>

#include <algorithm>

#include "base/text.h"
#include "core/sessions.h"
#include "enforce/hook/clean_files.h"
#include "enforce/hook/files.h"
#include "realm/disk_path.h"
#include "realm/hook_settings.h"

namespace lockkeeper::enforce::hook {
namespace {

using shell::Danger;
using shell::Kind;

// Nothing is lost by these.
bool only_takes(Kind kind) {
  return kind == Kind::kStage || kind == Kind::kCommitAll || kind == Kind::kNewBranch;
}

bool changes_files(Kind kind) {
  return kind == Kind::kMoveHead || kind == Kind::kRemove || kind == Kind::kRemoveWorktree;
}

}  // namespace

bool Others::is_mine(const core::Owner& owner) const {
  return std::ranges::any_of(session_.identities(),
                             [&](const core::Owner& me) { return core::is_one_party(me, owner); });
}

Result<void> Others::look() {
  LK_ASSIGN(const service::LookReply seen, place_.locks().look(place_.worktree()));
  service::ListCommand all;
  all.scan_layouts = false;
  LK_ASSIGN(const service::ListReply list, place_.locks().list(all));
  for (const service::ListedLease& each : list.leases) take_in(each.lease);
  for (const core::Trace& trace : seen.traces) take_in(trace, seen.gone);
  return {};
}

void Others::take_in(const core::Lease& lease) {
  const bool here = lease.terms.worktree.empty() || lease.terms.worktree == place_.worktree();
  if (!here) return;
  if (!lease.foreign && is_mine(lease.owner)) {
    if (!lease.edit) mine_.push_back(lease);
    return;
  }
  if (!lease.edit) {
    held_.push_back(lease);
    return;
  }
  for (const core::Claim& claim : lease.claims) {
    const Target target{.typed = {}, .resources = {claim.resource}};
    if (claim.resource.is_path()) claims_.push_back({target.path(), lease.owner});
  }
}

void Others::take_in(const core::Trace& trace, const std::vector<core::Owner>& gone) {
  const std::string& path = trace.change.path;
  const std::string now = trace.change.clean ? Files(place_.worktree()).content(path) : "";
  // What the last one wrote still contains what others wrote before.
  std::vector<core::Written> writers = core::writers_in(trace, now);
  if (writers.empty()) return;
  std::erase_if(writers, [&](const core::Written& one) { return is_mine(one.owner); });
  if (writers.empty() || is_taken_over(trace)) {
    own_.insert(path);
    return;
  }
  if (realm::hook_ignores(place_.settings(), path)) return;
  const bool left = std::ranges::all_of(writers, [&](const core::Written& one) {
    return std::ranges::find(gone, one.owner) != gone.end();
  });
  traces_.push_back({path, writers.back().owner, left});
  // When the earlier ones wrote is not known.
  const bool alone = trace.earlier.empty();
  work_[path] = {std::move(writers),
                 alone ? trace.at_wall_ms : session_.now().wall_ms - core::kTraceKeptMs};
}

// Whoever locks a file on purpose, after others have left it, means to go on with it.
bool Others::is_taken_over(const core::Trace& trace) const {
  const auto file = key::parse(trace.change.path, place_.settings().key_rules(place_.realm()),
                               key::Syntax::kLiteral);
  return file && std::ranges::any_of(mine_, [&](const core::Lease& lease) {
           return core::takes_over(lease, file->resource, trace, is_mine(trace.owner));
         });
}

const git::Reader* Others::reader() {
  if (reader_failed_) return nullptr;
  if (!reader_) {
    auto opened = git_in(place_);
    reader_failed_ = !opened;
    if (opened) reader_.emplace(std::move(*opened));
  }
  return reader_ ? &*reader_ : nullptr;
}

// One question for everything that may matter in the area.
void Others::ask_git(const Area& area) {
  std::set<std::string> paths;
  const auto add = [&](const std::string& path) {
    if (area.contains(path) && !asked_.contains(path)) paths.insert(path);
  };
  for (const Affected& one : traces_) add(one.path);
  for (const Affected& one : claims_) add(one.path);
  bool whole = false;
  for (const core::Lease& lease : held_) {
    for (const core::Claim& claim : lease.claims) {
      if (!claim.resource.is_path() || claim.mode != core::Mode::kExclusive) continue;
      const std::string literal = join(claim.resource.literal(), "/");
      whole = whole || literal.empty();
      if (!literal.empty() && !asked_.contains(literal)) paths.insert(literal);
    }
  }
  if (paths.empty() && !whole) return;
  for (const std::string& path : own_) add(path);
  asked_.insert(paths.begin(), paths.end());
  committed_.reset();
  const git::Reader* const git = reader();
  git_failed_ = git_failed_ || git == nullptr;
  if (git == nullptr) return;
  const std::vector<std::string> list(paths.begin(), paths.end());
  const auto changed = whole ? git::all_changed_paths(*git) : git::changed_paths(*git, list);
  git_failed_ = git_failed_ || !changed;
  if (!changed) return;
  for (const git::ChangedPath& one : *changed) changed_.insert_or_assign(one.path, one);
}

bool Others::is_there(const std::string& path) const {
  struct stat info{};
  return ::lstat(realm::join_path(place_.worktree(), path).c_str(), &info) == 0;
}

// Git says nothing of it: it is as HEAD has it, or git ignores it.
bool Others::is_ignored(const std::string& path) {
  if (!committed_) {
    committed_.emplace();
    const git::Reader* const git = reader();
    const std::vector<std::string> list(asked_.begin(), asked_.end());
    const auto known = git == nullptr ? Result<std::map<std::string, std::string>>()
                                      : git::contents_at(*git, "HEAD", list);
    if (known) {
      for (const auto& [name, id] : *known) committed_->insert(name);
    }
  }
  return !committed_->contains(path);
}

bool Others::is_touched(const Danger& danger, const std::string& path, bool claimed) {
  if (git_failed_) return true;
  const auto found = changed_.find(path);
  if (found != changed_.end()) {
    if (danger.kind == Kind::kMoveHead) return true;
    if (danger.only_staged) return found->second.staged_alone();
    return found->second.untracked() ? danger.untracked : danger.tracked;
  }
  if (claimed && changes_files(danger.kind)) return true;
  return danger.ignored && is_there(path) && is_ignored(path);
}

// Others may change what they hold without any hook noticing it: what git sees there is theirs.
void Others::add_held(const Danger& danger, const Area& area, Touched& to) {
  if (held_.empty()) return;
  const key::Rules rules = place_.settings().key_rules(place_.realm());
  for (const auto& [path, change] : changed_) {
    if (!area.contains(path) || own_.contains(path) || to.contains(path)) continue;
    const auto file = key::parse(path, rules, key::Syntax::kLiteral);
    if (!file || !is_touched(danger, path, false)) continue;
    for (const core::Lease& lease : held_) {
      if (core::holds_alone(lease, file->resource))
        to.try_emplace(path, Affected{path, lease.owner});
    }
  }
}

// What somebody has committed without our hooks is nobody's work any more. Asked only if something
// would be refused because of it.
void Others::drop_committed(Touched& touched) {
  const git::Reader* const git = touched.empty() ? nullptr : reader();
  if (git == nullptr) return;
  std::set<std::string> paths;
  std::int64_t since_wall_ms = INT64_MAX;
  for (const auto& [path, one] : touched) {
    paths.insert(path);
    since_wall_ms = std::min(since_wall_ms, work_[path].since_wall_ms);
  }
  const auto committed = git::contents_since(*git, paths, since_wall_ms);
  if (!committed) return;
  std::erase_if(touched, [&](const auto& each) {
    return std::ranges::all_of(work_[each.first].theirs, [&](const core::Written& one) {
      return committed->contains({each.first, one.content});
    });
  });
}

std::vector<Affected> Others::affected(const Danger& asked, const Area& area) {
  Danger danger = asked;
  if (area.removed) danger.tracked = danger.untracked = danger.ignored = true;
  ask_git(area);
  Touched touched;
  const auto add = [&](const std::vector<Affected>& from, bool claimed) {
    for (const Affected& one : from) {
      const bool inside = area.contains(one.path) && !touched.contains(one.path);
      if (!inside || (one.left && only_takes(danger.kind))) continue;
      if (is_touched(danger, one.path, claimed)) touched.emplace(one.path, one);
    }
  };
  add(traces_, false);
  drop_committed(touched);
  add(claims_, true);
  add_held(danger, area, touched);
  std::vector<Affected> list;
  for (const auto& [path, one] : touched) list.push_back(one);
  return list;
}

std::vector<std::string> Others::own_files(const Danger& danger, const Area& area) const {
  std::vector<std::string> files;
  for (const std::string& path : own_) {
    const auto change = changed_.find(path);
    if (!area.contains(path) || change == changed_.end()) continue;
    const bool touched = change->second.untracked() ? danger.untracked : danger.tracked;
    if (touched) files.push_back(path);
  }
  return files;
}

}  // namespace lockkeeper::enforce::hook
