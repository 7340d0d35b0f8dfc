#include "crew/trees/agent_tree.h"

#include <sys/stat.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "crew/record/record_json.h"
#include "crew/trees/excludes.h"
#include "crew/trees/worktree_ops.h"
#include "git/paths.h"
#include "git/reader.h"
#include "git/state.h"
#include "git/writer.h"
#include "realm/disk_path.h"
#include "realm/hook_settings.h"

namespace lockkeeper::crew {
namespace {

constexpr const char* kTreeMarkName = "tree.json";
constexpr const char* kMessageName = "message.txt";
constexpr std::size_t kTreeMarkBytesMax = 512U << 20;
constexpr std::string_view kHeads = "refs/heads/";
constexpr const char* kSubmoduleMode = "160000";
constexpr std::size_t kStartDigits = 12;

bool is_on_disk(const std::string& path) {
  struct stat info{};
  return ::lstat(path.c_str(), &info) == 0;
}

std::string short_branch(const std::string& ref) {
  return ref.starts_with(kHeads) ? ref.substr(kHeads.size()) : ref;
}

// Tracked files on disk that git does not compare: somebody has said so, to change them without
// committing that.
Result<std::vector<std::string>> unseen_by_git(const git::Reader& reader) {
  std::vector<std::string> found;
  // Then git says so of every file.
  LK_ASSIGN(const auto all, reader.try_to_ask({"config", "--type=bool", "core.ignoreStat"}));
  if (all.text.starts_with("true")) return found;
  LK_ASSIGN(const std::string answer, reader.ask({"ls-files", "-v", "-z"}));
  for (const std::string& line : git::split_at_nul(answer)) {  // "H PATH"
    const bool assumed = line.starts_with("h ") || line.starts_with("s ");
    if (line.size() < 3 || (!assumed && !line.starts_with("S "))) continue;
    // What a sparse checkout leaves out is not there.
    std::string path = line.substr(2);
    if (is_on_disk(reader.root() + "/" + path)) found.push_back(std::move(path));
  }
  return found;
}

// Why `git worktree lock` was said; nullopt: it was not.
Result<std::optional<std::string>> lock_of(const std::string& folder) {
  LK_ASSIGN(const std::string own, git::own_git_folder(folder));
  if (!is_on_disk(own + "/locked")) return std::nullopt;
  const std::string reason = read_file(own + "/locked").value_or("");
  const std::string words = reason.substr(0, reason.find('\n'));
  return "it is locked" + (words.empty() ? "" : " (" + quote(words) + ")");
}

Change::Kind kind_of(char letter) {
  if (letter == 'A') return Change::Kind::kAdded;
  return letter == 'D' ? Change::Kind::kRemoved : Change::Kind::kModified;
}

}  // namespace

Result<std::optional<AgentTree::Mark>> AgentTree::mark() const {
  LK_ASSIGN(const auto text, marks_.read(kTreeMarkName, kTreeMarkBytesMax));
  if (!text) return std::nullopt;
  try {
    const Json json = Json::parse(*text);
    Mark mark;
    mark.ready = json.at("ready").get<bool>();
    mark.start = json.at("start").get<std::string>();
    mark.provided = provided_from(json.at("provided"));
    return mark;
  } catch (const std::exception& error) {
    return fail(Code::kFailed,
                quote(marks_.path_of(kTreeMarkName)) + " cannot be read: " + quote(error.what()));
  }
}

Result<void> AgentTree::write_mark(const Mark& mark) const {
  const Json json{{"ready", mark.ready},
                  {"folder", orders_.folder},
                  {"branch", orders_.branch},
                  {"start", mark.start},
                  {"provided", provided_json(mark.provided)}};
  return marks_.write(kTreeMarkName, json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

Result<git::Writer> AgentTree::writer(const std::string& root) const {
  return git::Writer::open(root, {.variables = variables_, .lock = lock_.get(), .go_on = go_on_});
}

Result<void> AgentTree::begin() {
  if (lock_) return {};
  LK_ASSIGN(lock_, marks_.lock(kGitLockName, kGitLockWaitMs));
  return {};
}

Result<std::string> AgentTree::ensure() {
  LK_CHECK(begin());
  LK_ASSIGN(const std::optional<Mark> before, mark());
  // Whoever ended the last attempt may have killed git, too.
  if (before) LK_CHECK(clear_git_locks(orders_.checkout, orders_.folder, orders_.branch));
  if (before && before->ready) {
    LK_ASSIGN(const bool empty, is_behind(*before));
    if (!empty) return find_again(*before);
    LK_CHECK(write_mark({}));
  }
  if (before) {
    LK_CHECK(clear());
  } else {
    LK_ASSIGN(const auto tip, tip_of(orders_.checkout, orders_.branch));
    if (tip || is_on_disk(orders_.folder)) {
      return fail(Code::kFailed,
                  tip ? "the branch " + quote(orders_.branch) + " already exists"
                      : quote(orders_.folder) + " already exists",
                  "start again with --restart, which gives the run another name");
    }
    LK_CHECK(write_mark({}));
  }
  auto made = make();
  if (!made) {
    // What went wrong is told, not what goes wrong now.
    if (clear()) static_cast<void>(marks_.remove(kTreeMarkName));
  }
  return made;
}

Result<std::string> AgentTree::find_again(const Mark& mark) {
  if (!is_on_disk(orders_.folder)) {
    LK_ASSIGN(const git::Writer checkout, writer(orders_.checkout));
    LK_ASSIGN(const auto tip, tip_of(orders_.checkout, orders_.branch));
    if (!tip) {
      // Somebody gave up both: the agent begins again.
      LK_CHECK(write_mark({}));
      LK_CHECK(clear_worktree(checkout, orders_.folder));
      return make();
    }
    // Somebody removed it. What was committed is on its branch.
    const auto forget = [&] { return clear_worktree(checkout, orders_.folder); };
    LK_CHECK(forget());
    LK_CHECK(add_worktree(checkout, {orders_.folder, orders_.branch}, forget));
    Mark again = mark;
    LK_ASSIGN(again.provided, provide(orders_.checkout, orders_.folder, orders_.patterns, go_on_));
    LK_CHECK(write_mark(again));
  }
  LK_ASSIGN(const auto wrong, not_on_branch());
  if (wrong) {
    return fail(Code::kFailed, "its worktree " + quote(orders_.folder) + " " + *wrong,
                "git -C " + shell_quote(orders_.folder) + " switch " + shell_quote(orders_.branch));
  }
  return mark.start;
}

Result<bool> AgentTree::is_behind(const Mark& mark) const {
  if (!is_on_disk(orders_.folder)) return false;
  bool behind = false;
  for (const std::string& commit : orders_.with) {
    LK_ASSIGN(const bool there, contains(orders_.checkout, mark.start, commit));
    behind = behind || !there;
  }
  if (!behind) return false;
  LK_ASSIGN(const auto left, leftovers(mark));
  if (left) return false;
  LK_ASSIGN(const std::string head, head_of(orders_.folder));
  return head == mark.start;
}

Result<std::string> AgentTree::make() {
  LK_CHECK(make_folders(realm::parent_path(orders_.folder)));
  LK_ASSIGN(const git::Writer checkout, writer(orders_.checkout));
  LK_CHECK(add_worktree(checkout,
                        {"--no-track", "-b", orders_.branch, orders_.folder, orders_.base},
                        [&] { return clear(); }));
  for (const std::string& commit : orders_.with) LK_CHECK(build_on(commit));
  Mark mark;
  mark.ready = true;
  LK_ASSIGN(mark.provided, provide(orders_.checkout, orders_.folder, orders_.patterns, go_on_));
  left_out_ = mark.provided.left_out;
  LK_ASSIGN(mark.start, head_of(orders_.folder));
  LK_CHECK(write_mark(mark));
  return mark.start;
}

Result<void> AgentTree::build_on(const std::string& commit) {
  LK_ASSIGN(const bool there, contains(orders_.folder, "HEAD", commit));
  if (there) return {};
  LK_ASSIGN(const git::Writer tree, writer(orders_.folder));
  LK_ASSIGN(const Merged merged,
            merge_into(tree, commit, "Merge what " + orders_.branch + " builds on", true));
  if (merged.done) return {};
  return fail(Code::kFailed, "the work that it builds on cannot be merged: " + merged.why);
}

Result<void> AgentTree::clear() {
  LK_ASSIGN(const git::Writer checkout, writer(orders_.checkout));
  LK_CHECK(clear_worktree(checkout, orders_.folder));
  LK_ASSIGN(const auto tip, tip_of(orders_.checkout, orders_.branch));
  if (!tip) return {};
  LK_CHECK(checkout.run({"update-ref", "-d", std::string(kHeads) + orders_.branch, *tip}));
  return {};
}

Result<std::optional<std::string>> AgentTree::not_on_branch() const {
  LK_ASSIGN(const std::string branch, branch_of(orders_.folder));
  if (branch == std::string(kHeads) + orders_.branch) return std::nullopt;
  return branch.empty() ? "is not on a branch any more" : "is on " + quote(short_branch(branch));
}

Result<std::map<std::string, std::string>> AgentTree::variables_for(
    const realm::Environment& env) const {
  LK_ASSIGN(const std::optional<Mark> known, mark());
  return excluding(orders_.folder, known ? known->provided : Provided{}, marks_, env);
}

Result<TreeCommit> AgentTree::commit(const std::map<std::string, std::string>& variables) {
  LK_CHECK(begin());
  LK_ASSIGN(const std::optional<Mark> known, mark());
  if (!known || !known->ready) return fail(Code::kFailed, "its worktree was never made");
  LK_ASSIGN(const auto wrong, not_on_branch());
  if (wrong) return fail(Code::kFailed, "its worktree " + *wrong);
  LK_ASSIGN(const std::string own, git::own_git_folder(orders_.folder));
  if (const auto operation = git::current_operation(own); operation != git::Operation::kNone) {
    return fail(Code::kFailed, "its worktree is in the middle of a " +
                                   std::string(git::operation_name(operation)));
  }
  variables_ = variables;
  LK_ASSIGN(const git::Writer tree, writer(orders_.folder));
  LK_CHECK(tree.run({"add", "-A"}));
  // Afterwards: `git add` refuses to leave out a path that is ignored anyway.
  if (std::vector<std::string> paths = pathspecs_of(known->provided); !paths.empty()) {
    std::vector<std::string> words = {"reset", "-q", "--"};
    std::ranges::move(paths, std::back_inserter(words));
    LK_CHECK(tree.run(words));
  }
  LK_ASSIGN(const git::Reader reader, git::Reader::open(orders_.folder, {.reads_files = false}));
  LK_ASSIGN(const std::vector<git::Difference> staged, git::staged_against(reader, "HEAD"));
  const auto nested = std::ranges::find_if(staged, [](const git::Difference& each) {
    return each.mode == kSubmoduleMode && each.old_mode != kSubmoduleMode;
  });
  if (nested != staged.end()) {
    LK_CHECK(tree.run({"reset", "-q"}));
    return fail(Code::kFailed, quote(nested->path) + " is a repository of its own");
  }
  TreeCommit result;
  result.made = !staged.empty();
  if (result.made) {
    LK_CHECK(marks_.write(kMessageName, orders_.message));
    LK_CHECK(
        tree.run({"commit", "-q", "--cleanup=whitespace", "-F", marks_.path_of(kMessageName)}));
  }
  LK_ASSIGN(result.tip, head_of(orders_.folder));
  LK_ASSIGN(const std::vector<std::string> swept, provided_in_commits(*known, result.tip));
  if (!swept.empty()) return fail(not_for_git(swept, known->start));
  return result;
}

Error AgentTree::not_for_git(const std::vector<std::string>& paths,
                             const std::string& start) const {
  const std::string at = "git -C " + shell_quote(orders_.folder);
  return Error{Code::kFailed,
               "its own commit has " + files_text(paths) + ", which the run copied or linked there",
               "undo its commits and keep its changes: " + at + " reset --soft " +
                   start.substr(0, kStartDigits)};
}

Result<std::vector<std::string>> AgentTree::provided_in_commits(const Mark& mark,
                                                                const std::string& tip) const {
  std::vector<std::string> found;
  const std::set<std::string> files = files_of(mark.provided);
  if (files.empty() || tip == mark.start) return found;
  LK_ASSIGN(const git::Reader reader, git::Reader::open(orders_.folder, {.reads_files = false}));
  // All commits, not only the last: a secret that was added and removed again is in the history.
  LK_ASSIGN(const std::string answer,
            reader.ask({"log", "-z", "-m", "--format=", "--name-only", "--no-renames",
                        "--diff-filter=d", "--no-ext-diff", "--no-textconv", "--no-show-signature",
                        "--no-notes", mark.start + ".." + tip, "--"}));
  for (std::string& path : git::split_at_nul(answer)) {
    if (files.contains(json_text(path)) && std::ranges::find(found, path) == found.end()) {
      found.push_back(std::move(path));
    }
  }
  return found;
}

Result<std::vector<Change>> AgentTree::changes(const std::string& start,
                                               const std::string& tip) const {
  LK_ASSIGN(const git::Reader reader, git::Reader::open(orders_.folder, {.reads_files = false}));
  LK_ASSIGN(const std::vector<git::Difference> found, git::between(reader, start, tip));
  std::vector<Change> changes;
  for (const git::Difference& each : found) {
    changes.push_back({each.path, kind_of(each.kind), false, {}});
  }
  return changes;
}

Result<std::optional<std::string>> AgentTree::leftovers(const Mark& mark) const {
  LK_ASSIGN(const auto wrong, not_on_branch());
  if (wrong) return "it " + *wrong;
  LK_ASSIGN(const git::Reader reader, git::Reader::open(orders_.folder));
  LK_ASSIGN(const std::vector<git::ChangedPath> found, git::all_changed_paths(reader));
  std::vector<std::string> paths;
  for (const git::ChangedPath& each : found) {
    if (!covers(mark.provided, each.path)) paths.push_back(each.path);
  }
  LK_ASSIGN(Touched others, touched(orders_.folder, mark.provided));
  if (!others.added.empty()) {
    // In a copied folder, too, the agent may have committed what it wrote.
    LK_ASSIGN(const std::string answer, reader.ask({"ls-files", "-z"}));
    const std::vector<std::string> listed = git::split_at_nul(answer);
    const std::set<std::string> tracked(listed.begin(), listed.end());
    std::erase_if(others.added, [&](const std::string& path) {
      return tracked.contains(path) &&
             std::ranges::find(found, path, &git::ChangedPath::path) == found.end();
    });
  }
  LK_ASSIGN(const std::vector<std::string> more, ignored(mark));
  for (const std::string& path : more) {
    if (std::ranges::find(found, path, &git::ChangedPath::path) != found.end()) continue;
    // What the settings copy is worth keeping, also where the agent made it. So are the commits of
    // another repository.
    const bool copied = !realm::matches_ignore_patterns(orders_.patterns.link, path) &&
                        realm::matches_ignore_patterns(orders_.patterns.copy, path);
    if (copied || is_on_disk(orders_.folder + "/" + path + "/.git")) others.added.push_back(path);
  }
  LK_ASSIGN(const std::vector<std::string> unseen, unseen_by_git(reader));
  std::vector<std::string> texts;
  if (!others.changed.empty()) {
    texts.push_back("its copy of " + files_text(others.changed) + " was changed");
  }
  if (!others.replaced.empty()) {
    texts.push_back("its link " + files_text(others.replaced) + " was replaced");
  }
  if (!others.added.empty()) texts.push_back("not in git: " + files_text(others.added));
  if (!paths.empty()) texts.push_back("uncommitted: " + files_text(paths));
  if (!unseen.empty()) {
    texts.push_back("git was told not to look at " + files_text(unseen) + " (git update-index)");
  }
  if (texts.empty()) return std::nullopt;
  return join(texts, "; ");
}

Result<std::vector<std::string>> AgentTree::ignored(const Mark& mark) const {
  LK_ASSIGN(const std::set<std::string> unknown, unknown_to_git(orders_.folder));
  std::vector<std::string> paths;
  for (const std::string& path : unknown) {
    if (!covers(mark.provided, path)) paths.push_back(path);
  }
  return paths;
}

Result<Removal> AgentTree::remove(const std::string& tip) {
  LK_CHECK(begin());
  LK_ASSIGN(const std::optional<Mark> known, mark());
  if (!known) return Removal{.folder_gone = true};
  LK_ASSIGN(const git::Writer checkout, writer(orders_.checkout));
  LK_ASSIGN(const auto now, tip_of(orders_.checkout, orders_.branch));
  Removal removal;
  removal.folder_gone = !is_on_disk(orders_.folder);
  if (now && *now != tip) {
    removal.kept = "its branch has other commits now";
    return removal;
  }
  if (!removal.folder_gone) {
    LK_ASSIGN(auto left, leftovers(*known));
    if (!left) {
      LK_ASSIGN(left, lock_of(orders_.folder));
    }
    removal.kept = left.value_or("");
    if (left) return removal;
    LK_ASSIGN(removal.ignored, ignored(*known));
    LK_CHECK(take_back(orders_.folder, known->provided));
  }
  LK_ASSIGN(const git::Answer answer, checkout.try_to_run({"worktree", "remove", orders_.folder}));
  // Where the folder is gone, git may have forgotten it already.
  removal.folder_gone = !is_on_disk(orders_.folder);
  if (!removal.folder_gone) {
    removal.kept = answer.status == 0 ? "it is still there" : git::last_words(answer.text);
    return removal;
  }
  if (now) {
    const auto deleted =
        checkout.run({"update-ref", "-d", std::string(kHeads) + orders_.branch, tip});
    if (!deleted) removal.kept = deleted.error().message;
    if (!deleted) return removal;
  }
  LK_CHECK(marks_.remove(kTreeMarkName));
  return removal;
}

}  // namespace lockkeeper::crew
