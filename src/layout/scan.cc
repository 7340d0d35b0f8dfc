#include "layout/scan.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "layout/mirrored_rows.h"

namespace lockkeeper::layout {
namespace {

constexpr std::size_t kChangesPerCommit = 200;
constexpr std::size_t kVerifiedMax = 64;
constexpr int kScansMax = 8;  // of a large source that others keep changing

using LayoutScan = Scan::LayoutScan;
using Stamps = Scan::Stamps;
using SourceKey = std::pair<Layout*, std::string>;
using ScannedAgain = std::map<SourceKey, ScanResult>;  // inside one transaction

using Fresh = std::pair<Layout*, const Sighting*>;  // new from another tool
using Earlier = std::map<std::pair<const Layout*, std::string_view>, const Sighting*>;

struct Changes {
  std::set<SourceKey> sources;  // with something new from another tool
  std::vector<Fresh> fresh;
  std::vector<core::KnownForeign> gone;
  std::vector<core::MirrorArtefact> missing;
};

std::string encode(const Stamps& stamps) {
  std::string out;
  for (const auto& [source, stamp] : stamps) {
    append_be64(out, source);
    append_be64(out, stamp);
  }
  return out;
}

Stamps decode(std::string_view bytes) {
  Stamps stamps;
  for (; bytes.size() >= 16; bytes.remove_prefix(16)) {
    stamps.emplace_back(read_be64(bytes), read_be64(bytes.substr(8)));
  }
  return stamps;
}

const std::uint64_t* find_stamp(const Stamps& stamps, std::uint64_t source) {
  const auto at = std::ranges::lower_bound(stamps, source, {}, &Stamps::value_type::first);
  return at != stamps.end() && at->first == source ? &at->second : nullptr;
}

// Nothing for a young source: it must be read again.
std::optional<std::uint64_t> stamp_of(const Stamps& stamps, const std::string& source) {
  const std::uint64_t* const stamp = find_stamp(stamps, hash64(source));
  return stamp == nullptr || *stamp == 0 ? std::nullopt : std::optional(*stamp);
}

Stamps stamps_of(const ScanResult& seen) {
  Stamps stamps;
  for (const Source& source : seen.sources) {
    // A young source is listed, so that its end is noticed, but must be read again.
    stamps.emplace_back(hash64(source.name), source.fresh ? 0 : source.stamp);
  }
  std::ranges::sort(stamps);
  return stamps;
}

// Does the lease have everything that this lock claims?
bool stands_for(const core::Lease& lease, const core::ForeignLock& lock) {
  if (lock.claims.size() > lease.claims.size()) return false;
  std::set<std::string_view> held;
  for (const core::Claim& claim : lease.claims) held.insert(claim.resource.text());
  return std::ranges::all_of(
      lock.claims, [&](const core::Claim& claim) { return held.contains(claim.resource.text()); });
}

void add_claims(core::ForeignLock& lock, const std::vector<core::Claim>& more) {
  for (const core::Claim& claim : more) {
    if (std::ranges::find(lock.claims, claim) == lock.claims.end()) lock.claims.push_back(claim);
  }
}

Result<void> end_removed(core::Table& table, const core::KnownForeign& gone) {
  return core::end_foreign(table, gone, {"released", "artefact_removed", "", {}});
}

Result<bool> is_ours(core::State& state, const Sighting& sighting) {
  LK_ASSIGN(const std::vector<core::MirrorArtefact> rows,
            core::mirrored_as(state, sighting.lock.layout, sighting.lock.artefact));
  return std::ranges::any_of(
      rows, [&](const core::MirrorArtefact& row) { return row.identity == sighting.identity; });
}

// The table's lease for this lock; null: none, or the lock has changed.
Result<const core::Lease*> lease_of(core::State& state, const core::ForeignLock& lock) {
  LK_ASSIGN(const std::optional<core::KnownForeign> known,
            core::known_foreign(state, lock.layout, lock.artefact));
  if (!known || known->stamp != lock.stamp) return nullptr;
  return state.lease(known->lease);
}

// Which artefacts are not there: by name, by source, or because everything was scanned.
class Absent {
 public:
  explicit Absent(const LayoutScan& part) : seen_(part.seen) {
    absent_.insert(seen_.absent.begin(), seen_.absent.end());
    for (const Source& source : seen_.sources) {
      sources_.insert(source.name);
      const bool known = !source.fresh && stamp_of(part.before, source.name) == source.stamp;
      if (!known) read_.insert(source.name);
    }
    for (const Sighting& sighting : seen_.sightings) {
      there_.emplace(sighting.lock.artefact, sighting.identity);
      read_.insert(source_of(sighting.lock.artefact));
    }
  }

  // Where the table may know something that is gone; "" is everywhere.
  std::set<std::string> prefixes(const LayoutScan& part, const Stamps& now) const {
    const bool lost = std::ranges::any_of(
        part.before, [&](const auto& before) { return find_stamp(now, before.first) == nullptr; });
    // Ours may have come and gone since the last scan; only a full scan handles that.
    if (seen_.complete && (lost || seen_.sources.empty())) return {""};
    std::set<std::string> all = absent_;
    all.insert(read_.begin(), read_.end());
    return all;
  }

  bool is_gone(const std::string& artefact) const {
    const std::string source = source_of(artefact);
    if (there_.contains(artefact)) return false;
    return absent_.contains(source) || (seen_.complete && !sources_.contains(source)) ||
           read_.contains(source);
  }
  bool is_missing(const core::MirrorArtefact& row) const {
    if (!row.live || seen_.is_over(row.artefact, row.identity)) return false;
    const auto there = there_.find(row.artefact);
    return there == there_.end() ? is_gone(row.artefact) : there->second != row.identity;
  }

 private:
  const ScanResult& seen_;
  std::set<std::string> absent_;
  std::set<std::string> read_;  // sources whose locks were all seen
  std::set<std::string_view> sources_;
  std::map<std::string_view, std::string_view> there_;  // artefact and identity
};

// What the table knows of this layout and the scan did not find. `ours`: artefacts that it found.
Result<void> find_gone(core::State& state, const LayoutScan& part,
                       const std::set<std::string>& ours, Changes& changes) {
  const ScanResult& seen = part.seen;
  const Stamps now = stamps_of(seen);
  const bool nothing_read = seen.complete && seen.sightings.empty() && seen.absent.empty();
  if (nothing_read && !seen.sources.empty() && now == part.before) return {};
  const Absent absent(part);
  for (const std::string& prefix : absent.prefixes(part, now)) {
    LK_ASSIGN(const std::vector<core::KnownForeign> known,
              core::all_known_foreign(state, part.layout->id(), prefix));
    for (const core::KnownForeign& one : known) {
      if (ours.contains(one.artefact) || absent.is_gone(one.artefact)) changes.gone.push_back(one);
    }
    LK_ASSIGN(const std::vector<core::MirrorArtefact> rows,
              core::all_mirrored(state, part.layout->id(), prefix));
    for (const core::MirrorArtefact& row : rows) {
      if (absent.is_missing(row)) changes.missing.push_back(row);
    }
  }
  return {};
}

Result<Changes> changes_of(std::span<const LayoutScan> looks, core::State& state) {
  Changes found;
  for (const LayoutScan& part : looks) {
    std::set<std::string> ours;
    for (const Sighting& sighting : part.seen.sightings) {
      const core::ForeignLock& lock = sighting.lock;
      LK_ASSIGN(const bool own, is_ours(state, sighting));
      if (own) ours.insert(lock.artefact);
      if (own) continue;
      LK_ASSIGN(const core::Lease* lease, lease_of(state, lock));
      const bool same = lease != nullptr && stands_for(*lease, lock);
      if (same) continue;
      found.sources.emplace(part.layout, source_of(lock.artefact));
      found.fresh.emplace_back(part.layout, &sighting);
    }
    if (!part.partial) LK_CHECK(find_gone(state, part, ours, found));
  }
  return found;
}

Result<const ScanResult*> scan_again(ScannedAgain& looked, Layout& layout,
                                     const std::string& source) {
  const auto [at, unseen] = looked.try_emplace({&layout, source});
  if (unseen) {
    LK_ASSIGN(at->second, layout.scan_source(source));
  }
  return &at->second;
}

// What was seen before the transaction, by artefact.
Earlier earlier_of(std::span<const LayoutScan> looks) {
  Earlier all;
  for (const LayoutScan& part : looks) {
    for (const Sighting& sighting : part.seen.sightings) {
      all.try_emplace({part.layout, sighting.lock.artefact}, &sighting);
    }
  }
  return all;
}

// True: something was changed.
Result<bool> place_one(core::Table& table, const Sighting& sighting, const Sighting* before) {
  LK_ASSIGN(const bool ours, is_ours(table.state(), sighting));
  if (ours || sighting.lock.claims.empty()) return false;
  core::ForeignLock lock = sighting.lock;
  // The name that was searched may be an unusual reading of the artefact's name.
  if (before != nullptr && before->lock.stamp == lock.stamp) add_claims(lock, before->lock.claims);
  LK_ASSIGN(const core::Lease* lease, lease_of(table.state(), lock));
  if (lease != nullptr && stands_for(*lease, lock)) return false;
  if (lease != nullptr) add_claims(lock, lease->claims);
  LK_CHECK(core::place_foreign(table, lock));
  return true;
}

// True: something was changed.
Result<bool> place(core::Table& table, const Earlier& earlier, Layout& layout,
                   const std::string& source, ScannedAgain& looked) {
  LK_ASSIGN(const ScanResult* now, scan_again(looked, layout, source));
  bool changed = false;
  for (const Sighting& sighting : now->sightings) {
    const auto before = earlier.find({&layout, sighting.lock.artefact});
    LK_ASSIGN(const bool placed,
              place_one(table, sighting, before == earlier.end() ? nullptr : before->second));
    changed |= placed;
  }
  return changed;
}

// What a scan did not find may have appeared since, and another process of ours may have recorded
// it. If the old scan ended it, it would be lost for good, because its source counts as read.
Result<bool> end_gone(core::Table& table, const Earlier& earlier, Layout& layout,
                      const core::KnownForeign& gone, ScannedAgain& looked) {
  const std::string source = source_of(gone.artefact);
  LK_ASSIGN(const ScanResult* now, scan_again(looked, layout, source));
  if (const Sighting* const there = now->find(gone.artefact)) {
    LK_ASSIGN(const bool ours, is_ours(table.state(), *there));
    if (!ours) return place(table, earlier, layout, source, looked);
  }
  LK_CHECK(end_removed(table, gone));
  return true;
}

// Brings changes into the table, as many as one commit takes.
class Portion {
 public:
  Portion(core::Table& table, const OpenLayouts& layouts, const Earlier& earlier)
      : table_(table), layouts_(layouts), earlier_(earlier) {}

  // False: its source has changed since it was scanned, and is too large to be scanned in here.
  Result<bool> place(const Fresh& fresh) {
    const auto& [layout, sighting] = fresh;
    const std::string source = source_of(sighting->lock.artefact);
    LK_ASSIGN(const bool current, is_as_scanned(*layout, source));
    if (current) {
      LK_CHECK(place_one(table_, *sighting, nullptr));
      return true;
    }
    if (source != sighting->lock.artefact) return false;
    LK_CHECK(layout::place(table_, earlier_, *layout, source, looked_));
    return true;
  }
  Result<bool> end(const core::KnownForeign& gone) {
    Layout& layout = *layouts_.find(gone.layout);
    const std::string source = source_of(gone.artefact);
    LK_ASSIGN(const bool current, is_as_scanned(layout, source));
    if (current) {
      LK_CHECK(end_removed(table_, gone));
      return true;
    }
    if (source != gone.artefact) return false;
    LK_CHECK(end_gone(table_, earlier_, layout, gone, looked_));
    return true;
  }

 private:
  Result<bool> is_as_scanned(Layout& layout, const std::string& source) {
    const auto [at, unknown] = current_.try_emplace({&layout, source}, false);
    if (unknown) {
      LK_ASSIGN(at->second, layout.is_as_scanned(source));
    }
    return at->second;
  }

  core::Table& table_;
  const OpenLayouts& layouts_;
  const Earlier& earlier_;
  ScannedAgain looked_;
  std::map<SourceKey, bool> current_;
};

// False: scan again, then go on.
Result<bool> bring_in_changes(LockTable& table, const OpenLayouts& layouts,
                              std::span<const LayoutScan> looks, const Changes& found) {
  const Earlier earlier = earlier_of(looks);
  const std::size_t gone = found.gone.size();
  const std::size_t all = gone + found.fresh.size();
  for (std::size_t next = 0; next < all;) {
    std::size_t end = next;
    bool stale = false;
    LK_CHECK(table.write([&](core::Table& open) -> Result<bool> {
      LK_ASSIGN(const std::set<std::string> removed, layouts.gone());
      stale = !removed.empty();
      if (stale) return false;
      Portion portion(open, layouts, earlier);
      const std::size_t most = std::min(all, next + kChangesPerCommit);
      for (end = next, stale = false; end < most && !stale; ++end) {
        LK_ASSIGN(const bool done, end < gone ? portion.end(found.gone[end])
                                              : portion.place(found.fresh[end - gone]));
        stale = !done;
      }
      return false;
    }));
    if (stale) return false;
    next = end;
  }
  return true;
}

Result<void> note_stamps(core::State& state, std::span<const LayoutScan> looks) {
  for (const LayoutScan& part : looks) {
    const Stamps now = stamps_of(part.seen);
    if (!part.seen.complete || now == part.before) continue;
    LK_CHECK(core::put_layout_stamps(state, part.layout->id(), encode(now)));
  }
  return {};
}

// Is it neither prepared nor published? Checked in this order, because publishing is one step from
// the one to the other. Writes nothing.
Result<bool> is_removed(Layout& layout, const core::MirrorArtefact& row) {
  LK_ASSIGN(const bool prepared, layout.is_prepared(row.lease, row.artefact));
  if (prepared) return false;
  LK_ASSIGN(const ScanResult now, layout.scan_source(source_of(row.artefact)));
  return !now.shows(row.artefact, row.identity);
}

Result<void> add_conflicts(const core::AcquireRequest& request, const core::ForeignLock& lock,
                           std::vector<core::Conflict>& conflicts) {
  for (const core::Claim& asked : request.claims) {
    for (const core::Claim& held : lock.claims) {
      LK_ASSIGN(const std::optional<std::string> common,
                key::overlap(asked.resource, held.resource));
      if (common) conflicts.push_back(core::conflict_with(lock, asked, held, *common));
    }
  }
  return {};
}

}  // namespace

void Scan::clear() {
  parts_.clear();
  missing_.clear();
  generation_ = layouts_.generation();
}

std::span<const LayoutScan> Scan::parts() const {
  if (generation_ != layouts_.generation()) return {};
  return parts_;
}

Result<void> Scan::read(const std::vector<core::Claim>* wanted, Depth depth) {
  wanted_.reset();
  if (wanted != nullptr) {
    wanted_.emplace();
    for (const core::Claim& claim : *wanted) wanted_->push_back(claim.resource);
  }
  depth_ = depth;
  return read_again();
}

Result<void> Scan::read_again() {
  clear();
  for (Layout* const layout : layouts_.all()) {
    if (depth_ == Depth::kLateWriters && !layout->scan_after_publishing()) continue;
    LayoutScan part{layout, {}, {}, false};
    LK_ASSIGN(const std::string stamps, table_.get([&](core::Table& table) {
      return core::layout_stamps(table.state(), layout->id());
    }));
    part.before = decode(stamps);
    Interest interest;
    if (wanted_) interest.wanted = &*wanted_;
    interest.known = [&](const std::string& source, std::uint64_t stamp) {
      return stamp_of(part.before, source) == stamp;
    };
    if (depth_ == Depth::kSparing && layout->scan_after_publishing()) {
      interest.as_before = [&](const std::string& source) { return stamp_of(part.before, source); };
    }
    LK_ASSIGN(part.seen, layout->scan(interest));
    parts_.push_back(std::move(part));
  }
  return {};
}

bool Scan::is_much() const {
  std::size_t seen = 0;
  for (const LayoutScan& part : parts()) seen += part.seen.sightings.size();
  return seen > kChangesPerCommit;
}

Result<void> Scan::bring_in() {
  for (int tries = 0; is_much() && tries < kScansMax; ++tries) {
    Changes found;
    const auto look = [&](core::Table& table) -> Result<void> {
      LK_ASSIGN(found, changes_of(parts(), table.state()));
      return {};
    };
    LK_ASSIGN(const bool store, table_.read(look));
    if (!store) {
      LK_CHECK(table_.write([](core::Table&) -> Result<bool> { return false; }));
      LK_CHECK(table_.read(look));
    }
    LK_ASSIGN(const bool done, bring_in_changes(table_, layouts_, parts(), found));
    if (done) {
      LK_CHECK(table_.write([&](core::Table& table) -> Result<bool> {
        LK_CHECK(note_stamps(table.state(), parts()));
        return false;
      }));
      missing_ = std::move(found.missing);
      keep_wanted();
      return {};
    }
    LK_ASSIGN(const std::set<std::string> gone, layouts_.gone());
    if (!gone.empty()) return {};  // apply() omits them
    LK_CHECK(read_again());
  }
  return {};
}

// The rest is in the table. If some of it is gone since, whoever is refused because of it looks.
void Scan::keep_wanted() {
  const auto unwanted = [&](const Sighting& sighting) {
    return !wanted_ || std::ranges::none_of(*wanted_, [&](const key::Resource& wanted) {
      return std::ranges::any_of(sighting.lock.claims, [&](const core::Claim& held) {
        const auto common = key::overlap(wanted, held.resource);
        return !common || *common;
      });
    });
  };
  for (LayoutScan& part : parts_) {
    std::erase_if(part.seen.sightings, unwanted);
    part.seen.complete = false;
    part.partial = true;
  }
}

Result<void> Scan::read_behind(const std::vector<core::Conflict>& conflicts) {
  clear();
  wanted_.reset();
  depth_ = Depth::kFull;
  std::set<SourceKey> sources;
  for (const core::Conflict& conflict : conflicts) {
    Layout* const layout = layouts_.find(conflict.holder.terms.layout);
    if (layout == nullptr || conflict.waiting || sources.size() == kVerifiedMax) continue;
    sources.emplace(layout, source_of(core::foreign_artefact(conflict.holder)));
  }
  for (const auto& [layout, source] : sources) {
    LK_ASSIGN(ScanResult seen, layout->scan_source(source));
    parts_.push_back({layout, std::move(seen), {}, false});
  }
  return {};
}

Result<bool> Scan::differs(core::State& state) const {
  LK_ASSIGN(const Changes found, changes_of(parts(), state));
  return !found.sources.empty() || !found.gone.empty() || !found.missing.empty();
}

Result<Scan::Applied> Scan::apply(core::Table& table) const {
  LK_ASSIGN(const std::set<std::string> gone, layouts_.gone());
  if (gone.empty()) return apply(table, parts());
  // What was seen in a layout that was removed since would stay in the table for good.
  std::vector<LayoutScan> still_on;
  for (const LayoutScan& part : parts()) {
    if (!gone.contains(part.layout->id())) still_on.push_back(part);
  }
  return apply(table, still_on);
}

Result<Scan::Applied> Scan::apply(core::Table& table, std::span<const LayoutScan> looks) const {
  LK_ASSIGN(Changes found, changes_of(looks, table.state()));
  Applied applied{false, std::move(found.missing)};
  applied.missing.insert(applied.missing.end(), missing_.begin(), missing_.end());
  ScannedAgain looked;
  Earlier earlier;
  if (!found.gone.empty() || !found.sources.empty()) earlier = earlier_of(looks);
  std::size_t done = 0;  // changes that are not found again after the commit
  for (const core::KnownForeign& gone : found.gone) {
    LK_ASSIGN(const bool changed,
              end_gone(table, earlier, *layouts_.find(gone.layout), gone, looked));
    if (changed) applied.more = ++done == kChangesPerCommit;
    if (applied.more) return applied;
  }
  for (const auto& [layout, source] : found.sources) {
    LK_ASSIGN(const bool changed, place(table, earlier, *layout, source, looked));
    if (changed) applied.more = ++done == kChangesPerCommit;
    if (applied.more) return applied;
  }
  LK_CHECK(note_stamps(table.state(), looks));
  return applied;
}

Result<void> Scan::apply_source(core::Table& table, Layout& layout,
                                const std::string& source) const {
  LK_ASSIGN(const std::set<std::string> gone, layouts_.gone());
  if (gone.contains(layout.id())) return {};
  ScannedAgain looked;
  LK_CHECK(place(table, earlier_of(parts()), layout, source, looked));
  return {};
}

Result<void> Scan::overlay(core::Table* table, const core::AcquireRequest& request,
                           core::CheckReply& reply) const {
  Changes found;
  std::set<core::LeaseId> ended;
  if (table != nullptr) {
    LK_ASSIGN(found, changes_of(parts(), table->state()));
    for (const core::KnownForeign& gone : found.gone) ended.insert(gone.lease);
    for (const core::MirrorArtefact& row : found.missing) {
      LK_ASSIGN(const core::Lease* lease, table->state().lease(row.lease));
      if (lease == nullptr || !taken_through(*lease, row)) continue;
      LK_ASSIGN(const bool removed, is_removed(*layouts_.find(row.layout), row));
      if (removed) ended.insert(row.lease);
    }
  }
  std::erase_if(reply.conflicts, [&](const core::Conflict& conflict) {
    const core::Lease& holder = conflict.holder;
    if (ended.contains(holder.id)) return true;
    // Its current state is handled below.
    return holder.foreign && found.sources.contains({layouts_.find(holder.terms.layout),
                                                     source_of(core::foreign_artefact(holder))});
  });
  for (const LayoutScan& part : parts()) {
    for (const Sighting& sighting : part.seen.sightings) {
      bool known = false;
      if (table != nullptr) {
        known = !found.sources.contains({part.layout, source_of(sighting.lock.artefact)});
        if (!known) {
          LK_ASSIGN(known, is_ours(table->state(), sighting));
        }
      }
      if (!known) LK_CHECK(add_conflicts(request, sighting.lock, reply.conflicts));
    }
  }
  reply.free = reply.conflicts.empty();
  return {};
}

Result<Scan::Due> Scan::due(core::State& state) const {
  Due due;
  LK_ASSIGN(due.changed, differs(state));
  for (const LayoutScan& part : parts()) {
    if (!part.seen.complete) continue;
    const Stamps now = stamps_of(part.seen);
    due.changed |= now != part.before;
    LK_ASSIGN(const std::vector<core::MirrorArtefact> rows,
              core::all_mirrored(state, part.layout->id()));
    for (const core::MirrorArtefact& row : rows) {
      if (!row.live) continue;
      if (find_stamp(now, hash64(source_of(row.artefact))) == nullptr) due.unlisted.push_back(row);
      LK_ASSIGN(const core::Lease* lease, state.lease(row.lease));
      LK_ASSIGN(const core::Condition condition, core::condition(state, *lease));
      if (condition.over || condition.newly_orphaned) due.over.insert(row.lease);
    }
  }
  return due;
}

}  // namespace lockkeeper::layout
