// Reading the locks on disk. Writing is in mkdir_layout_write.cc.
#include "dialect/mkdir/mkdir_layout.h"

#include <sys/stat.h>

#include <algorithm>
#include <set>

#include "base/bytes.h"
#include "base/text.h"
#include "dialect/mkdir/owner.h"
#include "key/path.h"

namespace lockkeeper::dialect::mkdir {
namespace {

constexpr std::int64_t kFreshMs = 2'000;
constexpr std::string_view kTasks = "tasks";
constexpr std::string_view kFiles = "files";

std::string absolute(const std::string& base, const std::string& path) {
  return path.starts_with('/') ? path : realm::join_path(base, path);
}

void add_once(std::vector<key::Resource>& to, const key::Resource& resource) {
  if (std::ranges::find(to, resource) == to.end()) to.push_back(resource);
}

void add_once(std::vector<std::string>& to, std::string text) {
  if (std::ranges::find(to, text) == to.end()) to.push_back(std::move(text));
}

}  // namespace

MkdirLayout::MkdirLayout(layout::LayoutEntry entry, const layout::LayoutContext& context)
    : Layout(std::move(entry)),
      context_(context),
      rules_(context.settings.key_rules(context.realm)),
      base_(context.realm.root),
      base_root_(context.realm.root) {
  const std::string& root = this->entry().root;
  const std::string above = root == "/" ? root : realm::parent_path(root);
  if (above == base_) return;
  // Below the root, or in another worktree of the same realm; otherwise the root itself.
  const auto other = realm::realm_of(above, context.env);
  const bool same = other ? other->same_table(context.realm) : context.realm.contains(above);
  if (!same) return;
  if (other) base_root_ = other->root;
  base_ = above;
  if (base_.size() <= base_root_.size()) return;
  const auto named =
      key::parse("./" + base_.substr(base_root_.size() + 1) + "/", rules_, key::Syntax::kLiteral);
  if (named) base_segments_ = named->resource.literal();
}

Result<MkdirLayout::Place> MkdirLayout::place_of(const std::string& artefact) {
  const std::size_t slash = artefact.find('/');
  Place place{artefact.substr(0, slash), {}};
  if (slash != std::string::npos) place.name = decoded(artefact.substr(slash + 1));
  if ((place.group != kTasks && place.group != kFiles) || !is_plain_name(place.name)) {
    return fail(Code::kInvalidInput, quote(artefact) + " is not the name of a mkdir lock",
                "a lock's name is tasks/T or files/NAME");
  }
  return place;
}

std::string MkdirLayout::path_of(const Place& place) const {
  return entry().root + "/" + std::string(kLocksName) + "/" + place.group + "/" + place.name;
}

Result<std::string> MkdirLayout::path_of(const std::string& artefact) const {
  LK_ASSIGN(const Place place, place_of(artefact));
  return path_of(place);
}

// Relative to the protocol's base folder, as its scripts would write it.
std::string MkdirLayout::name_of(const std::vector<std::string>& segments) const {
  const auto [own, base] = std::ranges::mismatch(segments, base_segments_);
  std::vector<std::string> relative(static_cast<std::size_t>(base_segments_.end() - base), "..");
  relative.insert(relative.end(), own, segments.end());
  return sanitised(join(relative, "/"));
}

std::optional<std::string> MkdirLayout::artefact_of(const key::Resource& resource) const {
  std::string group(kFiles);
  std::string name;
  if (resource.kind() == key::Kind::kLogical && resource.space() == "task") {
    group = kTasks;
    name = resource.text().substr(resource.text().find(':') + 1);
  } else if (resource.kind() == key::Kind::kFile || resource.kind() == key::Kind::kFolder) {
    name = name_of(resource.literal());
  }
  if (!is_plain_name(name) || name.size() > kNameBytesMax) return std::nullopt;
  return group + "/" + encoded(name);
}

layout::Artefacts MkdirLayout::artefacts(const core::Lease& lease) const {
  const bool through = lease.terms.layout == id() && !lease.terms.artefact.empty();
  layout::Artefacts artefacts;
  if (through) artefacts.names.push_back(lease.terms.artefact);
  std::set<std::string> known(artefacts.names.begin(), artefacts.names.end());
  for (const core::Claim& claim : lease.claims) {
    const std::optional<std::string> artefact = artefact_of(claim.resource);
    const bool chosen = through && artefact == lease.terms.artefact;
    // The protocol has no folder locks: its scripts would not check such a name.
    const bool shown = artefact && (chosen || claim.resource.kind() != key::Kind::kFolder);
    if (shown) {
      if (known.insert(*artefact).second) artefacts.names.push_back(*artefact);
    } else {
      artefacts.unmirrored.push_back(claim.resource.text());
    }
  }
  return artefacts;
}

std::string MkdirLayout::identity(const core::Lease& lease, const std::string&) const {
  return owner_text(lease.owner.agent, lease.terms.task, lease.acquired_wall_ms);
}

std::vector<key::Resource> MkdirLayout::resolved(const std::vector<std::string>& paths) const {
  const realm::Base base{realm::Base::kCwd, base_, false};
  realm::Resolver resolver(context_.realm, rules_, base, context_.env);
  std::vector<key::Resource> found;
  for (const std::string& path : paths) {
    // A name that cannot be a path of this realm cannot overlap one.
    if (const auto parsed = resolver.resolve(path, key::Syntax::kLiteral)) {
      add_once(found, parsed->resource);
    }
  }
  return found;
}

std::vector<std::string> MkdirLayout::in_folders(const std::string& name, Colons colons) const {
  return readings_in(name, colons, [this](const std::string& path) {
    const std::string full = absolute(base_, path);
    struct stat found{};
    return ::stat(full.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
  });
}

std::vector<key::Resource> MkdirLayout::existing_paths(const std::string& name) const {
  std::vector<std::string> there;
  for (const Colons colons : {Colons::kNo, Colons::kYes}) {
    for (const std::string& path : in_folders(name, colons)) {
      struct stat found{};
      if (::lstat(absolute(base_, path).c_str(), &found) == 0) there.push_back(path);
    }
  }
  return resolved(there);
}

std::vector<key::Resource> MkdirLayout::possible_paths(const std::string& name) const {
  std::vector<std::string> paths = readings(name, Colons::kNo).paths;
  for (const Colons colons : {Colons::kNo, Colons::kYes}) {
    for (std::string& path : in_folders(name, colons)) add_once(paths, std::move(path));
  }
  return resolved(paths);
}

std::vector<key::Resource> MkdirLayout::paths_of(const std::string& name,
                                                 std::vector<std::string>& notes) const {
  std::vector<key::Resource> found = existing_paths(name);
  if (!found.empty()) return found;
  Readings all = readings(name, Colons::kNo);
  if (!all.complete) {
    for (std::string& path : in_folders(name, Colons::kNo)) add_once(all.paths, std::move(path));
    notes.push_back(quote(name) + " stands for more than " + std::to_string(kReadingsMax) +
                    " paths; those in folders that exist are taken as locked");
  }
  return resolved(all.paths);
}

std::vector<key::Resource> MkdirLayout::claimed(const Place& place,
                                                std::vector<std::string>& notes) const {
  std::vector<key::Resource> resources;
  if (place.group == kFiles) {
    resources = paths_of(place.name, notes);
  } else if (const auto task = key::parse("task:" + place.name, rules_)) {
    resources.push_back(task->resource);
  }
  if (resources.empty()) {
    notes.push_back(quote(path_of(place)) + " stands for nothing that can be locked here");
  }
  return resources;
}

bool MkdirLayout::is_ignored(const Place& place) const {
  const std::vector<std::string>& ignored = entry().ignored;
  return !ignored.empty() && std::ranges::find(ignored, path_of(place)) != ignored.end();
}

Result<bool> MkdirLayout::look_at_one(const Folder& folder, const Place& place,
                                      const layout::Interest& interest, layout::ScanResult& seen) {
  LK_ASSIGN(const std::optional<FileStamp> own, folder.stamp(place.name));
  if (!own || is_ignored(place)) return false;  // ignored, as if it were not there
  std::int64_t changed_ms = own->mtime_ms;
  RecordWriter stamps;
  stamps.number(own->stamp);
  LK_ASSIGN(const std::optional<Folder> inner, folder.folder_if_any(place.name));
  std::optional<FileStamp> owner;
  if (inner) {
    LK_ASSIGN(owner, inner->stamp(std::string(kOwnerName)));
  }
  if (owner) {
    stamps.number(owner->stamp);
    changed_ms = std::max(changed_ms, owner->mtime_ms);
  }
  layout::Source source;
  source.name = place.group + "/" + encoded(place.name);
  remember_asked(place, source.name, interest);
  for (const key::Resource& resource : asked_[source.name]) stamps.text(resource.text());
  source.stamp = hash64(stamps.take());
  source.fresh = context_.clock.now().wall_ms - changed_ms < kFreshMs;
  seen.sources.push_back(source);
  if (interest.known && interest.known(source.name, source.stamp)) return true;
  std::vector<key::Resource> resources = claimed(place, seen.notes);
  for (const key::Resource& resource : asked_[source.name]) add_once(resources, resource);
  if (resources.empty()) return true;
  layout::Sighting sighting;
  sighting.lock.layout = id();
  sighting.lock.artefact = source.name;
  sighting.lock.path = path_of(place);
  sighting.lock.stamp = source.stamp;
  for (const key::Resource& resource : resources) {
    sighting.lock.claims.push_back({resource, core::Mode::kExclusive, 0});
  }
  sighting.readings = resources.size() > 1;
  describe(inner, *own, sighting, seen.notes);
  seen.sightings.push_back(std::move(sighting));
  return true;
}

void MkdirLayout::describe(const std::optional<Folder>& inner, const FileStamp& own,
                           layout::Sighting& sighting, std::vector<std::string>& notes) const {
  core::ForeignLock& lock = sighting.lock;
  OwnerLines lines;
  lines.agent = kUnknownAgent;
  if (inner) {
    // The folder is the lock: if its owner file cannot be read, the holder is unknown, not gone.
    const auto text = inner->read(std::string(kOwnerName), kOwnerBytesMax);
    if (!text) notes.push_back(text.error().message);
    if (text && *text) {
      sighting.identity = **text;
      lines = parse_owner(**text);
    }
  } else {
    notes.push_back(quote(lock.path) + " is not a folder, but it counts as a lock");
  }
  lock.owner = {lines.agent, lock.path};
  lock.task = lines.task;
  lock.since_wall_ms = lines.since_wall_ms.value_or(own.mtime_ms);
}

// A requested path with this name that is not one of the name's usual readings: mkdir would refuse
// it, too.
void MkdirLayout::remember_asked(const Place& place, const std::string& source,
                                 const layout::Interest& interest) {
  if (interest.wanted == nullptr || place.group != kFiles) return;
  const auto [first, last] = wanted_.equal_range(source);
  for (auto at = first; at != last; ++at) {
    const key::Resource& resource = *at->second;
    std::vector<std::string> notes;
    const std::vector<key::Resource> usual = paths_of(place.name, notes);
    if (std::ranges::find(usual, resource) == usual.end()) add_once(asked_[source], resource);
  }
}

Result<void> MkdirLayout::look_at_all(const layout::Interest& interest, layout::ScanResult& seen) {
  for (const std::string_view group : {kTasks, kFiles}) {
    LK_ASSIGN(const std::optional<Folder> folder, open(group));
    if (!folder) continue;
    LK_ASSIGN(std::vector<std::string> names, folder->names());
    std::ranges::sort(names);
    for (const std::string& name : names) {
      LK_CHECK(look_at_one(*folder, {std::string(group), name}, interest, seen));
    }
  }
  seen.complete = true;
  // A scan of everything has the time.
  if (interest.wanted == nullptr) static_cast<void>(tidy());
  return {};
}

Result<void> MkdirLayout::look_for(const std::vector<std::string>& sources,
                                   const layout::Interest& interest, layout::ScanResult& seen) {
  for (const std::string_view group : {kTasks, kFiles}) {
    std::optional<Folder> folder;
    bool opened = false;
    for (const std::string& source : sources) {
      LK_ASSIGN(const Place place, place_of(source));
      if (place.group != group) continue;
      if (!opened) {
        LK_ASSIGN(folder, open(group));
        opened = true;
      }
      bool there = false;
      if (folder) {
        LK_ASSIGN(there, look_at_one(*folder, place, interest, seen));
      }
      if (!there) seen.absent.push_back(source);
    }
  }
  return {};
}

Result<layout::ScanResult> MkdirLayout::scan(const layout::Interest& interest) {
  layout::ScanResult seen;
  wanted_.clear();
  if (interest.wanted != nullptr) {
    for (const key::Resource& resource : *interest.wanted) {
      if (auto artefact = artefact_of(resource)) wanted_.emplace(std::move(*artefact), &resource);
    }
  }
  const auto spreads = [](const key::Resource& resource) {
    return resource.kind() == key::Kind::kFolder || resource.kind() == key::Kind::kGlob;
  };
  if (interest.wanted == nullptr || std::ranges::any_of(*interest.wanted, spreads)) {
    LK_CHECK(look_at_all(interest, seen));
    return seen;
  }
  std::set<std::string> sources;
  for (const key::Resource& resource : *interest.wanted) {
    add_sources(resource, sources);
  }
  LK_CHECK(look_for({sources.begin(), sources.end()}, interest, seen));
  return seen;
}

// The names that a lock on this may have: its own, those of the folders above it, and those of its
// other usual spellings, `./a` and the absolute path.
void MkdirLayout::add_sources(const key::Resource& resource, std::set<std::string>& sources) const {
  const auto add = [&](const std::string& name) {
    if (is_plain_name(name) && name.size() <= kNameBytesMax) {
      sources.insert(std::string(kFiles) + "/" + encoded(name));
    }
  };
  if (!resource.is_path()) {
    if (auto artefact = artefact_of(resource)) sources.insert(std::move(*artefact));
    return;
  }
  std::vector<std::string> segments = resource.literal();
  add(name_of(segments));
  add(sanitised("./") + name_of(segments));
  add(sanitised(base_root_ + "/" + join(segments, "/")));
  while (segments.size() > 1) {
    segments.pop_back();
    add(name_of(segments));
  }
}

Result<layout::ScanResult> MkdirLayout::scan_source(const std::string& source) {
  layout::ScanResult seen;
  LK_CHECK(look_for({source}, {}, seen));
  return seen;
}

Result<std::unique_ptr<layout::Layout>> make_mkdir_layout(const layout::LayoutEntry& entry,
                                                          const layout::LayoutContext& context) {
  if (!entry.options.empty()) {
    return fail(Code::kInvalidInput,
                "a mkdir layout has no option " + quote(entry.options.begin()->first),
                "give only its root: the folder that contains .locks");
  }
  return std::make_unique<MkdirLayout>(entry, context);
}

}  // namespace lockkeeper::dialect::mkdir
