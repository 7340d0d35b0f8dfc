// After a commit, or whatever else has moved HEAD.
#include <map>
#include <optional>

#include "guard/bypass.h"
#include "guard/guard.h"
#include "guard/scene.h"
#include "guard/stale.h"
#include "guard/taken_back.h"
#include "guard/words.h"

namespace lockkeeper::guard {
namespace {

using Contents = std::map<std::string, std::string>;  // path → id

// A change that the last commit has is safe: nobody is warned of it any more. `arrived`: what alone
// has changed in HEAD, if that is known. `looks`: at the files, too.
Result<void> forget_committed(Scene& scene, const git::Reader& reader, const std::string& head,
                              const std::optional<Contents>& arrived, bool looks) {
  LK_ASSIGN(service::LookReply seen, scene.locks().look(scene.worktree()));
  if (arrived) {
    std::erase_if(seen.traces,
                  [&](const core::Trace& trace) { return !arrived->contains(trace.change.path); });
  }
  std::vector<std::string> paths;
  for (const core::Trace& trace : seen.traces) paths.push_back(trace.change.path);
  if (paths.empty()) return {};
  Contents contents = arrived.value_or(Contents());
  if (!arrived) {
    LK_ASSIGN(contents, git::contents_at(reader, "HEAD", paths));
  }
  std::vector<std::string> safe;
  std::vector<core::Trace> committed;
  std::vector<core::Trace> others;
  for (const core::Trace& trace : seen.traces) {
    const auto at = contents.find(trace.change.path);
    const std::string id = at == contents.end() ? std::string() : at->second;
    (is_uncommitted(trace, id) || trace.change.clean ? others : committed).push_back(trace);
  }
  if (looks) {
    LK_ASSIGN(const std::vector<core::Change> clean, clean_changes(scene, contents, others));
    LK_CHECK(scene.locks().put_away(scene.worktree(), clean));
  }
  for (const core::Trace& trace : committed) safe.push_back(trace.change.path);
  if (safe.empty()) return {};
  note_committed(scene, head, committed);
  return scene.locks().forget(scene.worktree(), safe);
}

// What was taken back and is in this commit was refused or recorded before: it is committed again.
Result<void> settle_taken_back(Scene& scene, const git::Reader& reader, const std::string& head) {
  if (!may_be_taken_back(scene)) return {};
  LK_ASSIGN(const auto made, git::made_by(reader, head));
  LK_ASSIGN(const auto back, taken_back(scene, scene.committed(made)));
  note_committed(scene, head, back);
  return {};
}

// What git has brought in by itself: everything in which the worktree's commit is another now.
// Nullopt: there was nothing before.
Result<std::optional<Contents>> record_arrival(Scene& scene, const git::Reader& reader,
                                               std::string_view operation,
                                               const std::string& before, const std::string& now) {
  const auto paths = git::between(reader, before, now);
  if (!paths) return std::nullopt;
  LK_ASSIGN(const auto findings, scene.judge_paths(scene.committed(*paths), before));
  scene.tell_replay(operation, findings);
  Contents contents;
  for (const git::Difference& each : *paths) {
    contents.emplace(each.path, each.kind == 'D' ? std::string() : each.id);
  }
  return contents;
}

// A merge that made a commit was looked at before it did.
Result<bool> is_fast_forward(const git::Reader& reader) {
  LK_ASSIGN(const auto parents, git::parents_of(reader, "HEAD"));
  return parents.size() < 2;
}

Result<void> look_after(Scene& scene, std::string_view hook) {
  LK_ASSIGN(const git::Reader reader, reader_of(scene.repository()));
  const Repository& repository = scene.repository();
  auto head = git::head_in_files(repository.git_folder, repository.common);
  if (!head) {
    LK_ASSIGN(head, git::commit_named(reader, "HEAD"));
  }
  if (!head) return {};
  const bool commit = hook == "post-commit";
  static_cast<void>(notice_bypass(scene, commit ? 1 : 0));
  if (commit) LK_CHECK(settle_taken_back(scene, reader, *head));
  if (commit && scene.notebook()) {
    const std::string lost = scene.lost_lease();
    if (!lost.empty()) scene.notebook()->mark({*head, lost});
  }
  std::optional<Contents> arrived;
  if (hook == "post-applypatch") {
    LK_ASSIGN(arrived, record_arrival(scene, reader, "am", "HEAD^", *head));
  }
  if (hook == "post-rewrite") {
    LK_ASSIGN(arrived, record_arrival(scene, reader, "rebase", "ORIG_HEAD", *head));
  }
  if (hook == "post-merge") {
    LK_ASSIGN(const bool forward, is_fast_forward(reader));
    if (forward) {
      LK_ASSIGN(arrived, record_arrival(scene, reader, "merge", "ORIG_HEAD", *head));
    }
  }
  // If a hook of the agent follows, it has to see who changed what.
  const auto calls = scene.locks().own_calls();
  const bool settles = !calls || calls->empty();
  const bool looks = settles && (commit || hook == "post-checkout");
  return forget_committed(scene, reader, *head, arrived, looks);
}

// A rebase goes to the commit that it builds on, and need not end with commits of its own.
Result<void> look_at_rebase_start(Scene& scene, const std::vector<std::string>& arguments) {
  LK_ASSIGN(const git::Reader reader, reader_of(scene.repository()));
  LK_CHECK(record_arrival(scene, reader, "rebase", arguments[0], arguments[1]));
  return {};
}

}  // namespace

Verdict after_commit(const World& world, const Repository& repository, std::string_view hook,
                     const std::vector<std::string>& arguments) {
  const bool rebase = git::current_operation(repository.git_folder) == git::Operation::kRebase;
  // An amended commit in the middle of a rebase is told of like the rebase's end.
  const std::string why = arguments.empty() ? std::string() : arguments.front();
  const bool ends = hook == "post-rewrite" && why == "rebase";
  const bool starts = hook == "post-checkout" && arguments.size() == 3;
  if (rebase && !ends && !starts) return {};
  if (hook == "post-rewrite" && !ends) return {};
  const auto scene = Scene::open(world, repository);
  if (!scene || *scene == nullptr) return {};
  if (rebase && starts) {
    static_cast<void>(look_at_rebase_start(**scene, arguments));
  } else {
    static_cast<void>(look_after(**scene, hook));
  }
  return {};
}

}  // namespace lockkeeper::guard
