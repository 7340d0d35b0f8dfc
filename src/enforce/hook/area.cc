#include "enforce/hook/area.h"

#include <algorithm>

#include "base/parse.h"
#include "git/reader.h"
#include "git/state.h"
#include "realm/disk_path.h"
#include "realm/hook_settings.h"

namespace lockkeeper::enforce::hook {
namespace {

using shell::Danger;
using shell::Kind;
using Scope = Danger::Scope;

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
void add_area(std::vector<Area>& areas, Place* place, std::string path, bool pattern) {
  if (!path.empty() && realm::hook_ignores(place->settings(), path + "/")) return;
  auto area = std::ranges::find(areas, place, &Area::place);
  if (area == areas.end()) area = areas.insert(areas.end(), Area{.place = place});
  if (path.empty()) {
    area->all = true;
  } else {
    area->paths.push_back({std::move(path), pattern});
  }
}

// Of a command of git, which never looks behind symlinks.
Result<std::vector<Area>> git_areas(Session& session, const Danger& danger) {
  std::vector<Area> areas;
  LK_ASSIGN(const std::string folder,
            physical(absolute_of(session.folder(), danger.folder.known ? danger.folder.path : "")));
  LK_ASSIGN(Place* const place, session.place_at(folder));
  if (place == nullptr || !place->realm().in_git || place->realm().bare) return areas;
  const std::optional<std::string> here = below_root(place->worktree(), folder);
  if (!here || !danger.folder.known || danger.scope == Scope::kWorktree) {
    add_area(areas, place, "", false);
    return areas;
  }
  if (danger.scope == Scope::kFolder) add_area(areas, place, *here, false);
  for (const shell::Path& path : danger.paths) {
    std::string text = *here + "/" + path.text;
    if (path.text.starts_with('/')) {
      LK_ASSIGN(const Parted parts, parted(path.text, path.pattern));
      const auto inside = below_root(place->worktree(), parts.folder);
      if (!inside) continue;
      text = *inside + "/" + parts.rest;
    }
    const auto clean = clean_path(text);
    if (clean) add_area(areas, place, *clean, path.pattern);
  }
  return areas;
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
    const auto home_below =
        home == nullptr ? std::nullopt : below_root(parts.folder, home->worktree());
    const bool takes_home =
        home_below &&
        (parts.rest.empty() ||
         (!home_below->empty() && shell::is_below(*home_below, {parts.rest, path.pattern})));
    if (takes_home) {
      add_area(areas, home, "", false);
      continue;
    }
    LK_ASSIGN(Place* const place, session.place_at(path.pattern ? parts.folder : whole));
    const auto inside = place == nullptr ? std::nullopt : below_root(place->worktree(), whole);
    if (inside) add_area(areas, place, *inside, path.pattern);
  }
  return areas;
}

// Of `git worktree remove`, which takes a path, or the end of one.
Result<std::vector<Area>> worktree_areas(Session& session, const Danger& danger) {
  std::vector<Area> areas;
  if (danger.names.empty()) return areas;
  const std::string folder =
      absolute_of(session.folder(), danger.folder.known ? danger.folder.path : "");
  LK_ASSIGN(const std::string named, physical(absolute_of(folder, danger.names.front())));
  LK_ASSIGN(Place* const here, session.place_at(folder));
  if (here == nullptr || !here->realm().in_git) return areas;
  LK_ASSIGN(const git::Reader reader, git::Reader::open(here->worktree(), {.reads_files = false}));
  LK_ASSIGN(const std::vector<git::Worktree> trees, git::worktrees(reader));
  for (const git::Worktree& tree : trees) {
    const bool meant = tree.path == named || tree.path.ends_with("/" + danger.names.front());
    if (!meant) continue;
    LK_ASSIGN(Place* const place, session.place_at(tree.path));
    if (place != nullptr) add_area(areas, place, "", false);
  }
  return areas;
}

}  // namespace

bool Area::contains(std::string_view path) const {
  return all || std::ranges::any_of(
                    paths, [&](const shell::Path& each) { return shell::is_below(path, each); });
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
