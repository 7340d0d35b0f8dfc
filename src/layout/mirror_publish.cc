// Writing: from the table onto the disk.
#include <sys/file.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/text.h"
#include "core/browse.h"
#include "layout/mirror.h"

namespace lockkeeper::layout {
namespace {

constexpr std::string_view kLockName = "layouts.lock";  // beside the store
constexpr int kLockTries = 2'000;
constexpr std::size_t kUnshownAtOnce = 64;

Result<void> append_event(core::Table& table, const core::Lease& lease, const char* what,
                          std::string reason) {
  return table.state().append(
      core::Event::of(lease, core::EndedBy{what, "artefact_removed", std::move(reason), {}}));
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

// Of a lease that was shown by it: a part that was given back since is not.
Result<bool> Mirror::still_shows(core::State& state, Layout& layout, const core::Shown& shown) {
  if (!shown.live) return false;
  const auto [at, unknown] = showings_.try_emplace({&layout, shown.lease});
  if (unknown) {
    LK_ASSIGN(const core::Lease* lease, state.lease(shown.lease));
    Showing showing = layout.showing(*lease);
    at->second.insert(showing.artefacts.begin(), showing.artefacts.end());
  }
  return at->second.contains(shown.artefact);
}

Result<void> Mirror::record(core::Table& table, const core::LeaseId& id) {
  if (layouts_.empty()) return {};
  LK_ASSIGN(const core::Lease* found, table.state().lease(id));
  if (found == nullptr || found->foreign) return {};
  const core::Lease lease = *found;
  std::vector<core::Shown> rows;
  showings_.clear();
  for (const std::unique_ptr<Layout>& layout : layouts_) {
    if (layout->entry().mode != LayoutMode::kBoth) continue;
    const Showing showing = layout->showing(lease);
    for (const std::string& artefact : showing.artefacts) {
      Planned plan{layout.get(), artefact, layout->identity(lease, artefact), {}, false, false, id};
      LK_ASSIGN(const std::vector<core::Shown> others,
                core::shown_as(table.state(), layout->id(), artefact));
      bool own = false;
      for (const core::Shown& other : others) {
        own |= other.lease == id;
        if (other.lease == id) continue;
        LK_ASSIGN(const bool shows, still_shows(table.state(), *layout, other));
        plan.shared |= shows;
        if (shows) plan.identity = other.identity;
        if (!shows) plan.ours.push_back(other.identity);
      }
      if (own) {
        // Recorded before, by one who may have died before it was published.
        LK_ASSIGN(const bool prepared, layout->is_prepared(id, artefact));
        plan.earlier = true;
        if (prepared) planned_.push_back(std::move(plan));
        continue;
      }
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
    if (plan.shared || plan.earlier) continue;
    static_cast<void>(plan.layout->discard(plan.lease, plan.artefact));
  }
  planned_.clear();
}

Result<std::optional<Sighting>> Mirror::who_is_there(Layout& layout, const std::string& artefact) {
  LK_ASSIGN(Seen seen, layout.look_at(source_of(artefact)));
  for (Sighting& sighting : seen.sightings) {
    if (sighting.lock.artefact == artefact) return std::move(sighting);
  }
  return std::nullopt;
}

// REQUIRES: lock(). Does what stands there show one of ours?
Result<bool> Mirror::is_shown(Layout& layout, const std::string& artefact) {
  LK_ASSIGN(const std::optional<Sighting> there, who_is_there(layout, artefact));
  if (!there) return false;
  bool ours = false;
  LK_CHECK(table_.read([&](core::Table& table) -> Result<void> {
    LK_ASSIGN(const std::vector<core::Shown> rows,
              core::shown_as(table.state(), layout.id(), artefact));
    ours = std::ranges::any_of(
        rows, [&](const core::Shown& row) { return row.live && row.identity == there->identity; });
    return {};
  }));
  return ours;
}

// REQUIRES: lock(); the lease is recorded as shown there. Shows it by its own words, for all others
// that are shown by the same artefact, too.
Result<Published> Mirror::show_anew(Layout& layout, const std::string& artefact,
                                    const core::Lease& lease) {
  LK_CHECK(layout.prepare(lease, artefact));
  const std::string identity = layout.identity(lease, artefact);
  std::vector<std::string> ours;
  LK_CHECK(table_.write([&](core::Table& table) -> Result<bool> {
    ours = {identity};
    LK_ASSIGN(const std::vector<core::Shown> rows,
              core::shown_as(table.state(), layout.id(), artefact));
    for (const core::Shown& row : rows) {
      ours.push_back(row.identity);
      if (!row.live || row.identity == identity) continue;
      LK_CHECK(core::show_as(table.state(), row, identity));
    }
    return false;
  }));
  const auto published = layout.publish(lease, artefact, ours);
  LK_CHECK(layout.discard(lease.id, artefact));
  return published;
}

// REQUIRES: lock().
Result<std::optional<core::ForeignLock>> Mirror::publish_one(const core::Lease& lease,
                                                             const Planned& plan) {
  Layout& layout = *plan.layout;
  Result<Published> published = Published::kTaken;
  if (!plan.shared) {
    std::vector<std::string> ours = plan.ours;
    ours.push_back(plan.identity);
    published = layout.publish(lease, plan.artefact, ours);
    if (published && *published == Published::kDone) return std::nullopt;
  }
  // Another of ours may have shown it, or may still be about to.
  LK_ASSIGN(const bool shown, is_shown(layout, plan.artefact));
  if (shown) {
    LK_CHECK(layout.discard(plan.lease, plan.artefact));
    return std::nullopt;
  }
  LK_ASSIGN(const bool prepared, layout.is_prepared(plan.lease, plan.artefact));
  if (plan.shared || (!published && !prepared)) {
    published = show_anew(layout, plan.artefact, lease);
    if (published && *published == Published::kDone) return std::nullopt;
  }
  if (!published) return fail(with_layout(std::move(published.error()), layout));
  LK_ASSIGN(std::optional<Sighting> first, who_is_there(layout, plan.artefact));
  if (first) return std::move(first->lock);
  // It went away again before it could be seen: unknown, but it was there first.
  core::ForeignLock unknown;
  unknown.layout = layout.id();
  unknown.artefact = plan.artefact;
  unknown.path = layout.entry().root + "/" + plan.artefact;
  unknown.owner.agent = "unknown";
  return unknown;
}

Result<std::optional<core::ForeignLock>> Mirror::publish_all(const core::Lease& lease) {
  if (planned_.empty()) return std::nullopt;
  LK_ASSIGN(const Fd held, lock());
  // Whoever ended the lease meanwhile took its rows away: what would appear now would be nobody's.
  std::set<std::string> recorded;
  LK_CHECK(table_.read([&](core::Table& table) -> Result<void> {
    LK_ASSIGN(const core::Lease* now, table.state().lease(lease.id));
    if (now != nullptr) recorded.insert(now->shown.begin(), now->shown.end());
    return {};
  }));
  std::vector<core::Shown> nowhere;  // in layouts that were removed meanwhile
  for (const Planned& plan : planned_) {
    if (plan.lease != lease.id) continue;
    const std::string& id = plan.layout->id();
    const bool removed = find(id) == nullptr;
    if (removed) nowhere.push_back({id, plan.artefact, plan.lease, plan.identity, true});
    if (removed || !recorded.contains(id + '\0' + plan.artefact)) {
      static_cast<void>(plan.layout->discard(plan.lease, plan.artefact));
      continue;
    }
    LK_ASSIGN(std::optional<core::ForeignLock> first, publish_one(lease, plan));
    if (first) return first;
  }
  if (!nowhere.empty()) LK_CHECK(forget(nowhere));
  return std::nullopt;
}

// Tools that check before they write may have checked before ours was there.
Result<std::optional<core::ForeignLock>> Mirror::look_after(const core::Lease& lease) {
  if (layouts_.empty()) return std::nullopt;
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
      first->layout = conflict.holder.terms.layout;
      first->path = core::foreign_path(conflict.holder);
      first->owner = conflict.holder.owner;
    }
    return {};
  }));
  return first;
}

Result<std::optional<core::ForeignLock>> Mirror::publish(const core::Lease& lease, bool fresh) {
  auto first = publish_all(lease);
  if (first && !*first && fresh) first = look_after(lease);
  const bool all = first && !*first;
  if (!all) {
    for (const Planned& plan : planned_) {
      if (plan.shared || plan.earlier || plan.lease != lease.id) continue;
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
    Relooked relooked;
    LK_CHECK(place(table, *layout, source_of(first.artefact), relooked));
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

Result<void> Mirror::trim(core::Table& table, const core::Owner& owner) {
  LK_ASSIGN(const std::vector<core::LeaseId> ids, table.state().leases_of(owner));
  showings_.clear();
  for (const core::LeaseId& id : ids) {
    LK_ASSIGN(const core::Lease* found, table.state().lease(id));
    if (found == nullptr || found->shown.empty()) continue;
    std::vector<std::string> gone;
    for (const std::string& place : found->shown) {
      const auto [layout_id, artefact] = split_place(place);
      Layout* const layout = find(layout_id);
      if (layout == nullptr) continue;
      LK_ASSIGN(const bool shows,
                still_shows(table.state(), *layout, {layout_id, artefact, id, {}, true}));
      if (!shows) gone.push_back(place);
    }
    LK_CHECK(core::unshow(table.state(), id, gone));
  }
  return {};
}

Result<void> Mirror::refresh_all(const core::Owner& owner) {
  std::vector<core::Lease> leases;
  LK_CHECK(table_.read([&](core::Table& table) -> Result<void> {
    LK_ASSIGN(const std::vector<core::LeaseId> ids, table.state().leases_of(owner));
    for (const core::LeaseId& id : ids) {
      LK_ASSIGN(const core::Lease* found, table.state().lease(id));
      if (found != nullptr) leases.push_back(*found);
    }
    return {};
  }));
  return refresh(leases);
}

Result<void> Mirror::forget(const std::vector<core::Shown>& gone) {
  LK_CHECK(table_.write([&](core::Table& table) -> Result<bool> {
    LK_CHECK(core::forget_shown(table.state(), gone));
    return false;
  }));
  return {};
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

// REQUIRES: lock(). What the rows say in here stays so for what is on the disk.
Result<std::vector<core::Shown>> Mirror::remove_ended() {
  struct Leftover {
    core::Shown shown;
    bool needed = false;  // a live lease is shown by just this
    core::LeaseId next;   // a live lease is shown in its place, or is about to be
  };
  std::vector<std::string> layouts;
  for (const auto* const some : {&layouts_, &off_}) {
    for (const std::unique_ptr<Layout>& layout : *some) layouts.push_back(layout->id());
  }
  std::vector<Leftover> all;
  LK_CHECK(table_.read([&](core::Table& table) -> Result<void> {
    LK_ASSIGN(const std::vector<core::Shown> ended,
              core::to_unshow(table.state(), kUnshownAtOnce, &layouts));
    for (const core::Shown& one : ended) {
      Leftover each{one, false, {}};
      LK_ASSIGN(const std::vector<core::Shown> rows,
                core::shown_as(table.state(), one.layout, one.artefact));
      for (const core::Shown& row : rows) {
        if (!row.live) continue;
        each.needed |= row.identity == one.identity;
        each.next = row.lease;
      }
      all.push_back(std::move(each));
    }
    return {};
  }));
  std::vector<core::Shown> done;
  for (const Leftover& one : all) {
    Layout* const layout = find_to_remove(one.shown.layout);
    static_cast<void>(layout->discard(one.shown.lease, one.shown.artefact));
    if (!one.needed) {
      // Who comes next changes it for its own in one step: no gap for another tool.
      const auto coming = one.next.empty() ? Result<bool>(false)
                                           : layout->is_prepared(one.next, one.shown.artefact);
      if (!coming || *coming) continue;
      const auto removed = layout->remove(one.shown.artefact, one.shown.identity);
      if (!removed) continue;  // whoever comes next tries again
    }
    done.push_back(one.shown);
  }
  return done;
}

Result<void> Mirror::clean() {
  for (;;) {
    bool any = false;
    LK_CHECK(table_.read([&](core::Table& table) -> Result<void> {
      LK_ASSIGN(any, core::any_to_unshow(table.state()));
      return {};
    }));
    if (!any) return {};
    const Result<Fd> held = lock();
    // What ended is ended: whoever comes next takes its artefacts away.
    if (!held && held.error().code == Code::kStoreBusy) return {};
    if (!held) return fail(held.error());
    LK_ASSIGN(const std::vector<core::Shown> done, remove_ended());
    if (done.empty()) return {};
    LK_CHECK(forget(done));
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
  const Result<Fd> held = lock();  // who publishes or removes it now is done then
  if (!held && held.error().code == Code::kStoreBusy) return {};  // the next look finds it again
  if (!held) return fail(held.error());
  LK_ASSIGN(const bool prepared, layout->is_prepared(shown.lease, shown.artefact));
  LK_ASSIGN(const Seen seen, layout->look_at(source_of(shown.artefact)));
  LK_ASSIGN(const std::optional<Sighting> there, who_is_there(*layout, shown.artefact));
  std::optional<core::Lease> again;
  LK_CHECK(table_.write([&](core::Table& table) -> Result<bool> {
    again.reset();
    LK_ASSIGN(const std::vector<core::Shown> rows,
              core::shown_as(table.state(), shown.layout, shown.artefact));
    const auto row = std::ranges::find(rows, shown.lease, &core::Shown::lease);
    if (row == rows.end() || !row->live) return false;
    if (there && there->identity == row->identity) return false;
    if (seen.is_over(shown.artefact, row->identity)) return false;  // by the wall clock alone
    // One that is over shows nothing: it only was not looked at yet.
    LK_CHECK(table.settler().reap(shown.lease));
    LK_CHECK(table.settler().settle());
    LK_ASSIGN(const core::Lease* found, table.state().lease(shown.lease));
    if (found == nullptr) return false;
    const core::Lease lease = *found;
    if (!prepared && lease.terms.layout == shown.layout && lease.terms.artefact == shown.artefact) {
      const std::string path = layout->entry().root + "/" + shown.artefact;
      LK_CHECK(table.settler().end(lease, {"released", "artefact_removed", path, {}}, true));
      LK_CHECK(table.settler().settle());
      return false;
    }
    // In another's place it is not: the looks record that, and tell the holder.
    const bool taken = there && std::ranges::none_of(rows, [&](const core::Shown& one) {
                         return one.identity == there->identity;
                       });
    if (taken) return false;
    const std::vector<std::string> wanted = layout->showing(lease).artefacts;
    if (std::ranges::find(wanted, shown.artefact) == wanted.end()) {
      LK_CHECK(core::forget_shown(table.state(), *row));  // its layout's root is gone, say
      return false;
    }
    if (!prepared) LK_CHECK(append_event(table, lease, "shown_again", shown.artefact));
    again = lease;
    return false;
  }));
  if (!again) return {};
  LK_ASSIGN(const Published published, show_anew(*layout, shown.artefact, *again));
  // Another was first. Whoever is about to publish it will see that for itself; without what it has
  // prepared the next one who looks would take it for removed, and it would answer for nothing.
  if (!prepared || published == Published::kDone) return {};
  return layout->prepare(*again, shown.artefact);
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
    if (lease) LK_CHECK(publish(*lease, false));
    planned_.clear();
  }
  return {};
}

Result<void> Mirror::remove_foreign(const core::Lease& lease) {
  Layout* const layout = find(lease.terms.layout);
  const std::string artefact = core::foreign_artefact(lease);
  if (layout == nullptr) return {};
  LK_ASSIGN(const Fd held, lock());
  LK_ASSIGN(const bool ours, is_shown(*layout, artefact));
  if (ours) return {};
  LK_ASSIGN(const std::optional<Sighting> there, who_is_there(*layout, artefact));
  LK_CHECK(layout->remove(artefact, there ? there->identity : ""));
  return {};
}

Result<void> Mirror::hide(const std::string& id, Trouble trouble) {
  Layout* const layout = find_to_remove(id);
  if (layout == nullptr) return {};
  LK_ASSIGN(const Fd held, lock());
  std::vector<core::Shown> shown;
  LK_CHECK(table_.read([&](core::Table& table) -> Result<void> {
    LK_ASSIGN(shown, core::all_shown(table.state(), id));
    return {};
  }));
  for (const core::Shown& one : shown) {
    static_cast<void>(layout->discard(one.lease, one.artefact));
    auto removed = layout->remove(one.artefact, one.identity);
    if (!removed && trouble == Trouble::kTold) return fail(std::move(removed.error()));
  }
  return shown.empty() ? Result<void>() : forget(shown);
}

Result<void> Mirror::forget_layout(const std::string& id, Trouble trouble) {
  LK_CHECK(hide(id, trouble));
  LK_CHECK(table_.write([&](core::Table& table) -> Result<bool> {
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

}  // namespace lockkeeper::layout
