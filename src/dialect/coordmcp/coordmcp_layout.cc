// Reading CoordMCP's store. Writing is in coordmcp_layout_write.cc.
#include "dialect/coordmcp/coordmcp_layout.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/parse.h"
#include "base/text.h"
#include "key/path.h"
#include "realm/disk_path.h"

namespace lockkeeper::dialect::coordmcp {
namespace {

constexpr std::int64_t kFreshMs = 2'000;
constexpr std::int64_t kHourMs = 3'600'000;
constexpr double kHoursMax = 24.0 * 366 * 100;
constexpr std::size_t kNameBytesMax = 200;  // of an owner in the table
constexpr std::string_view kAgents = "agents";
constexpr std::string_view kLocksFolder = "locks";
constexpr std::string_view kAgentFile = "locked_files.json";
constexpr std::string_view kUnknown = "unknown";

// All worktrees of a repository use the main worktree's path for a lease.
std::string main_root(const realm::Realm& realm) {
  constexpr std::string_view kGit = "/.git";
  const std::string& dir = realm.common_dir;
  if (realm.in_git && !realm.bare && dir.size() > kGit.size() && dir.ends_with(kGit)) {
    return dir.substr(0, dir.size() - kGit.size());
  }
  return realm.root;
}

std::unexpected<Error> too_many_locks(const std::string& path, std::size_t count) {
  return fail(Code::kLimitExceeded,
              quote(path) + " has " + std::to_string(count) + " locks; at most " +
                  std::to_string(kLocksMax) + " of one file are read",
              "unlock what is done; expired ones go with: lockkeeper coordmcp cleanup_stale_locks");
}

}  // namespace

bool is_project_id(std::string_view id) {
  constexpr std::size_t kMax = 200;
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  return !id.empty() && id.size() <= kMax && id.front() != '.' && std::ranges::all_of(id, allowed);
}

Result<std::int64_t> parse_hours(std::string_view text, std::string_view what) {
  const auto hours = number_in<double>(text);
  if (hours && *hours > 0 && *hours <= kHoursMax) {
    return static_cast<std::int64_t>(*hours * static_cast<double>(kHourMs));
  }
  return fail(Code::kInvalidInput,
              std::string(what) + " " + quote(text) + " is not a number of hours above 0",
              "set it to a number such as 24");
}

std::string task_text(const std::string& project, int minutes) {
  return std::string(kKind) + ":" + project + ":" + std::to_string(minutes) + "m";
}

std::optional<LockNote> lock_note_in(const std::string& task) {
  const std::string start = std::string(kKind) + ":";
  const std::size_t colon = task.rfind(':');
  if (!task.starts_with(start) || colon < start.size() || !task.ends_with('m')) return std::nullopt;
  const auto minutes = number_in<int>(task.substr(colon + 1, task.size() - colon - 2));
  if (!minutes || *minutes < 0) return std::nullopt;
  return LockNote{task.substr(start.size(), colon - start.size()), *minutes};
}

std::string holder_name(const core::Owner& owner) {
  return owner.session.empty() ? owner.agent : owner.agent + "@" + owner.session;
}

Result<std::unique_ptr<layout::Layout>> make_layout(const layout::LayoutEntry& entry,
                                                    const layout::LayoutContext& context) {
  const auto wrong = [&](const std::string& what, const std::string& hint) {
    return fail(Code::kInvalidInput, "the coordmcp layout of " + quote(entry.root) + ": " + what,
                hint);
  };
  std::int64_t timeout_ms = kTimeoutHours * kHourMs;
  for (const auto& [name, value] : entry.options) {
    if (name == "project") {
      for (const std::string& project : words_in(value, ",")) {
        if (is_project_id(project)) continue;
        return wrong(quote(project) + " is not a project id",
                     "an id has letters, digits, -, _ and . (not first)");
      }
    } else if (name == "workspace") {
      if (value.starts_with('/')) continue;
      return wrong("its workspace " + quote(value) + " is not absolute", "give an absolute path");
    } else if (name == "timeout_hours") {
      LK_ASSIGN(timeout_ms, parse_hours(value, "timeout_hours"));
    } else if (name == "agent_keys") {
      if (value == "relative" || value == "absolute") continue;
      return wrong("agent_keys " + quote(value), "relative or absolute");
    } else if (name == "keep_expired") {
      if (value == "true" || value == "false") continue;
      return wrong("keep_expired " + quote(value), "true or false");
    } else {
      return wrong("it has no option " + quote(name),
                   "known are project, workspace, timeout_hours, agent_keys and keep_expired");
    }
  }
  return std::make_unique<CoordLayout>(entry, context, timeout_ms);
}

CoordLayout::CoordLayout(layout::LayoutEntry entry, const layout::LayoutContext& context,
                         std::int64_t timeout_ms)
    : Layout(std::move(entry)),
      context_(context),
      rules_(context.settings.key_rules(context.realm)),
      timeout_ms_(timeout_ms),
      main_root_(main_root(context.realm)) {
  const auto option = [&](const char* name, const std::string& otherwise) {
    const auto found = this->entry().options.find(name);
    return found == this->entry().options.end() ? otherwise : found->second;
  };
  workspace_ = option("workspace", main_root_);
  while (workspace_.size() > 1 && workspace_.ends_with('/')) workspace_.pop_back();
  projects_ = words_in(option("project", ""), ",");
  relative_ = option("agent_keys", "relative") == "relative";
  keep_expired_ = option("keep_expired", "false") == "true";
}

CoordLayout::Place CoordLayout::project_place(const std::string& project) const {
  const std::string folder = std::string(kAgents) + "/" + std::string(kLocksFolder);
  const std::string name = project + ".json";
  return {escape_sign(folder + "/" + name, '#'), folder, name, Shape::kProject, project, {}};
}

CoordLayout::Place CoordLayout::agent_place(const std::string& agent) const {
  const std::string folder = std::string(kAgents) + "/" + agent;
  const std::string name(kAgentFile);
  return {escape_sign(folder + "/" + name, '#'), folder, name, Shape::kAgent, folder, {}};
}

Result<CoordLayout::Place> CoordLayout::place_of(const std::string& artefact) const {
  const std::string source = layout::source_of(artefact);
  const std::vector<std::string> names = key::split(unescape_sign(source, '#'), '/');
  const bool plain = std::ranges::all_of(names, is_plain_name);
  if (names.size() != 3 || names[0] != kAgents || !plain) {
    return fail(Code::kInvalidInput, quote(artefact) + " is not an entry of CoordMCP's store",
                "an entry's name is like agents/locks/PROJECT.json#PATH");
  }
  const bool project = names[1] == kLocksFolder && names[2].ends_with(".json");
  Place place =
      project ? project_place(names[2].substr(0, names[2].size() - 5)) : agent_place(names[1]);
  if (source.size() < artefact.size()) place.key = artefact.substr(source.size() + 1);
  return place;
}

std::string CoordLayout::full_path(const Place& place) const {
  return entry().root + "/" + place.folder + "/" + place.name;
}

// A file, or an agent's folder with its contents.
bool CoordLayout::is_ignored(const Place& place) const {
  return ignores(place.source) || ignores(full_path(place)) ||
         ignores(entry().root + "/" + place.folder) || ignores(place.folder);
}

// The projects' files, and the ADR's file of each agent that has one.
Result<std::vector<CoordLayout::Place>> CoordLayout::places() const {
  std::vector<Place> all;
  for (const std::string& project : projects_) all.push_back(project_place(project));
  LK_ASSIGN(const std::optional<Folder> agents, Folder::find(entry().root, kAgents));
  if (!agents) return all;
  LK_ASSIGN(std::vector<std::string> names, agents->names());
  std::ranges::sort(names);
  for (const std::string& name : names) {
    if (name == kLocksFolder || name.starts_with('.')) continue;
    Place place = agent_place(name);
    if (is_ignored(place)) continue;
    LK_ASSIGN(const std::optional<FileStamp> found, agents->stamp(name));
    if (!found || found->regular) continue;
    if (!found->folder) {
      return fail(Code::kStoreUnavailable,
                  quote(agents->path_of(name)) +
                      " is a symlink or not a folder: its locks "
                      "cannot be read",
                  "move it away, or ignore it: lockkeeper layout ignore " +
                      shell_quote(agents->path_of(name)));
    }
    all.push_back(std::move(place));
  }
  return all;
}

Result<layout::ScanResult> CoordLayout::scan(const layout::Interest& interest) {
  layout::ScanResult seen;
  LK_ASSIGN(const std::vector<Place> all, places());
  for (const Place& place : all) LK_CHECK(look_at_one(place, interest, seen));
  seen.complete = true;
  // A scan of everything has the time; the next one tries again.
  if (interest.wanted == nullptr) static_cast<void>(sweep(layout::kLeftAfterMs));
  return seen;
}

Result<layout::ScanResult> CoordLayout::scan_source(const std::string& source) {
  layout::ScanResult seen;
  LK_ASSIGN(const Place place, place_of(source));
  LK_ASSIGN(const bool there, look_at_one(place, {}, seen));
  if (!there) seen.absent.push_back(place.source);
  return seen;
}

// False: there is no such file.
Result<bool> CoordLayout::look_at_one(const Place& place, const layout::Interest& interest,
                                      layout::ScanResult& seen) {
  if (is_ignored(place)) return true;
  LK_ASSIGN(const std::optional<Folder> folder, Folder::find(entry().root, place.folder));
  std::optional<FileStamp> own;
  if (folder) {
    LK_ASSIGN(own, folder->stamp(place.name));
  }
  if (!own) return false;
  SharedFile shared(*folder, place.name, place.shape, context_.clock);
  LK_ASSIGN(const bool repaired, shared.repair());
  if (repaired) {
    LK_ASSIGN(own, folder->stamp(place.name));
    if (!own) return false;
  }
  RecordWriter seen_as;
  seen_as.number(own->stamp);
  seen_as.signed_number(timeout_ms_);
  seen_as.text(workspace_);
  layout::Source source;
  source.name = place.source;
  source.stamp = hash64(seen_as.take());
  source.fresh = context_.clock.now().wall_ms - own->mtime_ms < kFreshMs;
  seen.sources.push_back(source);
  if (interest.known && interest.known(source.name, source.stamp)) return true;
  LK_ASSIGN(hashes_[place.source], shared.hash());
  LK_ASSIGN(const std::optional<LockFile> file, shared.read());
  if (!file) return true;
  realm::Resolver resolver = this->resolver();
  std::size_t live = 0;
  for (const Entry& each : file->entries()) {
    if (expired(each)) continue;
    if (++live > kLocksMax) return too_many_locks(full_path(place), file->entries().size());
    auto resource = resource_of(each, resolver);
    if (resource) {
      seen.sightings.push_back(sighting(place, each, *resource));
    } else {
      seen.notes.push_back(full_path(place) + ": " + resource.error().message);
    }
  }
  return true;
}

// The hash was taken before the file was read: if others wrote in between, it differs.
Result<bool> CoordLayout::is_as_scanned(const std::string& source) {
  const auto read = hashes_.find(source);
  LK_ASSIGN(const Place place, place_of(source));
  LK_ASSIGN(const std::optional<Folder> folder, Folder::find(entry().root, place.folder));
  if (read == hashes_.end() || !folder) return false;
  LK_ASSIGN(const std::uint64_t now,
            SharedFile(*folder, place.name, place.shape, context_.clock).hash());
  return now == read->second;
}

layout::Sighting CoordLayout::sighting(const Place& place, const Entry& each,
                                       const key::Resource& resource) const {
  layout::Sighting sighting;
  core::ForeignLock& lock = sighting.lock;
  lock.layout = id();
  lock.artefact = place.source + "#" + each.key;
  lock.path = full_path(place) + "#" + each.key;
  lock.claims = {{resource, core::Mode::kExclusive, 0}};
  lock.owner.agent =
      cut_utf8(each.locked_by.empty() ? std::string(kUnknown) : each.locked_by, kNameBytesMax);
  lock.owner.session = cut_utf8(place.session, kNameBytesMax);
  lock.reason = each.reason;
  lock.since_wall_ms = each.locked_at ? each.locked_at->wall_ms() : 0;
  lock.expires_wall_ms = end_of(each);
  RecordWriter looks;
  looks.text(each.identity());
  looks.signed_number(lock.since_wall_ms);
  looks.text(each.reason);
  looks.text(resource.text());
  lock.stamp = hash64(looks.take());
  sighting.identity = each.identity();
  return sighting;
}

std::int64_t CoordLayout::end_of(const Entry& each) const {
  return each.locked_at ? each.locked_at->wall_ms() + timeout_ms_ : kNoEnd;
}

// Strictly after, as CoordMCP's own reader.
bool CoordLayout::expired(const Entry& each) const {
  const std::int64_t end = end_of(each);
  return end != kNoEnd && context_.clock.now().wall_ms > end;
}

// The real system's key is the absolute path, the ADR's is the path as requested. In our entries of
// the ADR's file, file_path names the workspace.
std::string CoordLayout::path_of(const Entry& each) const {
  if (each.key.starts_with('/')) return each.key;
  if (each.file_path.starts_with('/')) return each.file_path;
  return realm::join_path(workspace_, each.key);
}

realm::Resolver CoordLayout::resolver() const {
  return {context_.realm, rules_, {realm::Base::kRoot, {}, false}, context_.env, {true}};
}

Result<key::Resource> CoordLayout::resource_of(const Entry& each, realm::Resolver& resolver) const {
  std::string path = path_of(each);
  if (each.scope == "project") path = workspace_ + "/";
  if ((each.scope == "directory" || each.scope == "module") && !path.ends_with('/')) path += '/';
  auto parsed = resolver.resolve(path, key::Syntax::kLiteral);
  if (!parsed && path.ends_with('/')) {  // it is a file
    parsed = resolver.resolve(path.substr(0, path.size() - 1), key::Syntax::kLiteral);
  }
  if (!parsed) return fail(std::move(parsed.error()));
  return parsed->resource;
}

bool CoordLayout::elsewhere(const Entry& each) const {
  realm::Resolver resolver = this->resolver();
  return !resource_of(each, resolver).has_value();
}

Result<std::optional<LockFile>> CoordLayout::read(const Place& place) const {
  LK_ASSIGN(const std::optional<Folder> folder, Folder::find(entry().root, place.folder));
  if (!folder) return std::nullopt;
  return SharedFile(*folder, place.name, place.shape, context_.clock).read();
}

Result<std::vector<CoordLayout::Listed>> CoordLayout::entries() {
  std::vector<Listed> all;
  realm::Resolver resolver = this->resolver();
  LK_ASSIGN(const std::vector<Place> sources, places());
  for (const Place& place : sources) {
    if (is_ignored(place)) continue;
    LK_ASSIGN(const std::optional<LockFile> file, read(place));
    if (!file) continue;
    for (const Entry& each : file->entries()) {
      Listed listed{place.source, each, {}, expired(each)};
      if (const auto resource = resource_of(each, resolver)) listed.path = resource->text();
      all.push_back(std::move(listed));
    }
  }
  return all;
}

Result<bool> CoordLayout::shares_folder() {
  LK_ASSIGN(const std::vector<Listed> all, entries());
  return std::ranges::any_of(all, [&](const Listed& listed) {
    const bool of_agent = listed.source.ends_with("/" + std::string(kAgentFile));
    return of_agent && listed.path.empty() && path_of(listed.entry).starts_with('/');
  });
}

}  // namespace lockkeeper::dialect::coordmcp
