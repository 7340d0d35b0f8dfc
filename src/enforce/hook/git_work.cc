#include "enforce/hook/git_work.h"

#include <algorithm>

#include "base/parse.h"
#include "base/text.h"
#include "git/ref_log.h"
#include "git/state.h"
#include "realm/disk_path.h"
#include "service/makers.h"

namespace lockkeeper::enforce::hook {
namespace {

using shell::Danger;
using shell::Kind;

constexpr std::size_t kNotedMax = 20;   // of one command
constexpr std::size_t kLostMax = 1000;  // commits of one branch

struct Entry {
  std::string_view what;
  std::string commit;
};

// Nobody can tell: then somebody is.
bool is_another_busy(Place& place, const std::string& worktree) {
  const auto seen = place.locks().look(worktree);
  return !seen || !seen->busy.empty();
}

// What the log of HEAD says of a command that makes a commit.
bool makes_commit(const std::string& words) {
  constexpr std::string_view kMakers[] = {"commit", "cherry-pick", "revert"};
  const bool merges = words.starts_with("merge") || words.starts_with("pull");
  return (merges && words.contains("Merge made by")) ||
         std::ranges::any_of(kMakers,
                             [&](std::string_view word) { return words.starts_with(word); });
}

void add_entries(const std::string& log, const std::string& objects, std::int64_t since_ms,
                 std::string_view what, std::vector<Entry>& to) {
  std::size_t added = 0;
  for (git::LogEntry& entry : git::newest_log_entries(log)) {
    const bool makes = what == service::kMadeStash || makes_commit(entry.words);
    if (!makes || entry.at_s < since_ms / 1000) continue;
    if (git::is_older(objects, entry.commit, since_ms) || ++added > kNotedMax) continue;
    to.push_back({what, std::move(entry.commit)});
  }
}

// What the command is about: by id, how it is called.
using Doomed = std::vector<std::pair<std::string, std::string>>;

// All that there are, newest first.
Doomed all_stashes(Place& place) {
  std::vector<git::LogEntry> entries =
      git::newest_log_entries(git::stash_log(place.realm().common_dir));
  std::ranges::reverse(entries);
  Doomed all;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    all.emplace_back(std::move(entries[i].commit), "stash@{" + std::to_string(i) + "}");
  }
  return all;
}

Doomed doomed_stashes(Place& place, const Danger& danger) {
  Doomed all = all_stashes(place);
  if (danger.whole) return all;
  Doomed doomed;
  // What has a number now has a smaller one after an earlier entry is gone.
  const auto add = [&](std::size_t number) {
    const std::size_t end = std::min(number + danger.taken_before + 1, all.size());
    for (std::size_t i = number; i < end; ++i) doomed.push_back(all[i]);
  };
  for (const std::string& name : danger.names) {
    const std::size_t begin = name.starts_with("stash@{") ? 7 : 0;
    const std::string digits = name.substr(begin, name.find('}', begin) - begin);
    const auto number = number_in<std::size_t>(digits);
    const auto by_commit = std::ranges::find_if(
        all, [&](const auto& one) { return name.size() >= 4 && one.first.starts_with(name); });
    // A name that says nothing may well be the newest.
    const bool counted = !number || *number < all.size();
    if (by_commit != all.end()) {
      doomed.push_back(*by_commit);
    } else if (counted && !all.empty()) {
      add(number.value_or(0));
    }
  }
  if (danger.names.empty()) add(0);
  return doomed;
}

// The refs of the branches that the command names, in whatever way. All, if only the shell knows.
Result<std::vector<std::string>> doomed_branches(const git::Reader& git, const Danger& danger) {
  std::vector<std::string> refs;
  if (danger.paths_unknown) {
    LK_ASSIGN(const auto all,
              git.try_to_ask({"for-each-ref", "--format=%(refname)", "refs/heads"}));
    return words_in(all.text, "\n");
  }
  for (const std::string& name : danger.names) {
    // Also @{-1} and heads/NAME.
    for (const std::string& way : {"refs/heads/" + name, name}) {
      LK_ASSIGN(const auto ref, git.try_to_ask({"rev-parse", "--symbolic-full-name", "--verify",
                                                "--quiet", "--end-of-options", way}));
      const std::string text = ref.text.substr(0, ref.text.find('\n'));
      if (ref.status != 0 || !text.starts_with("refs/heads/")) continue;
      refs.push_back(text);
      break;
    }
  }
  return refs;
}

// Commits that nothing else would have.
Result<Doomed> doomed_commits(const git::Reader& git, const Danger& danger) {
  Doomed doomed;
  if (danger.kind == Kind::kAmend) {
    LK_ASSIGN(const auto head, git::commit_named(git, "HEAD"));
    if (head) doomed.emplace_back(*head, "commit " + head->substr(0, 10));
    return doomed;
  }
  LK_ASSIGN(const std::vector<std::string> branches, doomed_branches(git, danger));
  std::vector<std::string> kept;
  for (const std::string& branch : branches) kept.push_back("--exclude=" + branch);
  kept.emplace_back("--glob=refs/*");
  const std::string start = danger.kept_by.empty() ? "HEAD" : danger.kept_by;
  LK_ASSIGN(const auto from, git.try_to_ask({"rev-parse", "--verify", "--quiet", "--end-of-options",
                                             start + "^{commit}"}));
  if (from.status == 0) kept.push_back(from.text.substr(0, from.text.find('\n')));
  for (const std::string& branch : branches) {
    std::vector<std::string> words{"rev-list", "--max-count=" + std::to_string(kLostMax), branch,
                                   "--not"};
    words.insert(words.end(), kept.begin(), kept.end());
    LK_ASSIGN(const auto lost, git.try_to_ask(words));
    const std::string name = branch.substr(std::string_view("refs/heads/").size());
    for (std::string& commit : words_in(lost.text, "\n")) {
      doomed.emplace_back(std::move(commit), "branch " + name);
    }
  }
  return doomed;
}

// Who else is at work in a worktree that has one of the branches?
Result<std::vector<Affected>> affected_by_push(Others& others, const Danger& danger) {
  std::vector<Affected> affected;
  const git::Reader* const git = others.reader();
  if (git == nullptr) return affected;
  const std::string& here = others.place().worktree();
  LK_ASSIGN(const auto trees, git::worktrees(*git));
  for (const git::Worktree& tree : trees) {
    constexpr std::string_view kHeads = "refs/heads/";
    if (!tree.branch.starts_with(kHeads)) continue;
    const std::string name = tree.branch.substr(kHeads.size());
    const bool named = std::ranges::find(danger.names, name) != danger.names.end();
    const bool own = (danger.names.empty() || danger.names.front() == "HEAD") && tree.path == here;
    if (!named && !own && !danger.whole) continue;
    LK_ASSIGN(const service::LookReply seen, others.place().locks().look(tree.path));
    for (const core::Owner& owner : service::working_in(seen)) {
      const Affected one{"branch " + name, owner};
      const bool known = std::ranges::find(affected, one) != affected.end();
      if (!known && !others.is_mine(owner)) affected.push_back(one);
    }
  }
  return affected;
}

}  // namespace

void note_git_work(Session& session, Place& place, core::ReportRequest& report) {
  const auto own = place.locks().own_calls();
  if (!own || own->empty() || is_another_busy(place, place.worktree())) return;
  const std::int64_t since_ms = begun_wall_ms(session, place, *own);
  std::vector<Entry> entries;
  const std::string& common = place.realm().common_dir;
  const std::string objects = realm::join_path(common, "objects");
  // A command may go to another worktree, and all of them have one stash.
  bool alone = true;
  for (const git::HeadFolder& each : git::head_folders(common)) {
    const bool others = is_another_busy(place, each.worktree);
    alone = alone && !others;
    if (others) continue;
    add_entries(realm::join_path(each.own_git_folder, "logs/HEAD"), objects, since_ms,
                service::kMadeCommit, entries);
  }
  if (alone) {
    add_entries(git::stash_log(common), objects, since_ms, service::kMadeStash, entries);
  }
  if (entries.empty()) return;
  // Somebody else's of the same second is noted already.
  const auto made = service::makers(place.locks(), session.now().wall_ms);
  for (Entry& entry : entries) {
    if (made && made->contains(entry.commit)) continue;
    report.notes.push_back({std::string(entry.what), {std::move(entry.commit)}, {}, "command"});
  }
}

bool is_about_history(Kind kind) {
  return kind == Kind::kAmend || kind == Kind::kDeleteBranch || kind == Kind::kPushOver ||
         is_about_stashes(kind);
}

bool is_about_stashes(Kind kind) {
  return kind == Kind::kDropStash || kind == Kind::kTakeStash;
}

bool stashes_anything(Others& others, const Danger& danger, const Area& area) {
  const git::Reader* const git = others.reader();
  const auto changed =
      git == nullptr ? Result<std::vector<git::ChangedPath>>() : git::all_changed_paths(*git);
  return changed && std::ranges::any_of(*changed, [&](const git::ChangedPath& one) {
           return area.contains(one.path) && (danger.untracked || !one.untracked());
         });
}

std::vector<std::string> own_stashes(Others& others) {
  Place& place = others.place();
  std::vector<std::string> own;
  const auto made = service::makers(place.locks(), place.site().now().wall_ms);
  if (!made) return own;
  for (const auto& [id, name] : all_stashes(place)) {
    const auto maker = made->find(id);
    if (maker != made->end() && others.is_mine(maker->second)) own.push_back(name);
  }
  return own;
}

Result<std::vector<Affected>> affected_history(Others& others, const Danger& danger) {
  if (danger.kind == Kind::kPushOver) return affected_by_push(others, danger);
  std::vector<Affected> affected;
  Place& place = others.place();
  LK_ASSIGN(const auto made, service::makers(place.locks(), place.site().now().wall_ms));
  const bool others_made =
      std::ranges::any_of(made, [&](const auto& entry) { return !others.is_mine(entry.second); });
  if (!others_made) return affected;
  Doomed doomed;
  if (is_about_stashes(danger.kind)) {
    doomed = doomed_stashes(place, danger);
  } else if (const git::Reader* const git = others.reader()) {
    LK_ASSIGN(doomed, doomed_commits(*git, danger));
  }
  for (const auto& [id, name] : doomed) {
    const auto maker = made.find(id);
    if (maker == made.end() || others.is_mine(maker->second)) continue;
    const Affected one{name, maker->second};
    if (std::ranges::find(affected, one) == affected.end()) affected.push_back(one);
  }
  return affected;
}

}  // namespace lockkeeper::enforce::hook
