// Writing: a lock is prepared under another name, with its owner file, and appears by one rename
// that never replaces. It is moved aside before its removal, so that exactly what was checked is
// removed.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/bytes.h"
#include "base/text.h"
#include "dialect/mkdir/mkdir_layout.h"
#include "dialect/mkdir/owner.h"
#include "host/file_ops.h"

namespace lockkeeper::dialect::mkdir {
namespace {

constexpr int kAttempts = 8;  // against others that remove what we are about to move

constexpr std::string_view kPrepared = ".prepared-";  // then lease and hash of the artefact
constexpr std::string_view kAside = ".removed-";      // then time, pid and a counter

std::string prepared_name(const core::LeaseId& lease, const std::string& artefact) {
  std::string hash;
  append_be64(hash, hash64(artefact));
  return std::string(kPrepared) + lease.text() + "-" + to_hex(hash);
}

}  // namespace

Result<std::optional<Folder>> MkdirLayout::open(std::string_view below) const {
  std::string path(kLocksName);
  if (!below.empty()) path += "/" + std::string(below);
  return Folder::find(entry().root, path);
}

Result<Folder> MkdirLayout::create(std::string_view below) const {
  const std::string& root = entry().root;
  std::string path(kLocksName);
  if (!below.empty()) path += "/" + std::string(below);
  auto folder = Folder::create(root, path);
  if (folder || folder.error().code != Code::kNotFound || root == "/") return folder;
  const std::string name = root.substr(root.rfind('/') + 1);
  return Folder::create(realm::parent_path(root), name + "/" + path);
}

Result<void> MkdirLayout::prepare(const core::Lease& lease, const std::string& artefact) {
  LK_ASSIGN(const Folder locks, create(""));
  const std::string name = prepared_name(lease.id, artefact);
  LK_CHECK(take_away(locks, name));
  LK_CHECK(locks.make_folder(name));
  LK_ASSIGN(const std::optional<Folder> inner, locks.folder_if_any(name));
  if (!inner) {
    return fail(Code::kStoreUnavailable, quote(locks.path_of(name)) + " vanished as it was made",
                "is something else clearing " + quote(locks.path()) + "?");
  }
  const auto written = host::write_new(*inner, std::string(kOwnerName), identity(lease, artefact));
  if (!written) static_cast<void>(locks.remove_all(name));
  return written;
}

Result<bool> MkdirLayout::is_prepared(const core::LeaseId& lease, const std::string& artefact) {
  LK_ASSIGN(const std::optional<Folder> locks, open(""));
  if (!locks) return false;
  LK_ASSIGN(const std::optional<FileStamp> there, locks->stamp(prepared_name(lease, artefact)));
  return there.has_value();
}

Result<void> MkdirLayout::discard(const core::LeaseId& lease, const std::string& artefact) {
  LK_ASSIGN(const std::optional<Folder> locks, open(""));
  if (!locks) return {};
  return take_away(*locks, prepared_name(lease, artefact));
}

// A folder cannot be emptied and removed in one step, so it is moved aside first. Under its name,
// another process of ours could publish it again and then lose its owner file.
Result<void> MkdirLayout::take_away(const Folder& locks, const std::string& name) {
  LK_ASSIGN(const std::optional<FileStamp> there, locks.stamp(name));
  if (!there) return {};
  const std::string aside = new_aside();
  const auto moved = host::rename_new(locks, name, aside);
  if (!moved) {
    LK_ASSIGN(const std::optional<FileStamp> still, locks.stamp(name));
    return still ? fail(moved.error()) : Result<void>();
  }
  return locks.remove_all(aside);
}

std::string MkdirLayout::new_aside() {
  return std::string(kAside) + std::to_string(context_.clock.now().wall_ms) + "-" +
         std::to_string(::getpid()) + "-" + std::to_string(++asides_);
}

Result<std::optional<std::string>> MkdirLayout::identity_at(const Folder& folder,
                                                            const std::string& name) const {
  LK_ASSIGN(const std::optional<FileStamp> there, folder.stamp(name));
  if (!there) return std::nullopt;
  LK_ASSIGN(const std::optional<Folder> inner, folder.folder_if_any(name));
  if (!inner) return std::string();
  // A lock that cannot be read was not written by us.
  auto text = inner->read(std::string(kOwnerName), kOwnerBytesMax);
  return text && *text ? std::move(**text) : std::string();
}

Result<layout::Published> MkdirLayout::publish(const core::Lease& lease,
                                               const std::string& artefact,
                                               const layout::PublishTerms& terms) {
  LK_ASSIGN(const Place place, place_of(artefact));
  const std::string prepared = prepared_name(lease.id, artefact);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    LK_ASSIGN(const bool ready, is_prepared(lease.id, artefact));
    if (!ready) LK_CHECK(prepare(lease, artefact));
    LK_ASSIGN(const std::optional<layout::Published> done,
              publish_once(lease, place, prepared, terms.replaces));
    if (done) return *done;
  }
  return fail(Code::kStoreUnavailable, quote(path_of(place)) + " keeps appearing and disappearing",
              "is something else clearing " + quote(entry().root) + "? Then try again");
}

// nullopt: the checked lock is gone; try again.
Result<std::optional<layout::Published>> MkdirLayout::publish_once(
    const core::Lease& lease, const Place& place, const std::string& prepared,
    const std::vector<std::string>& ours) {
  using layout::Published;
  LK_ASSIGN(const Folder locks, create(""));
  LK_ASSIGN(const Folder group, create(place.group));
  const auto moved = host::rename_new(locks, prepared, group, place.name);
  if (!moved) {
    LK_ASSIGN(const std::optional<FileStamp> ready, locks.stamp(prepared));
    if (ready) return fail(moved.error());
    return std::nullopt;
  }
  if (*moved) return Published::kDone;
  LK_ASSIGN(const std::optional<std::string> there, identity_at(group, place.name));
  if (!there) return std::nullopt;
  if (*there == identity(lease, "")) {
    LK_CHECK(locks.remove_all(prepared));
    return Published::kDone;
  }
  if (std::ranges::find(ours, *there) == ours.end()) return Published::kTaken;
  // One of ours: exchanged for the new one in one step, and back if it is another's by now.
  if (!host::exchange(locks, prepared, group, place.name)) {
    LK_ASSIGN(const layout::Removed removed, remove_from(group, place, *there));
    if (removed == layout::Removed::kForeign) return Published::kTaken;
    return std::nullopt;
  }
  LK_ASSIGN(const std::optional<std::string> out, identity_at(locks, prepared));
  if (out && std::ranges::find(ours, *out) == ours.end()) {
    LK_CHECK(host::exchange(locks, prepared, group, place.name));
    return Published::kTaken;
  }
  LK_CHECK(locks.remove_all(prepared));
  return Published::kDone;
}

Result<layout::Removed> MkdirLayout::remove(const std::string& artefact,
                                            const std::string& identity) {
  LK_ASSIGN(const Place place, place_of(artefact));
  LK_ASSIGN(const std::optional<Folder> group, open(place.group));
  if (!group) return layout::Removed::kGone;
  return remove_from(*group, place, identity);
}

Result<layout::Removed> MkdirLayout::remove_from(const Folder& group, const Place& place,
                                                 const std::string& identity) {
  using layout::Removed;
  LK_ASSIGN(const std::optional<std::string> there, identity_at(group, place.name));
  if (!there) return Removed::kGone;
  if (!identity.empty() && *there != identity) return Removed::kForeign;
  LK_ASSIGN(const Folder locks, create(""));
  const std::string aside = new_aside();
  const auto moved = host::rename_new(group, place.name, locks, aside);
  if (!moved || !*moved) {
    LK_ASSIGN(const std::optional<FileStamp> still, group.stamp(place.name));
    if (!still) return Removed::kGone;
    if (!moved) return fail(moved.error());
    return fail(Code::kStoreUnavailable, quote(locks.path_of(aside)) + " is in the way",
                "remove it");
  }
  LK_ASSIGN(const std::optional<std::string> out, identity_at(locks, aside));
  if (!identity.empty() && out && *out != identity) {
    // Another process took it between the check and the move: it is put back. If the name is taken
    // again, the new lock there excludes everybody, too.
    LK_ASSIGN(const bool back, host::rename_new(locks, aside, group, place.name));
    if (!back) LK_CHECK(locks.remove_all(aside));
    return Removed::kForeign;
  }
  LK_CHECK(locks.remove_all(aside));
  return Removed::kDone;
}

Result<void> MkdirLayout::sweep(std::int64_t idle_ms) {
  LK_CHECK(tidy(idle_ms));
  return {};
}

Result<std::size_t> MkdirLayout::tidy(std::int64_t idle_ms) {
  LK_ASSIGN(const std::optional<Folder> locks, open(""));
  if (!locks) return 0;
  LK_ASSIGN(const std::vector<std::string> names, locks->names());
  std::size_t removed = 0;
  const std::int64_t now_ms = context_.clock.now().wall_ms;
  for (const std::string& name : names) {
    if (!name.starts_with(kAside) && !name.starts_with(kPrepared)) continue;
    std::int64_t since_ms = now_ms;
    if (name.starts_with(kAside)) {
      since_ms = std::strtoll(name.c_str() + kAside.size(), nullptr, 10);
    } else {
      LK_ASSIGN(const std::optional<FileStamp> there, locks->stamp(name));
      if (there) since_ms = there->mtime_ms;
    }
    if (now_ms - since_ms < idle_ms) continue;
    LK_CHECK(name.starts_with(kPrepared) ? take_away(*locks, name) : locks->remove_all(name));
    ++removed;
  }
  return removed;
}

}  // namespace lockkeeper::dialect::mkdir
