// Judges one call of git by its words.
#include <algorithm>
#include <array>
#include <initializer_list>
#include <map>
#include <utility>

#include "base/text.h"
#include "enforce/shell/git_words.h"
#include "enforce/shell/word.h"

namespace lockkeeper::enforce::shell {
namespace {

using Scope = Danger::Scope;

// Subcommands that are known to do none of what is looked for. Others may be aliases.
constexpr std::string_view kHarmless =
    " annotate apply archive blame bundle cat-file check-attr check-ignore "
    "check-ref-format cherry clone column commit-graph commit-tree config "
    "count-objects credential describe diff diff-files diff-index diff-tree difftool "
    "fast-export fast-import fetch fetch-pack filter-branch fmt-merge-msg for-each-ref "
    "for-each-repo format-patch fsck gc grep gui hash-object help hook index-pack init "
    "instaweb interpret-trailers lfs log ls-files ls-remote ls-tree mailinfo maintenance "
    "merge-base merge-file merge-index merge-tree mergetool mktag mktree multi-pack-index mv "
    "name-rev notes pack-objects pack-refs patch-id prune range-diff read-tree reflog "
    "refs remote repack replace replay request-pull rerere rev-list rev-parse "
    "send-email shortlog show show-branch show-index show-ref sparse-checkout status "
    "stripspace submodule subtree symbolic-ref tag unpack-objects update-index update-ref "
    "update-server-info var verify-commit verify-pack verify-tag version whatchanged "
    "write-tree ";

bool is_head(const Word& word) {
  return word.known && (word.text == "HEAD" || word.text == "@");
}

bool looks_like_path(const Word& word) {
  return word.text == "." || word.text.starts_with("./") || word.text.starts_with("../") ||
         word.text == ".." || word.text.starts_with(':') || word.text.ends_with('/') ||
         word.text.find_first_of("*?[") != std::string::npos;
}

class GitJudging {
 public:
  GitJudging(Reading& reading, Memory& memory, std::string typed, std::size_t nesting)
      : folder_(memory.folder),
        reading_(reading),
        memory_(memory),
        typed_(std::move(typed)),
        nesting_(nesting) {}

  void judge(std::span<const Word> words);

 private:
  // Takes git's own options, and gives what follows them.
  std::span<const Word> global_options(std::span<const Word> words);
  void setting(std::string_view text);

  void stash(std::span<const Word> words);
  void remember_stash(const Danger& one);
  void take_stash(Kind kind, std::span<const Word> words);
  void reset(std::span<const Word> words);
  void checkout(std::span<const Word> words);
  void checkout_words(const GitWords& git);
  void restore(std::span<const Word> words);
  void switch_to(std::span<const Word> words);
  void clean(std::span<const Word> words);
  void create_branch(std::span<const Word> start);
  void add(std::span<const Word> words);
  void commit(std::span<const Word> words);
  void give_up(bool only_staged);
  void bring_in(std::span<const Word> words, bool rebases);
  void pick(std::span<const Word> words);
  void worktree(std::span<const Word> words);
  void branch(std::span<const Word> words);
  void bisect(std::span<const Word> words);
  void push(std::span<const Word> words);
  void replace_branch(const Word* name, std::span<const Word> start);
  void lose_branches(std::span<const Word> names, std::string kept_by);
  static std::string start_of(const Word& word);
  void remove(std::span<const Word> words);
  void alias(std::span<const Word> words);
  void configure(std::span<const Word> words);
  void make(std::string_view verb, std::span<const Word> words);
  void unknown_verb() { reading_.unclear("what git is to do is known to the shell alone"); }

  Danger danger(Kind kind) const {
    Danger one{.kind = kind, .folder = folder_};
    one.typed = typed_;
    return one;
  }
  // Where one is already, HEAD does not move.
  Danger move_to(const Word& word, bool detaches) const {
    Danger one = danger(Kind::kMoveHead);
    if (word.known && !detaches) one.names = {word.text};
    return one;
  }
  GitWords read(std::span<const Word> words, std::string_view valued,
                std::initializer_list<std::string_view> longs) {
    GitWords git(words, valued, longs);
    helps_ = helps_ || git.asks_for_help();
    return git;
  }
  void found(Danger one) {
    if (!helps_) add_danger(reading_, std::move(one));
  }
  Danger in_paths(Danger one, std::span<const Word> words, bool from_file) const {
    one.scope = Scope::kPaths;
    add_paths(one, words, literal_);
    const bool only_excludes = one.paths.empty() && !words.empty() && one.scope == Scope::kPaths;
    if (other_tree_) one.excluded.clear();
    const bool all = from_file || only_excludes || (other_tree_ && one.scope == Scope::kPaths);
    if (all) one.scope = Scope::kWorktree;
    return one;
  }
  void found_paths(const Danger& about, std::span<const Word> words, bool from_file) {
    Danger one = in_paths(about, words, from_file);
    const bool any = !one.paths.empty() || one.scope != Scope::kPaths;
    if (any) found(std::move(one));
  }

  Folder folder_;
  Reading& reading_;
  Memory& memory_;
  std::string typed_;
  std::size_t nesting_;
  std::map<std::string, std::string, std::less<>> aliases_;  // by -c
  const Word* named_ = nullptr;                              // the folder, by -C
  bool other_tree_ = false;  // paths are not what they seem: --work-tree, --icase-pathspecs
  bool literal_ = false;     // --literal-pathspecs
  bool autostash_ = false;   // by -c
  bool clean_unforced_ = false;
  bool helps_ = false;  // it only shows how it is used
};

void GitJudging::setting(std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::string name = lowered(text.substr(0, equals));
  const std::string value =
      equals == std::string_view::npos ? "true" : lowered(text.substr(equals + 1));
  const bool on = value != "false" && value != "no" && value != "off" && value != "0";
  if (name.starts_with("alias.") && equals != std::string_view::npos) {
    aliases_[name.substr(6)] = text.substr(equals + 1);
  }
  if (name == "rebase.autostash" || name == "merge.autostash") autostash_ = on;
  if (name == "clean.requireforce") clean_unforced_ = !on;
}

std::span<const Word> GitJudging::global_options(std::span<const Word> words) {
  constexpr auto kValued =
      std::to_array<std::string_view>({"--git-dir", "--work-tree", "--namespace", "--super-prefix",
                                       "--config-env", "--attr-source"});
  while (!words.empty() && words.front().text.size() > 1 && words.front().text.starts_with('-')) {
    const std::string text = words.front().text;
    words = words.subspan(1);
    const bool valued =
        text == "-C" || text == "-c" || std::ranges::find(kValued, text) != kValued.end();
    Word value = valued && !words.empty() ? words.front() : Word{};
    if (valued && !words.empty()) words = words.subspan(1);
    if (text == "-C" && valued) {
      folder_ = folder_at(folder_, value, memory_);
      named_ = &*(words.begin() - 1);
    }
    if (text == "-c") setting(value.text);
    if (text == "--icase-pathspecs") other_tree_ = true;
    if (text == "--literal-pathspecs") literal_ = true;
    if (!text.starts_with("--work-tree")) continue;
    other_tree_ = true;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) value = {.text = text.substr(equals + 1)};
    folder_ = folder_at(folder_, value, memory_);
  }
  return words;
}

void GitJudging::stash(std::span<const Word> words) {
  const std::string verb = words.empty() ? "" : words.front().text;
  if (!words.empty() && !words.front().known) return unknown_verb();
  if (verb == "drop" || verb == "clear") return take_stash(Kind::kDropStash, words);
  if (verb == "pop" || verb == "apply") return take_stash(Kind::kTakeStash, words);
  if (verb == "branch") {
    found(danger(Kind::kMoveHead));
    return words.size() > 1 ? take_stash(Kind::kTakeStash, words.subspan(1)) : void();
  }
  const bool pushes = verb == "push" || verb == "save";
  // `git stash -u` is `git stash push -u`; other words are subcommands.
  if (!pushes && !verb.empty() && !verb.starts_with('-')) return;
  const GitWords git =
      read(pushes ? words.subspan(1) : words, "m", {"--message", "--pathspec-from-file"});
  Danger one = danger(Kind::kStash);
  if (git.has('S', "--staged")) return remember_stash(one);
  one.untracked = git.has('u', "--include-untracked") || git.has('a', "--all");
  one.ignored = git.has('a', "--all");
  const bool from_file = git.has("--pathspec-from-file");
  // The words of `save` are a message.
  if (verb == "save" || (git.all().empty() && !from_file)) {
    remember_stash(one);
    return found(std::move(one));
  }
  found_paths(one, git.all(), from_file);
  remember_stash(in_paths(one, git.all(), from_file));
}

void GitJudging::remember_stash(const Danger& one) {
  if (!helps_ && reading_.stashes.size() < kDangersMax) reading_.stashes.push_back(one);
}

// An entry of the stash goes, or comes into the worktree. `words`: the verb, and what follows it.
void GitJudging::take_stash(Kind kind, std::span<const Word> words) {
  const GitWords git = read(words.subspan(1), "", {});
  const std::span<const Word> named = git.all();
  const bool keeps = words.front().text == "apply";
  Danger one = danger(kind);
  const bool newest = words.front().text != "clear" &&
                      (named.empty() || named.front().text == "0" ||
                       named.front().text == "stash@{0}" || named.front().text == "stash");
  if (newest && !reading_.stashes.empty() && !helps_) {
    one = reading_.stashes.back();
    one.kind = kind;
    one.typed = typed_;
    one.after_stash = true;
    if (!keeps) reading_.stashes.pop_back();
  }
  one.keeps_stash = keeps;
  one.taken_before = reading_.stashes_taken;
  if (!keeps && !one.after_stash && !helps_) ++reading_.stashes_taken;
  one.whole = words.front().text == "clear" || (!keeps && reading_.loops > 0);
  for (const Word& word : named) {
    if (word.known) one.names.push_back(word.text);
    one.whole = one.whole || !word.known;
  }
  found(std::move(one));
}

void GitJudging::reset(std::span<const Word> words) {
  const GitWords git = read(words, "", {"--pathspec-from-file"});
  const std::span<const Word> named = git.before_dashes();
  // --keep refuses by itself where a changed file would be touched.
  const bool discards = git.has("--hard") || git.has("--merge");
  if (discards) {
    Danger one = danger(Kind::kDiscard);
    one.from_head = true;
    one.only_staged = !git.has("--hard");
    found(std::move(one));
  }
  const bool moves = !named.empty() && named.front().known && named.front().text != "HEAD";
  if ((discards || git.has("--keep")) && moves) {
    Danger leaves = danger(Kind::kDeleteBranch);  // the commits behind
    leaves.names = {"HEAD"};
    leaves.kept_by = named.front().text;
    return found(std::move(leaves));
  }
  const bool unknown = std::ranges::any_of(named, &Word::is_anything);
  if (unknown && !discards && !helps_) {
    reading_.unclear("an option of git is known to the shell alone");
  }
}

void GitJudging::checkout(std::span<const Word> words) {
  const GitWords git = read(words, "bB", {"--orphan", "--conflict", "--pathspec-from-file"});
  const bool from_file = git.has("--pathspec-from-file");
  if (git.has_dashes() || from_file) {
    // `checkout BRANCH --` names no file.
    const bool files = from_file || !git.after_dashes().empty();
    if (files) return found_paths(danger(Kind::kDiscard), git.after_dashes(), from_file);
    if (git.has('f', "--force")) return found(danger(Kind::kDiscard));
    if (git.before_dashes().empty() || is_head(git.before_dashes().front())) return;
    return found(move_to(git.before_dashes().front(), false));
  }
  const bool names_branch = git.has('b') || git.has('B') || git.has("--orphan");
  if (git.has('B')) replace_branch(git.value_of('B'), git.all());
  if (git.has('f', "--force") && git.all().size() < 2) {
    Danger one = danger(Kind::kDiscard);
    const bool file = !git.all().empty() && git.all().front().known && !names_branch;
    if (file && looks_like_path(git.all().front())) return found_paths(one, git.all(), false);
    if (file && !is_head(git.all().front())) one.maybe_file = git.all().front().text;
    one.switches = !one.maybe_file.empty() || names_branch;
    return found(std::move(one));
  }
  if (names_branch) return create_branch(git.all());
  checkout_words(git);
}

// No file changes, if it begins where HEAD is.
void GitJudging::create_branch(std::span<const Word> start) {
  if (start.empty() || is_head(start.front())) return found(danger(Kind::kNewBranch));
  Danger one = move_to(start.front(), false);
  one.creates = true;
  found(std::move(one));
}

// Git finds out by itself what is a branch and what is a file.
void GitJudging::checkout_words(const GitWords& git) {
  const std::span<const Word> words = git.all();
  const bool detaches = git.has('d', "--detach");
  const bool here = words.empty() || (words.size() == 1 && is_head(words.front()));
  if (here && detaches) return found(danger(Kind::kNewBranch));
  if (here) return;
  const bool named = !words.front().is_anything() && looks_like_path(words.front());
  const bool files = words.size() > 1 || named || git.has("--ours") || git.has("--theirs") ||
                     git.has('p', "--patch");
  if (files) {
    // The first may be what they are taken from.
    const bool source = words.size() > 1 && is_head(words.front());
    return found_paths(danger(Kind::kDiscard), words.subspan(source ? 1U : 0U), false);
  }
  Danger one = move_to(words.front(), detaches);
  if (words.front().known && !detaches) one.maybe_file = words.front().text;
  found(std::move(one));
}

void GitJudging::restore(std::span<const Word> words) {
  const GitWords git = read(words, "s", {"--source", "--conflict", "--pathspec-from-file"});
  if (git.has('S', "--staged") && !git.has('W', "--worktree")) return;
  found_paths(danger(Kind::kDiscard), git.all(), git.has("--pathspec-from-file"));
}

void GitJudging::switch_to(std::span<const Word> words) {
  const GitWords git = read(words, "cC", {"--create", "--force-create", "--orphan", "--conflict"});
  if (git.has('C', "--force-create")) replace_branch(git.value_of('C'), git.all());
  if (git.has("--discard-changes") || git.has('f', "--force")) {
    Danger one = danger(Kind::kDiscard);
    one.switches = true;
    return found(std::move(one));
  }
  if (git.has("--orphan")) return found(danger(Kind::kMoveHead));  // removes every tracked file
  const bool creates = git.has('c', "--create") || git.has('C', "--force-create");
  if (creates) return create_branch(git.all());
  const bool detaches = git.has('d', "--detach");
  const bool here = git.all().empty() || is_head(git.all().front());
  if (here && detaches) return found(danger(Kind::kNewBranch));
  if (!git.all().empty()) found(move_to(git.all().front(), detaches));
}

void GitJudging::clean(std::span<const Word> words) {
  const GitWords git = read(words, "e", {"--exclude"});
  if (git.has('n', "--dry-run") || git.has('i', "--interactive")) return;
  if (!git.has('f', "--force") && !clean_unforced_) return;
  Danger one = danger(Kind::kClean);
  one.tracked = false;
  one.untracked = !git.has('X');
  one.repositories = git.count('f') > 1;
  one.ignored = git.has('x') || git.has('X');
  if (!git.has('X')) one.excluded = left_by_clean(words);
  if (git.all().empty()) {
    one.scope = Scope::kFolder;
    return found(std::move(one));
  }
  found_paths(one, git.all(), false);
}

void GitJudging::add(std::span<const Word> words) {
  const GitWords git = read(words, "", {"--chmod", "--pathspec-from-file"});
  const bool looks = git.has('n', "--dry-run") || git.has("--refresh");
  const bool by_hand = git.has('p', "--patch") || git.has('i', "--interactive") ||
                       git.has('e', "--edit") || git.has('N', "--intent-to-add");
  if (looks || by_hand) return;
  Danger one = danger(Kind::kStage);
  const bool update = git.has('u', "--update") || git.has("--renormalize");
  one.untracked = !update;
  const bool from_file = git.has("--pathspec-from-file");
  if (!git.all().empty() || from_file) return found_paths(one, git.all(), from_file);
  if (update || git.has('A', "--all") || git.has("--no-ignore-removal")) found(std::move(one));
}

void GitJudging::commit(std::span<const Word> words) {
  const GitWords git = read(
      words, "mFCct uS",
      {"--message", "--file", "--author", "--date", "--template", "--cleanup", "--fixup",
       "--squash", "--trailer", "--reuse-message", "--reedit-message", "--pathspec-from-file"});
  if (git.has("--dry-run") || git.has("--short") || git.has("--porcelain")) return;
  if (git.has("--amend")) found(danger(Kind::kAmend));
  if (git.has('a', "--all")) return found(danger(Kind::kCommitAll));
  if (git.all().empty() && !git.has("--pathspec-from-file")) return;
  found_paths(danger(Kind::kCommitAll), git.all(), git.has("--pathspec-from-file"));
}

// The files become those of a commit again; only a rebase does so whatever has changed since.
void GitJudging::give_up(bool only_staged) {
  Danger one = danger(Kind::kDiscard);
  one.from_head = one.gives_up = true;
  one.only_staged = only_staged;
  found(std::move(one));
}

void GitJudging::bring_in(std::span<const Word> words, bool rebases) {
  const GitWords git = read(words, rebases ? "sXxC" : "sXmF",
                            {"--onto", "--strategy", "--strategy-option", "--exec", "--message",
                             "--file", "--into-name", "--depth"});
  if (git.has("--abort") || git.has("--skip")) return give_up(!rebases);
  for (const std::string_view midway :
       {"--continue", "--quit", "--edit-todo", "--show-current-patch"}) {
    if (git.has(midway)) return;
  }
  if (git.has("--no-autostash") || git.has("--dry-run")) return;
  Danger one = danger(Kind::kAutostash);
  one.if_configured = !git.has("--autostash") && !autostash_;
  found(std::move(one));
}

// cherry-pick, revert, am.
void GitJudging::pick(std::span<const Word> words) {
  const GitWords git = read(words, "msXC", {"--mainline", "--strategy", "--strategy-option"});
  if (git.has("--abort") || git.has("--skip")) give_up(true);
}

void GitJudging::worktree(std::span<const Word> words) {
  if (words.empty()) return;
  if (words.front().text == "add") return make("worktree", words.subspan(1));
  if (words.front().text != "remove") return;
  const GitWords git = read(words.subspan(1), "", {});
  if (!git.has('f', "--force") || git.all().empty()) return;
  Danger one = danger(Kind::kRemoveWorktree);
  one.untracked = one.ignored = true;
  if (git.all().front().known) {
    one.names = {git.all().front().text};
  } else {
    one.paths_unknown = true;
  }
  found(std::move(one));
}

void GitJudging::branch(std::span<const Word> words) {
  const GitWords git = read(words, "u", {"--set-upstream-to", "--sort", "--format", "--contains"});
  const bool forced = git.has('f', "--force");
  if (git.has('r', "--remotes")) return;
  if (git.has('D') || (git.has('d', "--delete") && forced)) return lose_branches(git.all(), {});
  if (git.has('m', "--move") || git.has('M')) {
    Danger one = danger(Kind::kNewBranch);
    if (git.all().size() > 1) one.names = {git.all().front().text};
    found(std::move(one));
  }
  // `branch -M OLD NEW` writes over NEW; with one name, over that one.
  const bool replaces = git.has('M') || git.has('C') ||
                        (forced && (git.has('m', "--move") || git.has('c', "--copy")));
  if (replaces && !git.all().empty()) {
    const std::span<const Word> old = git.all().first(git.all().size() - 1);
    return lose_branches(git.all().last(1), old.empty() ? std::string() : start_of(old.front()));
  }
  if (forced && !git.all().empty()) replace_branch(&git.all().front(), git.all().subspan(1));
}

// Goes from commit to commit.
void GitJudging::bisect(std::span<const Word> words) {
  constexpr std::string_view kLooks = " help log terms view visualize ";
  if (words.empty() || (words.size() == 1 && words.front().text == "start")) return;
  if (!kLooks.contains(" " + words.front().text + " ")) found(danger(Kind::kMoveHead));
}

// With its hook, a push is judged by what it really does.
void GitJudging::push(std::span<const Word> words) {
  const GitWords git = read(words, "o", {"--push-option", "--repo", "--receive-pack", "--exec"});
  if (!git.has("--no-verify") || git.has('n', "--dry-run")) return;
  const bool all = git.has("--mirror") || git.has("--all") || git.has("--prune");
  const bool deletes = git.has('d', "--delete");
  const bool forced = git.has('f', "--force") || git.has("--force-with-lease") || deletes;
  Danger one = danger(Kind::kPushOver);
  bool destroys = all && (forced || !git.has("--all"));
  one.whole = all;
  const std::span<const Word> refs = git.all().subspan(git.all().empty() ? 0U : 1U);
  for (const Word& word : refs) {
    std::string ref = word.text;
    const bool plus = ref.starts_with('+');
    if (plus) ref.erase(0, 1);
    const bool gone = ref.starts_with(':');
    if (!forced && !plus && !gone && word.known) continue;
    destroys = true;
    one.whole = one.whole || !word.known;
    ref.erase(0, ref.find(':') + 1);
    constexpr std::string_view kHeads = "refs/heads/";
    one.names.push_back(ref.starts_with(kHeads) ? ref.substr(kHeads.size()) : ref);
  }
  if (destroys || (forced && refs.empty())) found(std::move(one));
}

std::string GitJudging::start_of(const Word& word) {
  return word.known ? word.text : std::string();
}

// The branch begins again somewhere else.
void GitJudging::replace_branch(const Word* name, std::span<const Word> start) {
  if (name == nullptr) return;
  lose_branches({name, 1}, start.empty() ? std::string() : start_of(start.front()));
}

void GitJudging::lose_branches(std::span<const Word> names, std::string kept_by) {
  Danger one = danger(Kind::kDeleteBranch);
  one.kept_by = std::move(kept_by);
  for (const Word& word : names) {
    one.names.insert(one.names.end(), word.choices.begin(), word.choices.end());
    if (word.known) one.names.push_back(word.text);
    if (!word.known && word.choices.empty()) one.paths_unknown = true;
  }
  if (!names.empty()) found(std::move(one));
}

void GitJudging::remove(std::span<const Word> words) {
  const GitWords git = read(words, "", {"--pathspec-from-file"});
  // Without -f, git itself keeps a changed file.
  const bool deletes = git.has('r') || git.has('f', "--force");
  if (git.has("--cached") || git.has('n', "--dry-run") || !deletes) return;
  found_paths(danger(Kind::kRemove), git.all(), git.has("--pathspec-from-file"));
}

// `git config alias.x 'reset --hard'`
void GitJudging::configure(std::span<const Word> words) {
  for (std::size_t at = 0; at + 1 < words.size(); ++at) {
    const std::string name = lowered(words[at].text);
    if (!name.starts_with("alias.") || memory_.aliases.size() >= kDangersMax) continue;
    memory_.aliases[name.substr(6)] = words[at + 1].text;
  }
}

// Repositories and worktrees that the text itself makes.
void GitJudging::make(std::string_view verb, std::span<const Word> words) {
  const GitWords git =
      read(words, verb == "clone" ? "bocju" : "bB",
           {"--branch", "--origin", "--config", "--reference", "--depth", "--template", "--filter",
            "--initial-branch", "--separate-git-dir", "--reason", "--jobs"});
  const bool replaces = verb == "worktree" && git.has('B') && !git.all().empty();
  if (replaces) replace_branch(git.value_of('B'), git.all().subspan(1));
  Word target{.text = ".", .typed = "."};
  if (!git.all().empty()) target = git.all()[verb == "clone" && git.all().size() > 1 ? 1U : 0U];
  if (verb == "clone" && git.all().size() < 2) {
    if (git.all().empty() || !target.known) return;
    while (target.text.ends_with('/')) target.text.pop_back();
    if (target.text.ends_with(".git")) target.text.resize(target.text.size() - 4);
    target.text.erase(0, target.text.find_last_of("/:") + 1);
  }
  const bool unknown = git.all().empty() && !folder_.known;
  if (unknown && named_ == nullptr) memory_.folder.fresh = true;
  if (unknown && named_ != nullptr) target = *named_;
  if (!unknown || named_ != nullptr) remember_made(target, true, folder_, reading_, memory_);
}

void GitJudging::alias(std::span<const Word> words) {
  const std::string name = lowered(words.front().text);
  const auto given = aliases_.find(name);
  const auto set = memory_.aliases.find(name);
  if (given != aliases_.end() || set != memory_.aliases.end()) {
    const std::string meaning = given != aliases_.end() ? given->second : set->second;
    std::string text = meaning.starts_with('!') ? meaning.substr(1) : "git " + meaning;
    for (const Word& word : words.subspan(1)) text += " " + word.typed;
    const Stay stay(memory_);
    memory_.folder = folder_;
    read_script(text, reading_, memory_, nesting_ + 1);
    return;
  }
  if (reading_.found.aliases.size() >= kDangersMax) return;
  std::string rest;
  for (const Word& word : words.subspan(1)) rest += " " + word.typed;
  reading_.found.aliases.push_back({words.front().text, std::move(rest), folder_, typed_});
}

void GitJudging::judge(std::span<const Word> words) {
  words = global_options(words);
  if (words.empty()) return;
  const std::string& verb = words.front().text;
  if (!words.front().known) return unknown_verb();
  const std::span<const Word> rest = words.subspan(1);
  if (verb == "stash") return stash(rest);
  if (verb == "reset") return reset(rest);
  if (verb == "checkout") return checkout(rest);
  if (verb == "restore") return restore(rest);
  if (verb == "switch") return switch_to(rest);
  if (verb == "clean") return clean(rest);
  if (verb == "add" || verb == "stage") return add(rest);
  if (verb == "commit") return commit(rest);
  if (verb == "pull" || verb == "merge" || verb == "rebase") {
    return bring_in(rest, verb == "rebase");
  }
  if (verb == "cherry-pick" || verb == "revert" || verb == "am") return pick(rest);
  if (verb == "worktree") return worktree(rest);
  if (verb == "branch") return branch(rest);
  if (verb == "bisect") return bisect(rest);
  if (verb == "push") return push(rest);
  if (verb == "rm") return remove(rest);
  if (verb == "config") return configure(rest);
  if (verb == "init" || verb == "clone") return make(verb, rest);
  if (kHarmless.find(" " + verb + " ") == std::string_view::npos) alias(words);
}

}  // namespace

void judge_git(std::span<const Word> words, Reading& reading, Memory& memory,
               const std::string& typed, std::size_t nesting) {
  GitJudging(reading, memory, typed, nesting).judge(words);
}

}  // namespace lockkeeper::enforce::shell
