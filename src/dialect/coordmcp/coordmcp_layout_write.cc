// Writing our leases to CoordMCP's files.
#include <algorithm>
#include <map>
#include <set>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/text.h"
#include "dialect/coordmcp/coordmcp_layout.h"
#include "host/file_ops.h"
#include "key/path.h"
#include "realm/disk_path.h"

namespace lockkeeper::dialect::coordmcp {
namespace {

using layout::Published;
using layout::Removed;
using Verdict = SharedFile::Verdict;

constexpr std::int64_t kForEverMs = std::int64_t{100} * 365 * 24 * 3'600'000;
constexpr int kMicros = 1'000'000;
constexpr std::string_view kReservedAgent = "locks";  // agents/locks/ holds the projects' files
constexpr std::size_t kFolderBytesMax = 255;

// From 1: Python omits a fraction of 0.
int mark_of(const core::LeaseId& id) {
  return static_cast<int>(hash64(id.bytes) % (kMicros - 1)) + 1;
}

constexpr std::string_view kMarker = "prepared-";

std::string marker(const core::LeaseId& lease) {
  return std::string(kMarker) + lease.text();
}

bool can_be_folder(std::string_view agent) {
  return is_plain_name(agent) && agent.front() != '.' && agent != kReservedAgent &&
         agent.size() <= kFolderBytesMax && is_valid_utf8(agent);
}

}  // namespace

std::string CoordLayout::absolute(const key::Resource& resource) const {
  return realm::join_path(main_root_, key::path_body(resource.text()));
}

std::string CoordLayout::agent_key(const key::Resource& resource) const {
  const std::string path = absolute(resource);
  const std::string below = workspace_ == "/" ? workspace_ : workspace_ + "/";
  return relative_ && path.starts_with(below) ? path.substr(below.size()) : path;
}

layout::Artefacts CoordLayout::artefacts(const core::Lease& lease) const {
  layout::Artefacts artefacts;
  for (const core::Claim& claim : lease.claims) {
    if (claim.resource.kind() != key::Kind::kFile) {
      artefacts.unmirrored.push_back(claim.resource.text());
      continue;
    }
    std::vector<std::string> shown;
    for (const std::string& project : projects_) {
      const Place place = project_place(project);
      if (!is_ignored(place)) shown.push_back(place.source + "#" + absolute(claim.resource));
    }
    if (can_be_folder(lease.owner.agent)) {
      const Place place = agent_place(lease.owner.agent);
      if (!is_ignored(place)) shown.push_back(place.source + "#" + agent_key(claim.resource));
    }
    if (shown.empty()) artefacts.unmirrored.push_back(claim.resource.text());
    artefacts.names.insert(artefacts.names.end(), shown.begin(), shown.end());
  }
  return artefacts;
}

std::string CoordLayout::identity(const core::Lease& lease, const std::string&) const {
  Entry entry;
  entry.locked_by = holder_name(lease.owner);
  entry.locked_at = LocalTime{0, mark_of(lease.id)};
  return entry.identity();
}

std::vector<Entry> CoordLayout::entries_of(const core::Lease& lease, const Place& place) const {
  Entry entry;
  entry.locked_by = holder_name(lease.owner);
  entry.reason = lease.terms.reason;
  std::int64_t since = lease.acquired_wall_ms;
  if (lease.expires_wall_ms == kNoEnd) {
    since += kForEverMs;  // the only way to show that it has no end
  } else {
    // Whole seconds, because the fraction is the mark; rounded up if the end depends on it.
    since = std::max(since, lease.expires_wall_ms - timeout_ms_ + 999);
    entry.expected = LocalTime::from_wall_ms(lease.expires_wall_ms);
    entry.expected_minutes =
        static_cast<int>((lease.expires_wall_ms - lease.acquired_wall_ms) / kMinuteMs);
  }
  entry.locked_at = LocalTime{since / 1000, mark_of(lease.id)};
  if (const std::optional<LockNote> note = lock_note_in(lease.terms.task)) {
    entry.expected_minutes = note->minutes;
    entry.expected = LocalTime::from_wall_ms(lease.acquired_wall_ms + note->minutes * kMinuteMs);
  }
  if (entry.expected) entry.expected->micros = 0;
  std::vector<Entry> entries;
  for (const core::Claim& claim : lease.claims) {
    if (claim.resource.kind() != key::Kind::kFile) continue;
    entry.file_path = absolute(claim.resource);
    entry.key = place.shape == Shape::kProject ? entry.file_path : agent_key(claim.resource);
    entries.push_back(entry);
  }
  return entries;
}

// Whoever removed the data folder removed its locks; CoordMCP itself makes it again, too.
Result<Folder> CoordLayout::create(const std::string& folder) const {
  LK_CHECK(make_folders(entry().root, 0777));
  return Folder::create(entry().root, folder);
}

Result<void> CoordLayout::prepare(const core::Lease& lease, const std::string& artefact) {
  LK_ASSIGN(const Place place, place_of(artefact));
  LK_ASSIGN(const Folder folder, create(place.folder));
  const SharedFile shared(folder, place.name, place.shape, context_.clock);
  const std::string name = shared.beside(marker(lease.id));
  LK_ASSIGN(const std::optional<FileStamp> there, folder.stamp(name));
  if (there) return {};  // for another of its entries in the same file
  return host::write_new(folder, name, "");
}

Result<bool> CoordLayout::is_prepared(const core::LeaseId& lease, const std::string& artefact) {
  LK_ASSIGN(const Place place, place_of(artefact));
  LK_ASSIGN(const std::optional<Folder> folder, Folder::find(entry().root, place.folder));
  if (!folder) return false;
  const SharedFile shared(*folder, place.name, place.shape, context_.clock);
  LK_ASSIGN(const std::optional<FileStamp> there, folder->stamp(shared.beside(marker(lease))));
  return there.has_value();
}

Result<void> CoordLayout::discard(const core::LeaseId& lease, const std::string& artefact) {
  LK_ASSIGN(const Place place, place_of(artefact));
  LK_ASSIGN(const std::optional<Folder> folder, Folder::find(entry().root, place.folder));
  if (!folder) return {};
  const SharedFile shared(*folder, place.name, place.shape, context_.clock);
  return folder->remove_all(shared.beside(marker(lease)));
}

Result<void> CoordLayout::sweep(std::int64_t idle_ms) {
  LK_ASSIGN(const std::vector<Place> all, places());
  for (const Place& place : all) {
    LK_ASSIGN(const std::optional<Folder> folder, Folder::find(entry().root, place.folder));
    if (!folder) continue;
    const std::string ours =
        SharedFile(*folder, place.name, place.shape, context_.clock).beside(std::string(kMarker));
    LK_CHECK(remove_old(*folder, context_.clock.now().wall_ms - idle_ms,
                        [&](const std::string& name) { return name.starts_with(ours); }));
  }
  return {};
}

Result<Verdict> CoordLayout::update(const Place& place, const SharedFile::Change& change,
                                    const SharedFile::Buried& buried) {
  LK_ASSIGN(const Folder folder, create(place.folder));
  return SharedFile(folder, place.name, place.shape, context_.clock).update(change, buried);
}

// Removes all of the lease's entries of the file together, so that the file is written once. So one
// marker is enough, and it goes now.
Result<Published> CoordLayout::publish(const core::Lease& lease, const std::string& artefact,
                                       const layout::PublishTerms& terms) {
  LK_ASSIGN(const Place place, place_of(artefact));
  const std::string own = identity(lease, artefact);
  const std::set<std::string_view> along(terms.along.begin(), terms.along.end());
  std::vector<Entry> wanted = entries_of(lease, place);
  std::erase_if(wanted, [&](const Entry& entry) {
    return entry.key != place.key && !along.contains(place.source + "#" + entry.key);
  });
  bool collides = false;
  const auto change = [&](LockFile& file) {
    collides = false;
    bool taken = false;
    bool changed = false;
    for (const Entry& entry : wanted) {
      const Entry* const there = file.find(entry.key);
      if (there != nullptr && there->identity() == own) continue;
      const bool others =
          there != nullptr && !expired(*there) &&
          std::ranges::find(terms.replaces, there->identity()) == terms.replaces.end();
      if (others && entry.key == place.key) {
        taken = true;
        collides = elsewhere(*there);
      }
      if (others) continue;  // it has its own call, or shows another lease of ours
      file.put(entry, place.shape);
      changed = true;
    }
    if (!taken) return changed ? Verdict::kWrite : Verdict::kAsItIs;
    LockFile::Keys written;  // all or nothing
    for (const Entry& entry : wanted) {
      const Entry* const there = file.find(entry.key);
      if (there != nullptr && there->identity() == own) written.insert(entry.key);
    }
    file.erase_all(written);
    return Verdict::kTaken;
  };
  SharedFile::Buried buried;
  for (const Entry& entry : wanted) buried.out.emplace_back(entry.key, own);
  LK_ASSIGN(const Verdict verdict, update(place, change, buried));
  if (collides) {
    return fail(Code::kStoreUnavailable,
                quote(full_path(place)) + " names " + quote(place.key) +
                    " for another workspace, so ours cannot be written there",
                "set this layout's option agent_keys to absolute; see: lockkeeper layout list");
  }
  if (verdict == Verdict::kTaken) return Published::kTaken;
  LK_CHECK(discard(lease.id, artefact));
  return Published::kDone;
}

Result<void> CoordLayout::refresh(const core::Lease& lease, const std::string& artefact) {
  LK_ASSIGN(const Place place, place_of(artefact));
  const std::string own = identity(lease, artefact);
  const std::vector<Entry> wanted = entries_of(lease, place);
  LK_CHECK(update(place, [&](LockFile& file) {
    bool changed = false;
    for (const Entry& entry : wanted) {
      const Entry* const there = file.find(entry.key);
      const bool stands = there != nullptr && there->identity() == own;
      if (!stands || there->locked_at->wall_s == entry.locked_at->wall_s) continue;
      file.put(entry, place.shape);
      changed = true;
    }
    return changed ? Verdict::kWrite : Verdict::kAsItIs;
  }));
  return {};
}

// Our lease may end a moment before its entry does: see entries_of().
bool CoordLayout::over_soon(const Entry& each) const {
  constexpr std::int64_t kMomentMs = 3'000;
  const std::int64_t end = end_of(each);
  return end != kNoEnd && context_.clock.now().wall_ms > end - kMomentMs;
}

Result<Removed> CoordLayout::remove(const std::string& artefact, const std::string& identity) {
  return remove_entries({{artefact, identity}});
}

Result<void> CoordLayout::remove_together(const std::vector<Unwanted>& unwanted) {
  LK_CHECK(remove_entries(unwanted));
  return {};
}

// Entries of one source. Returns what became of it, if it is one.
Result<Removed> CoordLayout::remove_entries(const std::vector<Unwanted>& unwanted) {
  LK_ASSIGN(Place place, place_of(unwanted.front().artefact));
  LK_ASSIGN(const std::optional<Folder> folder, Folder::find(entry().root, place.folder));
  if (!folder) return Removed::kGone;
  std::multimap<std::string, std::string> identities;  // by key: it may have shown two leases
  for (const Unwanted& each : unwanted) {
    LK_ASSIGN(place, place_of(each.artefact));
    identities.emplace(place.key, each.identity);
  }
  Removed removed = Removed::kGone;
  if (keep_expired_) {
    LK_ASSIGN(const std::optional<LockFile> file, read(place));
    // Its lease expired, and keep_expired wants it to stay.
    const auto stays = [&](const auto& each) {
      const Entry* const there = file ? file->find(each.first) : nullptr;
      const bool ours = there != nullptr && there->identity() == each.second;
      return ours && over_soon(*there);
    };
    if (std::erase_if(identities, stays) > 0) removed = Removed::kDone;
    if (identities.empty()) return removed;
  }
  // Even if it is gone already: another process may be about to write what it read before.
  SharedFile::Buried buried;
  for (const auto& [key, identity] : identities) {
    if (!identity.empty()) buried.in.emplace_back(key, identity);
  }
  const auto change = [&](LockFile& file) {
    LockFile::Keys meant;
    for (const auto& [key, identity] : identities) {
      const Entry* const there = file.find(key);
      if (there == nullptr) continue;
      const bool matches = identity.empty() || there->identity() == identity;
      if (matches) meant.insert(key);
      if (removed != Removed::kDone) removed = matches ? Removed::kDone : Removed::kForeign;
    }
    file.erase_all(meant);
    return meant.empty() ? Verdict::kAsItIs : Verdict::kWrite;
  };
  LK_CHECK(update(place, change, buried));
  return removed;
}

Result<int> CoordLayout::clean() {
  int cleaned = 0;
  LK_ASSIGN(const std::vector<Place> sources, places());
  for (const Place& place : sources) {
    if (is_ignored(place)) continue;
    LK_ASSIGN(const std::optional<LockFile> file, read(place));
    if (!file) continue;
    const bool any =
        std::ranges::any_of(file->entries(), [&](const Entry& each) { return expired(each); });
    if (!any) continue;
    LockFile::Keys gone;
    LK_CHECK(update(place, [&](LockFile& now) {
      LockFile::Keys keys;
      for (const Entry& each : now.entries()) {
        if (expired(each)) keys.insert(each.key);
      }
      now.erase_all(keys);
      gone.insert(keys.begin(), keys.end());
      return keys.empty() ? Verdict::kAsItIs : Verdict::kWrite;
    }));
    cleaned += static_cast<int>(gone.size());
  }
  return cleaned;
}

}  // namespace lockkeeper::dialect::coordmcp
