#include "layout/mirror.h"

#include <algorithm>
#include <utility>

#include "core/browse.h"
#include "layout/lock.h"
#include "layout/registry.h"

namespace lockkeeper::layout {

Mirror::Mirror(LockTable& table)
    : table_(table), layouts_(table), scan_(table, layouts_), publisher_(table, layouts_) {}

Result<bool> Mirror::open() {
  LK_CHECK(layouts_.open());
  return any();
}

Result<bool> Mirror::open_to_write() {
  LK_ASSIGN(Unsettled now, unsettled_layouts(table_));
  const bool to_show = now.to_show();
  bool settled = false;
  if (now.any()) {
    LK_ASSIGN(settled, update_layouts());
  }
  unnoted_ = now.any() && !settled;
  LK_CHECK(now.layouts.empty() ? layouts_.open({}) : layouts_.open());
  // On an error the next process does it: an unreadable layout must not prevent a release.
  if (settled && to_show) static_cast<void>(show_held());
  return any();
}

// Follows changes of the settings. False: there is no store, so nothing is left anywhere; or
// another process is doing it.
Result<bool> Mirror::update_layouts() {
  LK_ASSIGN(const bool store, table_.has_store());
  if (!store) return false;
  const Result<Fd> held = lock_registry(table_.realm());
  if (!held && held.error().code == Code::kStoreBusy) return false;
  if (!held) return fail(held.error());
  LK_ASSIGN(const Unsettled now, unsettled_layouts(table_));
  for (const Unsettled::Less& less : now.less) {
    LK_CHECK(retire(table_, less.was, less.now, OnError::kSkip));
  }
  if (now.changed) LK_CHECK(note_settings(table_, now.layouts));
  return true;
}

Result<void> Mirror::scan(const std::vector<core::Claim>& wanted, bool spare) {
  return scan_.read(&wanted, spare ? Scan::Depth::kSparing : Scan::Depth::kFull);
}

Result<bool> Mirror::verify(const std::vector<core::Conflict>& conflicts) {
  LK_CHECK(scan_.read_behind(conflicts));
  return table_.get([&](core::Table& table) { return scan_.differs(table.state()); });
}

Result<bool> Mirror::apply(core::Table& table) {
  LK_ASSIGN(Scan::Applied applied, scan_.apply(table));
  missing_ = std::move(applied.missing);
  return applied.more;
}

Result<void> Mirror::overlay(core::Table* table, const core::AcquireRequest& request,
                             core::CheckReply& reply) const {
  return scan_.overlay(table, request, reply);
}

Result<void> Mirror::show_missing_again() {
  return publisher_.show_again(std::exchange(missing_, {}));
}

// Tools that check before they write may have checked before our artefact was there.
Result<std::optional<core::ForeignLock>> Mirror::find_late_writer(const core::Lease& lease) {
  LK_CHECK(scan_.read(&lease.claims, Scan::Depth::kLateWriters));
  if (scan_.empty()) return std::nullopt;
  std::optional<core::ForeignLock> first;
  LK_CHECK(table_.read([&](core::Table& table) -> Result<void> {
    core::AcquireRequest request;
    request.owner = lease.owner;
    request.claims = lease.claims;
    LK_ASSIGN(core::CheckReply reply, table.check(request, 0));
    LK_CHECK(scan_.overlay(&table, request, reply));
    for (const core::Conflict& conflict : reply.conflicts) {
      if (!conflict.holder.foreign) continue;
      first.emplace();
      first->layout = conflict.holder.terms.layout;
      first->path = core::foreign_path(conflict.holder);
      first->owner = conflict.holder.owner;
      break;
    }
    return {};
  }));
  return first;
}

Result<std::optional<core::ForeignLock>> Mirror::publish(const core::Lease& lease, bool fresh) {
  // Before anything is shown there: should the settings give a layout up, somebody must know.
  if (std::exchange(unnoted_, false)) LK_CHECK(update_layouts());
  LK_ASSIGN(std::optional<core::ForeignLock> first, publisher_.publish(lease));
  if (first || !fresh) return first;
  return find_late_writer(lease);
}

Result<void> Mirror::withdraw(const core::LeaseId& id, const core::ForeignLock& first) {
  LK_CHECK(table_.write([&](core::Table& table) -> Result<bool> {
    LK_CHECK(core::withdraw(table, id, first));
    Layout* const layout = find(first.layout);
    if (layout != nullptr && !first.artefact.empty()) {
      LK_CHECK(scan_.apply_source(table, *layout, source_of(first.artefact)));
    }
    return apply(table);
  }));
  return {};
}

std::vector<Unmirrored> Mirror::unmirrored(const core::Lease& lease) const {
  std::vector<Unmirrored> all;
  for (const Layout* const layout : layouts_.all()) {
    if (layout->entry().mode != LayoutMode::kBoth) continue;
    Artefacts artefacts = layout->artefacts(lease);
    if (!artefacts.unmirrored.empty()) {
      all.push_back({layout->id(), std::move(artefacts.unmirrored)});
    }
  }
  return all;
}

Result<void> Mirror::show_held() {
  if (any()) LK_CHECK(tick());
  const std::vector<LayoutEntry> entries = layouts_.entries();  // others may come on the way
  if (any()) {
    std::vector<core::LeaseId> ids;
    std::string from;
    do {
      LK_CHECK(table_.read([&](core::Table& table) -> Result<void> {
        LK_ASSIGN(const core::LeasePage page, core::lease_page(table.state(), from));
        for (const core::Lease& lease : page.leases) {
          if (!lease.foreign) ids.push_back(lease.id);
        }
        from = page.next;
        return {};
      }));
    } while (!from.empty());
    for (const core::LeaseId& id : ids) {
      std::optional<core::Lease> lease;
      LK_CHECK(table_.write([&](core::Table& table) -> Result<bool> {
        LK_CHECK(discard_unrecorded(table.state()));
        LK_CHECK(record(table, id));
        LK_ASSIGN(const core::Lease* found, table.state().lease(id));
        lease = found == nullptr ? std::nullopt : std::optional(*found);
        return false;
      }));
      // If another tool was first, both hold it already: the next scan records that.
      if (lease) LK_CHECK(publisher_.publish(*lease));
    }
  }
  return note_all_shown(table_, entries);
}

Result<void> Mirror::show_unshown() {
  bool any = false;
  std::string from;
  do {
    LK_CHECK(table_.read([&](core::Table& table) -> Result<void> {
      LK_ASSIGN(const core::LeasePage page, core::lease_page(table.state(), from));
      for (const core::Lease& lease : page.leases) any |= !lease.foreign && is_unshown(lease);
      from = page.next;
      return {};
    }));
  } while (!from.empty() && !any);
  return any ? show_held() : Result<void>();
}

bool Mirror::is_unshown(const core::Lease& lease) const {
  return std::ranges::any_of(layouts_.all(), [&](const Layout* const layout) {
    if (layout->entry().mode != LayoutMode::kBoth) return false;
    return std::ranges::any_of(layout->artefacts(lease).names, [&](const std::string& name) {
      const std::string place = core::mirror_place(layout->id(), name);
      return std::ranges::find(lease.mirrored_at, place) == lease.mirrored_at.end();
    });
  });
}

Result<void> Mirror::refresh_all(const core::Owner& owner) {
  LK_ASSIGN(const std::vector<core::Lease> leases,
            table_.get([&](core::Table& table) { return table.state().held_by(owner); }));
  return refresh(leases);
}

Result<void> Mirror::tick() {
  LK_CHECK(layouts_.reopen());
  if (layouts_.all_to_remove().empty()) return {};
  LK_CHECK(scan_.read(nullptr, Scan::Depth::kFull));
  LK_ASSIGN(const Scan::Due due,
            table_.get([&](core::Table& table) { return scan_.due(table.state()); }));
  missing_.clear();
  if (due.changed || !due.over.empty()) {
    LK_CHECK(scan_.bring_in());
    LK_CHECK(table_.write([&](core::Table& table) -> Result<bool> {
      for (const core::LeaseId& id : due.over) LK_CHECK(table.settler().reap(id));
      LK_CHECK(table.settler().settle());
      return apply(table);
    }));
  }
  missing_.insert(missing_.end(), due.unlisted.begin(), due.unlisted.end());
  LK_CHECK(show_missing_again());
  return clean();
}

}  // namespace lockkeeper::layout
