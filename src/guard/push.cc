// Before a push.
#include <algorithm>
#include <set>

#include "base/parse.h"
#include "base/text.h"
#include "guard/bypass.h"
#include "guard/guard.h"
#include "guard/scene.h"
#include "guard/words.h"
#include "service/makers.h"
#include "service/report.h"

namespace lockkeeper::guard {
namespace {

constexpr std::size_t kPushedCommitsMax = 10'000;
constexpr std::string_view kBranches = "refs/heads/";

// One line of pre-push's input.
struct Update {
  std::string local_id;  // zeroes: the remote ref is deleted
  std::string remote_ref;
  std::string remote_id;  // zeroes: it is new
};

bool is_none(const std::string& id) {
  return id.find_first_not_of('0') == std::string::npos;
}

std::vector<Update> read_updates(std::string_view lines) {
  std::vector<Update> updates;
  for (const std::string& line : words_in(lines, "\n")) {
    const std::vector<std::string> words = words_in(line, " ");
    if (words.size() == 4) updates.push_back({words[1], words[2], words[3]});
  }
  return updates;
}

class Pushing {
 public:
  Pushing(Scene& scene, git::Reader reader) : scene_(scene), reader_(std::move(reader)) {}

  Result<void> look_at(const Update& update) {
    LK_ASSIGN(const bool destroys, moves_back(update));
    if (destroys) LK_CHECK(look_at_worktrees(update));
    if (is_none(update.local_id)) return {};
    LK_CHECK(look_at_commits(update));
    return look_at_leases(update);
  }

  const std::vector<std::string>& against() const { return against_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  // Does it delete the branch, or take commits from it?
  Result<bool> moves_back(const Update& update) const {
    if (is_none(update.local_id)) return true;
    if (is_none(update.remote_id)) return false;
    LK_ASSIGN(const auto answer, reader_.try_to_ask({"merge-base", "--is-ancestor",
                                                     update.remote_id, update.local_id}));
    return answer.status != 0;  // also if we do not have what would be lost
  }

  // Works another party in a worktree that has this branch?
  Result<void> look_at_worktrees(const Update& update) {
    if (!update.remote_ref.starts_with(kBranches)) return {};
    LK_ASSIGN(const auto all, git::worktrees(reader_));
    for (const git::Worktree& worktree : all) {
      if (worktree.branch != update.remote_ref) continue;
      LK_ASSIGN(const service::LookReply seen, scene_.locks().look(worktree.path));
      std::set<std::string> others;
      for (const core::Owner& owner : service::working_in(seen)) note_other(owner, others);
      for (const std::string& other : others) {
        against_.push_back(
            shown(update.remote_ref.substr(kBranches.size())) + " would be " +
            (is_none(update.local_id) ? "deleted" : "replaced, and would lose commits") + ", but " +
            other + " works on it in " + shown(worktree.path));
      }
    }
    return {};
  }

  void note_other(const core::Owner& owner, std::set<std::string>& others) const {
    if (!scene_.party().has(owner)) others.insert(service::owner_text(owner));
  }

  // The commits that the remote does not have yet.
  Result<std::vector<std::string>> new_commits(const Update& update) const {
    std::vector<std::string> words = {
        "rev-list", "--max-count=" + std::to_string(kPushedCommitsMax), update.local_id};
    if (is_none(update.remote_id)) {
      words.insert(words.end(), {"--not", "--remotes"});
    } else {
      words.push_back("^" + update.remote_id);
    }
    words.emplace_back("--");
    LK_ASSIGN(auto answer, reader_.try_to_ask(words));
    // What the remote has may be unknown here.
    if (answer.status != 0) {
      LK_ASSIGN(answer.text, reader_.ask({"rev-list", "--max-count=1", update.local_id, "--"}));
    }
    return words_in(answer.text, "\n");
  }

  Result<void> look_at_commits(const Update& update) {
    if (!scene_.notebook()) return {};
    const std::vector<Marked> marked = scene_.notebook()->marked();
    if (marked.empty()) return {};
    LK_ASSIGN(const auto commits, new_commits(update));
    for (const Marked& one : marked) {
      const bool pushed = std::ranges::find(commits, one.commit) != commits.end();
      const std::string line = "commit " + one.commit.substr(0, 12) + ": " + escaped(one.why);
      if (pushed && std::ranges::find(against_, line) == against_.end()) against_.push_back(line);
    }
    return {};
  }

  // Leases on purpose that are older than what is pushed: whoever holds them may not expect it.
  Result<void> look_at_leases(const Update& update) {
    std::string before = update.remote_id;
    if (is_none(update.remote_id)) {  // a new branch
      LK_ASSIGN(const auto commits, new_commits(update));
      before = commits.empty() ? update.local_id : commits.back() + "^";
    }
    LK_ASSIGN(const std::optional<std::string> from, git::commit_named(reader_, before));
    if (!from) return {};
    LK_ASSIGN(const auto changed, git::between(reader_, from, update.local_id));
    LK_ASSIGN(const std::string date,
              reader_.ask({"log", "-1", "--format=%ct", update.local_id, "--"}));
    const auto seconds = number_in<std::int64_t>(date.substr(0, date.find('\n')));
    std::vector<CommittedPath> paths = scene_.committed(changed);
    for (CommittedPath& path : paths) path.changed_wall_ms = seconds.value_or(0) * 1'000;
    LK_ASSIGN(const auto findings, scene_.judge_paths(paths));
    for (const Finding& finding : findings) {
      if (finding.why != Finding::Why::kHeld) continue;
      warnings_.push_back(finding_words(finding, scene_.now_wall_ms()));
    }
    return {};
  }

  Scene& scene_;
  const git::Reader reader_;
  std::vector<std::string> against_;
  std::vector<std::string> warnings_;
};

std::string lines_text(const std::string& head, const std::vector<std::string>& lines) {
  if (lines.empty()) return {};
  std::string text = "lockkeeper: " + head + "\n";
  for (const std::string& line : lines) text += "  " + line + "\n";
  return text;
}

Result<Verdict> judge_push(Scene& scene, std::string_view lines) {
  LK_ASSIGN(git::Reader reader, reader_of(scene.repository()));
  Pushing pushing(scene, std::move(reader));
  for (const Update& update : read_updates(lines)) LK_CHECK(pushing.look_at(update));
  Verdict verdict;
  verdict.refused = !pushing.against().empty() && scene.policy() == realm::GitPolicy::kBlock;
  verdict.text = lines_text("this push contains files that others hold:", pushing.warnings());
  if (verdict.refused) {
    verdict.text += lines_text("this push was refused:", pushing.against()) +
                    "Talk to whoever is named, or let a person push. The history: lockkeeper log\n";
  } else {
    verdict.text += lines_text("nothing keeps you from this push, but:", pushing.against());
  }
  return verdict;
}

}  // namespace

Verdict before_push(const World& world, const Repository& repository, std::string_view lines) {
  const auto scene = Scene::open(world, repository);
  if (scene && *scene == nullptr) return {};
  if (scene) static_cast<void>(notice_bypass(**scene, 0));
  const Result<Verdict> verdict =
      scene ? judge_push(**scene, lines) : Result<Verdict>(fail(scene.error()));
  // A push can be repeated, and what it does not do now does no harm; but nothing is lost either.
  if (!verdict) return {false, unknown_words(verdict.error(), false)};
  return *verdict;
}

}  // namespace lockkeeper::guard
