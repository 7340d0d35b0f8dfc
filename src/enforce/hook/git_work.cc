#include "enforce/hook/git_work.h"

#include <sys/stat.h>

#include <algorithm>

#include "base/parse.h"
#include "base/text.h"
#include "git/ref_log.h"
#include "git/state.h"
#include "realm/disk_path.h"

namespace lockkeeper::enforce::hook {
namespace {

using shell::Danger;
using shell::Kind;

constexpr std::size_t kNotedMax = 20;     // of one command
constexpr std::size_t kLostMax = 1000;    // commits of one branch
constexpr std::int64_t kFileTimeMs = 10;  // by which a file's time may lag behind the clock
constexpr std::string_view kCommitted = "committed";
constexpr std::string_view kStashed = "stashed";

// By id, who made it.
Result<std::map<std::string, core::Owner>> makers(Place& place, std::int64_t now_wall_ms) {
  service::LogCommand command;
  command.since_wall_ms = now_wall_ms - core::kTraceKeptMs;
  LK_ASSIGN(const std::vector<core::Event> events, place.locks().log(command));
  std::map<std::string, core::Owner> made;
  for (const core::Event& event : events) {
    const bool ours = event.what == kCommitted || event.what == kStashed;
    // The first who was seen with it.
    if (ours && !event.resources.empty()) made.try_emplace(event.resources.front(), event.owner);
  }
  return made;
}

struct Entry {
  std::string_view what;
  std::string commit;
};

// Logs have seconds; the file of a new commit tells more. One in a pack is not new.
bool is_older(const std::string& objects, const std::string& commit, std::int64_t than_ms) {
  struct stat info{};
  if (commit.size() < 3) return false;
  const std::string file = objects + "/" + commit.substr(0, 2) + "/" + commit.substr(2);
  if (::stat(file.c_str(), &info) != 0) return false;
  const std::int64_t made_ms =
      std::int64_t{info.st_mtim.tv_sec} * 1000 + info.st_mtim.tv_nsec / 1'000'000;
  return made_ms + kFileTimeMs < than_ms;
}

void add_entries(const std::string& log, const std::string& objects, std::int64_t since_ms,
                 std::string_view what, std::vector<Entry>& to) {
  std::size_t added = 0;
  for (git::LogEntry& entry : git::newest_log_entries(log)) {
    const bool makes = what == kStashed || entry.words.starts_with("commit") ||
                       entry.words.starts_with("cherry-pick") || entry.words.starts_with("revert");
    if (!makes || entry.at_s < since_ms / 1000) continue;
    if (is_older(objects, entry.commit, since_ms) || ++added > kNotedMax) continue;
    to.push_back({what, std::move(entry.commit)});
  }
}

// What the command is about: by id, how it is called.
using Doomed = std::vector<std::pair<std::string, std::string>>;

Doomed doomed_stashes(Place& place, const Danger& danger) {
  std::vector<git::LogEntry> entries =
      git::newest_log_entries(git::stash_log(place.realm().common_dir));
  std::ranges::reverse(entries);
  std::vector<std::size_t> numbers;
  for (const std::string& name : danger.names) {
    const std::size_t begin = name.starts_with("stash@{") ? 7 : 0;
    const std::string digits = name.substr(begin, name.find('}', begin) - begin);
    numbers.push_back(number_in<std::size_t>(digits).value_or(0));
  }
  if (numbers.empty()) numbers.push_back(0);
  Doomed doomed;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const bool meant = danger.whole || std::ranges::find(numbers, i) != numbers.end();
    if (meant) doomed.emplace_back(entries[i].commit, "stash@{" + std::to_string(i) + "}");
  }
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

}  // namespace

void note_git_work(Session& session, Place& place, core::ReportRequest& report) {
  const auto own = place.locks().own_calls();
  const auto seen = place.locks().look(place.worktree());
  const auto folder = git::own_git_folder(place.worktree());
  if (!own || !seen || !folder || own->empty() || !seen->busy.empty()) return;
  const Now now = session.now();
  std::int64_t begun_mono_ms = now.mono_ms;
  for (const core::RunningCall& call : *own) {
    begun_mono_ms = std::min(begun_mono_ms, call.begun_mono_ms);
  }
  const std::int64_t since_ms = now.wall_ms - (now.mono_ms - begun_mono_ms);
  std::vector<Entry> entries;
  const std::string& common = place.realm().common_dir;
  const std::string objects = realm::join_path(common, "objects");
  add_entries(realm::join_path(*folder, "logs/HEAD"), objects, since_ms, kCommitted, entries);
  add_entries(git::stash_log(common), objects, since_ms, kStashed, entries);
  if (entries.empty()) return;
  // Somebody else's of the same second is noted already.
  const auto made = makers(place, now.wall_ms);
  for (Entry& entry : entries) {
    if (made && made->contains(entry.commit)) continue;
    report.notes.push_back({std::string(entry.what), {std::move(entry.commit)}, {}, "command"});
  }
}

bool is_about_history(Kind kind) {
  return kind == Kind::kAmend || kind == Kind::kDropStash || kind == Kind::kDeleteBranch;
}

Result<std::vector<Affected>> affected_history(Others& others, const Danger& danger) {
  std::vector<Affected> affected;
  Place& place = others.place();
  LK_ASSIGN(const auto made, makers(place, place.site().now().wall_ms));
  const bool others_made =
      std::ranges::any_of(made, [&](const auto& entry) { return !others.is_mine(entry.second); });
  if (!others_made) return affected;
  Doomed doomed;
  if (danger.kind == Kind::kDropStash) {
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
