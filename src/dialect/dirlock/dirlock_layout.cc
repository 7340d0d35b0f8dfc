#include "dialect/dirlock/dirlock_layout.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <ctime>

#include "base/bytes.h"
#include "base/parse.h"
#include "base/text.h"
#include "core/encoding.h"
#include "core/mirrored.h"
#include "host/file_ops.h"
#include "host/process.h"
#include "realm/disk_path.h"
#include "realm/identity.h"
#include "realm/worktrees.h"

namespace lockkeeper::dialect::dirlock {
namespace {

constexpr std::int64_t kFreshMs = 2'000;
// For a file that is being written. A single file may be read inside a transaction.
constexpr int kSettleTries = 100;
constexpr int kSettleTriesAlone = 10;
constexpr long kSettleStepNs = 1'000'000;
constexpr std::string_view kMachineSpace = "dir";

// Names in another tool's file may have any length.
std::string cut(std::string_view text) {
  return cut_utf8(text, realm::kNameBytesMax);
}

std::string prepared_name(const core::LeaseId& lease, const std::string& artefact) {
  return "." + artefact + "." + lease.text();
}

bool is_prepared_name(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return name.starts_with('.') && dot > 1 && dot != std::string_view::npos &&
         is_lock_name(name.substr(1, dot - 1)) && core::LeaseId::from_text(name.substr(dot + 1));
}

Error unclear(const std::string& path, const std::string& why) {
  return {Code::kStoreUnavailable,
          quote(path) + " is a directory lock that cannot be understood: " + why,
          "remove it if its owner is gone, or ignore it: lockkeeper layout ignore " +
              shell_quote(path)};
}

// The verdict is part of the stamp, because a holder's death changes nothing on disk.
std::uint64_t stamp_with(const FileStamp& file, Verdict verdict) {
  std::string bytes;
  append_be64(bytes, file.stamp);
  return hash64(bytes, verdict == Verdict::kHeld ? "" : "over");
}

std::vector<std::string> agents_of(const core::Lease& lease) {
  std::vector<std::string> agents = words_in(lease.terms.task, ",");
  if (agents.empty()) agents.push_back(lease.owner.agent);
  return agents;
}

bool ours_to_see(const core::Attachment& attachment) {
  static const std::uint64_t kNamespace = [] {
    const auto self = host::identify(::getpid());
    return self ? self->pid_namespace : 0;
  }();
  return attachment.pid != 0 && attachment.pid_namespace == kNamespace;
}

}  // namespace

Result<std::int64_t> parse_minutes(std::string_view text) {
  double minutes = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, minutes, std::chars_format::fixed);
  constexpr double kMost = 1e9;
  if (text.empty() || error != std::errc{} || stop != end || !(minutes >= 0 && minutes <= kMost)) {
    return fail(Code::kUsage, quote(text) + " is not a number of minutes, 0 or more",
                "give a number, such as 20; 0 clears any lock");
  }
  const auto ms = static_cast<std::int64_t>(minutes * 60'000);
  return minutes > 0 ? std::max<std::int64_t>(1, ms) : 0;  // only an explicit 0 forces
}

Result<std::unique_ptr<layout::Layout>> DirLockLayout::make(const layout::LayoutEntry& entry,
                                                            const layout::LayoutContext& context) {
  std::int64_t stale_timeout_ms = kStaleTimeoutMs;
  for (const auto& [name, value] : entry.options) {
    if (name != "stale_timeout") {
      return fail(Code::kInvalidInput, "a dirlock layout has no option " + quote(name),
                  "its only option is stale_timeout, in minutes");
    }
    const auto minutes = parse_minutes(value);
    if (!minutes || *minutes == 0) {
      return fail(Code::kInvalidInput,
                  "stale_timeout " + quote(value) + " is not a number of minutes above 0",
                  "write, for example, stale_timeout = \"20\"");
    }
    stale_timeout_ms = *minutes;
  }
  return std::unique_ptr<layout::Layout>(new DirLockLayout(entry, context, stale_timeout_ms));
}

// --- reading ------------------------------------------------------------------------------------

const std::vector<std::string>& DirLockLayout::roots() const {
  const realm::Realm& realm = context_.realm;
  if (roots_.empty()) roots_ = realm::worktree_roots(realm.root, realm.common_dir);
  return roots_;
}

void DirLockLayout::want_path(const key::Resource& resource, Wanted& wanted) const {
  // The bytes of a name on disk are known only if it has one spelling.
  const bool exact = !context_.realm.ignore_case && is_ascii(resource.text());
  if (resource.kind() != key::Kind::kFile || !exact) wanted.everything = true;
  if (!exact) return;
  for (std::string folder : roots()) {
    wanted.names.insert(lock_name(folder));
    for (const std::string& segment : resource.literal()) {
      folder = realm::join_path(folder, segment);
      wanted.names.insert(lock_name(folder));
    }
  }
}

DirLockLayout::Wanted DirLockLayout::wanted(const layout::Interest& interest) const {
  Wanted wanted;
  if (interest.wanted == nullptr) {
    wanted.everything = true;
    return wanted;
  }
  for (const key::Resource& resource : *interest.wanted) {
    if (context_.realm.machine) {
      if (resource.space() == kMachineSpace) {
        wanted.names.insert(lock_name(resource.text().substr(kMachineSpace.size() + 1)));
      }
    } else if (resource.is_path()) {
      want_path(resource, wanted);
    }
  }
  return wanted;
}

bool DirLockLayout::ignored(const std::string& name) const {
  const auto& list = entry().ignored;
  return std::ranges::find(list, name) != list.end() ||
         std::ranges::find(list, realm::join_path(entry().root, name)) != list.end();
}

Result<layout::ScanResult> DirLockLayout::scan(const layout::Interest& interest) {
  layout::ScanResult seen;
  const Wanted wanted = this->wanted(interest);
  seen.complete = wanted.everything;
  if (!wanted.everything && wanted.names.empty()) return seen;
  LK_ASSIGN(const std::optional<Folder> folder, Folder::find(entry().root));
  if (!folder) {
    seen.absent.assign(wanted.names.begin(), wanted.names.end());
    return seen;
  }
  for (const std::string& name : wanted.names) {
    LK_CHECK(look_at_one(*folder, name, true, interest, seen));
  }
  if (!wanted.everything) return seen;
  LK_ASSIGN(const std::vector<std::string> names, folder->names());
  for (const std::string& name : names) {
    if (!is_lock_name(name) || wanted.names.contains(name)) continue;
    LK_CHECK(look_at_one(*folder, name, false, interest, seen));
  }
  static_cast<void>(sweep(layout::kLeftAfterMs));  // the next scan tries again
  return seen;
}

Result<layout::ScanResult> DirLockLayout::scan_source(const std::string& source) {
  layout::ScanResult seen;
  LK_ASSIGN(const std::optional<Folder> folder, Folder::find(entry().root));
  if (!folder) {
    seen.absent.push_back(source);
  } else {
    LK_CHECK(look_at_one(*folder, source, true, {}, seen));
  }
  return seen;
}

// Other tools create and write the file in two steps: in between it is empty.
Result<std::optional<FoundLock>> DirLockLayout::read_settled(const Folder& folder,
                                                             const std::string& name,
                                                             int tries_max) const {
  for (int tries = 0;; ++tries) {
    LK_ASSIGN(std::optional<FoundLock> found, read_lock(folder, name));
    if (!found || found->record || tries >= tries_max) return found;
    if (!found->young(context_.clock.now().wall_ms)) return found;
    const timespec step{0, kSettleStepNs};
    ::nanosleep(&step, nullptr);
  }
}

// `by_name`: the lock's folder is known, so the file must be readable (I10). Otherwise an
// unreadable file may belong to any folder of the machine, and is only noted.
Result<void> DirLockLayout::look_at_one(const Folder& folder, const std::string& name, bool by_name,
                                        const layout::Interest& interest,
                                        layout::ScanResult& seen) {
  if (ignored(name)) return {};
  const bool alone = interest.wanted == nullptr && !interest.known;
  auto read = read_settled(folder, name, alone ? kSettleTriesAlone : kSettleTries);
  const bool readable = read && (!*read || (*read)->record);
  if (!readable) {
    Error error = read ? unclear(folder.path_of(name), (*read)->trouble) : std::move(read.error());
    if (by_name) return fail(std::move(error));
    seen.notes.push_back(std::move(error.message));
    return {};
  }
  if (!*read) {
    seen.absent.push_back(name);
    return {};
  }
  const FoundLock& found = **read;
  const LockRecord& record = *found.record;
  auto resource = resource_of(record.cwd);
  if (!resource) {
    if (by_name) return fail(std::move(resource.error()));
    seen.notes.push_back(folder.path_of(name) + ": " + resource.error().message);
    return {};
  }
  if (!*resource) return {};  // of another realm
  const Here machine = here(context_.clock);
  const Judged judged = judge(record, found.stamp.mtime_ms, machine, stale_timeout_ms_);
  if (judged.verdict == Verdict::kGone) {
    seen.absent.push_back(name);
    return {};
  }
  const std::uint64_t stamp = stamp_with(found.stamp, judged.verdict);
  seen.sources.push_back({name, stamp, machine.now_ms - found.stamp.mtime_ms < kFreshMs});
  if (interest.known && interest.known(name, stamp)) return {};
  layout::Sighting sighting;
  sighting.identity = record.identity();
  core::ForeignLock& lock = sighting.lock;
  lock.layout = id();
  lock.artefact = name;
  lock.path = folder.path_of(name);
  // An expired lock is still listed, without claims: it blocks nobody, but it may be ours, and then
  // the table decides whether it is over.
  if (judged.verdict == Verdict::kHeld) {
    lock.claims.push_back({**resource, core::Mode::kExclusive, 0});
  }
  const std::string host = record.hostname.empty() ? "unknown" : record.hostname;
  lock.owner = {cut(std::to_string(record.pid) + "@" + host), cut(record.start_time)};
  for (const std::string& agent : record.agents) {
    lock.task += (lock.task.empty() ? "" : ",") + agent;
  }
  lock.reason = "directory lock";
  lock.since_wall_ms = judged.start_ms;
  lock.expires_wall_ms = judged.start_ms + stale_timeout_ms_;
  lock.stamp = stamp;
  seen.sightings.push_back(std::move(sighting));
  return {};
}

// nullopt: it belongs to another realm.
Result<std::optional<key::Resource>> DirLockLayout::resource_of(const std::string& cwd) const {
  const realm::Realm& realm = context_.realm;
  const key::Rules rules = context_.settings.key_rules(realm);
  if (!realm.machine) {
    // Most locks of the machine are elsewhere: their paths alone show it.
    const bool inside = std::ranges::any_of(roots(), [&](const std::string& root) {
      return cwd == root || cwd.starts_with(root == "/" ? root : root + "/");
    });
    if (!inside) return std::nullopt;
  }
  auto belongs = realm::realm_of(cwd, context_.env);
  if (!belongs && belongs.error().code != Code::kNotFound) return fail(std::move(belongs.error()));
  if (realm.machine) {
    if (belongs) return std::nullopt;
    LK_ASSIGN(key::Parsed parsed, key::parse("dir:" + cwd, rules));
    return parsed.resource;
  }
  if (!belongs || !belongs->same_table(realm) || !belongs->contains(cwd)) return std::nullopt;
  const std::string below = cwd.substr(std::min(cwd.size(), belongs->root.size()));
  const std::string relative = below.starts_with('/') ? below.substr(1) : below;
  LK_ASSIGN(key::Parsed parsed,
            key::parse(relative.empty() ? "./" : relative + "/", rules, key::Syntax::kLiteral));
  return parsed.resource;
}

// --- writing ------------------------------------------------------------------------------------

// The folder that the lease locks, absolute, in the worktree with that root; empty unless it is
// exactly one.
std::string DirLockLayout::folder_in(const std::string& root, const core::Lease& lease) const {
  if (lease.claims.size() != 1 || lease.claims[0].mode != core::Mode::kExclusive) return {};
  const key::Resource& resource = lease.claims[0].resource;
  if (context_.realm.machine) {
    if (resource.space() != kMachineSpace) return {};
    return resource.text().substr(kMachineSpace.size() + 1);
  }
  if (resource.kind() != key::Kind::kFolder) return {};
  std::string folder = root;
  for (const std::string& segment : resource.literal()) {
    folder = realm::join_path(folder, segment);
  }
  return folder;
}

// The folder that the artefact locks: a lease is of all worktrees, its artefact of one, which need
// not be the caller's. Empty: of none.
std::string DirLockLayout::folder_of(const core::Lease& lease, const std::string& artefact) const {
  for (const std::string& root : roots()) {
    std::string folder = folder_in(root, lease);
    if (!folder.empty() && lock_name(folder) == artefact) return folder;
  }
  return {};
}

// A file whose holder is gone blocks nobody, but only a guard removes it: until then this lease
// cannot be shown.
bool DirLockLayout::place_is_free(const core::Lease& lease, const std::string& artefact) const {
  const auto folder = Folder::open(entry().root, "");
  if (!folder) return true;  // prepare() reports what is wrong
  const auto found = read_lock(*folder, artefact);
  if (!found) return false;
  if (!*found) return true;
  return (*found)->record && (*found)->record->identity() == identity(lease, artefact);
}

// Where the lease is shown already: for the worktree of whoever took it.
std::optional<std::string> DirLockLayout::shown_as(const core::Lease& lease) const {
  const std::string here = core::mirror_place(id(), "");
  for (const std::string& place : lease.mirrored_at) {
    if (!place.starts_with(here)) continue;
    std::string artefact = place.substr(here.size());
    if (!folder_of(lease, artefact).empty()) return artefact;
  }
  return std::nullopt;
}

layout::Artefacts DirLockLayout::artefacts(const core::Lease& lease) const {
  layout::Artefacts artefacts;
  if (lease.terms.layout == id()) {
    artefacts.names = {lease.terms.artefact};
    return artefacts;
  }
  // A native `dir:` belongs to a guard in some repository, which shows it.
  const std::string folder = context_.realm.machine ? "" : folder_in(context_.realm.root, lease);
  const bool one_spelling = is_ascii(folder) && !context_.realm.ignore_case;
  if (!folder.empty() && one_spelling && ours_to_see(lease.process())) {
    const std::string artefact = shown_as(lease).value_or(lock_name(folder));
    if (place_is_free(lease, artefact)) {
      artefacts.names.push_back(artefact);
      return artefacts;
    }
  }
  artefacts.unmirrored = core::resource_texts(lease);
  return artefacts;
}

LockRecord DirLockLayout::record_of(const core::Lease& lease, const std::string& artefact) const {
  LockRecord record;
  record.pid = lease.process().pid;
  record.cwd = folder_of(lease, artefact);
  record.start_time = format_time(lease.acquired_wall_ms);
  record.hostname = here(context_.clock).hostname;
  record.agents = agents_of(lease);
  return record;
}

std::string DirLockLayout::identity(const core::Lease& lease, const std::string& artefact) const {
  return record_of(lease, artefact).identity();
}

Result<void> DirLockLayout::prepare(const core::Lease& lease, const std::string& artefact) {
  const LockRecord record = record_of(lease, artefact);
  if (record.pid == 0 || record.cwd.empty()) {
    return fail(Code::kInvalidResource,
                quote(folder_in(context_.realm.root, lease)) +
                    " cannot be shown as a directory lock: its name has another " +
                    "spelling on disk",
                "rename the folder to its composed (NFC) spelling");
  }
  auto folder = Folder::open(entry().root, "");
  if (!folder) {
    Error error = std::move(folder.error());
    if (error.code == Code::kNotFound) error.code = Code::kStoreUnavailable;
    return fail(std::move(error));
  }
  const std::string name = prepared_name(lease.id, artefact);
  LK_CHECK(folder->remove_all(name));
  return host::write_new(*folder, name, record_text(record));
}

Result<layout::Published> DirLockLayout::publish(const core::Lease& lease,
                                                 const std::string& artefact,
                                                 const layout::PublishTerms& terms) {
  LK_ASSIGN(const Folder folder, Folder::open(entry().root, ""));
  constexpr int kTriesMax = 8;  // each fails only if another process was faster
  for (int tries = 0; tries < kTriesMax; ++tries) {
    LK_ASSIGN(const bool done,
              host::rename_new(folder, prepared_name(lease.id, artefact), artefact));
    if (done) return layout::Published::kDone;
    LK_ASSIGN(const std::optional<FoundLock> found, read_lock(folder, artefact));
    if (!found) continue;
    const std::vector<std::string>& ours = terms.replaces;
    if (!found->record || std::ranges::find(ours, found->record->identity()) == ours.end()) break;
    LK_CHECK(clear_lock(entry().root, artefact, found->bytes));
  }
  return layout::Published::kTaken;
}

Result<void> DirLockLayout::sweep(std::int64_t idle_ms) {
  LK_ASSIGN(const std::optional<Folder> folder, Folder::find(entry().root));
  if (!folder) return {};
  // All repositories of the machine have this folder in common.
  const std::int64_t idle = std::max(idle_ms, layout::kLeftAfterMs);
  return remove_old(*folder, context_.clock.now().wall_ms - idle, is_prepared_name);
}

Result<bool> DirLockLayout::is_prepared(const core::LeaseId& lease, const std::string& artefact) {
  LK_ASSIGN(const std::optional<Folder> folder, Folder::find(entry().root));
  if (!folder) return false;
  LK_ASSIGN(const auto stamp, folder->stamp(prepared_name(lease, artefact)));
  return stamp.has_value();
}

Result<void> DirLockLayout::discard(const core::LeaseId& lease, const std::string& artefact) {
  LK_ASSIGN(const std::optional<Folder> folder, Folder::find(entry().root));
  if (!folder) return {};
  return folder->remove_all(prepared_name(lease, artefact));
}

Result<void> DirLockLayout::refresh(const core::Lease& lease, const std::string& artefact) {
  LK_ASSIGN(const std::optional<Folder> folder, Folder::find(entry().root));
  if (!folder) return {};
  LK_ASSIGN(const std::optional<FoundLock> found, read_lock(*folder, artefact));
  if (!found || !found->record || found->record->identity() != identity(lease, artefact)) return {};
  return folder->touch(artefact);  // temporary files are deleted by age
}

Result<layout::Removed> DirLockLayout::remove(const std::string& artefact,
                                              const std::string& identity) {
  LK_ASSIGN(const std::optional<Folder> folder, Folder::find(entry().root));
  if (!folder) return layout::Removed::kGone;
  if (identity.empty()) {
    LK_ASSIGN(const auto stamp, folder->stamp(artefact));
    if (!stamp) return layout::Removed::kGone;
    LK_CHECK(folder->remove_all(artefact));
    return layout::Removed::kDone;
  }
  auto found = read_lock(*folder, artefact);
  if (!found) return layout::Removed::kForeign;  // a symlink or a folder: not ours
  if (!*found) return layout::Removed::kGone;
  if (!(*found)->record || (*found)->record->identity() != identity) {
    return layout::Removed::kForeign;
  }
  LK_ASSIGN(const Cleared cleared, clear_lock(entry().root, artefact, (*found)->bytes));
  return cleared == Cleared::kDone   ? layout::Removed::kDone
         : cleared == Cleared::kGone ? layout::Removed::kGone
                                     : layout::Removed::kForeign;
}

}  // namespace lockkeeper::dialect::dirlock
