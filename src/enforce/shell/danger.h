// Commands that can destroy or sweep up what other agents have not committed: recognised before
// they run, in the text of a shell call or in the words of one `git`.
//
// This does not parse shell. It finds the commands in a text, with quotes, substitutions, heredocs
// and the usual programs that only start another one, and asks each whether it is one of ours. A
// word that only the shell can know is taken for anything. What is found is not yet a verdict:
// whether somebody's work is affected is for whoever knows the files.
//
// Pure: text in, plain structs out. Thread safety: plain values and free functions.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockkeeper::enforce::shell {

enum class Kind {
  kStash,           // puts changes away
  kDropStash,       // `names`: entries of the stash; none: the newest, or all with `whole`
  kTakeStash,       // stash pop, stash apply: the same, and its changes come into this worktree
  kDiscard,         // replaces files by what git has: reset --hard, restore, checkout -- FILE
  kMoveHead,        // checkout BRANCH, switch BRANCH: changes files, and HEAD under everybody.
                    // `names`: where to, if that is known; `creates`: a new branch begins there
  kNewBranch,       // checkout -b, switch -c, branch -m, --detach: no file changes, but HEAD has
                    // another name. `names`: only if HEAD is this branch
  kClean,           // removes files that git does not know
  kStage,           // add -A: takes changes into the index, whoever made them
  kCommitAll,       // commit -a, commit FOLDER
  kAmend,           // replaces the last commit
  kAutostash,       // pull, rebase, merge: puts changes away and brings them back
  kRemoveWorktree,  // `names`: its path, or the last part of it
  kDeleteBranch,    // or puts it elsewhere. `names`: the branches
  kPushOver,        // without the hook of git that would judge it: push --delete, push --force.
                    // `names`: the branches; none: that of HEAD, or all with `whole`
  kRemove,          // rm -r, git rm -r
};

// Where a command runs. Empty and known: where the text began.
struct Folder {
  std::string path = {};  // relative to there, or absolute; may contain ".."
  bool known = true;      // false: it may be any folder
  bool fresh = false;     // in a repository that the text itself makes: nobody has work there
  friend bool operator==(const Folder&, const Folder&) = default;
};

// The folder that one gets to by going on to `path` from there.
Folder folder_below(const Folder& from, std::string_view path);

struct Path {
  std::string text;       // relative to the folder, or absolute
  bool pattern = false;   // `*` stands for anything, also for '/'; `?` for one character
  bool by_shell = false;  // the shell looks for names: there `*` stands for nothing with a '/'
  bool from_top = false;  // relative to the worktree's top instead
};

struct Danger {
  enum class Scope {
    kPaths,     // `paths`, with everything below them
    kFolder,    // everything below the folder
    kWorktree,  // the whole worktree that the folder is in
  };
  Kind kind = Kind::kDiscard;
  Folder folder = {};
  Scope scope = Scope::kWorktree;
  std::vector<Path> paths = {};
  std::vector<Path> excluded = {};  // of the scope: git leaves them alone
  std::vector<std::string> names = {};
  // kMoveHead, kDiscard: git takes this word for a branch or for a file, whichever it is. Empty: a
  // branch.
  std::string maybe_file = {};
  std::string kept_by = {};  // kDeleteBranch: what will have its commits besides, if it has them
  // Which files it touches: those that git knows, those that it does not know, and of these also
  // the ignored ones.
  bool tracked = true;
  bool untracked = false;
  bool ignored = false;
  bool whole = false;        // kDropStash, kTakeStash, kPushOver: all, or any
  bool keeps_stash = false;  // kTakeStash: the entry stays
  // kDropStash, kTakeStash of the newest: the text itself stashes before. The scope is what that
  // puts away; if there is nothing, the newest is another one.
  bool after_stash = false;
  std::size_t taken_before = 0;  // kDropStash, kTakeStash: entries that go before, by the same text
  bool if_configured = false;    // kAutostash: only where git's settings say so
  bool creates = false;          // kMoveHead: with a name, to a new branch at that one
  bool switches = false;         // kDiscard: and goes to another branch
  bool from_head = false;        // kDiscard: also what is staged
  bool only_staged = false;      // kDiscard: git itself keeps changes that are not staged
  bool gives_up = false;         // kDiscard: ends a merge, rebase, … that has stopped
  bool repositories = false;     // kClean: also those that lie in the worktree
  // A path or name of it is known to the shell alone. That of kRemove may well be outside the
  // repository.
  bool paths_unknown = false;
  std::string typed = {};  // the command, as it was typed; bounded
};

// A subcommand that git does not have: an alias, or a program of somebody's.
struct Alias {
  std::string name;
  std::string rest;  // what follows it, to be read as shell text
  Folder folder;
  std::string typed;
};

struct Found {
  std::vector<Danger> dangers = {};
  std::vector<Alias> aliases = {};
  // Not empty: a part of the text could not be read, and may contain anything. Says why.
  std::string unclear = {};
  bool empty() const { return dangers.empty() && aliases.empty() && unclear.empty(); }
};

inline constexpr std::size_t kTextBytesMax = 64U << 10;  // what lies beyond is unclear
inline constexpr std::size_t kNestingMax = 8;            // scripts in scripts
inline constexpr std::size_t kDangersMax = 64;
inline constexpr std::size_t kTypedBytesMax = 200;

// The values of variables that the shell is known to have; may be empty.
using Variables = std::function<std::optional<std::string>(std::string_view name)>;

// What is known besides the text. Everything may be empty.
struct Surroundings {
  Variables variables = {};
  // Is there such a file or folder? Paths as Folder has them. Without it: folders are there.
  std::function<bool(const std::string& path)> exists = {};
  // What `git rev-parse --show-toplevel` says there. Without it: nobody knows.
  std::function<std::optional<std::string>(const std::string& folder)> top = {};
};

Found look_at_script(std::string_view text, const Surroundings& around = {});
// One call of git, without a shell: the words after "git".
Found look_at_git(std::span<const std::string> words);

// Does the path, or a folder that it is in, match? Both are relative to the same folder. The
// pattern as Path has it.
bool is_below(std::string_view path, const Path& scope);

}  // namespace lockkeeper::enforce::shell
