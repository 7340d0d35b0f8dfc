#include "guard/guard.h"

#include <algorithm>
#include <iterator>

#include "base/fd.h"
#include "base/text.h"
#include "git/paths.h"
#include "guard/bypass.h"
#include "guard/scene.h"
#include "guard/words.h"
#include "service/pause.h"

namespace lockkeeper::guard {
namespace {

using git::Operation;

// The one that also runs under --no-verify.
constexpr std::string_view kSecondHook = "prepare-commit-msg";

bool is_person(const World& world) {
  const auto party = find_party(world.who);
  return party && party->person;
}

// What is to be committed, against the last commit: that is its parent, unless git is in the middle
// of a merge.
struct Staged {
  std::vector<git::Difference> paths;
  bool first = false;  // there is no commit yet
};

Result<Staged> staged_paths(const Repository& repository) {
  LK_ASSIGN(const git::Reader reader, reader_of(repository));
  auto against_head = git::staged_against(reader, "HEAD");
  if (against_head) return Staged{std::move(*against_head)};
  LK_ASSIGN(const auto head, git::commit_named(reader, "HEAD"));
  if (head) return fail(std::move(against_head.error()));
  LK_ASSIGN(auto all, git::staged_against(reader, std::nullopt));
  return Staged{std::move(all), true};
}

Asked how_asked(const World& world, const Scene& scene, const Staged& staged) {
  Asked asked;
  asked.root = scene.worktree();
  asked.from_top = !realm::variable(world.runtime->env, "GIT_PREFIX");
  asked.own_index = scene.repository().own_index;
  asked.first = staged.first;
  for (const git::Difference& each : staged.paths) asked.paths.push_back(each.path);
  return asked;
}

// While a feature is paused, nothing of it is committed.
Result<std::optional<std::string>> paused(const World& world, Scene& scene) {
  const auto feature = realm::variable(world.runtime->env, "LOCKKEEPER_FEATURE");
  if (!feature) return std::nullopt;
  LK_ASSIGN(const service::Gate gate, service::look_at_gate(scene.locks(), *feature));
  if (gate.open()) return std::nullopt;
  return "lockkeeper: this commit was refused: " + service::paused_text(gate, scene.now_wall_ms()) +
         ". Wait until it is resumed: lockkeeper gate " + shell_quote(*feature) + " --wait\n";
}

void note_refused(const Scene& scene, const std::vector<git::Difference>& staged,
                  const std::vector<Finding>& findings) {
  if (!scene.notebook()) return;
  std::vector<Refused> refused;
  for (const Finding& finding : findings) {
    const auto at = std::ranges::find(staged, finding.path, &git::Difference::path);
    if (at != staged.end()) refused.push_back({at->path, at->id});
  }
  scene.notebook()->add_refused(refused);
}

Result<Verdict> judge_commit(const World& world, Scene& scene) {
  LK_ASSIGN(const auto pause, paused(world, scene));
  const bool blocks = scene.policy() == realm::GitPolicy::kBlock;
  if (pause && blocks) return Verdict{true, *pause};
  LK_ASSIGN(const auto staged, staged_paths(scene.repository()));
  LK_ASSIGN(const auto findings, scene.judge_paths(scene.committed(staged.paths)));
  std::vector<Finding> against;
  std::ranges::copy_if(findings, std::back_inserter(against), refuses);
  const std::int64_t now = scene.now_wall_ms();
  if (!against.empty() && blocks) {
    scene.tell("refused", "commit", "wants to commit", against);
    note_refused(scene, staged.paths, against);
    return Verdict{true, refusal_words(against, how_asked(world, scene, staged), now)};
  }
  scene.tell("warned", "commit", "commits", findings);
  return Verdict{false, pause.value_or("") + warning_words(findings, now)};
}

// A commit that git makes by itself, in the middle of something.
Result<void> record_replay(Scene& scene, Operation operation) {
  LK_ASSIGN(const Staged staged, staged_paths(scene.repository()));
  LK_ASSIGN(const auto findings, scene.judge_paths(scene.committed(staged.paths)));
  scene.tell_replay(git::operation_name(operation), findings);
  return {};
}

// Judges the commit, unless this git has passed with the same index already.
Result<Verdict> judge_once(const World& world, Scene& scene, std::string_view hook) {
  const auto& notebook = scene.notebook();
  const std::uint64_t stamp = file_stamp(scene.repository().index);
  const bool passed = hook == kSecondHook && notebook &&
                      notebook->has_passed(scene.worktree(), world.git_pid, stamp);
  if (passed) return Verdict{};
  LK_ASSIGN(Verdict verdict, judge_commit(world, scene));
  if (!verdict.refused && notebook) {
    notebook->put_passed(scene.worktree(), world.git_pid, stamp);
  }
  return verdict;
}

}  // namespace

Verdict before_commit(const World& world, const Repository& repository, std::string_view hook) {
  const Operation operation = git::current_operation(repository.git_folder);
  // Their own commits run the second hook alone, and are looked at together, at the end. The first
  // one runs for what somebody commits in between.
  const bool series = operation == Operation::kRebase || operation == Operation::kAm;
  const bool replay = operation != Operation::kNone;
  if (replay && (hook == kSecondHook) == series) return {};
  const auto scene = Scene::open(world, repository);
  if (scene && *scene == nullptr) return {};
  if (replay) {
    if (scene) static_cast<void>(record_replay(**scene, operation));
    return {};
  }
  if (scene) static_cast<void>(notice_bypass(**scene, 0));
  const Result<Verdict> verdict =
      scene ? judge_once(world, **scene, hook) : Result<Verdict>(fail(scene.error()));
  if (verdict) return *verdict;
  const bool refused = scene ? (*scene)->blocks_on_failure() : !is_person(world);
  return {refused, unknown_words(verdict.error(), refused)};
}

}  // namespace lockkeeper::guard
