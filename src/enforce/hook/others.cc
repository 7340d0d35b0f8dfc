#include "enforce/hook/others.h"

#include <sys/stat.h>

#include <algorithm>

#include "core/sessions.h"
#include "realm/disk_path.h"
#include "realm/hook_settings.h"

namespace lockkeeper::enforce::hook {
namespace {

using shell::Danger;
using shell::Kind;

constexpr std::int64_t kGitPatienceMs = 5'000;  // below what the clients give a hook
constexpr std::size_t kGitAnswerBytesMax = 64U << 20;

// The session that it is a part of in the end, or itself.
core::Owner outermost(const core::Owner& owner) {
  const std::vector<std::string> wholes = core::wholes_of(owner);
  if (wholes.empty()) return owner;
  return {owner.agent, core::named_whole(wholes.front()).session};
}

// Agents of a crew have one session, but other names.
bool is_one_party(const core::Owner& a, const core::Owner& b) {
  return a == b || outermost(a) == outermost(b) || core::is_part_of(a, b) || core::is_part_of(b, a);
}

bool changes_files(Kind kind) {
  return kind == Kind::kMoveHead || kind == Kind::kRemove || kind == Kind::kRemoveWorktree;
}

}  // namespace

bool Others::is_mine(const core::Owner& owner) const {
  return std::ranges::any_of(session_.identities(),
                             [&](const core::Owner& me) { return is_one_party(me, owner); });
}

Result<void> Others::look() {
  LK_ASSIGN(const service::LookReply seen, place_.locks().look(place_.worktree()));
  for (const core::Trace& trace : seen.traces) {
    // Nobody knows whose it is: it may be the asker's own.
    if (trace.owner.agent.empty()) continue;
    const std::string& path = trace.change.path;
    // What the last one wrote still contains what others wrote before.
    const auto theirs = [&](const core::Owner& owner) { return !is_mine(owner); };
    const auto before = std::ranges::find_if(trace.earlier, theirs);
    const bool mine = is_mine(trace.owner);
    if (mine && before == trace.earlier.end()) {
      own_.insert(path);
    } else if (!realm::hook_ignores(place_.settings(), path)) {
      traces_.push_back({path, mine ? *before : trace.owner});
    }
  }
  service::ListCommand all;
  all.scan_layouts = false;
  LK_ASSIGN(const service::ListReply list, place_.locks().list(all));
  for (const service::ListedLease& each : list.leases) {
    const core::Lease& lease = each.lease;
    const bool here = lease.terms.worktree.empty() || lease.terms.worktree == place_.worktree();
    if (!here || (!lease.foreign && is_mine(lease.owner))) continue;
    if (!lease.edit) {
      held_.push_back(lease);
      continue;
    }
    for (const core::Claim& claim : lease.claims) {
      const Target target{.typed = {}, .resources = {claim.resource}};
      if (claim.resource.is_path()) claims_.push_back({target.path(), lease.owner});
    }
  }
  return {};
}

const git::Reader* Others::reader() {
  if (reader_failed_) return nullptr;
  if (!reader_) {
    git::Options options;
    options.limits = {kGitAnswerBytesMax, kGitPatienceMs};
    auto opened = git::Reader::open(place_.worktree(), options);
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
      const bool holds = std::ranges::any_of(lease.claims, [&](const core::Claim& claim) {
        return claim.mode == core::Mode::kExclusive && key::covers(claim.resource, file->resource);
      });
      if (holds) to.try_emplace(path, lease.owner);
    }
  }
}

std::vector<Affected> Others::affected(const Danger& asked, const Area& area) {
  Danger danger = asked;
  if (area.removed) danger.tracked = danger.untracked = danger.ignored = true;
  ask_git(area);
  Touched touched;
  const auto add = [&](const std::vector<Affected>& from, bool claimed) {
    for (const Affected& one : from) {
      const bool inside = area.contains(one.path) && !touched.contains(one.path);
      if (inside && is_touched(danger, one.path, claimed)) touched.emplace(one.path, one.owner);
    }
  };
  add(claims_, true);
  add(traces_, false);
  add_held(danger, area, touched);
  std::vector<Affected> list;
  for (auto& [path, owner] : touched) list.push_back({path, owner});
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
