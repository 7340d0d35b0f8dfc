#include "enforce/hook/judge.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "base/text.h"
#include "enforce/hook/git_work.h"
#include "enforce/hook/judge_words.h"
#include "enforce/hook/keeping.h"
#include "enforce/hook/others.h"
#include "enforce/hook/words.h"
#include "git/state.h"
#include "realm/disk_path.h"
#include "realm/hook_settings.h"
#include "service/messages.h"

namespace lockkeeper::enforce::hook {
namespace {

using realm::HookPolicy;
using shell::Danger;
using shell::Kind;

constexpr std::size_t kNotesMax = 100;  // of one command
constexpr std::size_t kAliasDepthMax = 4;

// One command, and what it would do to others in one worktree.
struct Case {
  const Danger* danger = nullptr;
  Others* others = nullptr;
  std::vector<Affected> affected = {};
  std::vector<std::string> own = {};  // what the asker could name instead
  HookPolicy policy = HookPolicy::kWait;
};

class Judge {
 public:
  explicit Judge(Session& session) : session_(session) {}

  Answer judge(shell::Found found);

 private:
  Result<void> resolve_aliases(shell::Found& found, std::size_t depth);
  Result<void> consider(const Danger& danger);
  Result<void> consider_in(const Danger& danger, const Area& area);
  Result<Others*> others_in(Place& place);
  Danger without_single_files(Danger danger);
  Result<Danger> as_file_or_branch(Danger danger);
  Result<bool> is_known_file(const Danger& as_file);
  static bool is_on_it(Others& others, const Danger& danger);
  bool is_folder(const shell::Folder& folder, const std::string& path, bool or_file) const;
  void keep(const Danger& danger, Others& others, const Area& area, std::vector<Affected> affected);
  static bool is_autostash_on(Others& others);
  Answer verdict(bool unknown, const std::string& unclear);
  void keep_affected(const Case& one);
  void record(const Case& one, const std::string& what);
  Answer failed(const Error& error);

  Session& session_;
  std::map<Place*, std::unique_ptr<Others>> others_;
  std::vector<std::unique_ptr<Danger>> dangers_;  // that the cases are about
  std::vector<Affected> under_new_branch_;        // whose HEAD gets another name
  std::vector<Case> cases_;
  bool somebody_ = false;  // else has something where the commands run
  bool unsure_ = false;    // a repository that may be meant could not be read
};

// Null: there is no table, so nobody has anything.
Result<Others*> Judge::others_in(Place& place) {
  const auto known = others_.find(&place);
  if (known != others_.end()) return known->second.get();
  if (!place.has_table()) return nullptr;
  auto others = std::make_unique<Others>(session_, place);
  LK_CHECK(others->look());
  somebody_ = somebody_ || others->anybody();
  return others_.emplace(&place, std::move(others)).first->second.get();
}

bool Judge::is_folder(const shell::Folder& folder, const std::string& path, bool or_file) const {
  const shell::Folder named = shell::folder_below(folder, path);
  if (!named.known) return true;
  const std::string absolute =
      named.path.starts_with('/') ? named.path : realm::join_path(session_.folder(), named.path);
  struct stat info{};
  return ::lstat(absolute.c_str(), &info) == 0 && (or_file || S_ISDIR(info.st_mode));
}

// Whoever adds or commits a file by its name means that file.
Danger Judge::without_single_files(Danger danger) {
  const bool takes = danger.kind == Kind::kStage || danger.kind == Kind::kCommitAll;
  if (!takes) return danger;
  // Where only the shell knows the folder, the usual ones have to do: the commit guard looks again.
  const bool sure = danger.folder.known;
  const shell::Folder from = sure ? danger.folder : shell::Folder{session_.folder()};
  const auto place = session_.place_at(shell::folder_below({session_.folder()}, from.path).path);
  const bool known = place && *place != nullptr;
  const shell::Folder top{known ? (*place)->worktree() : std::string(), known};
  std::erase_if(danger.paths, [&](const shell::Path& path) {
    if (path.pattern) return false;
    const bool at_top = known && is_folder(top, path.text, false);
    if (path.from_top || !sure) {
      return !at_top && (path.from_top || !is_folder(from, path.text, false));
    }
    return !is_folder(from, path.text, false);
  });
  return danger;
}

// A file that was deleted, and no branch: the index still has it.
Result<bool> Judge::is_known_file(const Danger& as_file) {
  LK_ASSIGN(const std::vector<Area> areas, areas_of(session_, as_file));
  if (areas.size() != 1 || areas.front().paths.size() != 1) return false;
  LK_ASSIGN(Others* const others, others_in(*areas.front().place));
  const git::Reader* const git =
      others != nullptr && others->anybody() ? others->reader() : nullptr;
  if (git == nullptr) return false;
  const std::string& path = areas.front().paths.front().text;
  LK_ASSIGN(const auto known, git->try_to_ask({"ls-files", "-z", "--", path}));
  if (known.status != 0 || known.text.empty()) return false;
  LK_ASSIGN(const auto branch, git->try_to_ask({"show-ref", "--verify", "--quiet",
                                                "refs/heads/" + as_file.maybe_file}));
  return branch.status != 0;
}

// `git checkout NAME` restores a file if there is one of that name.
Result<Danger> Judge::as_file_or_branch(Danger danger) {
  const bool either = danger.kind == Kind::kMoveHead || danger.kind == Kind::kDiscard;
  if (!either || danger.maybe_file.empty() || !danger.folder.known) return danger;
  Danger file = danger;
  file.kind = Kind::kDiscard;
  file.scope = Danger::Scope::kPaths;
  file.switches = false;
  file.paths = {{danger.maybe_file}};
  if (is_folder(danger.folder, danger.maybe_file, true)) return file;
  LK_ASSIGN(const bool known, is_known_file(file));
  return known ? file : danger;
}

// `git checkout main` on main changes nothing. `git checkout -b new main` there changes no file.
bool Judge::is_on_it(Others& others, const Danger& danger) {
  const git::Reader* const git = others.reader();
  const bool about_head = danger.kind == Kind::kMoveHead || danger.kind == Kind::kNewBranch;
  if (!about_head || danger.names.empty() || git == nullptr) return false;
  if (danger.creates) {
    const auto here = git->try_to_ask({"rev-parse", "--verify", "--quiet", "HEAD^{commit}"});
    const auto there = git->try_to_ask({"rev-parse", "--verify", "--quiet", "--end-of-options",
                                        danger.names.front() + "^{commit}"});
    return here && there && here->status == 0 && here->text == there->text;
  }
  const auto head = git->try_to_ask({"symbolic-ref", "--quiet", "HEAD"});
  return head && head->status == 0 && head->text == "refs/heads/" + danger.names.front() + "\n";
}

// Git's own names for commands: one question for each, and only where others have something.
Result<void> Judge::resolve_aliases(shell::Found& found, std::size_t depth) {
  for (const shell::Alias& alias : std::exchange(found.aliases, {})) {
    const Danger nowhere{.folder = alias.folder};
    LK_ASSIGN(const std::vector<Area> areas, areas_of(session_, nowhere));
    if (areas.empty()) continue;
    LK_ASSIGN(Others* const others, others_in(*areas.front().place));
    const bool anybody = others != nullptr && others->anybody();
    const git::Reader* const git = anybody ? others->reader() : nullptr;
    if (git == nullptr) continue;
    const auto meaning = git->try_to_ask({"config", "--get", "alias." + alias.name});
    if (!meaning || meaning->status != 0) continue;
    std::string text = meaning->text.substr(0, meaning->text.find_last_not_of('\n') + 1);
    const bool script = text.starts_with('!');
    script ? text.erase(0, 1) : text.insert(0, "git ");
    text += alias.rest;
    shell::Found inner = look_at_command(session_, text);
    // A script runs at the top of the worktree.
    const shell::Folder from = script ? shell::Folder{others->place().worktree()} : alias.folder;
    const auto place = [&](auto& each) {
      if (each.folder.known) each.folder = shell::folder_below(from, each.folder.path);
      each.typed = alias.typed;
    };
    std::ranges::for_each(inner.dangers, place);
    std::ranges::for_each(inner.aliases, place);
    if (depth < kAliasDepthMax) LK_CHECK(resolve_aliases(inner, depth + 1));
    std::ranges::move(inner.dangers, std::back_inserter(found.dangers));
  }
  return {};
}

bool Judge::is_autostash_on(Others& others) {
  const git::Reader* const git = others.reader();
  if (git == nullptr) return true;
  for (const char* const name : {"rebase.autostash", "merge.autostash"}) {
    const auto value = git->try_to_ask({"config", "--type=bool", "--get", name});
    if (value && value->text.starts_with("true")) return true;
  }
  return false;
}

void Judge::keep(const Danger& danger, Others& others, const Area& area,
                 std::vector<Affected> affected) {
  Case one{.danger = &danger, .others = &others};
  one.policy = HookPolicy::kOff;
  const realm::Settings& settings = others.place().settings();
  const key::Rules rules = settings.key_rules(others.place().realm());
  // From the mildest to the strictest.
  constexpr HookPolicy kOrder[] = {HookPolicy::kOff, HookPolicy::kWarn, HookPolicy::kAsk,
                                   HookPolicy::kWait, HookPolicy::kBlock};
  const auto strictness = [&](HookPolicy policy) { return std::ranges::find(kOrder, policy); };
  for (Affected& each : affected) {
    const auto file = key::parse(each.path, rules, key::Syntax::kLiteral);
    const HookPolicy policy =
        file ? realm::hook_policy_for(settings, file->resource) : settings.hook_policy.value;
    if (policy == HookPolicy::kOff) continue;
    if (strictness(policy) > strictness(one.policy)) one.policy = policy;
    one.affected.push_back(std::move(each));
  }
  if (one.affected.empty()) return;
  // Nothing is lost by it.
  if (danger.keeps_stash && one.policy != HookPolicy::kOff) one.policy = HookPolicy::kWarn;
  one.own = is_about_stashes(danger.kind) ? own_stashes(others) : others.own_files(danger, area);
  cases_.push_back(std::move(one));
}

Result<void> Judge::consider_in(const Danger& danger, const Area& area) {
  LK_ASSIGN(Others* const others, others_in(*area.place));
  if (others == nullptr) return {};
  std::vector<Affected> affected;
  if (is_about_history(danger.kind)) {
    LK_ASSIGN(affected, affected_history(*others, danger));
  } else if (others->anybody()) {
    affected = others->affected(danger, area);
  }
  if (affected.empty()) return {};
  if (danger.after_stash && stashes_anything(*others, danger, area)) return {};
  const bool stays = is_on_it(*others, danger);
  const bool renames = danger.kind == Kind::kNewBranch && !danger.names.empty();
  if (renames && !stays) return {};
  if (danger.kind == Kind::kNewBranch || (danger.creates && stays)) {
    under_new_branch_ = std::move(affected);
    return {};
  }
  if (stays || (danger.if_configured && !is_autostash_on(*others))) return {};
  keep(danger, *others, area, std::move(affected));
  return {};
}

Result<void> Judge::consider(const Danger& danger) {
  LK_ASSIGN(Danger judged, as_file_or_branch(without_single_files(danger)));
  dangers_.push_back(std::make_unique<Danger>(std::move(judged)));
  const Danger& meant = *dangers_.back();
  const bool about_nothing = meant.scope == Danger::Scope::kPaths && meant.paths.empty() &&
                             meant.kind != Kind::kRemoveWorktree && !is_about_history(meant.kind);
  if (about_nothing) return {};
  LK_ASSIGN(const std::vector<Area> areas, areas_of(session_, meant));
  for (const Area& area : areas) {
    const auto done = consider_in(meant, area);
    if (!done && !area.perhaps) return done;
    unsure_ = unsure_ || !done;
  }
  return {};
}

// A refused agent may find another way.
void Judge::keep_affected(const Case& one) {
  if (is_about_history(one.danger->kind)) return;
  std::vector<std::string> paths;
  for (const Affected& each : one.affected) paths.push_back(each.path);
  hook::keep(session_, one.others->place(), paths, snapshot::Why::kDestroyed);
}

void Judge::record(const Case& one, const std::string& what) {
  Place& place = one.others->place();
  core::ReportRequest request;
  request.worktree = place.worktree();
  std::vector<core::Owner> owners;
  for (const Affected& each : one.affected) {
    if (request.notes.size() < kNotesMax) {
      request.notes.push_back({what, {each.path}, each.owner, "command"});
    }
    if (std::ranges::find(owners, each.owner) == owners.end()) owners.push_back(each.owner);
  }
  static_cast<void>(place.locks().report(request));
  keep_affected(one);
  if (what != "warned") return;
  for (const core::Owner& owner : owners) {
    service::SendCommand send;
    send.to = owner;
    send.type = "alert";
    send.text = warned_message(*one.danger, one.affected, owner);
    static_cast<void>(service::Messages(place.site(), session_.owner()).send(send));
  }
}

Answer Judge::verdict(bool unknown, const std::string& unclear) {
  const auto has = [&](auto&& policies) {
    return std::ranges::any_of(cases_, [&](const Case& one) { return policies(one.policy); });
  };
  const bool refuses =
      has([](HookPolicy p) { return p == HookPolicy::kBlock || p == HookPolicy::kWait; });
  const bool asks = !refuses && has([](HookPolicy p) { return p == HookPolicy::kAsk; });
  const std::string what = refuses ? "refused" : asks ? "asked" : "warned";
  Lines lines;
  for (const Case& one : cases_) {
    record(one, what);
    const std::string& top = one.others->place().worktree();
    const std::string& here = session_.folder();
    const bool at_top = here == top || here == top + "/";
    const auto own_git = git::own_git_folder(top);
    const bool midway = own_git && git::current_operation(*own_git) != git::Operation::kNone;
    lines.add(danger_words(*one.danger, one.affected,
                           {one.own, at_top ? std::string() : top, midway}, session_.owner()));
  }
  if (refuses) return {Verdict::kRefuse, lines.text() + "\n" + std::string(kCommandNotRun)};
  if (asks) return {Verdict::kAsk, lines.text()};
  const bool by_policy =
      std::ranges::any_of(cases_, [](const Case& one) { return !one.danger->keeps_stash; });
  if (!cases_.empty()) lines.add(std::string(by_policy ? kCommandWarned : kStashTaken));
  if (!under_new_branch_.empty()) {
    lines.add(new_branch_words(under_new_branch_, session_.owner()));
  }
  if (somebody_ && cases_.empty() && unknown) lines.add(cannot_tell_words(unclear));
  return {.tell = lines.text()};
}

Answer Judge::failed(const Error& error) {
  const auto home = session_.home();
  const bool passes = home && *home != nullptr && !(*home)->blocks_after(error);
  const std::string words = command_failed_words(error);
  if (passes) return {.tell = words};
  return {Verdict::kRefuse, words};
}

Answer Judge::judge(shell::Found found) {
  const auto home = session_.home();
  if (!home) return found.dangers.empty() ? Answer{} : failed(home.error());
  // An alias that cannot be looked up is not known to be destructive.
  static_cast<void>(resolve_aliases(found, 0));
  for (const Danger& danger : found.dangers) {
    const auto considered = consider(danger);
    if (!considered) return failed(considered.error());
  }
  // Any branch and any worktree are judged. Only rm may well mean something else.
  const auto elsewhere = [](const Danger& danger) {
    return danger.paths_unknown && danger.kind == Kind::kRemove;
  };
  const bool unknown =
      unsure_ || !found.unclear.empty() || std::ranges::any_of(found.dangers, elsewhere);
  // Whether anybody is there at all.
  if (unknown && *home != nullptr) static_cast<void>(others_in(**home));
  return verdict(unknown, found.unclear);
}

}  // namespace

shell::Found look_at_command(const Session& session, std::string_view command) {
  const realm::Environment& env = session.world().runtime->env;
  shell::Surroundings around;
  around.variables = [&](std::string_view name) -> std::optional<std::string> {
    if (name == "PWD") return session.folder();
    if (name != "HOME" && name != "TMPDIR" && name != "CLAUDE_PROJECT_DIR") return std::nullopt;
    return realm::variable(env, std::string(name).c_str());
  };
  around.exists = [&](const std::string& path) {
    struct stat info{};
    const std::string whole =
        path.starts_with('/') ? path : realm::join_path(session.folder(), path);
    return ::stat(whole.c_str(), &info) == 0;
  };
  around.top = [&](const std::string& path) -> std::optional<std::string> {
    const std::string whole =
        path.starts_with('/') ? path : realm::join_path(session.folder(), path);
    const auto realm = realm::realm_of(whole, env);
    if (!realm || !realm->in_git || realm->bare) return std::nullopt;
    return realm->root;
  };
  return shell::look_at_script(command, around);
}

Answer judge(Session& session, shell::Found found) {
  if (found.empty()) return {};
  return Judge(session).judge(std::move(found));
}

}  // namespace lockkeeper::enforce::hook
