#include "enforce/hook/area.h"

#include <dirent.h>
#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>

#include "base/parse.h"
#include "base/text.h"
#include "git/reader.h"
#include "git/state.h"
#include "realm/disk_path.h"
#include "realm/hook_settings.h"

namespace lockkeeper::enforce::hook {
namespace {

using shell::Danger;
using shell::Kind;
using Scope = Danger::Scope;

// Of a repository. Its other files can be made again.
constexpr auto kHistory = std::to_array<std::string_view>(
    {".git/objects", ".git/refs", ".git/packed-refs", ".git/HEAD", ".git/index", ".git/worktrees"});
constexpr std::string_view kGit = ".git";
constexpr std::size_t kEntriesMax = 20'000;  // of the folders that are looked through

bool is_wild(std::string_view text) {
  return text.find_first_of("*?") != std::string_view::npos;
}

std::string absolute_of(const std::string& folder, const std::string& path) {
  if (path.empty()) return folder;
  return path.starts_with('/') ? path : realm::join_path(folder, path);
}

// Symlinks on the way are followed, as the kernel does; what does not exist is kept as written.
Result<std::string> physical(const std::string& absolute) {
  LK_ASSIGN(const realm::DiskPath found, realm::walk_disk("/", absolute, realm::Patterns::kNone));
  return found.path;
}

// The path below the root, "" for the root itself; nullopt: it is not below it.
std::optional<std::string> below_root(const std::string& root, const std::string& path) {
  if (path == root) return std::string();
  if (root == "/") return path.substr(1);
  if (!path.starts_with(root + "/")) return std::nullopt;
  return path.substr(root.size() + 1);
}

// A path is a folder and what follows it: a name that is removed as it is, or a pattern.
struct Parted {
  std::string folder;  // physical
  std::string rest;
};

Result<Parted> parted(const std::string& absolute, bool pattern) {
  std::string folder = "/";
  std::string rest;
  const std::vector<std::string> names = words_in(absolute, "/");
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool dots = names[i] == "." || names[i] == "..";
    const bool last = i + 1 == names.size() && !dots && !absolute.ends_with('/');
    if (!rest.empty() || last || (pattern && is_wild(names[i]))) {
      rest += (rest.empty() ? "" : "/") + names[i];
    } else {
      folder = realm::join_path(folder, names[i]);
    }
  }
  Parted result;
  LK_ASSIGN(result.folder, physical(folder));
  result.rest = rest;
  return result;
}

// An empty path is the worktree itself.
void add_area(std::vector<Area>& areas, Place* place, shell::Path inside) {
  const std::string& path = inside.text;
  if (!path.empty() && realm::hook_ignores(place->settings(), path + "/")) return;
  auto area = std::ranges::find(areas, place, &Area::place);
  if (area == areas.end()) area = areas.insert(areas.end(), Area{.place = place});
  if (path.empty()) {
    area->all = true;
  } else {
    area->paths.push_back(std::move(inside));
  }
}

bool is_there(const std::string& path) {
  struct stat info{};
  return ::lstat(path.c_str(), &info) == 0;
}

// Is there anything that the shell would put in its place? If not, git sees the pattern itself.
bool finds_names(const std::string& folder, const std::string& pattern) {
  std::string whole;
  for (const char c : folder) {
    if (std::string_view("*?[\\").find(c) != std::string_view::npos) whole += '\\';
    whole += c;
  }
  glob_t found{};
  const int status = ::glob((whole + "/" + pattern).c_str(), GLOB_NOSORT, nullptr, &found);
  ::globfree(&found);
  return status == 0;
}

// The repositories and worktrees below a folder, as far as one can look in a moment.
std::vector<std::string> repositories_below(const std::string& top) {
  std::vector<std::string> found;
  std::deque<std::string> folders{top};
  for (std::size_t seen = 0; !folders.empty() && seen < kEntriesMax; folders.pop_front()) {
    const std::string folder = folders.front();
    const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()), ::closedir);
    const dirent* entry = nullptr;
    while (open && seen++ < kEntriesMax && (entry = ::readdir(open.get())) != nullptr) {
      const std::string name = entry->d_name;
      if (name == "." || name == "..") continue;
      if (name == ".git") {
        if (folder != top) found.push_back(folder);
      } else if (entry->d_type == DT_DIR) {
        folders.push_back(realm::join_path(folder, name));
      }
    }
  }
  return found;
}

Result<std::vector<git::Worktree>> worktrees_of(const Place& place) {
  LK_ASSIGN(const git::Reader reader, git::Reader::open(place.worktree(), {.reads_files = false}));
  return git::worktrees(reader);
}

// Worktrees and repositories within the paths: they go with the folder that they are in.
// `sure`: these paths are meant. One of somebody else's that cannot be read is then an error.
Result<void> add_contained(Session& session, const std::string& folder, const shell::Path& below,
                           std::vector<Area>& areas, bool sure = true) {
  std::string top = folder;
  const bool whole = below.text.empty();
  if (!whole && !below.pattern) top = realm::join_path(folder, below.text);
  std::vector<std::string> inside = repositories_below(top);
  LK_ASSIGN(Place* const place, session.place_at(folder));
  // A worktree of this repository is found wherever it is.
  if (place != nullptr && place->realm().in_git &&
      is_there(place->realm().common_dir + "/worktrees")) {
    LK_ASSIGN(const std::vector<git::Worktree> trees, worktrees_of(*place));
    for (const git::Worktree& tree : trees) {
      if (tree.path != top) inside.push_back(tree.path);
    }
  }
  for (const std::string& each : inside) {
    const auto path = below_root(folder, each);
    if (!path || path->empty() || (!whole && !shell::is_below(*path, below))) continue;
    const auto other = session.place_at(each);
    if (!other && sure) return fail(other.error());
    if (!other || *other == nullptr || (*other)->worktree() != each) continue;
    const bool known = std::ranges::find(areas, *other, &Area::place) != areas.end();
    add_area(areas, *other, {});
    const auto area = std::ranges::find(areas, *other, &Area::place);
    area->removed = true;
    area->perhaps = !sure && (!known || area->perhaps);
  }
  return {};
}

// A path of a command of git, from the worktree's top. `here`: the folder, from there. Nullopt: it
// is not in the worktree.
Result<std::optional<shell::Path>> inside_worktree(const Place& place, const std::string& here,
                                                   const shell::Path& path) {
  std::string text = path.from_top ? path.text : here + "/" + path.text;
  if (path.text.starts_with('/')) {
    LK_ASSIGN(const Parted parts, parted(path.text, path.pattern));
    LK_ASSIGN(const std::string itself, physical(path.text));
    const auto inside = below_root(place.worktree(), parts.folder);
    const auto root = below_root(parts.folder, place.worktree());
    const shell::Path last{parts.rest, path.pattern, path.by_shell};
    const bool whole = (!path.pattern && itself == place.worktree()) ||
                       (root && !root->empty() && shell::is_below(*root, last));
    if (!inside && !whole) return std::nullopt;
    text = whole ? std::string() : *inside + "/" + parts.rest;
  }
  const auto clean = clean_path(text);
  if (!clean) return std::nullopt;
  shell::Path inside{*clean, path.pattern, path.by_shell};
  if (inside.by_shell) inside.by_shell = finds_names(place.worktree(), *clean);
  return inside;
}

// Of a command of git in a folder that only the shell knows: it may be any of any worktree.
Result<std::vector<Area>> areas_anywhere(Session& session, Place& home, const Danger& danger) {
  std::vector<Place*> places{&home};
  if (is_there(home.realm().common_dir + "/worktrees")) {
    LK_ASSIGN(const std::vector<git::Worktree> trees, worktrees_of(home));
    for (const git::Worktree& tree : trees) {
      const auto place = session.place_at(tree.path);
      const bool another = place && *place != nullptr && *place != &home;
      if (another && (*place)->worktree() == tree.path) places.push_back(*place);
    }
  }
  std::vector<Area> areas;
  for (Place* const place : places) {
    bool all = danger.scope != Scope::kPaths || danger.paths_unknown;
    for (const shell::Path& path : danger.paths) {
      const bool named = !path.text.starts_with('/') && clean_path(path.text).value_or("") != "";
      all = all || (!named && !path.text.starts_with('/'));
      if (named) {
        add_area(areas, place, path);
        add_area(areas, place, {.text = "*/" + path.text, .pattern = true});
        continue;
      }
      LK_ASSIGN(auto inside, inside_worktree(*place, "", path));
      if (inside) add_area(areas, place, std::move(*inside));
    }
    if (all) add_area(areas, place, {});
  }
  return areas;
}

// Of a command of git, which never looks behind symlinks.
Result<std::vector<Area>> git_areas(Session& session, const Danger& danger) {
  std::vector<Area> areas;
  LK_ASSIGN(const std::string folder,
            physical(absolute_of(session.folder(), danger.folder.known ? danger.folder.path : "")));
  LK_ASSIGN(Place* const place, session.place_at(folder));
  if (place == nullptr || !place->realm().in_git || place->realm().bare) return areas;
  if (!danger.folder.known) return areas_anywhere(session, *place, danger);
  const std::optional<std::string> here = below_root(place->worktree(), folder);
  if (!here || danger.scope == Scope::kWorktree) {
    if (danger.repositories) LK_CHECK(add_contained(session, place->worktree(), {}, areas));
    add_area(areas, place, {});
  }
  if (!here) return areas;
  if (danger.scope == Scope::kFolder) {
    add_area(areas, place, {*here});
    if (danger.repositories) LK_CHECK(add_contained(session, folder, {}, areas));
  }
  for (const shell::Path& path : danger.paths) {
    if (danger.scope == Scope::kWorktree) break;
    LK_ASSIGN(auto inside, inside_worktree(*place, *here, path));
    if (!inside) continue;
    if (danger.repositories) LK_CHECK(add_contained(session, place->worktree(), *inside, areas));
    add_area(areas, place, std::move(*inside));
  }
  const auto area = std::ranges::find(areas, place, &Area::place);
  for (const shell::Path& path : danger.excluded) {
    LK_ASSIGN(auto inside, inside_worktree(*place, *here, path));
    if (inside && area != areas.end()) area->excluded.push_back(std::move(*inside));
  }
  return areas;
}

// Does the path take git's own files of that repository along? `from`: the folder that the path is
// relative to.
bool takes_history(const std::string& common_dir, const std::string& from,
                   const shell::Path& below) {
  return std::ranges::any_of(kHistory, [&](std::string_view name) {
    const auto path = below_root(from, common_dir + std::string(name.substr(kGit.size())));
    return path && (below.text.empty() || shell::is_below(*path, below));
  });
}

// All worktrees of a repository have their history, the lock table and what was kept in one folder.
Result<void> add_worktrees(Session& session, Place& place, std::vector<Area>& areas) {
  LK_ASSIGN(const std::vector<git::Worktree> trees, worktrees_of(place));
  for (const git::Worktree& tree : trees) {
    const auto other = session.place_at(tree.path);
    const bool there = other && *other != nullptr && (*other)->worktree() == tree.path;
    if (!there) continue;
    add_area(areas, *other, {});
    std::ranges::find(areas, *other, &Area::place)->removed = true;
  }
  return {};
}

// Of rm, which may name any path: a worktree, a part of one, or a folder that contains one.
Result<std::vector<Area>> rm_areas(Session& session, const Danger& danger) {
  std::vector<Area> areas;
  LK_ASSIGN(Place* const home, session.home());
  std::vector<shell::Path> paths = danger.paths;
  if (danger.scope != Scope::kPaths) paths.push_back({".", false});
  for (const shell::Path& path : paths) {
    if (!danger.folder.known && !path.text.starts_with('/')) continue;
    const std::string folder = absolute_of(session.folder(), danger.folder.path);
    LK_ASSIGN(const Parted parts, parted(absolute_of(folder, path.text), path.pattern));
    const std::string whole =
        parts.rest.empty() ? parts.folder : realm::join_path(parts.folder, parts.rest);
    shell::Path below{parts.rest, path.pattern, path.by_shell};
    LK_CHECK(add_contained(session, parts.folder, below, areas, path.by_shell || !path.pattern));
    const auto home_below =
        home == nullptr ? std::nullopt : below_root(parts.folder, home->worktree());
    const bool takes_home =
        home_below &&
        (parts.rest.empty() || (!home_below->empty() && shell::is_below(*home_below, below)));
    LK_ASSIGN(Place* const place, session.place_at(path.pattern ? parts.folder : whole));
    std::vector<Place*> repositories{home, place};
    for (const Area& area : areas) repositories.push_back(area.place);
    for (Place* const each : repositories) {
      const bool git = each != nullptr && each->realm().in_git && !each->realm().bare;
      if (git && takes_history(each->realm().common_dir, parts.folder, below)) {
        LK_CHECK(add_worktrees(session, *each, areas));
      }
    }
    if (takes_home) {
      add_area(areas, home, {});
      continue;
    }
    const auto inside = place == nullptr ? std::nullopt : below_root(place->worktree(), whole);
    if (!inside) continue;
    below.text = *inside;
    // Without git's own files nothing is left of what was not committed, or of what was.
    const bool history = std::ranges::any_of(
        kHistory, [&](std::string_view name) { return shell::is_below(name, below); });
    add_area(areas, place, history ? shell::Path{} : std::move(below));
  }
  return areas;
}

// Of `git worktree remove`, which takes a path, or the end of one.
Result<std::vector<Area>> worktree_areas(Session& session, const Danger& danger) {
  std::vector<Area> areas;
  const std::string folder =
      absolute_of(session.folder(), danger.folder.known ? danger.folder.path : "");
  const std::string name = danger.names.empty() ? std::string() : danger.names.front();
  LK_ASSIGN(const std::string named, physical(absolute_of(folder, name)));
  LK_ASSIGN(Place* const here, session.place_at(folder));
  if (here == nullptr || !here->realm().in_git) return areas;
  LK_ASSIGN(const std::vector<git::Worktree> trees, worktrees_of(*here));
  for (const git::Worktree& tree : trees) {
    // Any of them, if only the shell knows which; never the main one.
    const bool meant = name.empty() ? &tree != &trees.front()
                                    : tree.path == named || tree.path.ends_with("/" + name);
    if (!meant) continue;
    LK_ASSIGN(Place* const place, session.place_at(tree.path));
    if (place != nullptr) add_area(areas, place, {});
  }
  return areas;
}

}  // namespace

bool Area::contains(std::string_view path) const {
  const auto is_in = [&](const shell::Path& each) { return shell::is_below(path, each); };
  return (all || std::ranges::any_of(paths, is_in)) && std::ranges::none_of(excluded, is_in);
}

std::optional<std::string> clean_path(std::string_view path) {
  std::vector<std::string> kept;
  for (const std::string& name : words_in(path, "/")) {
    if (name == ".") continue;
    if (name != "..") {
      kept.push_back(name);
      continue;
    }
    if (kept.empty()) return std::nullopt;
    kept.pop_back();
  }
  return join(kept, "/");
}

Result<std::vector<Area>> areas_of(Session& session, const Danger& danger) {
  if (danger.kind == Kind::kRemoveWorktree) return worktree_areas(session, danger);
  // `git rm` is one of git's.
  const bool plain = danger.kind == Kind::kRemove && danger.ignored;
  return plain ? rm_areas(session, danger) : git_areas(session, danger);
}

}  // namespace lockkeeper::enforce::hook
