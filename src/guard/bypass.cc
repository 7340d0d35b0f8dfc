#include "guard/bypass.h"

#include <algorithm>
#include <cstdint>

#include "base/parse.h"
#include "git/ref_log.h"
#include "guard/head_log.h"
#include "realm/disk_path.h"
#include "realm/store_url.h"
#include "service/makers.h"
#include "service/report.h"

namespace lockkeeper::guard {
namespace {

constexpr std::size_t kBypassesMax = 50;

// Nothing is known of this worktree yet: what was committed after the first change of an agent.
Result<std::vector<Move>> moves_since_first_trace(Scene& scene) {
  LK_ASSIGN(const service::LookReply seen, scene.locks().look(scene.worktree()));
  std::int64_t first_ms = INT64_MAX;
  for (const core::Trace& trace : seen.traces) first_ms = std::min(first_ms, trace.at_wall_ms);
  std::vector<Move> moves = read_head_log(scene.repository()).moves;
  const std::string objects = realm::join_path(scene.repository().common, "objects");
  std::erase_if(moves, [&](const Move& move) {
    return move.at_s < first_ms / 1'000 ||
           (move.at_s == first_ms / 1'000 && git::is_older(objects, move.to, first_ms));
  });
  return moves;
}

// The commits that HEAD came to without `git commit`, and that no other branch or tag has: those
// of commit-tree and update-ref, not of a reset to what is known.
Result<std::vector<std::string>> commits_of(const git::Reader& reader, const Move& move) {
  if (move.how == Move::How::kReplay) return std::vector<std::string>();
  if (move.how != Move::How::kOther) return std::vector{move.to};
  LK_ASSIGN(const auto branch, reader.try_to_ask({"symbolic-ref", "-q", "HEAD"}));
  std::vector<std::string> words = {"rev-list", "--reverse",
                                    "--max-count=" + std::to_string(kBypassesMax), move.to};
  words.emplace_back("--not");
  if (move.from.find_first_not_of('0') != std::string::npos) words.push_back(move.from);
  constexpr std::string_view kBranches = "refs/heads/";
  if (branch.text.starts_with(kBranches)) {
    const std::string name = branch.text.substr(kBranches.size());
    words.push_back("--exclude=" + name.substr(0, name.find('\n')));
  }
  words.insert(words.end(), {"--branches", "--remotes", "--tags", "--"});
  LK_ASSIGN(const auto answer, reader.try_to_ask(words));
  return answer.status == 0 ? words_in(answer.text, "\n") : std::vector<std::string>();
}

// Somebody else may just be committing.
Result<bool> is_another_busy(Scene& scene) {
  LK_ASSIGN(const service::LookReply seen, scene.locks().look(scene.worktree()));
  return std::ranges::any_of(seen.busy,
                             [&](const core::Owner& busy) { return !scene.party().has(busy); });
}

// Who made these commits, as far as that is known.
class Makers {
 public:
  static Result<Makers> look(Scene& scene) {
    Makers makers;
    LK_ASSIGN(makers.known_, service::makers(scene.locks(), scene.now_wall_ms()));
    LK_ASSIGN(const bool others, is_another_busy(scene));
    if (!others) makers.otherwise_ = scene.party();
    return makers;
  }
  bool knows(const std::string& commit) const { return known_.contains(commit); }
  Party of(const std::string& commit) const {
    const auto maker = known_.find(commit);
    return maker == known_.end() ? otherwise_ : Party{.owner = maker->second};
  }

 private:
  std::map<std::string, core::Owner> known_;
  Party otherwise_;  // nobody, or whoever notices it
};

// Whose work the commit carries, and whether that had been refused.
Result<void> look_at_bypass(Scene& scene, const git::Reader& reader, const std::string& commit,
                            const Makers& makers) {
  LK_ASSIGN(const auto made, git::made_by(reader, commit));
  const std::vector<Refused> refused = scene.notebook()->refused();
  const bool against = std::ranges::any_of(made, [&](const git::Difference& each) {
    return std::ranges::find(refused, Refused{each.path, each.id}) != refused.end();
  });
  const Party maker = makers.of(commit);
  const bool known = makers.knows(commit);
  LK_ASSIGN(const auto findings, scene.judge_paths(scene.committed(made), commit + "^", &maker));
  const std::string who = known ? service::owner_text(maker.owner) : "somebody";
  const std::string sees = known && scene.party().has(maker.owner) ? "" : "sees that " + who + " ";
  scene.tell("bypassed", "unattributed", sees + "committed, past the commit guard,", findings);
  if (against) {
    scene.notebook()->mark(
        {commit, "it has what the commit guard had refused, and was made past it"});
  } else if (known && std::ranges::any_of(findings, refuses)) {
    scene.notebook()->mark({commit, "it has what others were working on, and was made by " + who +
                                        " past the commit guard"});
  }
  return {};
}

}  // namespace

Result<void> notice_bypass(Scene& scene, std::size_t seen) {
  if (!scene.notebook()) return {};
  const KnownHead known = scene.notebook()->head(scene.worktree());
  std::vector<Move> moves;
  if (known.commit.empty()) {
    LK_ASSIGN(moves, moves_since_first_trace(scene));
  } else {
    moves = moves_since(scene.repository(), known);
  }
  for (; seen > 0 && !moves.empty(); --seen) moves.pop_back();
  if (!moves.empty()) {
    LK_ASSIGN(const git::Reader reader, reader_of(scene.repository()));
    LK_ASSIGN(const Makers makers, Makers::look(scene));
    const std::size_t first = moves.size() - std::min(moves.size(), kBypassesMax);
    for (std::size_t i = first; i < moves.size(); ++i) {
      LK_ASSIGN(const auto commits, commits_of(reader, moves[i]));
      for (const std::string& commit : commits) {
        static_cast<void>(look_at_bypass(scene, reader, commit, makers));
      }
    }
  }
  const HeadLog log = read_head_log(scene.repository());
  if (!log.moves.empty()) {
    scene.notebook()->put_head(scene.worktree(), {log.moves.back().to, log.bytes});
  }
  return {};
}

void after_command(const World& world, const std::string& worktree) {
  // As the worktree has it, not as a variable of git says.
  const auto repository = repository_of(worktree, [](const char*) { return std::nullopt; });
  if (!repository) return;
  const auto scene = Scene::open(world, *repository);
  if (!scene || *scene == nullptr) return;
  // Its post-commit may be about to see what it has made. Then its own hook looks next.
  const auto busy = is_another_busy(**scene);
  if (busy && !*busy) static_cast<void>(notice_bypass(**scene, 0));
}

void note_start(realm::Realm realm, const realm::Environment& env) {
  if (!realm::choose_store(realm, "", env)) return;
  const auto notebook = Notebook::open(realm);
  if (!notebook || !notebook->head(realm.root).commit.empty()) return;
  // As the worktree has it, not as a variable of git says.
  const auto repository = repository_of(realm.root, [](const char*) { return std::nullopt; });
  if (!repository) return;
  const HeadLog log = read_head_log(*repository);
  if (!log.moves.empty()) notebook->put_head(realm.root, {log.moves.back().to, log.bytes});
}

}  // namespace lockkeeper::guard
