#include "plan/resolutions.h"

#include <algorithm>
#include <set>

#include "plan/agent_names.h"

namespace lockkeeper::plan {
namespace {

using Kind = Resolution::Kind;
using Resources = std::vector<key::Resource>;

bool is_plain(const key::Resource& resource) {
  return resource.kind() == key::Kind::kFile || resource.kind() == key::Kind::kFolder;
}

bool is_folder(const key::Resource& resource) {
  return resource.kind() == key::Kind::kFolder;
}

std::size_t depth(const key::Resource& resource) {
  return resource.literal().size();
}

// "" for the root, otherwise with a '/' at the end.
std::string prefix_of(const key::Resource& folder) {
  return folder.text() == "./" ? std::string() : folder.text();
}

std::string parent_of(const key::Resource& file) {
  const std::size_t slash = file.text().rfind('/');
  return slash == std::string::npos ? std::string() : file.text().substr(0, slash + 1);
}

Result<bool> overlap_any(const key::Resource& one, const Resources& others) {
  for (const key::Resource& other : others) {
    LK_ASSIGN(const std::optional<std::string> witness, key::overlap(one, other));
    if (witness) return true;
  }
  return false;
}

// The scopes while they are edited, the asker's first.
class ScopeEditor {
 public:
  ScopeEditor(const Scope& asker, const std::vector<Scope>& holders, const key::Rules& rules,
              const Children& children)
      : rules_(rules), children_(children) {
    scopes_.push_back(asker);
    scopes_.insert(scopes_.end(), holders.begin(), holders.end());
  }

  Result<Resolution> reassign();
  Result<Resolution> split();
  Result<std::optional<Resolution>> separate(const key::Resource& shared);

 private:
  struct Pair {
    std::size_t holder;  // its place in scopes_
    Clash overlap;
  };
  Result<std::optional<Pair>> next_pair(bool with_patterns_only = false) const;
  std::string short_name(std::size_t scope, std::size_t against) const;
  Result<void> take_over(std::size_t owner, const key::Resource& moved);
  Result<void> divide(const Pair& pair);
  Result<void> take_out(std::size_t owner, std::size_t against, const key::Resource& outer,
                        const key::Resource& inner);
  Result<void> halve(const Pair& pair);
  Result<void> add(std::size_t owner, const std::string& text);
  Result<void> add_own_folder(std::size_t owner, std::size_t against, const std::string& prefix);
  void note_divided(const key::Resource& folder);

  std::vector<Scope> scopes_;
  const key::Rules& rules_;
  const Children& children_;
  Resources divided_, new_folders_;
  std::vector<Resolution::Move> taken_;  // by a split, from the asker
};

Result<std::optional<ScopeEditor::Pair>> ScopeEditor::next_pair(bool with_patterns_only) const {
  for (std::size_t holder = 1; holder < scopes_.size(); ++holder) {
    for (const key::Resource& ours : scopes_[0].resources) {
      for (const key::Resource& theirs : scopes_[holder].resources) {
        if (with_patterns_only && is_plain(ours) && is_plain(theirs)) continue;
        LK_ASSIGN(const std::optional<std::string> witness, key::overlap(ours, theirs));
        if (witness) return Pair{holder, {ours, theirs, *witness}};
      }
    }
  }
  return std::nullopt;
}

// Gives the owner all of `moved`, unless another scope has a part of it: two patterns may overlap
// without one covering the other.
Result<void> ScopeEditor::take_over(std::size_t owner, const key::Resource& moved) {
  Resources& resources = scopes_[owner].resources;
  if (key::covered_by_any(moved, resources)) return {};
  for (const Scope& other : scopes_) {
    if (&other == &scopes_[owner]) continue;
    LK_ASSIGN(const bool taken, overlap_any(moved, other.resources));
    if (taken) return {};
  }
  resources.push_back(moved);
  return {};
}

// The inner resource moves to the outer one's owner; of equals, and of patterns, the asker's moves.
Result<Resolution> ScopeEditor::reassign() {
  Resolution resolution;
  resolution.kind = Kind::kReassign;
  for (;;) {
    LK_ASSIGN(const std::optional<Pair> pair, next_pair());
    if (!pair) break;
    const key::Resource& ours = pair->overlap.ours;
    const key::Resource& theirs = pair->overlap.theirs;
    const bool theirs_moves = is_plain(ours) && is_plain(theirs) && depth(theirs) > depth(ours);
    Scope& from = scopes_[theirs_moves ? pair->holder : 0];
    const std::size_t to = theirs_moves ? 0 : pair->holder;
    const key::Resource moved = theirs_moves ? theirs : ours;
    resolution.moves.push_back({moved, from.agent, scopes_[to].agent});
    std::erase(from.resources, moved);
    LK_CHECK(take_over(to, moved));
  }
  resolution.scopes = scopes_;
  return resolution;
}

std::string ScopeEditor::short_name(std::size_t scope, std::size_t against) const {
  return distinct_name(scopes_[scope].agent, scopes_[against].agent);
}

void ScopeEditor::note_divided(const key::Resource& folder) {
  // Only the outermost of nested folders.
  if (key::covered_by_any(folder, divided_)) return;
  std::erase_if(divided_, [&](const key::Resource& known) { return key::covers(folder, known); });
  divided_.push_back(folder);
}

// Adds a part unless it would overlap another scope: a split must not make new conflicts.
Result<void> ScopeEditor::add(std::size_t owner, const std::string& text) {
  const auto parsed = key::parse(text, rules_, key::Syntax::kLiteral);
  if (!parsed) return {};  // the name cannot be locked
  return take_over(owner, parsed->resource);
}

Result<void> ScopeEditor::add_own_folder(std::size_t owner, std::size_t against,
                                         const std::string& prefix) {
  const std::size_t before = scopes_[owner].resources.size();
  LK_CHECK(add(owner, prefix + short_name(owner, against) + "/"));
  const Resources& now = scopes_[owner].resources;
  if (now.size() > before) new_folders_.push_back(now.back());
  return {};
}

// Replaces `outer` by what lies beside `inner` at each level from `outer` down.
Result<void> ScopeEditor::take_out(std::size_t owner, std::size_t against,
                                   const key::Resource& outer, const key::Resource& inner) {
  std::erase(scopes_[owner].resources, outer);
  if (!is_folder(outer)) return {};  // a file, which the other has as a folder
  note_divided(outer);
  std::string at = prefix_of(outer);
  bool any = false;
  for (std::size_t level = depth(outer); level < depth(inner); ++level) {
    const std::optional<std::vector<std::string>> names = children_(at);
    if (!names) break;
    for (const std::string& name : *names) {
      const std::size_t before = scopes_[owner].resources.size();
      LK_CHECK(add(owner, at + name));
      any = any || scopes_[owner].resources.size() > before;
    }
    at += inner.literal()[level] + "/";
  }
  if (!any) LK_CHECK(add_own_folder(owner, against, prefix_of(outer)));
  return {};
}

// Divides a folder that both have: the first half of its names for the holder, the rest for the
// asker.
Result<void> ScopeEditor::halve(const Pair& pair) {
  const key::Resource folder = pair.overlap.ours;
  std::erase(scopes_[0].resources, folder);
  std::erase(scopes_[pair.holder].resources, pair.overlap.theirs);
  note_divided(folder);
  const std::string prefix = prefix_of(folder);
  std::vector<std::string> names = children_(prefix).value_or(std::vector<std::string>());
  std::ranges::sort(names);
  std::vector<std::string> free;  // names that neither scope has otherwise
  for (const std::string& name : names) {
    const auto parsed = key::parse(prefix + name, rules_, key::Syntax::kLiteral);
    if (!parsed) continue;
    LK_ASSIGN(const bool ours, overlap_any(parsed->resource, scopes_[0].resources));
    LK_ASSIGN(const bool theirs, overlap_any(parsed->resource, scopes_[pair.holder].resources));
    if (!ours && !theirs) {
      free.push_back(name);
    } else if (ours != theirs) {
      LK_CHECK(add(ours ? 0 : pair.holder, prefix + name));
    }
  }
  for (std::size_t i = 0; i < free.size(); ++i) {
    LK_CHECK(add(i < (free.size() + 1) / 2 ? pair.holder : 0, prefix + free[i]));
  }
  for (const auto& [owner, against] :
       {std::pair(pair.holder, std::size_t{0}), std::pair(std::size_t{0}, pair.holder)}) {
    const auto inside = [&](const key::Resource& each) { return key::covers(folder, each); };
    if (std::ranges::none_of(scopes_[owner].resources, inside)) {
      LK_CHECK(add_own_folder(owner, against, prefix));
    }
  }
  return {};
}

Result<void> ScopeEditor::divide(const Pair& pair) {
  const key::Resource& ours = pair.overlap.ours;
  const key::Resource& theirs = pair.overlap.theirs;
  if (!is_plain(ours) || !is_plain(theirs)) {
    // Not a folder: the holder keeps it.
    taken_.push_back({ours, scopes_[0].agent, {}});
    std::erase(scopes_[0].resources, key::Resource(ours));
    return {};
  }
  if (depth(ours) < depth(theirs)) return take_out(0, pair.holder, ours, theirs);
  if (depth(ours) > depth(theirs)) return take_out(pair.holder, 0, theirs, ours);
  if (is_folder(ours) && is_folder(theirs)) return halve(pair);
  // They share one file: the asker gets a folder beside it.
  const std::string prefix = parent_of(is_folder(ours) ? theirs : ours);
  const auto folder = key::parse(prefix.empty() ? "./" : prefix, rules_, key::Syntax::kLiteral);
  std::erase(scopes_[0].resources, key::Resource(ours));
  if (folder) note_divided(folder->resource);
  return add_own_folder(0, pair.holder, prefix);
}

Result<Resolution> ScopeEditor::split() {
  for (;;) {
    // Patterns first: one that is removed anyway must not restrict how folders are divided.
    LK_ASSIGN(std::optional<Pair> pair, next_pair(true));
    if (!pair) {
      LK_ASSIGN(pair, next_pair());
    }
    if (!pair) break;
    LK_CHECK(divide(*pair));
  }
  Resolution resolution;
  resolution.kind = Kind::kSplit;
  resolution.moves = taken_;
  for (const key::Resource& folder : divided_) {
    for (std::size_t i = 0; i < scopes_.size(); ++i) {
      Resolution::Part part{folder, scopes_[i].agent, {}};
      for (const key::Resource& resource : scopes_[i].resources) {
        if (key::covers(folder, resource)) part.resources.push_back(resource);
      }
      if (!part.resources.empty() || i == 0) resolution.parts.push_back(std::move(part));
    }
  }
  resolution.new_folders = new_folders_;
  resolution.scopes = scopes_;
  return resolution;
}

// nullopt if a new name is taken. REQUIRES: only `shared` overlaps, a file of the asker and of one
// holder.
Result<std::optional<Resolution>> ScopeEditor::separate(const key::Resource& shared) {
  Resolution resolution;
  resolution.kind = Kind::kSeparate;
  std::vector<std::size_t> sharers;
  for (std::size_t i = 0; i < scopes_.size(); ++i) {
    if (std::ranges::find(scopes_[i].resources, shared) != scopes_[i].resources.end()) {
      sharers.push_back(i);
    }
  }
  for (const std::size_t i : sharers) {
    const std::size_t against = i == 0 ? sharers.back() : 0;
    const auto own = key::parse(with_infix(shared.text(), short_name(i, against)), rules_,
                                key::Syntax::kLiteral);
    std::erase(scopes_[i].resources, shared);
    if (!own) return std::nullopt;
    for (const Scope& scope : scopes_) {
      LK_ASSIGN(const bool taken, overlap_any(own->resource, scope.resources));
      if (taken) return std::nullopt;
    }
    scopes_[i].resources.push_back(own->resource);
    resolution.parts.push_back({shared, scopes_[i].agent, {own->resource}});
  }
  resolution.scopes = scopes_;
  return resolution;
}

Resolution sequential(const Scope& asker, const std::vector<Scope>& holders) {
  Resolution resolution;
  for (const Scope& holder : holders) resolution.order.push_back({asker.agent, holder.agent});
  return resolution;
}

// Without what another one covers.
Resources without_covered(const Resources& all) {
  Resources kept;
  for (const key::Resource& resource : all) {
    if (key::covered_by_any(resource, kept)) continue;
    std::erase_if(kept, [&](const key::Resource& each) { return key::covers(resource, each); });
    kept.push_back(resource);
  }
  return kept;
}

Resolution merge(const Scope& asker, std::vector<Scope> holders) {
  Resolution resolution;
  resolution.kind = Kind::kMerge;
  Scope one{holders.front().agent, {}, {}};
  holders.push_back(asker);
  std::set<std::string> tasks;
  for (const Scope& scope : holders) {
    resolution.merged.push_back(scope.agent);
    one.resources.insert(one.resources.end(), scope.resources.begin(), scope.resources.end());
    if (scope.task_description.empty() || !tasks.insert(scope.task_description).second) continue;
    one.task_description += (one.task_description.empty() ? "" : "; ") + scope.task_description;
  }
  one.resources = without_covered(one.resources);
  resolution.scopes = {std::move(one)};
  return resolution;
}

}  // namespace

Result<std::vector<Clash>> clashes_of(const Scope& ours, const Scope& theirs) {
  std::vector<Clash> found;
  for (const key::Resource& one : ours.resources) {
    for (const key::Resource& other : theirs.resources) {
      LK_ASSIGN(std::optional<std::string> witness, key::overlap(one, other));
      if (witness) found.push_back({one, other, std::move(*witness)});
    }
  }
  return found;
}

Result<std::vector<Resolution>> resolutions_for(const Scope& asker,
                                                const std::vector<Scope>& holders,
                                                const key::Rules& rules, const Children& children) {
  std::vector<Scope> meet;  // holders that overlap
  std::vector<Clash> pairs;
  for (const Scope& holder : holders) {
    LK_ASSIGN(const std::vector<Clash> found, clashes_of(asker, holder));
    if (found.empty()) continue;
    meet.push_back(holder);
    pairs.insert(pairs.end(), found.begin(), found.end());
  }
  std::vector<Resolution> list = {sequential(asker, meet)};
  LK_ASSIGN(Resolution reassigned, ScopeEditor(asker, holders, rules, children).reassign());
  list.push_back(std::move(reassigned));
  LK_ASSIGN(Resolution divided, ScopeEditor(asker, holders, rules, children).split());
  list.push_back(std::move(divided));
  list.push_back(merge(asker, meet));
  const bool one_file = pairs.size() == 1 && pairs[0].ours == pairs[0].theirs &&
                        pairs[0].ours.kind() == key::Kind::kFile;
  if (one_file) {
    LK_ASSIGN(std::optional<Resolution> separated,
              ScopeEditor(asker, holders, rules, children).separate(pairs[0].ours));
    if (separated) list.push_back(std::move(*separated));
  }
  return list;
}

}  // namespace lockkeeper::plan
