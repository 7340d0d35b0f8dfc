// Writing: from the table onto the disk.
#include <sys/file.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/text.h"
#include "core/browse.h"
#include "service/mirror.h"

namespace lockkeeper::service {
namespace {

constexpr std::string_view kLockName = "layouts.lock";  // beside the store
constexpr int kLockTries = 2'000;
constexpr std::size_t kUnshownAtOnce = 64;

Result<void> append_event(core::Table& table, const core::Lease& lease, const char* what,
                          std::string reason) {
  core::Event event;
  event.what = what;
  event.owner = lease.owner;
  event.resources = core::resource_texts(lease);
  event.lease = lease.id;
  event.fence = lease.fence();
  event.cause = "artefact_removed";
  event.reason = std::move(reason);
  return table.state().append(std::move(event));
}

Error with_layout(Error error, const Layout& layout) {
  if (error.hint.empty()) error.hint = "or give it up: lockkeeper layout remove " + layout.id();
  return error;
}

// The artefact of a row "layout 0 artefact" of Lease::shown.
std::pair<std::string, std::string> split_place(const std::string& place) {
  const std::size_t end = place.find('\0');
  return {place.substr(0, end), end == std::string::npos ? "" : place.substr(end + 1)};
}

}  // namespace

// Of our own processes one at a time writes into layouts. Whoever stands still in here makes the
// others wait, for as long as the store itself would.
Result<Fd> Mirror::lock() const {
  const std::string path = table_.realm().store_folder + "/" + std::string(kLockName);
  LK_ASSIGN(Fd fd, open_or_create(path, table_.realm().file_mode));
  for (int tries = 0; tries < kLockTries; ++tries) {
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return fail(Code::kStoreBusy, "another process writes into the layouts and does not end",
              "see who holds " + quote(path) + ": lslocks");
}

Result<void> Mirror::record(core::Table& table, const core::LeaseId& id) {
  LK_ASSIGN(const core::Lease* found, table.state().lease(id));
  if (found == nullptr || found->foreign) return {};
  const core::Lease lease = *found;
  std::vector<core::Shown> rows;
  for (const std::unique_ptr<Layout>& layout : layouts_) {
    if (layout->entry().mode != LayoutMode::kBoth) continue;
    const Showing showing = layout->showing(lease);
    for (const std::string& artefact : showing.artefacts) {
      Planned plan;
      plan.layout = layout.get();
      plan.artefact = artefact;
      plan.identity = layout->identity(lease, artefact);
      plan.lease = id;
      LK_ASSIGN(const std::vector<core::Shown> others,
                core::shown_as(table.state(), layout->id(), artefact));
      bool own = false;
      for (const core::Shown& other : others) {
        own |= other.lease == id;
        if (other.live && other.lease != id) {
          plan.shared = true;
          plan.identity = other.identity;
        } else if (!other.live) {
          plan.ours.push_back(other.identity);
        }
      }
      if (own) continue;
      rows.push_back({layout->id(), artefact, id, plan.identity, true});
      planned_.push_back(plan);
      if (plan.shared) continue;
      if (auto prepared = layout->prepare(lease, artefact); !prepared) {
        return fail(with_layout(std::move(prepared.error()), *layout));
      }
    }
  }
  if (rows.empty()) return {};
  return core::record_shown(table.state(), id, rows);
}

void Mirror::may_replace(const std::string& layout, const std::string& artefact,
                         std::string identity) {
  for (Planned& plan : planned_) {
    if (plan.layout->id() == layout && plan.artefact == artefact) plan.ours.push_back(identity);
  }
}

void Mirror::discard_prepared() {
  for (const Planned& plan : planned_) {
    if (!plan.shared) static_cast<void>(plan.layout->discard(plan.lease, plan.artefact));
  }
  planned_.clear();
}

Result<std::optional<core::ForeignLock>> Mirror::who_is_there(Layout& layout,
                                                              const std::string& artefact) {
  LK_ASSIGN(const Seen seen, layout.look_at(source_of(artefact)));
  for (const Sighting& sighting : seen.sightings) {
    if (sighting.lock.artefact == artefact) return sighting.lock;
  }
  return std::nullopt;
}

Result<std::optional<core::ForeignLock>> Mirror::publish_all(const core::Lease& lease) {
  LK_ASSIGN(const Fd held, lock());
  for (const Planned& plan : planned_) {
    if (plan.shared || plan.lease != lease.id) continue;
    auto published = plan.layout->publish(lease, plan.artefact, plan.ours);
    if (!published) return fail(with_layout(std::move(published.error()), *plan.layout));
    if (*published == Published::kDone) continue;
    LK_ASSIGN(std::optional<core::ForeignLock> first, who_is_there(*plan.layout, plan.artefact));
    if (first) return first;
    // It went away again before it could be seen: unknown, but it was there first.
    core::ForeignLock unknown;
    unknown.layout = plan.layout->id();
    unknown.artefact = plan.artefact;
    unknown.path = plan.layout->entry().root + "/" + plan.artefact;
    unknown.owner.agent = "unknown";
    return unknown;
  }
  return std::nullopt;
}

// Tools that check before they write may have checked before ours was there.
Result<std::optional<core::ForeignLock>> Mirror::look_after(const core::Lease& lease) {
  std::vector<key::Resource> wanted;
  for (const core::Claim& claim : lease.claims) wanted.push_back(claim.resource);
  looked_.clear();
  for (const std::unique_ptr<Layout>& layout : layouts_) {
    if (!layout->look_after_publishing()) continue;
    Interest interest;
    interest.wanted = &wanted;
    LK_CHECK(add_look(*layout, interest));
  }
  if (looked_.empty()) return std::nullopt;
  std::optional<core::ForeignLock> first;
  LK_CHECK(table_.read([&](core::Table& table) -> Result<void> {
    core::AcquireRequest request;
    request.owner = lease.owner;
    request.claims = lease.claims;
    LK_ASSIGN(core::CheckReply reply, table.check(request, 0));
    LK_CHECK(overlay(&table, request, reply));
    for (const core::Conflict& conflict : reply.conflicts) {
      if (!conflict.holder.foreign || first) continue;
      first.emplace();
      first->layout = conflict.holder.layout;
      first->path = core::foreign_path(conflict.holder);
      first->owner = conflict.holder.owner;
    }
    return {};
  }));
  return first;
}

Result<std::optional<core::ForeignLock>> Mirror::publish(const core::Lease& lease) {
  auto first = publish_all(lease);
  if (first && !*first) first = look_after(lease);
  const bool all = first && !*first;
  if (!all) {
    for (const Planned& plan : planned_) {
      if (plan.shared || plan.lease != lease.id) continue;
      static_cast<void>(plan.layout->discard(plan.lease, plan.artefact));
    }
  }
  std::erase_if(planned_, [&](const Planned& plan) { return plan.lease == lease.id; });
  return first;
}

Result<void> Mirror::withdraw(const core::LeaseId& id, const core::ForeignLock& first) {
  LK_CHECK(table_.write([&](core::Table& table) -> Result<bool> {
    LK_CHECK(core::withdraw(table, id, first));
    Layout* const layout = find(first.layout);
    if (layout == nullptr || first.artefact.empty()) return apply(table);
    LK_CHECK(place(table, *layout, source_of(first.artefact)));
    return apply(table);
  }));
  return {};
}

std::vector<Unmirrored> Mirror::unmirrored(const core::Lease& lease) const {
  std::vector<Unmirrored> all;
  for (const std::unique_ptr<Layout>& layout : layouts_) {
    if (layout->entry().mode != LayoutMode::kBoth) continue;
    Showing showing = layout->showing(lease);
    if (!showing.unmirrored.empty()) all.push_back({layout->id(), std::move(showing.unmirrored)});
  }
  return all;
}

Result<void> Mirror::trim(const core::Owner& owner) {
  std::vector<core::Shown> gone;
  std::vector<core::Lease> smaller;
  LK_CHECK(table_.write([&](core::Table& table) -> Result<bool> {
    gone.clear();
    smaller.clear();
    LK_ASSIGN(const std::vector<core::LeaseId> ids, table.state().leases_of(owner));
    for (const core::LeaseId& id : ids) {
      LK_ASSIGN(const core::Lease* found, table.state().lease(id));
      if (found == nullptr || found->shown.empty()) continue;
      const core::Lease lease = *found;
      smaller.push_back(lease);
      for (const std::string& place : lease.shown) {
        const auto [layout_id, artefact] = split_place(place);
        const Layout* const layout = find(layout_id);
        if (layout == nullptr) continue;
        const Showing showing = layout->showing(lease);
        if (std::ranges::find(showing.artefacts, artefact) != showing.artefacts.end()) continue;
        LK_ASSIGN(const std::vector<core::Shown> rows,
                  core::shown_as(table.state(), layout_id, artefact));
        for (const core::Shown& row : rows) {
          if (row.lease == id && rows.size() == 1) gone.push_back(row);
        }
      }
    }
    return false;
  }));
  if (!gone.empty()) {
    LK_ASSIGN(const Fd held, lock());
    for (const core::Shown& one : gone)
      LK_CHECK(find(one.layout)->remove(one.artefact, one.identity));
  }
  if (!gone.empty()) {
    LK_CHECK(table_.write([&](core::Table& table) -> Result<bool> {
      for (const core::Shown& one : gone) LK_CHECK(core::forget_shown(table.state(), one));
      return false;
    }));
  }
  return refresh(smaller);
}

Result<void> Mirror::refresh(const std::vector<core::Lease>& renewed) {
  const bool any =
      std::ranges::any_of(renewed, [](const core::Lease& lease) { return !lease.shown.empty(); });
  if (!any) return {};
  LK_ASSIGN(const Fd held, lock());
  for (const core::Lease& lease : renewed) {
    for (const std::string& place : lease.shown) {
      const auto [id, artefact] = split_place(place);
      Layout* const layout = find(id);
      if (layout != nullptr) LK_CHECK(layout->refresh(lease, artefact));
    }
  }
  return {};
}

Result<void> Mirror::clean() {
  std::set<core::LeaseId> tried;
  for (;;) {
    std::vector<core::Shown> ended;
    std::vector<bool> alone;
    LK_CHECK(table_.read([&](core::Table& table) -> Result<void> {
      LK_ASSIGN(ended, core::to_unshow(table.state(), kUnshownAtOnce));
      for (const core::Shown& one : ended) {
        LK_ASSIGN(const std::vector<core::Shown> rows,
                  core::shown_as(table.state(), one.layout, one.artefact));
        alone.push_back(
            std::ranges::none_of(rows, [](const core::Shown& row) { return row.live; }));
      }
      return {};
    }));
    std::vector<core::Shown> done;
    if (!ended.empty()) {
      LK_ASSIGN(const Fd held, lock());
      for (std::size_t i = 0; i < ended.size(); ++i) {
        if (!tried.insert(ended[i].lease).second && i == 0) return {};
        Layout* const layout = find(ended[i].layout);
        if (layout != nullptr && alone[i]) {
          static_cast<void>(layout->discard(ended[i].lease, ended[i].artefact));
          const auto removed = layout->remove(ended[i].artefact, ended[i].identity);
          if (!removed) continue;  // whoever comes next tries again
        }
        done.push_back(ended[i]);
      }
    }
    if (done.empty()) return {};
    LK_CHECK(table_.write([&](core::Table& table) -> Result<bool> {
      for (const core::Shown& one : done) LK_CHECK(core::forget_shown(table.state(), one));
      return false;
    }));
  }
}

Result<void> Mirror::settle_missing() {
  const std::vector<core::Shown> missing = std::move(missing_);
  missing_.clear();
  for (const core::Shown& shown : missing) LK_CHECK(settle_missing(shown));
  return {};
}

Result<void> Mirror::settle_missing(const core::Shown& shown) {
  Layout* const layout = find(shown.layout);
  if (layout == nullptr) return {};
  LK_ASSIGN(const Fd held, lock());  // who publishes or removes it now is done then
  LK_ASSIGN(const bool prepared, layout->is_prepared(shown.lease, shown.artefact));
  LK_ASSIGN(const Seen seen, layout->look_at(source_of(shown.artefact)));
  for (const Sighting& sighting : seen.sightings) {
    if (sighting.lock.artefact == shown.artefact && sighting.identity == shown.identity) return {};
  }
  std::optional<core::Lease> again;
  LK_CHECK(table_.write([&](core::Table& table) -> Result<bool> {
    again.reset();
    LK_ASSIGN(const std::vector<core::Shown> rows,
              core::shown_as(table.state(), shown.layout, shown.artefact));
    const auto row = std::ranges::find(rows, shown.lease, &core::Shown::lease);
    if (row == rows.end() || !row->live) return false;
    LK_ASSIGN(const core::Lease* found, table.state().lease(shown.lease));
    const core::Lease lease = *found;
    if (prepared) {
      again = lease;
      return false;
    }
    if (lease.layout == shown.layout && lease.artefact == shown.artefact) {
      const std::string path = layout->entry().root + "/" + shown.artefact;
      LK_CHECK(table.settler().end(lease, {"released", "artefact_removed", path, {}}, true));
      LK_CHECK(table.settler().settle());
      return false;
    }
    LK_CHECK(append_event(table, lease, "shown_again", shown.artefact));
    again = lease;
    return false;
  }));
  if (!again) return {};
  if (!prepared) LK_CHECK(layout->prepare(*again, shown.artefact));
  LK_CHECK(layout->publish(*again, shown.artefact, {}));
  return layout->discard(shown.lease, shown.artefact);
}

Result<void> Mirror::show_existing() {
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
      discard_prepared();
      LK_CHECK(record(table, id));
      LK_ASSIGN(const core::Lease* found, table.state().lease(id));
      lease = found == nullptr ? std::nullopt : std::optional(*found);
      return false;
    }));
    // Where another tool was first both hold it already: the next look records that.
    if (lease) LK_CHECK(publish_all(*lease));
    planned_.clear();
  }
  return {};
}

Result<void> Mirror::forget_layout(const std::string& id) {
  Layout* const layout = find(id);
  if (layout == nullptr) return {};
  LK_ASSIGN(const Fd held, lock());
  std::vector<core::Shown> shown;
  LK_CHECK(table_.read([&](core::Table& table) -> Result<void> {
    LK_ASSIGN(shown, core::all_shown(table.state(), id));
    return {};
  }));
  for (const core::Shown& one : shown) {
    LK_CHECK(layout->discard(one.lease, one.artefact));
    LK_CHECK(layout->remove(one.artefact, one.identity));
  }
  LK_CHECK(table_.write([&](core::Table& table) -> Result<bool> {
    for (const core::Shown& one : shown) LK_CHECK(core::forget_shown(table.state(), one));
    LK_ASSIGN(const std::vector<core::KnownForeign> known,
              core::all_known_foreign(table.state(), id));
    std::size_t done = 0;
    for (const core::KnownForeign& one : known) {
      if (++done > kUnshownAtOnce) return true;
      LK_CHECK(core::end_foreign(table, one, {"ended", "layout_removed", "", {}}));
    }
    LK_CHECK(core::put_layout_stamps(table.state(), id, ""));
    return false;
  }));
  return {};
}

}  // namespace lockkeeper::service
