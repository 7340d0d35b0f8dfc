#include "guard/judge.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace lockkeeper::guard {
namespace {

using Why = Finding::Why;

constexpr std::uint64_t kTrivialBytes = 4;  // "{}" and the like: the same by chance

class Judging {
 public:
  Judging(const Party& party, const std::vector<CommittedPath>& paths, const Around& around)
      : party_(party), around_(around) {
    for (const CommittedPath& path : paths) {
      by_name_.emplace(path.name, &path);
      by_resource_[path.resource.text()].push_back(&path);
      if (!path.new_id.empty()) by_content_.emplace(path.new_id, &path);
    }
    for (const core::Trace& trace : around.traces) {
      const bool own = party.has(trace.owner) && trace.earlier.empty();
      if (own) by_content_.erase(trace.change.content);
    }
  }

  std::vector<Finding> all() {
    for (const core::Trace& trace : around_.traces) {
      judge_trace(trace);
      judge_copies(trace);
    }
    for (const core::Conflict& conflict : around_.in_the_way) judge_holder(conflict);
    const auto key = [](const Finding& one) {
      return std::tie(one.path, one.why, one.holder.agent, one.holder.session);
    };
    std::ranges::stable_sort(found_, {}, key);
    const auto same = std::ranges::unique(found_, {}, key);
    found_.erase(same.begin(), same.end());
    return std::move(found_);
  }

 private:
  void judge_trace(const core::Trace& trace) {
    for (auto [at, end] = by_name_.equal_range(trace.change.path); at != end; ++at) {
      const CommittedPath& path = *at->second;
      if (!trace.change.clean && !is_uncommitted(trace, path.head_id)) continue;
      // Whoever wrote the file before has its lines in it, until all of it is committed.
      for (const core::Written& one : core::writers_in(trace, path.new_id)) {
        const bool committed = one.content == path.head_id && !one.content.empty();
        if (!committed) judge_writer(path, trace, one.owner);
      }
    }
  }

  // The file was moved or copied.
  void judge_copies(const core::Trace& trace) {
    if (by_content_.empty()) return;
    const auto each = [&](const std::string& content, const core::Owner& writer) {
      for (auto [at, end] = by_content_.equal_range(content); at != end; ++at) {
        if (at->second->name != trace.change.path) judge_writer(*at->second, trace, writer);
      }
    };
    const bool last = !trace.change.clean && trace.change.mark.size > kTrivialBytes;
    for (const core::Written& one : core::writers_of(trace)) {
      if (last) each(trace.change.content, one.owner);
      if (one.content != trace.change.content) each(one.content, one.owner);
    }
  }

  void judge_writer(const CommittedPath& path, const core::Trace& trace,
                    const core::Owner& writer) {
    // Nobody is told off for what nobody is known to have done.
    if (writer.agent.empty() || party_.has(writer)) return;
    const bool gone = std::ranges::find(around_.gone, writer) != around_.gone.end();
    const Why why = gone ? Why::kLeft : Why::kChanged;
    found_.push_back({.path = path.path,
                      .why = is_taken_over(path, trace) ? Why::kTakenOver : why,
                      .holder = writer,
                      .at_wall_ms = writer == trace.owner ? trace.at_wall_ms : 0,
                      .copy_of = path.name == trace.change.path ? "" : trace.change.path});
  }

  void judge_holder(const core::Conflict& conflict) {
    const core::Lease& holder = conflict.holder;
    if (conflict.waiting || (!holder.foreign && party_.has(holder.owner))) return;
    const auto paths = by_resource_.find(conflict.requested.resource.text());
    if (paths == by_resource_.end()) return;
    for (const CommittedPath* path : paths->second) judge_lease(*path, holder);
  }

  void judge_lease(const CommittedPath& path, const core::Lease& holder) {
    Finding finding{.path = path.path,
                    .holder = holder.owner,
                    .foreign = holder.foreign,
                    .at_wall_ms = holder.acquired_wall_ms,
                    .text = holder.terms.reason};
    const std::string& worktree = holder.terms.worktree;
    if (!worktree.empty() && worktree != around_.worktree) {
      finding.why = Why::kElsewhere;
      finding.text = worktree;
    } else if (holder.edit) {
      if (!holder.edit->confirmed) return;
      finding.why = Why::kEdited;
    } else {
      if (holder.acquired_wall_ms >= path.changed_wall_ms) return;
      finding.why = Why::kHeld;
    }
    found_.push_back(std::move(finding));
  }

  bool is_taken_over(const CommittedPath& path, const core::Trace& trace) const {
    key::Resource file = path.resource;
    // Of a copy, whoever holds the original.
    if (path.name != trace.change.path) {
      const auto original = key::parse(trace.change.path, {}, key::Syntax::kLiteral);
      if (!original) return false;
      file = original->resource;
    }
    return std::ranges::any_of(around_.own, [&](const core::Lease& lease) {
      return core::takes_over(lease, file, trace, party_.has(trace.owner));
    });
  }

  const Party& party_;
  const Around& around_;
  std::multimap<std::string, const CommittedPath*> by_name_;
  std::multimap<std::string, const CommittedPath*> by_content_;  // that no own change has
  std::map<std::string, std::vector<const CommittedPath*>> by_resource_;
  std::vector<Finding> found_;
};

}  // namespace

bool refuses(const Finding& finding) {
  return finding.why == Why::kChanged || finding.why == Why::kEdited || finding.why == Why::kHeld;
}

bool is_uncommitted(const core::Trace& trace, const std::string& head_id) {
  const bool gone = trace.change.content.empty() && trace.change.mark == core::FileMark{};
  if (gone) return !head_id.empty();
  return trace.change.content.empty() || trace.change.content != head_id;
}

std::vector<Finding> judge(const Party& party, const std::vector<CommittedPath>& paths,
                           const Around& around) {
  return Judging(party, paths, around).all();
}

}  // namespace lockkeeper::guard
