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
constexpr std::size_t kOwnBytesTold = 2'000;

std::string would_do(const Danger& danger) {
  switch (danger.kind) {
    case Kind::kStash:
      return "would put away uncommitted work";
    case Kind::kDropStash:
      return "would delete a stash";
    case Kind::kTakeStash:
      return danger.keeps_stash ? "brings into this worktree the stash"
                                : "would bring into this worktree, and delete, a stash";
    case Kind::kDiscard:
      return "would discard uncommitted work";
    case Kind::kMoveHead:
    case Kind::kNewBranch:
      return "would move HEAD, and change files, under uncommitted work";
    case Kind::kClean:
      return "would delete new files";
    case Kind::kStage:
      return "would add to the index unfinished work";
    case Kind::kCommitAll:
      return "would commit unfinished work";
    case Kind::kAmend:
      return "would replace a commit";
    case Kind::kAutostash:
      return "would put away, and bring back, uncommitted work";
    case Kind::kRemoveWorktree:
      return "would delete a worktree with uncommitted work";
    case Kind::kDeleteBranch:
      return "would delete or move the only branch that has commits";
    case Kind::kPushOver:
      return "would delete or replace a branch on the remote under the work";
    case Kind::kRemove:
      return "would delete unfinished work";
  }
  return {};
}

// The words that name only the asker's files, as many as one can read; "FILE…" if it has none that
// are known.
std::string own_words(const std::vector<std::string>& own, const std::string& before) {
  if (own.empty()) return "FILE…";
  std::string text;
  for (std::size_t i = 0; i < own.size(); ++i) {
    const std::string word = shell_quote(before + own[i]);
    if (i > 0 && text.size() + word.size() > kOwnBytesTold) {
      return text + " # and then the other " + std::to_string(own.size() - i);
    }
    text += (i > 0 ? " " : "") + word;
  }
  return text;
}

// "git stash push -- a.c", from wherever the asker is. Git takes wildcards and a ':' in front for
// more than a name.
std::string git_words(std::string_view verb, const OwnFiles& own) {
  const bool known = !own.paths.empty();
  const bool wild =
      known && std::ranges::any_of(own.paths, [](const std::string& path) {
        return path.starts_with(':') || path.find_first_of("*?[\\") != std::string::npos;
      });
  const std::string there = known && !own.top.empty() ? " -C " + shell_quote(own.top) : "";
  return "git" + there + (wild ? " --literal-pathspecs " : " ") + std::string(verb) + " -- " +
         own_words(own.paths, "");
}

constexpr std::string_view kOtherBranch =
    "To work on another branch, take a worktree of your own: git worktree add ../NAME BRANCH";

// As `message send` reads it.
std::string receiver_text(const core::Owner& owner) {
  return owner.session.empty() ? owner.agent : owner.agent + "@" + owner.session;
}

std::string stash_words(const Danger& danger, const OwnFiles& own) {
  if (danger.keeps_stash) return "Its changes stay the other agent's: do not commit them";
  if (own.paths.empty() || danger.whole) return "To see all of them: git stash list";
  const std::string verb = danger.kind == Kind::kDropStash ? "drop " : "pop ";
  return "Your own newest one: git stash " + verb + own.paths.front();
}

std::string ask_first(const Danger& danger, const std::vector<Affected>& affected) {
  return "Ask the other agent first: lockkeeper message send " +
         shell_quote(receiver_text(affected.front().owner)) + " --type question " +
         shell_quote("may I run this: " + danger.typed);
}

// Only git's own files go, and with them what everybody has: nobody's own files would help.
bool removes_history(const Danger& danger) {
  return !danger.paths.empty() && std::ranges::all_of(danger.paths, [](const shell::Path& path) {
    return ("/" + path.text + "/").contains("/.git/");
  });
}

// Without a word that may be an option to somebody else.
std::string instead(const Danger& danger, const std::vector<Affected>& affected,
                    const OwnFiles& own) {
  switch (danger.kind) {
    case Kind::kStash:
      return "To put away only your own changes: " +
             git_words(danger.untracked ? "stash push -u" : "stash push", own);
    case Kind::kDiscard:
      if (danger.switches) return std::string(kOtherBranch);
      if (danger.gives_up) return ask_first(danger, affected);
      return "To discard only your own changes: " +
             git_words(danger.from_head ? "restore --staged --worktree" : "restore", own);
    case Kind::kClean:
      return "Delete only your own files: " + git_words("clean -f", own);
    case Kind::kStage:
      return "To add only your own files: " + git_words("add", own);
    case Kind::kCommitAll:
      if (own.midway) {
        return "To commit only your own files with it: " + git_words("add", own) +
               "; then git commit";
      }
      return "To commit only your own files: " + git_words("commit -m MESSAGE", own);
    case Kind::kRemove:
      if (removes_history(danger)) return ask_first(danger, affected);
      if (!danger.ignored) return "Delete only your own files: " + git_words("rm -f", own);
      return "Delete only your own files: rm -- " +
             own_words(own.paths, own.top.empty() ? "" : own.top + "/");
    case Kind::kMoveHead:
    case Kind::kNewBranch:
      return std::string(kOtherBranch);
    case Kind::kAmend:
      return "Make a new commit instead: git commit";
    case Kind::kAutostash:
      return "Repeat it with --no-autostash, or in a worktree of your own: git worktree add "
             "../NAME BRANCH";
    case Kind::kDropStash:
    case Kind::kTakeStash:
      return stash_words(danger, own);
    case Kind::kRemoveWorktree:
    case Kind::kDeleteBranch:
    case Kind::kPushOver:
      return ask_first(danger, affected);
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
         " " + whose(affected, asker) + ". " + instead(danger, affected, own) +
         (left ? take_over() : "");
}

std::string new_branch_words(const std::vector<Affected>& affected, const core::Owner& asker) {
  return "lockkeeper: where HEAD is then, others go on, and commit, too: they work in the same "
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
  const std::string what = "runs " + quote(danger.typed, shell::kTypedBytesMax);
  if (danger.keeps_stash) {
    return what + ", which brings your " + shown_list(files, kAffectedTold) +
           " into its worktree. The stash stays";
  }
  return what + ", which touches your work in " + shown_list(files, kAffectedTold) +
         "; the policy there lets it pass. To get back what it takes: lockkeeper recover";
}

}  // namespace lockkeeper::enforce::hook
