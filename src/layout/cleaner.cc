#include "layout/cleaner.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "layout/lock.h"
#include "layout/mirrored_rows.h"

namespace lockkeeper::layout {
namespace {

constexpr std::size_t kAtOnce = 64;

struct Leftover {
  core::MirrorArtefact row;
  bool needed = false;  // it mirrors a live lease
  core::LeaseId next;   // a live lease that is mirrored in its place, or is about to be
  bool alone = true;    // what is prepared serves no other artefact of the lease
};

Result<void> forget(LockTable& table, const std::vector<core::MirrorArtefact>& gone) {
  if (gone.empty()) return {};
  LK_CHECK(table.write([&](core::Table& open) -> Result<bool> {
    LK_CHECK(core::forget_mirrored(open.state(), gone));
    return false;
  }));
  return {};
}

// REQUIRES: lock_layouts(), so that rows and disk stay in agreement.
Result<std::vector<Leftover>> leftovers(core::State& state, const OpenLayouts& layouts) {
  std::vector<std::string> ids;
  for (const Layout* const layout : layouts.all_to_remove()) ids.push_back(layout->id());
  LK_ASSIGN(const std::vector<core::MirrorArtefact> ended,
            core::artefacts_to_remove(state, kAtOnce, &ids));
  std::vector<Leftover> all;
  for (const core::MirrorArtefact& one : ended) {
    Leftover& each = all.emplace_back(Leftover{one, false, {}, true});
    LK_ASSIGN(const core::Lease* lease, state.lease(one.lease));
    each.alone = lease == nullptr || !shows_source(*lease, one.layout, source_of(one.artefact));
    LK_ASSIGN(const std::vector<core::MirrorArtefact> rows,
              core::mirrored_as(state, one.layout, one.artefact));
    for (const core::MirrorArtefact& row : rows) {
      if (!row.live) continue;
      each.needed |= row.identity == one.identity;
      each.next = row.lease;
    }
  }
  return all;
}

enum class Fate { kForget, kRemove, kLater };

// REQUIRES: lock_layouts(). kLater: the next holder replaces it with its own in one step, so that
// there is no gap for another tool.
Fate fate_of(Layout& layout, const Leftover& one) {
  const core::MirrorArtefact& row = one.row;
  if (one.alone) static_cast<void>(layout.discard(row.lease, row.artefact));
  if (one.needed) return Fate::kForget;
  if (one.next.empty()) return Fate::kRemove;
  const auto coming = layout.is_prepared(one.next, row.artefact);
  return coming && !*coming ? Fate::kRemove : Fate::kLater;
}

struct Gone {
  std::vector<core::MirrorArtefact> rows;
  std::optional<Error> trouble;  // the first
};
// Removes them, those of one source together.
Gone remove(const std::vector<std::pair<Layout*, core::MirrorArtefact>>& unwanted) {
  std::map<std::pair<Layout*, std::string>, std::vector<const core::MirrorArtefact*>> sources;
  for (const auto& [layout, row] : unwanted) {
    sources[{layout, source_of(row.artefact)}].push_back(&row);
  }
  Gone gone;
  for (const auto& [source, rows] : sources) {
    std::vector<Layout::Unwanted> there;
    for (const core::MirrorArtefact* const row : rows) {
      there.push_back({row->artefact, row->identity});
    }
    auto removed = source.first->remove_together(there);
    if (!removed && !gone.trouble) gone.trouble = std::move(removed.error());
    if (!removed) continue;
    for (const core::MirrorArtefact* const row : rows) gone.rows.push_back(*row);
  }
  return gone;
}

Result<void> forget_foreign(LockTable& table, const std::string& layout) {
  LK_CHECK(table.write([&](core::Table& open) -> Result<bool> {
    LK_ASSIGN(const std::vector<core::KnownForeign> known,
              core::all_known_foreign(open.state(), layout));
    std::size_t done = 0;
    for (const core::KnownForeign& one : known) {
      if (++done > kAtOnce) return true;
      LK_CHECK(core::end_foreign(open, one, {"ended", "layout_removed", "", {}}));
    }
    LK_CHECK(core::put_layout_stamps(open.state(), layout, ""));
    return false;
  }));
  return {};
}

// Does the table know the lease, or an artefact that looks the same?
Result<bool> is_known(LockTable& table, const core::LeaseId& lease, const Layout& layout,
                      const std::string& artefact, const std::string& identity) {
  return table.get([&](core::Table& rows) -> Result<bool> {
    LK_ASSIGN(const core::Lease* const found, rows.state().lease(lease));
    LK_ASSIGN(const auto shown, core::mirrored_as(rows.state(), layout.id(), artefact));
    return found != nullptr ||
           std::ranges::find(shown, identity, &core::MirrorArtefact::identity) != shown.end();
  });
}

}  // namespace

Result<void> clean(LockTable& table, const OpenLayouts& layouts) {
  for (;;) {
    LK_ASSIGN(const bool any,
              table.get([](core::Table& open) { return core::any_to_remove(open.state()); }));
    if (!any) return {};
    const Result<Fd> held = lock_layouts(table.realm());
    // The lease has ended anyway: the next process removes its artefacts.
    if (!held && held.error().code == Code::kStoreBusy) return {};
    if (!held) return fail(held.error());
    LK_ASSIGN(const std::vector<Leftover> all,
              table.get([&](core::Table& open) { return leftovers(open.state(), layouts); }));
    std::vector<std::pair<Layout*, core::MirrorArtefact>> unwanted;
    std::vector<core::MirrorArtefact> unneeded;
    for (const Leftover& one : all) {
      Layout* const layout = layouts.find_to_remove(one.row.layout);
      const Fate fate = fate_of(*layout, one);
      if (fate == Fate::kForget) unneeded.push_back(one.row);
      if (fate == Fate::kRemove) unwanted.emplace_back(layout, one.row);
    }
    std::vector<core::MirrorArtefact> done = remove(unwanted).rows;
    done.insert(done.end(), unneeded.begin(), unneeded.end());
    if (done.empty()) return {};
    LK_CHECK(forget(table, done));
  }
}

Result<void> trim(core::Table& table, const OpenLayouts& layouts, const core::Owner& owner) {
  LK_ASSIGN(const std::vector<core::Lease> held, table.state().held_by(owner));
  StillMirrored still_mirrored;
  for (const core::Lease& lease : held) {
    std::vector<std::string> gone;
    for (const std::string& place : lease.mirrored_at) {
      const auto [layout_id, artefact] = split_place(place);
      const Layout* const layout = layouts.find(layout_id);
      if (layout == nullptr) continue;
      LK_ASSIGN(const bool shows,
                still_mirrored(table.state(), *layout, {layout_id, artefact, lease.id, {}, true}));
      if (!shows) gone.push_back(place);
    }
    LK_CHECK(core::unmirror(table.state(), lease.id, gone));
  }
  return {};
}

Result<void> refresh(LockTable& table, const OpenLayouts& layouts,
                     const std::vector<core::Lease>& leases) {
  const bool any = std::ranges::any_of(
      leases, [](const core::Lease& lease) { return !lease.mirrored_at.empty(); });
  if (!any) return {};
  LK_ASSIGN(const Fd held, lock_layouts(table.realm()));
  for (const core::Lease& lease : leases) {
    std::set<std::pair<std::string, std::string>> done;  // refresh() updates a whole source
    for (const std::string& place : lease.mirrored_at) {
      const auto [id, artefact] = split_place(place);
      Layout* const layout = layouts.find(id);
      const bool first = layout != nullptr && done.emplace(id, source_of(artefact)).second;
      if (first) LK_CHECK(layout->refresh(lease, artefact));
    }
  }
  return {};
}

Result<void> remove_foreign(LockTable& table, const OpenLayouts& layouts,
                            const core::Lease& lease) {
  Layout* const layout = layouts.find(lease.terms.layout);
  if (layout == nullptr) return {};
  const std::string artefact = core::foreign_artefact(lease);
  LK_ASSIGN(const Fd held, lock_layouts(table.realm()));
  LK_ASSIGN(const ScanResult now, layout->scan_source(source_of(artefact)));
  const Sighting* const there = now.find(artefact);
  LK_ASSIGN(const std::vector<core::MirrorArtefact> rows, table.get([&](core::Table& open) {
    return core::mirrored_as(open.state(), layout->id(), artefact);
  }));
  const bool ours =
      there != nullptr && std::ranges::any_of(rows, [&](const core::MirrorArtefact& row) {
        return row.live && row.identity == there->identity;
      });
  if (!ours) LK_CHECK(layout->remove(artefact, there != nullptr ? there->identity : ""));
  return {};
}

Result<void> unmirror(LockTable& table, Layout& layout,
                      const std::vector<core::MirrorArtefact>& rows, OnError on_error) {
  std::vector<std::pair<Layout*, core::MirrorArtefact>> unwanted;
  for (const core::MirrorArtefact& row : rows) {
    static_cast<void>(layout.discard(row.lease, row.artefact));
    unwanted.emplace_back(&layout, row);
  }
  Gone gone = remove(unwanted);
  if (gone.trouble && on_error == OnError::kFail) return fail(std::move(*gone.trouble));
  return forget(table, rows);
}

Result<void> retire(LockTable& table, const LayoutEntry& was, LayoutMode now, OnError on_error) {
  // This program cannot remove anything of a kind that it does not know.
  if (now >= was.mode || !table.runtime().layout_kinds.contains(was.kind)) return {};
  OpenLayouts former(table);
  LK_CHECK(former.open({was}));
  {
    LK_ASSIGN(const Fd held, lock_layouts(table.realm()));
    LK_ASSIGN(const std::vector<core::MirrorArtefact> rows, table.get([&](core::Table& open) {
      return core::all_mirrored(open.state(), was.id());
    }));
    Layout& layout = *former.find(was.id());
    LK_CHECK(unmirror(table, layout, rows, on_error));
    // Nobody scans it any more.
    if (auto swept = layout.sweep(0); !swept && on_error == OnError::kFail) return swept;
  }
  return now == LayoutMode::kOff ? forget_foreign(table, was.id()) : Result<void>();
}

Result<void> forget_lost(LockTable& table, const core::Lease& lease) {
  OpenLayouts layouts(table);
  LK_CHECK(layouts.open());
  if (!layouts.any()) return {};
  std::vector<key::Resource> wanted;
  for (const core::Claim& claim : lease.claims) wanted.push_back(claim.resource);
  LK_ASSIGN(const Fd held, lock_layouts(table.realm()));
  for (Layout* const layout : layouts.all()) {
    Interest interest;
    interest.wanted = &wanted;
    LK_ASSIGN(const ScanResult seen, layout->scan(interest));
    for (const Sighting& each : seen.sightings) {
      const std::string& artefact = each.lock.artefact;
      if (each.identity != layout->identity(lease, artefact)) continue;
      LK_ASSIGN(const bool known, is_known(table, lease.id, *layout, artefact, each.identity));
      if (!known) LK_CHECK(layout->remove(artefact, each.identity));
    }
  }
  return {};
}

}  // namespace lockkeeper::layout
