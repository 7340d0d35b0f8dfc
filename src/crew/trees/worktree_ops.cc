#include "crew/trees/worktree_ops.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/folder.h"
#include "base/text.h"
#include "git/paths.h"
#include "git/reader.h"
#include "git/state.h"
#include "realm/disk_path.h"

namespace lockkeeper::crew {
namespace {

Result<git::Reader> look(const std::string& root) {
  return git::Reader::open(root, {.reads_files = false});
}

// Files with a conflict, of a merge that has stopped.
Result<std::vector<std::string>> unmerged(const std::string& root) {
  LK_ASSIGN(const git::Reader reader, look(root));
  LK_ASSIGN(const std::string answer, reader.ask({"ls-files", "--unmerged", "-z"}));
  std::vector<std::string> files;
  for (const std::string& line : git::split_at_nul(answer)) {  // "MODE ID STAGE\tPATH"
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos) continue;
    std::string path = line.substr(tab + 1);
    if (files.empty() || files.back() != path) files.push_back(std::move(path));
  }
  return files;
}

Result<void> remove_in(const std::string& root, const std::string& below,
                       const std::vector<std::string>& names) {
  LK_ASSIGN(const auto folder, Folder::find(root, below));
  for (const std::string& name : names) {
    if (folder) LK_CHECK(folder->remove(name));
  }
  return {};
}

}  // namespace

Result<void> clear_worktree(const git::Writer& checkout, const std::string& folder) {
  const std::string parent = realm::parent_path(folder);
  LK_ASSIGN(const auto above, Folder::find(parent));
  if (above) LK_CHECK(above->remove_all(std::string(realm::last_name(folder))));
  // Where git does not know it, there is nothing to forget.
  LK_CHECK(checkout.try_to_run({"worktree", "remove", "--force", "--force", folder}));
  return {};
}

Result<void> add_worktree(const git::Writer& checkout, const std::vector<std::string>& words,
                          const std::function<Result<void>()>& clear) {
  constexpr int kTries = 6;
  constexpr std::chrono::milliseconds kPause{40};
  std::vector<std::string> command{"worktree", "add", "-q"};
  command.insert(command.end(), words.begin(), words.end());
  for (int tried = 1;; ++tried) {
    const auto added = checkout.run(command);
    if (added) return {};
    if (tried == kTries) return fail(added.error());
    if (!clear()) return fail(added.error());
    std::this_thread::sleep_for(tried * kPause);
  }
}

Result<void> clear_git_locks(const std::string& checkout, const std::string& folder,
                             const std::string& branch) {
  LK_ASSIGN(const git::Reader reader, look(checkout));
  LK_ASSIGN(std::string common,
            reader.ask({"rev-parse", "--path-format=absolute", "--git-common-dir"}));
  common.resize(std::min(common.find('\n'), common.size()));
  // An agent may have written another name into its worktree's .git.
  const auto own = git::own_git_folder(folder);
  if (own && realm::parent_path(*own) == common + "/worktrees") {
    LK_CHECK(remove_in(common, "worktrees/" + std::string(realm::last_name(*own)),
                       {"index.lock", "HEAD.lock"}));
  }
  const std::string ref = "refs/heads/" + branch;
  return remove_in(common, realm::parent_path(ref), {std::string(realm::last_name(ref)) + ".lock"});
}

Result<Merged> merge_into(const git::Writer& worktree, const std::string& commit,
                          const std::string& message, bool fast_forward) {
  Merged merged;
  LK_ASSIGN(const git::Answer answer,
            worktree.try_to_run({"merge", "-q", "--no-edit", "--no-stat", "--no-autostash",
                                 fast_forward ? "--ff" : "--no-ff", "-m", message, commit}));
  merged.done = answer.status == 0;
  if (merged.done) return merged;
  LK_ASSIGN(merged.conflicts, unmerged(worktree.root()));
  merged.why = merged.conflicts.empty() ? git::last_words(answer.text)
                                        : "conflict in " + files_text(merged.conflicts);
  LK_ASSIGN(const std::string own, git::own_git_folder(worktree.root()));
  if (git::current_operation(own) == git::Operation::kMerge) {
    LK_CHECK(worktree.run({"merge", "--abort"}));
  }
  return merged;
}

Result<bool> contains(const std::string& root, const std::string& descendant,
                      const std::string& commit) {
  LK_ASSIGN(const git::Reader reader, look(root));
  LK_ASSIGN(const auto answer,
            reader.try_to_ask({"merge-base", "--is-ancestor", commit, descendant}));
  if (answer.status == 0 || answer.status == 1) return answer.status == 0;
  return fail(Code::kFailed, "git cannot compare " + shown(commit) + " with " + shown(descendant) +
                                 " in " + quote(root));
}

Result<std::string> branch_of(const std::string& worktree) {
  LK_ASSIGN(const git::Reader reader, look(worktree));
  LK_ASSIGN(const auto answer, reader.try_to_ask({"symbolic-ref", "-q", "HEAD"}));
  if (answer.status == 1) return std::string();
  if (answer.status == 0) return answer.text.substr(0, answer.text.find('\n'));
  return fail(Code::kFailed, "git cannot read HEAD in " + quote(worktree));
}

Result<std::optional<std::string>> tip_of(const std::string& root, const std::string& branch) {
  LK_ASSIGN(const git::Reader reader, look(root));
  return git::commit_named(reader, "refs/heads/" + branch);
}

Result<std::string> head_of(const std::string& worktree) {
  LK_ASSIGN(const git::Reader reader, look(worktree));
  LK_ASSIGN(const std::optional<std::string> head, git::commit_named(reader, "HEAD"));
  if (head) return *head;
  return fail(Code::kFailed, quote(worktree) + " has no commit");
}

std::string files_text(const std::vector<std::string>& paths) {
  constexpr std::size_t kNamed = 3;
  return shown_list(paths, kNamed);
}

}  // namespace lockkeeper::crew
