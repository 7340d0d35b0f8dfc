#include "guard/taken_back.h"

#include <algorithm>
#include <set>

#include "base/parse.h"
#include "guard/head_log.h"

namespace lockkeeper::guard {
namespace {

core::Trace as_trace(const Scene& scene, const Committed& committed) {
  core::Trace trace;
  trace.worktree = scene.worktree();
  trace.change = {committed.path, {}, committed.content};
  trace.owner = committed.owner;
  trace.at_wall_ms = committed.at_wall_ms;
  return trace;
}

// Under which commit its changes were last seen, if HEAD may have left that; empty: it has not.
std::string left_commit(const std::vector<Move>& moves, const std::string& commit) {
  std::string tip = commit;
  bool left = false;
  for (const Move& move : moves_after(moves, commit)) {
    if (move.rewrites) return {};
    if (move.how == Move::How::kAmended && move.from == tip) tip = move.to;
    if (move.how == Move::How::kOther) left = true;
  }
  return left ? tip : std::string();
}

// Those that neither HEAD nor a branch or tag has.
Result<std::set<std::string>> unreachable(const Scene& scene, const std::set<std::string>& asked) {
  LK_ASSIGN(const git::Reader reader, reader_of(scene.repository()));
  std::vector<std::string> words = {"rev-list"};
  words.insert(words.end(), asked.begin(), asked.end());
  words.insert(words.end(), {"--not", "HEAD", "--branches", "--remotes", "--tags", "--"});
  LK_ASSIGN(const auto answer, reader.try_to_ask(words));
  const std::vector<std::string> lines = words_in(answer.text, "\n");
  return std::set<std::string>(lines.begin(), lines.end());
}

}  // namespace

void note_committed(const Scene& scene, const std::string& commit,
                    const std::vector<core::Trace>& traces) {
  if (!scene.notebook()) return;
  std::vector<Committed> committed;
  const auto note = [&](const core::Trace& trace, const core::Owner& owner) {
    if (owner.agent.empty()) return;
    committed.push_back({commit, trace.change.path, trace.change.content, owner, trace.at_wall_ms});
  };
  for (const core::Trace& trace : traces) {
    note(trace, trace.owner);
    for (const core::Owner& earlier : trace.earlier) note(trace, earlier);
  }
  scene.notebook()->add_committed(scene.worktree(), committed);
}

bool may_be_taken_back(const Scene& scene) {
  if (!scene.notebook()) return false;
  const std::vector<Committed> known = scene.notebook()->committed(scene.worktree());
  if (known.empty()) return false;
  const std::vector<Move> moves = read_head_log(scene.repository()).moves;
  return std::ranges::any_of(
      known, [&](const Committed& one) { return !left_commit(moves, one.commit).empty(); });
}

Result<std::vector<core::Trace>> taken_back(const Scene& scene,
                                            const std::vector<CommittedPath>& paths) {
  std::vector<core::Trace> found;
  if (!scene.notebook()) return found;
  std::vector<std::pair<std::string, core::Trace>> candidates;
  std::vector<Move> moves;
  for (const Committed& one : scene.notebook()->committed(scene.worktree())) {
    if (scene.now_wall_ms() - one.at_wall_ms >= core::kTraceKeptMs) continue;
    const auto path = std::ranges::find(paths, one.path, &CommittedPath::name);
    if (path == paths.end() || !is_uncommitted(as_trace(scene, one), path->head_id)) continue;
    if (moves.empty()) moves = read_head_log(scene.repository()).moves;
    std::string commit = left_commit(moves, one.commit);
    if (!commit.empty()) candidates.emplace_back(std::move(commit), as_trace(scene, one));
  }
  if (candidates.empty()) return found;
  std::set<std::string> asked;
  for (const auto& [commit, trace] : candidates) asked.insert(commit);
  LK_ASSIGN(const auto gone, unreachable(scene, asked));
  for (auto& [commit, trace] : candidates) {
    if (gone.contains(commit)) found.push_back(std::move(trace));
  }
  return found;
}

}  // namespace lockkeeper::guard
