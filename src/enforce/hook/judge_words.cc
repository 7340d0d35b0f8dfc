#include "enforce/hook/judge_words.h"

#include <algorithm>

#include "base/text.h"
#include "service/report.h"

namespace lockkeeper::enforce::hook {
namespace {

using shell::Danger;
using shell::Kind;

constexpr std::size_t kOwnersTold = 3;
constexpr std::size_t kAffectedTold = 5;  // of each owner
constexpr std::size_t kOwnTold = 8;

std::string would_do(const Danger& danger) {
  switch (danger.kind) {
    case Kind::kStash:
      return "would put away what is not committed yet";
    case Kind::kDropStash:
      return "would delete a stash";
    case Kind::kDiscard:
      return "would discard what is not committed yet";
    case Kind::kMoveHead:
    case Kind::kNewBranch:
      return "would move HEAD, and change files, under work that is not committed yet";
    case Kind::kClean:
      return "would delete files that git does not know yet";
    case Kind::kStage:
      return "would add to the index what is not finished";
    case Kind::kCommitAll:
      return "would commit what is not finished";
    case Kind::kAmend:
      return "would replace a commit";
    case Kind::kAutostash:
      return "would put away, and bring back, what is not committed yet";
    case Kind::kRemoveWorktree:
      return "would delete a worktree with work that is not committed yet";
    case Kind::kDeleteBranch:
      return "would leave commits without a branch";
    case Kind::kRemove:
      return "would delete what is not committed yet, or is being edited";
  }
  return {};
}

// The words that name only the asker's files; "FILE…" if it has none that are known.
std::string own_words(const std::vector<std::string>& own, const std::string& before) {
  if (own.empty() || own.size() > kOwnTold) return "FILE…";
  std::vector<std::string> quoted;
  for (const std::string& path : own) quoted.push_back(shell_quote(before + path));
  return join(quoted, " ");
}

// "git stash push -- a.c", from wherever the asker is. Git takes wildcards and a ':' in front for
// more than a name.
std::string git_words(std::string_view verb, const OwnFiles& own) {
  const bool known = !own.paths.empty() && own.paths.size() <= kOwnTold;
  const bool wild =
      known && std::ranges::any_of(own.paths, [](const std::string& path) {
        return path.starts_with(':') || path.find_first_of("*?[\\") != std::string::npos;
      });
  const std::string there = known && !own.top.empty() ? " -C " + shell_quote(own.top) : "";
  return "git" + there + (wild ? " --literal-pathspecs " : " ") + std::string(verb) + " -- " +
         own_words(own.paths, "");
}

// Without a word that may be an option to somebody else.
std::string instead(const Danger& danger, const OwnFiles& own) {
  switch (danger.kind) {
    case Kind::kStash:
      return "To put away only your own changes: " +
             git_words(danger.untracked ? "stash push -u" : "stash push", own);
    case Kind::kDiscard:
      return "To discard only your own changes: " + git_words("restore", own);
    case Kind::kClean:
      return "Delete only your own files: " + git_words("clean -f", own);
    case Kind::kStage:
      return "To add only your own files: " + git_words("add", own);
    case Kind::kCommitAll:
      return "To commit only your own files: " + git_words("commit -m MESSAGE", own);
    case Kind::kRemove:
      return "Delete only your own files: rm -- " +
             own_words(own.paths, own.top.empty() ? "" : own.top + "/");
    case Kind::kMoveHead:
    case Kind::kNewBranch:
      return "To work on another branch, take a worktree of your own: git worktree add ../NAME "
             "BRANCH";
    case Kind::kAmend:
      return "Make a new commit instead: git commit";
    case Kind::kAutostash:
      return "Repeat it with --no-autostash, or in a worktree of your own: git worktree add "
             "../NAME BRANCH";
    case Kind::kDropStash:
      return "To see all of them: git stash list";
    case Kind::kRemoveWorktree:
    case Kind::kDeleteBranch:
      return "Ask the other agent first: lockkeeper message send";
  }
  return {};
}

// "of codex (session c1): a.c, b.c; of ann: d.c"
std::string whose(const std::vector<Affected>& affected, const core::Owner& asker) {
  std::vector<core::Owner> owners;
  for (const Affected& one : affected) {
    if (std::ranges::find(owners, one.owner) == owners.end()) owners.push_back(one.owner);
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(owners.size(), kOwnersTold); ++i) {
    std::vector<std::string> files;
    for (const Affected& one : affected) {
      if (one.owner == owners[i]) files.push_back(one.path);
    }
    core::Lease as_holder;
    as_holder.owner = owners[i];
    const std::string kin = service::kin_text(as_holder, asker);
    text += (i > 0 ? "; of " : "of ") + (kin.empty() ? service::owner_text(owners[i]) : kin) +
            ": " + shown_list(files, kAffectedTold);
  }
  if (owners.size() > kOwnersTold) {
    text += "; and of " + counted(owners.size() - kOwnersTold, "other");
  }
  return text;
}

std::string take_over() {
  return ". The session that left it is over. To go on with its work, lock the files, then repeat "
         "the command: lockkeeper acquire FILE… --reason WHY";
}

}  // namespace

std::string danger_words(const Danger& danger, const std::vector<Affected>& affected,
                         const OwnFiles& own, const core::Owner& asker) {
  const bool left = std::ranges::all_of(affected, &Affected::left);
  return "lockkeeper: " + quote(danger.typed, shell::kTypedBytesMax) + " " + would_do(danger) +
         " " + whose(affected, asker) + ". " + instead(danger, own) + (left ? take_over() : "");
}

std::string new_branch_words(const std::vector<Affected>& affected, const core::Owner& asker) {
  return "lockkeeper: the new branch is also the one on which others go on, and commit, in this "
         "folder. There is work " +
         whose(affected, asker) +
         ". For a branch of your own take a worktree: git worktree add ../NAME -b BRANCH";
}

std::string cannot_tell_words(const std::string& why) {
  const std::string what =
      why.empty() ? "it deletes files that only the shell knows" : "it could not be read: " + why;
  return "lockkeeper cannot tell what this call does to the work of others in this folder: " +
         what + ". Check that it leaves their files alone: lockkeeper list";
}

std::string command_failed_words(const Error& error) {
  return "lockkeeper cannot tell whether this command would destroy the work of others: " +
         error.message + (error.hint.empty() ? "" : "; " + error.hint) +
         ". It is refused until that can be told. To find out more: lockkeeper doctor";
}

std::string warned_message(const Danger& danger, const std::vector<Affected>& affected,
                           const core::Owner& whose_it_is) {
  std::vector<std::string> files;
  for (const Affected& one : affected) {
    if (one.owner == whose_it_is) files.push_back(one.path);
  }
  return "runs " + quote(danger.typed, shell::kTypedBytesMax) + ", which touches your work in " +
         shown_list(files, kAffectedTold) + "; the policy there lets it pass";
}

}  // namespace lockkeeper::enforce::hook
