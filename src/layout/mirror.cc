// Reading: from the disk into the table.
#include "layout/mirror.h"

#include <algorithm>
#include <map>

#include "base/bytes.h"
#include "base/text.h"
#include "layout/registry.h"

namespace lockkeeper::layout {
namespace {

constexpr std::size_t kChangesPerCommit = 200;
constexpr std::size_t kVerifiedMax = 64;

using Stamps = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

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

bool listed(const Stamps& stamps, std::uint64_t source) {
  return std::ranges::binary_search(stamps, source, {}, &Stamps::value_type::first);
}

// Nothing for a young one: it must be read again.
std::optional<std::uint64_t> stamp_before(const Stamps& stamps, std::uint64_t source) {
  const auto at = std::ranges::lower_bound(stamps, source, {}, &Stamps::value_type::first);
  if (at == stamps.end() || at->first != source || at->second == 0) return std::nullopt;
  return at->second;
}

Stamps stamps_of(const Seen& seen) {
  Stamps stamps;
  for (const Source& source : seen.sources) {
    // A young one is listed, so that its end is noticed, but must be read again.
    stamps.emplace_back(hash64(source.name), source.fresh ? 0 : source.stamp);
  }
  std::ranges::sort(stamps);
  return stamps;
}

// Does the lease that stands for this lock have all that it claims?
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

}  // namespace

Result<bool> Mirror::open() {
  LK_ASSIGN(std::vector<LayoutEntry> entries, load_layouts(table_.realm(), table_.settings()));
  return open(std::move(entries));
}

Result<bool> Mirror::open_to_write() {
  LK_ASSIGN(std::vector<LayoutEntry> entries, settled_layouts(table_));
  return open(std::move(entries));
}

Result<bool> Mirror::open(std::vector<LayoutEntry> entries) {
  entries_ = std::move(entries);
  if (entries_.empty()) return false;
  const Runtime& runtime = table_.runtime();
  if (!context_) {
    context_.emplace(table_.realm(), table_.settings(), runtime.env, *runtime.clock);
  }
  for (const LayoutEntry& entry : entries_) {
    const bool off = entry.mode == LayoutMode::kOff;
    const auto kind = runtime.layout_kinds.find(entry.kind);
    if (kind == runtime.layout_kinds.end()) {
      if (off) continue;
      return fail(Code::kInvalidConfig,
                  "layout " + entry.id() + " is of the unknown kind " + quote(entry.kind),
                  "remove it: lockkeeper layout remove " + entry.id());
    }
    auto layout = kind->second(entry, *context_);
    if (!layout && off) continue;
    if (!layout) return fail(std::move(layout.error()));
    (off ? off_ : layouts_).push_back(std::move(*layout));
  }
  return !layouts_.empty();
}

Result<bool> Mirror::reopen() {
  const auto same = [](const LayoutEntry& a, const LayoutEntry& b) {
    return a.kind == b.kind && a.root == b.root && a.mode == b.mode && a.options == b.options &&
           a.ignored == b.ignored;
  };
  LK_ASSIGN(const std::vector<LayoutEntry> now, load_layouts(table_.realm(), table_.settings()));
  if (std::ranges::equal(now, entries_, same)) return false;
  for (auto* const old : {&layouts_, &off_}) {
    for (std::unique_ptr<Layout>& layout : *old) retired_.push_back(std::move(layout));
    old->clear();
  }
  looked_.clear();
  LK_CHECK(open());
  return true;
}

Layout* Mirror::find(std::string_view id) const {
  for (const std::unique_ptr<Layout>& layout : layouts_) {
    if (layout->id() == id) return layout.get();
  }
  return nullptr;
}

std::vector<Layout*> Mirror::layouts() const {
  std::vector<Layout*> all;
  for (const std::unique_ptr<Layout>& layout : layouts_) all.push_back(layout.get());
  return all;
}

Layout* Mirror::find_to_remove(std::string_view id) const {
  for (const std::unique_ptr<Layout>& layout : off_) {
    if (layout->id() == id) return layout.get();
  }
  return find(id);
}

Result<void> Mirror::add_look(Layout& layout, const Interest& interest, bool spare) {
  Looked looked;
  looked.layout = &layout;
  LK_CHECK(table_.read([&](core::Table& table) -> Result<void> {
    LK_ASSIGN(const std::string stamps, core::layout_stamps(table.state(), layout.id()));
    looked.before = decode(stamps);
    return {};
  }));
  Interest told = interest;
  told.known = [&](const std::string& source, std::uint64_t stamp) {
    return stamp != 0 &&
           std::ranges::binary_search(looked.before, std::pair(hash64(source), stamp));
  };
  if (spare && layout.look_after_publishing()) {
    told.as_before = [&](const std::string& source) {
      return stamp_before(looked.before, hash64(source));
    };
  }
  LK_ASSIGN(looked.seen, layout.look(told));
  looked_.push_back(std::move(looked));
  return {};
}

Result<void> Mirror::look(const std::vector<core::Claim>& wanted, bool spare) {
  if (layouts_.empty()) return {};
  std::vector<key::Resource> resources;
  for (const core::Claim& claim : wanted) resources.push_back(claim.resource);
  return look(&resources, spare);
}

Result<void> Mirror::look_at_all() {
  return look(nullptr, false);
}

Result<void> Mirror::look(const std::vector<key::Resource>* wanted, bool spare) {
  looked_.clear();
  for (const std::unique_ptr<Layout>& layout : layouts_) {
    Interest interest;
    interest.wanted = wanted;
    LK_CHECK(add_look(*layout, interest, spare));
  }
  return {};
}

Result<bool> Mirror::verify(const std::vector<core::Conflict>& conflicts) {
  std::set<std::pair<Layout*, std::string>> sources;
  for (const core::Conflict& conflict : conflicts) {
    Layout* const layout = find(conflict.holder.terms.layout);
    if (layout == nullptr || conflict.waiting || sources.size() == kVerifiedMax) continue;
    sources.emplace(layout, source_of(core::foreign_artefact(conflict.holder)));
  }
  looked_.clear();
  for (const auto& [layout, source] : sources) {
    Looked looked;
    looked.layout = layout;
    LK_ASSIGN(looked.seen, layout->look_at(source));
    looked_.push_back(std::move(looked));
  }
  bool any = false;
  LK_CHECK(table_.read([&](core::Table& table) -> Result<void> {
    LK_ASSIGN(const Changes found, changes(table.state()));
    any = found.any();
    return {};
  }));
  return any;
}

Result<bool> Mirror::is_ours(core::State& state, const Sighting& sighting) {
  LK_ASSIGN(const std::vector<core::Shown> rows,
            core::shown_as(state, sighting.lock.layout, sighting.lock.artefact));
  return std::ranges::any_of(
      rows, [&](const core::Shown& row) { return row.identity == sighting.identity; });
}

Result<Mirror::View> Mirror::view(core::State& state, const Looked& looked) {
  View view;
  for (const Source& source : looked.seen.sources) view.sources.insert(source.name);
  for (const Sighting& sighting : looked.seen.sightings) {
    view.sightings.emplace(sighting.lock.artefact, &sighting);
    LK_ASSIGN(const bool ours, is_ours(state, sighting));
    if (ours) view.ours.insert(sighting.lock.artefact);
  }
  return view;
}

Result<Mirror::Changes> Mirror::changes(core::State& state) {
  Changes found;
  for (const Looked& looked : looked_) {
    LK_ASSIGN(const View view, this->view(state, looked));
    for (const Sighting& sighting : looked.seen.sightings) {
      const core::ForeignLock& lock = sighting.lock;
      if (view.ours.contains(lock.artefact)) continue;
      LK_ASSIGN(const std::optional<core::KnownForeign> known,
                core::known_foreign(state, lock.layout, lock.artefact));
      bool same = known && known->stamp == lock.stamp;
      if (same) {
        LK_ASSIGN(const core::Lease* lease, state.lease(known->lease));
        same = lease != nullptr && stands_for(*lease, lock);
      }
      if (!same) found.sources.emplace(looked.layout, source_of(lock.artefact));
    }
    LK_CHECK(look_for_gone(state, looked, view, found));
  }
  return found;
}

// What the table knows of this layout and the look did not find.
Result<void> Mirror::look_for_gone(core::State& state, const Looked& looked, const View& view,
                                   Changes& changes) {
  const std::string& id = looked.layout->id();
  const Seen& seen = looked.seen;
  const bool nothing_read = seen.complete && seen.sightings.empty() && seen.absent.empty();
  if (nothing_read && !seen.sources.empty() && stamps_of(seen) == looked.before) return {};
  const std::set<std::string> absent(seen.absent.begin(), seen.absent.end());
  std::set<std::string> prefixes = absent;
  std::set<std::string> read;  // sources whose locks were all seen
  for (const Sighting& sighting : seen.sightings) read.insert(source_of(sighting.lock.artefact));
  for (const Source& source : seen.sources) {
    const bool known =
        !source.fresh &&
        std::ranges::binary_search(looked.before, std::pair(hash64(source.name), source.stamp));
    if (!known) read.insert(source.name);
  }
  prefixes.insert(read.begin(), read.end());
  if (seen.complete) {
    const Stamps now = stamps_of(seen);
    const bool lost = std::ranges::any_of(
        looked.before, [&](const auto& before) { return !listed(now, before.first); });
    // Ours may have come and gone since the last look; that is for whoever looks at everything.
    if (lost || seen.sources.empty()) prefixes = {""};
  }
  const auto is_gone = [&](const std::string& artefact) {
    const std::string source = source_of(artefact);
    if (view.sightings.contains(artefact)) return false;
    if (absent.contains(source)) return true;
    if (seen.complete && !view.sources.contains(source)) return true;
    return read.contains(source);
  };
  for (const std::string& prefix : prefixes) {
    LK_ASSIGN(const std::vector<core::KnownForeign> known,
              core::all_known_foreign(state, id, prefix));
    for (const core::KnownForeign& one : known) {
      const bool ours_now = view.ours.contains(one.artefact);
      if (ours_now || is_gone(one.artefact)) changes.gone.push_back(one);
    }
    LK_ASSIGN(const std::vector<core::Shown> shown, core::all_shown(state, id, prefix));
    for (const core::Shown& one : shown) {
      if (seen.is_over(one.artefact, one.identity)) continue;
      const auto there = view.sightings.find(one.artefact);
      const bool replaced =
          there != view.sightings.end() && there->second->identity != one.identity;
      if (one.live && (replaced || is_gone(one.artefact))) changes.missing.push_back(one);
    }
  }
  return {};
}

// Looked at inside the transaction: ours are recorded before they appear and forgotten after they
// are gone, so what is there now without a row is another tool's. True: something was changed.
Result<bool> Mirror::place(core::Table& table, Layout& layout, const std::string& source,
                           Relooked& relooked) {
  const auto [at, unseen] = relooked.try_emplace({&layout, source});
  if (unseen) {
    LK_ASSIGN(at->second, layout.look_at(source));
  }
  bool changed = false;
  for (const Sighting& sighting : at->second.sightings) {
    LK_ASSIGN(const bool ours, is_ours(table.state(), sighting));
    if (ours || sighting.lock.claims.empty()) continue;
    core::ForeignLock lock = sighting.lock;
    // What was looked for by name may be an unusual reading of the artefact's.
    for (const Looked& looked : looked_) {
      if (looked.layout != &layout) continue;
      const auto before = std::ranges::find(looked.seen.sightings, lock.artefact,
                                            [](const Sighting& one) { return one.lock.artefact; });
      if (before == looked.seen.sightings.end() || before->lock.stamp != lock.stamp) continue;
      add_claims(lock, before->lock.claims);
    }
    LK_ASSIGN(const std::optional<core::KnownForeign> known,
              core::known_foreign(table.state(), lock.layout, lock.artefact));
    if (known && known->stamp == lock.stamp) {
      LK_ASSIGN(const core::Lease* lease, table.state().lease(known->lease));
      if (lease != nullptr && stands_for(*lease, lock)) continue;
      if (lease != nullptr) add_claims(lock, lease->claims);
    }
    LK_CHECK(core::place_foreign(table, lock));
    changed = true;
  }
  return changed;
}

// What a look did not find may have come since, and have been recorded by another of ours: ended by
// that old look it would be gone from the table for good, because its source counts as read.
Result<bool> Mirror::end_gone(core::Table& table, const core::KnownForeign& gone,
                              Relooked& relooked) {
  Layout* const layout = find(gone.layout);
  const std::string source = source_of(gone.artefact);
  const auto [at, unseen] = relooked.try_emplace({layout, source});
  if (unseen) {
    LK_ASSIGN(at->second, layout->look_at(source));
  }
  for (const Sighting& sighting : at->second.sightings) {
    if (sighting.lock.artefact != gone.artefact) continue;
    LK_ASSIGN(const bool ours, is_ours(table.state(), sighting));
    if (!ours) return place(table, *layout, source, relooked);
  }
  LK_CHECK(core::end_foreign(table, gone, {"released", "artefact_removed", "", {}}));
  return true;
}

Result<void> Mirror::put_stamps(core::State& state, const Looked& looked) {
  if (!looked.seen.complete) return {};
  const Stamps now = stamps_of(looked.seen);
  if (now == looked.before) return {};
  return core::put_layout_stamps(state, looked.layout->id(), encode(now));
}

Result<bool> Mirror::apply(core::Table& table) {
  LK_ASSIGN(const Changes found, changes(table.state()));
  missing_ = found.missing;
  Relooked relooked;
  std::size_t done = 0;  // what is counted is not found again after the commit
  for (const core::KnownForeign& gone : found.gone) {
    LK_ASSIGN(const bool changed, end_gone(table, gone, relooked));
    if (changed) ++done;
    if (done == kChangesPerCommit) return true;
  }
  for (const auto& [layout, source] : found.sources) {
    LK_ASSIGN(const bool changed, place(table, *layout, source, relooked));
    if (changed) ++done;
    if (done == kChangesPerCommit) return true;
  }
  for (const Looked& looked : looked_) LK_CHECK(put_stamps(table.state(), looked));
  return false;
}

// Without writing: is it neither published nor about to be? In this order, because publishing is
// one step from the one to the other.
Result<bool> Mirror::is_removed(const core::Shown& shown) {
  Layout* const layout = find(shown.layout);
  LK_ASSIGN(const bool prepared, layout->is_prepared(shown.lease, shown.artefact));
  if (prepared) return false;
  LK_ASSIGN(const Seen seen, layout->look_at(source_of(shown.artefact)));
  return !seen.shows(shown.artefact, shown.identity);
}

Result<void> Mirror::overlay(core::Table* table, const core::AcquireRequest& request,
                             core::CheckReply& reply) {
  Changes found;
  if (table != nullptr) {
    LK_ASSIGN(found, changes(table->state()));
    std::set<core::LeaseId> ended;
    for (const core::KnownForeign& gone : found.gone) ended.insert(gone.lease);
    for (const core::Shown& missing : found.missing) {
      LK_ASSIGN(const core::Lease* lease, table->state().lease(missing.lease));
      const bool through = lease != nullptr && lease->terms.layout == missing.layout &&
                           lease->terms.artefact == missing.artefact;
      if (!through) continue;
      LK_ASSIGN(const bool removed, is_removed(missing));
      if (removed) ended.insert(missing.lease);
    }
    std::erase_if(reply.conflicts, [&](const core::Conflict& conflict) {
      const core::Lease& holder = conflict.holder;
      // As it is now it is looked at below.
      const bool changed =
          holder.foreign && found.sources.contains({find(holder.terms.layout),
                                                    source_of(core::foreign_artefact(holder))});
      return changed || ended.contains(holder.id);
    });
  }
  for (const Looked& looked : looked_) {
    for (const Sighting& sighting : looked.seen.sightings) {
      const bool is_new =
          table == nullptr ||
          found.sources.contains({looked.layout, source_of(sighting.lock.artefact)});
      if (!is_new) continue;
      bool counted = false;
      if (table != nullptr) {
        LK_ASSIGN(counted, is_ours(table->state(), sighting));
      }
      if (counted) continue;
      for (const core::Claim& asked : request.claims) {
        for (const core::Claim& held : sighting.lock.claims) {
          LK_ASSIGN(const std::optional<std::string> common,
                    key::overlap(asked.resource, held.resource));
          if (!common) continue;
          reply.conflicts.push_back(core::conflict_with(sighting.lock, asked, held, *common));
        }
      }
    }
  }
  reply.free = reply.conflicts.empty();
  return {};
}

Result<void> Mirror::tick() {
  LK_CHECK(reopen());
  if (layouts_.empty() && off_.empty()) return {};
  LK_CHECK(look_at_all());
  bool any = false;
  std::set<core::LeaseId> over;  // other tools would wait for them for ever
  const auto there = table_.read([&](core::Table& table) -> Result<void> {
    LK_ASSIGN(const Changes found, changes(table.state()));
    any = found.any();
    for (const Looked& looked : looked_) {
      any |= looked.seen.complete && stamps_of(looked.seen) != looked.before;
    }
    // Ours that came and went since the last look are in no list of sources.
    for (const Looked& looked : looked_) {
      if (!looked.seen.complete) continue;
      std::set<std::string_view> sources;
      for (const Source& source : looked.seen.sources) sources.insert(source.name);
      LK_ASSIGN(const std::vector<core::Shown> shown,
                core::all_shown(table.state(), looked.layout->id()));
      for (const core::Shown& one : shown) {
        if (!one.live) continue;
        if (!sources.contains(source_of(one.artefact))) missing_.push_back(one);
        LK_ASSIGN(const core::Lease* lease, table.state().lease(one.lease));
        LK_ASSIGN(const core::Condition now, core::condition(table.state(), *lease));
        if (now.over || now.newly_orphaned) over.insert(one.lease);
      }
    }
    return {};
  });
  if (!there) return fail(there.error());
  const std::vector<core::Shown> unlisted = std::move(missing_);
  missing_.clear();
  if (any || !over.empty()) {
    LK_CHECK(table_.write([&](core::Table& table) -> Result<bool> {
      for (const core::LeaseId& id : over) LK_CHECK(table.settler().reap(id));
      LK_CHECK(table.settler().settle());
      return apply(table);
    }));
  }
  missing_.insert(missing_.end(), unlisted.begin(), unlisted.end());
  LK_CHECK(settle_missing());
  return clean();
}

}  // namespace lockkeeper::layout
