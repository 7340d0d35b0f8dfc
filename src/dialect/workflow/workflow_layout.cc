#include "dialect/workflow/workflow_layout.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <set>
#include <thread>

#include "base/bytes.h"
#include "base/text.h"
#include "core/mirrored.h"
#include "host/file_ops.h"
#include "realm/identity.h"

namespace lockkeeper::dialect::workflow {
namespace {

using layout::Published;
using layout::Removed;
using layout::ScanResult;

constexpr std::string_view kPrepared = ".tmp";
constexpr std::string_view kRenewed = ".new";
constexpr std::string_view kAside = ".old";
constexpr int kAttempts = 100;  // against a process that keeps writing and removing the same name

bool is_lock(std::string_view name) {
  return !name.starts_with('.') && name.ends_with(kLockSuffix) && name.size() > kLockSuffix.size();
}

// `.{name}.lock.{hexadecimal}.tmp` and its like.
bool is_trace(std::string_view name) {
  if (!name.starts_with('.') || name.find(".lock.") == std::string_view::npos) return false;
  return name.ends_with(kPrepared) || name.ends_with(kRenewed) || name.ends_with(kAside);
}

bool is_aside(std::string_view name) {
  return is_trace(name) && name.ends_with(kAside);
}

std::string beside(const std::string& artefact, const core::LeaseId& lease, std::string_view end) {
  return "." + artefact + "." + lease.text() + std::string(end);
}

// The name contains a hash of the file that is set aside, so that a later scan recognises what a
// crash left.
std::string aside_name(const std::string& artefact, const std::string& identity) {
  std::string hash;
  append_be64(hash, hash64(identity));
  return "." + artefact + "." + to_hex(hash) + std::string(kAside);
}

std::string ignore_hint(const std::string& path) {
  return "fix or remove it, or ignore it: lockkeeper layout ignore " + shell_quote(path);
}

// A valid owner's name for the table, whatever the file says.
std::string owner_name(std::string name) {
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  std::ranges::replace_if(name, control, '?');
  return cut_utf8(name, realm::kNameBytesMax);
}

// Is this certainly not a name in this realm, rather than unknown?
bool names_nothing_here(Code code) {
  return code == Code::kInvalidResource || code == Code::kInvalidInput ||
         code == Code::kLimitExceeded;
}

}  // namespace

std::string artefact_of(std::string_view file_name) {
  return std::string(kLocksFolder) + "/" + escape_sign(file_name, '#');
}

std::string file_name_of(std::string_view artefact) {
  return unescape_sign(artefact.substr(artefact.find('/') + 1), '#');
}

std::string session_of(const layout::LayoutEntry& entry) {
  return entry.root.size() <= realm::kNameBytesMax ? entry.root : entry.id();
}

Result<std::optional<Folder>> WorkflowLayout::folder() const {
  return Folder::find(entry().root, kLocksFolder);
}

std::string WorkflowLayout::identity_of(const LockFile& lock, const std::string& name) {
  return is_mirror_name(name) ? lock.identity() : lock.full_identity();
}

// --- reading -------------------------------------------------------------------------------------

Result<std::optional<WorkflowLayout::Entry>> WorkflowLayout::try_entry(
    const Folder& folder, const std::string& name) const {
  LK_ASSIGN(const std::optional<FileStamp> stamp, folder.stamp(name));
  if (!stamp) return std::nullopt;
  LK_ASSIGN(const std::optional<std::string> bytes, folder.read(name, kLockFileBytesMax));
  if (!bytes) return std::nullopt;
  LK_ASSIGN(LockFile lock, parse_lock_file(*bytes));
  return Entry{std::move(lock), *stamp};
}

Result<std::optional<WorkflowLayout::Entry>> WorkflowLayout::read_entry(
    const Folder& folder, const std::string& name) const {
  const auto began = std::chrono::steady_clock::now();
  for (;;) {
    auto entry = try_entry(folder, name);
    if (entry) return entry;
    LK_ASSIGN(const std::optional<FileStamp> stamp, folder.stamp(name));
    if (!stamp) return std::nullopt;  // gone meanwhile
    const bool fresh = now_ms() - stamp->mtime_ms < kFreshMs;
    const auto waited = std::chrono::steady_clock::now() - began;
    const bool half_written = entry.error().code == Code::kInvalidInput && fresh &&
                              waited < std::chrono::milliseconds(kHalfWrittenMs);
    if (half_written) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      continue;
    }
    Error error = std::move(entry.error());
    if (error.code == Code::kInvalidInput) {
      error.message = "the lock file " + quote(folder.path_of(name)) +
                      " cannot be understood: " + error.message;
    }
    error.code = Code::kStoreUnavailable;
    error.hint = ignore_hint(folder.path_of(name));
    return fail(std::move(error));
  }
}

Result<std::optional<LockFile>> WorkflowLayout::read(const std::string& name) const {
  LK_ASSIGN(const std::optional<Folder> locks, folder());
  if (!locks) return std::nullopt;
  LK_ASSIGN(std::optional<Entry> entry, read_entry(*locks, name));
  if (!entry) return std::nullopt;
  return std::move(entry->lock);
}

Result<WorkflowLayout::Names> WorkflowLayout::names() const {
  Names sorted;
  LK_ASSIGN(const std::optional<Folder> locks, folder());
  if (!locks) return sorted;
  sorted.folder = true;
  LK_ASSIGN(std::vector<std::string> all, locks->names());
  std::ranges::sort(all);
  for (std::string& name : all) {
    std::vector<std::string>& to = is_lock(name)    ? sorted.locks
                                   : is_trace(name) ? sorted.traces
                                                    : sorted.others;
    to.push_back(std::move(name));
  }
  return sorted;
}

Result<ScanResult> WorkflowLayout::scan(const layout::Interest& interest) {
  ScanResult seen;
  // These locks are only on paths: an unreadable one blocks no logical key.
  if (interest.wanted != nullptr &&
      std::ranges::none_of(*interest.wanted, [](const auto& one) { return one.is_path(); })) {
    return seen;
  }
  seen.complete = true;
  LK_ASSIGN(const std::optional<Folder> locks, folder());
  if (!locks) return seen;
  LK_ASSIGN(const std::vector<std::string> names, locks->names());
  for (const std::string& name : names) {
    if (is_lock(name)) LK_CHECK(see(*locks, name, interest, seen));
    if (is_aside(name)) LK_CHECK(clear_trace(*locks, name));
  }
  // A scan of everything has the time; the next one tries again.
  if (interest.wanted == nullptr) static_cast<void>(sweep(layout::kLeftAfterMs));
  return seen;
}

Result<ScanResult> WorkflowLayout::scan_source(const std::string& source) {
  ScanResult seen;
  LK_ASSIGN(const std::optional<Folder> locks, folder());
  const std::string name = file_name_of(source);
  if (locks && is_lock(name)) LK_CHECK(see(*locks, name, {}, seen));
  if (seen.sources.empty()) seen.absent.push_back(source);
  return seen;
}

Result<void> WorkflowLayout::see(const Folder& folder, const std::string& name,
                                 const layout::Interest& interest, ScanResult& seen) {
  const std::string path = folder.path_of(name);
  const std::string artefact = artefact_of(name);
  if (ignores(artefact) || ignores(std::string(kLocksFolder) + "/" + name)) {
    seen.notes.push_back(quote(path) + " is ignored");
    return {};
  }
  if (interest.as_before) {
    if (const auto before = interest.as_before(artefact)) {
      seen.sources.push_back({artefact, *before, false});
      return {};
    }
  }
  LK_ASSIGN(const std::optional<FileStamp> stamp, folder.stamp(name));
  if (!stamp) return {};
  if (stamp->folder) {
    seen.notes.push_back(quote(folder.path_of(name)) + " is a folder, not a lock");
    return {};
  }
  const layout::Source source{artefact, stamp->stamp, now_ms() - stamp->mtime_ms < kFreshMs};
  if (interest.known && interest.known(artefact, stamp->stamp)) {
    seen.sources.push_back(source);
    return {};
  }
  LK_ASSIGN(const std::optional<Entry> entry, read_entry(folder, name));
  if (!entry) return {};
  seen.sources.push_back({artefact, entry->stamp.stamp, source.fresh});
  if (entry->lock.expired(now_ms())) {
    seen.over.push_back({artefact, identity_of(entry->lock, name)});
    seen.notes.push_back(quote(path) + " is past its end");
    return {};
  }
  LK_ASSIGN(layout::Sighting sighting, this->sighting(name, path, *entry, seen.notes));
  if (sighting.lock.claims.empty()) {
    // It may be ours, of what has become another repository since.
    seen.over.push_back({artefact, sighting.identity});
    seen.notes.push_back(quote(path) + " locks nothing in this repository");
    return {};
  }
  seen.sightings.push_back(std::move(sighting));
  return {};
}

Result<layout::Sighting> WorkflowLayout::sighting(const std::string& name, const std::string& path,
                                                  const Entry& entry,
                                                  std::vector<std::string>& notes) {
  const LockFile& lock = entry.lock;
  layout::Sighting sighting;
  sighting.identity = identity_of(lock, name);
  sighting.lock.layout = id();
  sighting.lock.artefact = artefact_of(name);
  sighting.lock.path = path;
  sighting.lock.owner = {owner_name(lock.agent), session_of(this->entry())};
  sighting.lock.reason = lock.task_description;
  sighting.lock.since_wall_ms = lock.locked_at_ms;
  sighting.lock.expires_wall_ms = lock.expires_at_ms >= kFarFutureMs ? kNoEnd : lock.expires_at_ms;
  sighting.lock.stamp = entry.stamp.stamp;
  std::set<std::string> known;
  const auto add = [&](const std::vector<std::string>& texts, bool is_folder) -> Result<void> {
    for (const std::string& text : texts) {
      LK_ASSIGN(const std::optional<key::Resource> found, resource(text, is_folder, notes));
      if (!found || !known.insert(found->text()).second) continue;
      sighting.lock.claims.push_back({*found, core::Mode::kExclusive, 0});
    }
    return {};
  };
  LK_CHECK(add(lock.files, false));
  LK_CHECK(add(lock.directories, true));
  return sighting;
}

Result<std::optional<key::Resource>> WorkflowLayout::resource(const std::string& text,
                                                              bool is_folder,
                                                              std::vector<std::string>& notes) {
  if (!resolver_) {
    resolver_.emplace(context_.realm, context_.settings.key_rules(context_.realm), realm::Base{},
                      context_.env, realm::ResolveOptions{true});
  }
  std::string plain = text;
  while (plain.size() > 1 && (plain.ends_with('/') || plain.ends_with('\\'))) plain.pop_back();
  const bool slash = is_folder || plain.size() < text.size();
  auto parsed = resolver_->resolve(slash ? plain + "/" : plain, key::Syntax::kLiteral);
  // A file on disk that is written like a folder is still a file.
  if (!parsed && slash && parsed.error().code == Code::kInvalidResource) {
    parsed = resolver_->resolve(plain, key::Syntax::kLiteral);
  }
  if (parsed) return parsed->resource;
  if (!names_nothing_here(parsed.error().code)) return fail(std::move(parsed.error()));
  notes.push_back(quote(text) + " is skipped: " + parsed.error().message);
  return std::nullopt;
}

// --- writing -------------------------------------------------------------------------------------

// Of `workflow run`: what an agent of it was started with, not what it takes on the way.
bool WorkflowLayout::is_of_run(const core::Lease& lease) const {
  const auto run = entry().options.find(kRunOption);
  if (run == entry().options.end() || !lease.parent.empty()) return false;
  const std::string above = run->second + "/";
  const std::string& session = lease.owner.session;
  return session.starts_with(above) && session.find('/', above.size()) == std::string::npos;
}

// Is it empty, or past its end?
bool WorkflowLayout::is_free(const std::string& name) const {
  const auto locks = folder();
  if (!locks) return false;
  if (!*locks) return true;
  const auto there = try_entry(**locks, name);
  return there && (!*there || (*there)->lock.expired(now_ms()));
}

// The protocol's own name where it is free; where the lease is shown already, the name it has.
std::string WorkflowLayout::artefact_for(const core::Lease& lease) const {
  const std::string here = core::mirror_place(id(), "");
  for (const std::string& place : lease.mirrored_at) {
    if (place.starts_with(here)) return place.substr(here.size());
  }
  const std::string name = lock_name(lease.owner.agent);
  const bool plain = is_of_run(lease) && check_lock_name(lease.owner.agent) && is_free(name);
  return artefact_of(plain ? name : mirror_name(lease));
}

layout::Artefacts WorkflowLayout::artefacts(const core::Lease& lease) const {
  layout::Artefacts artefacts;
  const LockFile lock = lock_file_of(lease, &artefacts.unmirrored);
  if (lease.terms.layout == id()) {
    artefacts.names = {lease.terms.artefact};
  } else if (!lock.files.empty() || !lock.directories.empty()) {
    // If OUTPUT is gone, the workflow is over: it is not created again for others' leases.
    if (::access(entry().root.c_str(), F_OK) == 0) {
      artefacts.names = {artefact_for(lease)};
      return artefacts;
    }
    for (const std::vector<std::string>* const hidden : {&lock.files, &lock.directories}) {
      artefacts.unmirrored.insert(artefacts.unmirrored.end(), hidden->begin(), hidden->end());
    }
  }
  return artefacts;
}

std::string WorkflowLayout::identity(const core::Lease& lease, const std::string& artefact) const {
  return identity_of(lock_file_of(lease), artefact);
}

Result<void> WorkflowLayout::prepare(const core::Lease& lease, const std::string& artefact) {
  LK_ASSIGN(const Folder locks, Folder::create(entry().root, kLocksFolder));
  const std::string name = beside(file_name_of(artefact), lease.id, kPrepared);
  LK_CHECK(locks.remove_all(name));  // of an earlier attempt
  return host::write_new(locks, name, render(lock_file_of(lease)));
}

Result<bool> WorkflowLayout::is_prepared(const core::LeaseId& lease, const std::string& artefact) {
  LK_ASSIGN(const std::optional<Folder> locks, folder());
  if (!locks) return false;
  LK_ASSIGN(const std::optional<FileStamp> stamp,
            locks->stamp(beside(file_name_of(artefact), lease, kPrepared)));
  return stamp.has_value();
}

Result<void> WorkflowLayout::discard(const core::LeaseId& lease, const std::string& artefact) {
  LK_ASSIGN(const std::optional<Folder> locks, folder());
  if (!locks) return {};
  const std::string name = file_name_of(artefact);
  LK_CHECK(locks->remove_all(beside(name, lease, kRenewed)));
  return locks->remove_all(beside(name, lease, kPrepared));
}

Result<Published> WorkflowLayout::publish(const core::Lease& lease, const std::string& artefact,
                                          const layout::PublishTerms& terms) {
  LK_ASSIGN(const Folder locks, Folder::create(entry().root, kLocksFolder));
  const std::string name = file_name_of(artefact);
  const std::string prepared = beside(name, lease.id, kPrepared);
  LK_ASSIGN(const std::optional<FileStamp> there, locks.stamp(prepared));
  if (!there) {
    // Another of our processes has published the lease already.
    LK_ASSIGN(const bool done,
              is_replaceable(locks, name, {identity(lease, artefact)}, name, false));
    return done ? Published::kDone : Published::kTaken;
  }
  return replace(locks, prepared, name, terms.replaces, true);
}

// May the file be replaced: is it ours, or expired (the protocol lets a new lock overwrite that)?
Result<bool> WorkflowLayout::is_replaceable(const Folder& folder, const std::string& name,
                                            const std::vector<std::string>& identities,
                                            const std::string& as_name, bool expired_too) const {
  const auto entry = try_entry(folder, name);
  if (!entry || !*entry) return false;  // an unreadable file is not replaced
  const LockFile& lock = (*entry)->lock;
  const bool ours = std::ranges::find(identities, identity_of(lock, as_name)) != identities.end();
  return ours || (expired_too && lock.expired(now_ms()));
}

// Puts `prepared` in the file's place, which is empty, ours, or expired. Another tool may write
// there at any moment, so the displaced file is checked again, and put back if it is another's.
Result<Published> WorkflowLayout::replace(const Folder& folder, const std::string& prepared,
                                          const std::string& name,
                                          const std::vector<std::string>& ours,
                                          bool expired_too) const {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    LK_ASSIGN(const bool done, host::rename_new(folder, prepared, name));
    if (done) return Published::kDone;
    LK_ASSIGN(const bool may, is_replaceable(folder, name, ours, name, expired_too));
    if (!may) {
      LK_ASSIGN(const std::optional<FileStamp> there, folder.stamp(name));
      if (!there) continue;  // removed meanwhile
      return Published::kTaken;
    }
    if (auto swapped = host::exchange(folder, prepared, name); !swapped) {
      LK_ASSIGN(const std::optional<FileStamp> there, folder.stamp(name));
      if (!there) continue;
      return fail(std::move(swapped.error()));
    }
    LK_ASSIGN(const bool displaced, is_replaceable(folder, prepared, ours, name, expired_too));
    if (displaced) {
      LK_CHECK(folder.remove_all(prepared));
      return Published::kDone;
    }
    // Another tool wrote in between. If ours is gone by now, theirs is put back as a new file.
    if (auto back = host::exchange(folder, prepared, name); !back) {
      LK_CHECK(host::rename_new(folder, prepared, name));
    }
    return Published::kTaken;
  }
  return Published::kTaken;
}

Result<void> WorkflowLayout::refresh(const core::Lease& lease, const std::string& artefact) {
  LK_ASSIGN(const std::optional<Folder> locks, folder());
  if (!locks) return {};
  const std::string name = file_name_of(artefact);
  const auto entry = try_entry(*locks, name);
  LockFile now = lock_file_of(lease);
  if (!entry || !*entry || (*entry)->lock.identity() != now.identity()) return {};
  const LockFile& before = (*entry)->lock;
  // A lock's scope is part of its identity: if a part of the lease was released, the file still
  // shows the whole.
  if (!is_mirror_name(name)) {
    now.files = before.files;
    now.directories = before.directories;
  }
  const std::string renewed = beside(name, lease.id, kRenewed);
  LK_CHECK(locks->remove_all(renewed));
  LK_CHECK(host::write_new(*locks, renewed, render(now)));
  if (auto swapped = host::exchange(*locks, renewed, name); !swapped) {
    LK_CHECK(locks->remove_all(renewed));
    LK_ASSIGN(const std::optional<FileStamp> there, locks->stamp(name));
    if (!there) return {};  // removed meanwhile: the next scan notices
    return fail(std::move(swapped.error()));
  }
  LK_ASSIGN(const bool displaced,
            is_replaceable(*locks, renewed, {identity_of(before, name)}, name, false));
  if (!displaced) {
    if (auto back = host::exchange(*locks, renewed, name); !back) {
      LK_CHECK(host::rename_new(*locks, renewed, name));
    }
  }
  return locks->remove_all(renewed);
}

Result<Removed> WorkflowLayout::remove(const std::string& artefact, const std::string& identity) {
  LK_ASSIGN(const std::optional<Folder> locks, folder());
  if (!locks) return Removed::kGone;
  const std::string name = file_name_of(artefact);
  LK_ASSIGN(const std::optional<FileStamp> there, locks->stamp(name));
  if (!there) return Removed::kGone;
  if (identity.empty()) {
    LK_CHECK(locks->remove_all(name));
    return Removed::kDone;
  }
  LK_ASSIGN(const bool ours, is_replaceable(*locks, name, {identity}, name, false));
  if (!ours) return Removed::kForeign;
  const std::string aside = aside_name(name, identity);
  LK_CHECK(clear_trace(*locks, aside));
  if (auto moved = host::rename_new(*locks, name, aside); !moved) {
    LK_ASSIGN(const std::optional<FileStamp> still, locks->stamp(name));
    if (!still) return Removed::kGone;
    return fail(std::move(moved.error()));
  }
  // A concurrent scan may clear it away by the same rule, so the file's state afterwards tells the
  // result.
  LK_CHECK(clear_trace(*locks, aside));
  LK_ASSIGN(const std::optional<FileStamp> left, locks->stamp(name));
  return left ? Removed::kForeign : Removed::kDone;
}

// Removes the file set aside if its hash matches its name. Otherwise it is another's and is put
// back, unless that tool has written a new lock meanwhile.
Result<void> WorkflowLayout::clear_trace(const Folder& folder, const std::string& name) const {
  LK_ASSIGN(const std::optional<FileStamp> there, folder.stamp(name));
  if (!there) return {};
  const std::size_t digits = 16 + 1 + kAside.size();  // ".0123456789abcdef.old" without the dot
  if (name.size() < digits + 2) return {};
  const std::string place = name.substr(1, name.size() - digits - 1);
  const auto entry = try_entry(folder, name);
  if (entry && !*entry) return {};  // another process was faster
  const bool ours = entry && aside_name(place, identity_of((*entry)->lock, place)) == name;
  if (!ours) {
    auto back = host::rename_new(folder, name, place);
    LK_ASSIGN(const std::optional<FileStamp> still, folder.stamp(name));
    if (!still) return {};
    if (!back) return fail(std::move(back.error()));
  }
  return folder.remove_all(name);
}

Result<bool> WorkflowLayout::remove_folder() {
  LK_ASSIGN(const std::optional<Folder> locks, folder());
  if (!locks) return true;
  LK_ASSIGN(const Names all, names());
  for (const std::string& trace : all.traces) {
    LK_ASSIGN(const std::optional<FileStamp> stamp, locks->stamp(trace));
    if (stamp && now_ms() - stamp->mtime_ms > layout::kLeftAfterMs)
      LK_CHECK(locks->remove_all(trace));
  }
  // Only if it is empty: another's lock may appear at any moment.
  if (::rmdir(locks->path().c_str()) == 0 || errno == ENOENT) return true;
  if (errno == ENOTEMPTY || errno == EEXIST) return false;
  return fail(errno_error(errno, "cannot remove the folder " + quote(locks->path())));
}

Result<void> WorkflowLayout::sweep(std::int64_t idle_ms) {
  LK_ASSIGN(const std::optional<Folder> locks, folder());
  if (!locks) return {};
  // What is set aside may be another tool's: see clear_trace().
  return remove_old(*locks, now_ms() - idle_ms,
                    [](const std::string& name) { return is_trace(name) && !is_aside(name); });
}

Result<std::unique_ptr<layout::Layout>> make_layout(const layout::LayoutEntry& entry,
                                                    const layout::LayoutContext& context) {
  for (const auto& [name, value] : entry.options) {
    if (name == kRunOption) continue;
    return fail(Code::kInvalidInput, "a workflow layout has no option " + quote(name),
                "it takes only kind and root");
  }
  return std::make_unique<WorkflowLayout>(entry, context);
}

}  // namespace lockkeeper::dialect::workflow
