#include "crew/trees/merger.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/fd.h"
#include "base/parse.h"
#include "base/text.h"
#include "crew/changes/file_digest.h"
#include "crew/trees/worktree_ops.h"
#include "git/paths.h"
#include "git/reader.h"
#include "git/state.h"
#include "git/writer.h"
#include "host/file_ops.h"
#include "realm/disk_path.h"

namespace lockkeeper::crew {
namespace {

using What = MergeOutcome::What;

std::string plain_branch(std::string ref) {
  constexpr std::string_view kPrefix = "refs/heads/";
  if (ref.starts_with(kPrefix)) ref.erase(0, kPrefix.size());
  return ref;
}

// Tracked files that are not as the last commit has them.
std::vector<std::string> dirty_files(const std::vector<git::ChangedPath>& found) {
  std::vector<std::string> paths;
  for (const git::ChangedPath& each : found) {
    if (!each.untracked()) paths.push_back(each.path);
  }
  return paths;
}

class Merging {
 public:
  Merging(const MergeOrders& orders, const std::vector<Piece>& pieces, int lock)
      : orders_(orders), pieces_(pieces), lock_(lock), outcomes_(pieces.size()) {}

  Result<std::vector<MergeOutcome>> run(const MayChange& may_change) {
    LK_ASSIGN(const git::Writer checkout, steady_writer());
    const auto clear = [&] { return clear_worktree(checkout, orders_.folder); };
    LK_CHECK(clear());  // what one that was killed has left
    LK_ASSIGN(tip_, head_of(orders_.checkout));
    LK_ASSIGN(const bool open, look_for_merged());
    if (!open) return std::move(outcomes_);
    LK_ASSIGN(const std::optional<std::string> why, not_ready());
    if (why) return all_not_tried(*why);
    LK_CHECK(make_folders(realm::parent_path(orders_.folder)));
    LK_CHECK(add_worktree(checkout, {"--detach", orders_.folder, tip_}, clear));
    auto merged = merge_here();
    std::optional<std::string> refused;
    if (merged && *merged != tip_) {
      auto moved = move_checkout(checkout, *merged, may_change);
      if (!moved) merged = fail(std::move(moved.error()));
      if (moved) refused = std::move(*moved);
    }
    LK_CHECK(clear());
    if (!merged) return fail(std::move(merged.error()));
    if (refused) return all_not_tried(*refused);
    return std::move(outcomes_);
  }

 private:
  // A merge in our own worktree can be stopped.
  Result<git::Writer> writer(const std::string& root) const {
    return git::Writer::open(root, {.lock = lock_, .go_on = orders_.go_on});
  }
  // In the user's checkout nothing is stopped halfway.
  Result<git::Writer> steady_writer() const {
    const auto go_on = [this] {
      if (orders_.go_on) orders_.go_on();
      return true;
    };
    return git::Writer::open(orders_.checkout, {.lock = lock_, .go_on = go_on});
  }

  bool is_open(std::size_t i) const { return outcomes_[i].what != What::kMerged; }
  bool is_given_up(std::size_t i) const { return outcomes_[i].what == What::kGivenUp; }

  // Those that did not make it into the checkout.
  std::vector<MergeOutcome> all_not_tried(const std::string& why) {
    for (MergeOutcome& each : outcomes_) {
      const bool stays = each.what == What::kConflict || each.what == What::kBuildsOn ||
                         each.what == What::kGivenUp;
      if (!stays && !each.there) each = {What::kNotTried, "", {}, why};
    }
    return std::move(outcomes_);
  }

  // False: all are merged already, or given up.
  Result<bool> look_for_merged() {
    bool open = false;
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      LK_ASSIGN(const auto branch, tip_of(orders_.checkout, pieces_[i].branch));
      const auto there = contains(orders_.checkout, tip_, pieces_[i].commit);
      if (!branch && !there.value_or(false)) {  // its commit may be gone, too
        outcomes_[i].what = What::kGivenUp;
        continue;
      }
      if (!there) return fail(there.error());
      if (!*there) {
        open = true;
        continue;
      }
      outcomes_[i].what = What::kMerged;
      outcomes_[i].there = true;
      LK_ASSIGN(outcomes_[i].commit, merge_of(pieces_[i].commit));
    }
    return open;
  }

  // The merge that brought it in, since the run began; empty: there is none of its own.
  Result<std::string> merge_of(const std::string& commit) const {
    LK_ASSIGN(const git::Reader reader,
              git::Reader::open(orders_.checkout, {.reads_files = false}));
    LK_ASSIGN(const std::string answer,
              reader.ask({"rev-list", "--min-parents=2", "--parents", orders_.base + ".." + tip_}));
    for (const std::string& line : words_in(answer, "\n")) {
      const std::vector<std::string> ids = words_in(line, " ");
      if (ids.size() > 2 && std::find(ids.begin() + 2, ids.end(), commit) != ids.end()) {
        return ids.front();
      }
    }
    return std::string();
  }

  // A text: why the checkout cannot take the merges.
  Result<std::optional<std::string>> not_ready() const {
    const std::string name = quote(plain_branch(orders_.branch));
    LK_ASSIGN(const std::string branch, branch_of(orders_.checkout));
    if (branch != orders_.branch) {
      return quote(orders_.checkout) +
             (branch.empty()
                  ? " is not on a branch any more, but the run began on "
                  : " is on " + quote(plain_branch(branch)) + " now, but the run began on ") +
             name;
    }
    LK_ASSIGN(const bool onwards, contains(orders_.checkout, tip_, orders_.base));
    if (!onwards) {
      return name + " no longer contains " + orders_.base.substr(0, 12) + ", where the run began";
    }
    LK_ASSIGN(const std::string own, git::own_git_folder(orders_.checkout));
    const git::Operation operation = git::current_operation(own);
    if (operation != git::Operation::kNone) {
      return quote(orders_.checkout) + " is in the middle of a " +
             std::string(git::operation_name(operation));
    }
    LK_ASSIGN(const git::Reader reader, git::Reader::open(orders_.checkout));
    LK_ASSIGN(const std::vector<git::ChangedPath> found, git::all_changed_paths(reader));
    const std::vector<std::string> dirty = dirty_files(found);
    if (dirty.empty()) return std::nullopt;
    return quote(orders_.checkout) + " has uncommitted changes in " + files_text(dirty);
  }

  // Returns where the worktree of the merges is then.
  Result<std::string> merge_here() {
    LK_CHECK(provide(orders_.checkout, orders_.folder, orders_.patterns, orders_.go_on));
    LK_ASSIGN(const git::Writer here, writer(orders_.folder));
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      if (!is_open(i) || is_given_up(i)) continue;
      MergeOutcome& outcome = outcomes_[i];
      const auto without = std::ranges::find_if(pieces_[i].builds_on,
                                                [&](std::size_t other) { return is_open(other); });
      if (without != pieces_[i].builds_on.end()) {
        outcome = {What::kBuildsOn, "", {}, "it builds on " + shown(pieces_[*without].name)};
        if (is_given_up(*without)) {
          outcome.why += ", which was given up; merge it by hand, or delete its branch as well";
        }
        continue;
      }
      LK_ASSIGN(const std::string before, head_of(orders_.folder));
      LK_ASSIGN(Merged merged, merge_into(here, pieces_[i].commit, pieces_[i].message, false));
      if (!merged.done) {
        outcome = {What::kConflict, "", std::move(merged.conflicts), std::move(merged.why)};
        continue;
      }
      LK_ASSIGN(const std::string after, head_of(orders_.folder));
      outcome = {What::kMerged, after == before ? "" : after, {}, ""};
    }
    return head_of(orders_.folder);
  }

  // Files of the checkout that git does not have, where the merges would put one.
  Result<std::vector<std::string>> unknown_files(
      const std::vector<git::Difference>& changes) const {
    const Fd top(::open(orders_.checkout.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!top) return fail(errno_error(errno, "cannot open " + quote(orders_.checkout)));
    std::vector<std::string> found;
    for (const git::Difference& each : changes) {
      if (each.kind != 'A') continue;
      const Fd folder = host::open_below(top.get(), folder_of(each.path));
      struct stat info{};
      if (folder &&
          ::fstatat(folder.get(), name_of(each.path).c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) {
        found.push_back(each.path);
      }
    }
    return found;
  }

  // A text: why it was not moved.
  Result<std::optional<std::string>> move_checkout(const git::Writer& checkout,
                                                   const std::string& to,
                                                   const MayChange& may_change) const {
    LK_ASSIGN(const git::Reader reader,
              git::Reader::open(orders_.checkout, {.reads_files = false}));
    LK_ASSIGN(const std::vector<git::Difference> changes, git::between(reader, tip_, to));
    std::vector<std::string> paths;
    for (const git::Difference& each : changes) paths.push_back(each.path);
    LK_ASSIGN(const std::vector<std::string> in_the_way, unknown_files(changes));
    if (!in_the_way.empty()) return "in the way, and not in git: " + files_text(in_the_way);
    LK_ASSIGN(std::optional<std::string> held, may_change(paths));
    if (held) return held;
    // Without the third option, git overwrites files that it ignores.
    LK_ASSIGN(const git::Answer answer,
              checkout.try_to_run(
                  {"merge", "-q", "--ff-only", "--no-overwrite-ignore", "--no-autostash", to}));
    // The exit status may be that of a hook that ran afterwards.
    LK_ASSIGN(const std::string now, head_of(orders_.checkout));
    if (now == to || answer.status == 0) return std::nullopt;
    return quote(orders_.checkout) + " could not be moved on: " + git::last_words(answer.text);
  }

  const MergeOrders& orders_;
  const std::vector<Piece>& pieces_;
  const int lock_;
  std::string tip_;
  std::vector<MergeOutcome> outcomes_;
};

Result<void> check_author(const git::Reader& reader) {
  for (const char* who : {"GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"}) {
    LK_ASSIGN(const auto answer, reader.try_to_ask({"var", who}));
    if (answer.status == 0) continue;
    return fail(Code::kFailed, "git does not know as whom to commit in " + quote(reader.root()),
                "tell it: git config user.name NAME && git config user.email ADDRESS");
  }
  return {};
}

Result<bool> has_submodules(const git::Reader& reader) {
  LK_ASSIGN(const std::string answer, reader.ask({"ls-files", "-s", "-z"}));
  return std::ranges::any_of(git::split_at_nul(answer),
                             [](const std::string& line) { return line.starts_with("160000 "); });
}

}  // namespace

Result<std::vector<MergeOutcome>> merge_all(const MergeOrders& orders, const Folder& marks,
                                            const std::vector<Piece>& pieces,
                                            const MayChange& may_change) {
  LK_ASSIGN(const Fd lock, marks.lock(kGitLockName, kGitLockWaitMs));
  return Merging(orders, pieces, lock.get()).run(may_change);
}

Result<StartPoint> start_point(const std::string& checkout) {
  LK_ASSIGN(const git::Reader reader, git::Reader::open(checkout));
  StartPoint start;
  LK_ASSIGN(start.branch, branch_of(checkout));
  LK_ASSIGN(const std::optional<std::string> head, git::commit_named(reader, "HEAD"));
  if (!head) {
    return fail(Code::kFailed,
                quote(checkout) + " has no commit yet: there is nothing to start from",
                "commit first, or run without --worktrees");
  }
  start.commit = *head;
  if (start.branch.empty()) {
    return fail(
        Code::kFailed,
        quote(checkout) + " is not on a branch: the agents' work could not be merged into one",
        "make one: git switch -c NAME");
  }
  LK_ASSIGN(const std::string own, git::own_git_folder(checkout));
  if (const auto operation = git::current_operation(own); operation != git::Operation::kNone) {
    const std::string name(git::operation_name(operation));
    return fail(Code::kFailed, quote(checkout) + " is in the middle of a " + name,
                "finish it, or give it up: git " + name + " --abort");
  }
  LK_ASSIGN(const std::vector<git::ChangedPath> changed, git::all_changed_paths(reader));
  for (const git::ChangedPath& each : changed) {
    if (each.untracked()) start.untracked.push_back(each.path);
  }
  if (const auto dirty = dirty_files(changed); !dirty.empty()) {
    return fail(Code::kFailed,
                quote(checkout) +
                    " has uncommitted changes, which agents in worktrees would not see: " +
                    files_text(dirty),
                "commit them, or put them aside: git stash");
  }
  LK_CHECK(check_author(reader));
  LK_ASSIGN(const auto taken, git::commit_named(reader, "refs/heads/lk"));
  if (taken) {
    return fail(Code::kFailed,
                "a branch is called \"lk\", so there can be none called \"lk/RUN/AGENT\"",
                "rename it: git branch -m lk NAME");
  }
  LK_ASSIGN(start.submodules, has_submodules(reader));
  return start;
}

}  // namespace lockkeeper::crew
