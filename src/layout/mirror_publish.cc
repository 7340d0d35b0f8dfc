// Writing: from the table onto the disk.
#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "core/browse.h"
#include "layout/lock.h"
#include "layout/mirror.h"

namespace lockkeeper::layout {
namespace {

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

}  // namespace

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
      core::Shown row{layout->id(), artefact, id, layout->identity(lease, artefact), true};
      LK_ASSIGN(const std::vector<core::Shown> others,
                core::shown_as(table.state(), layout->id(), artefact));
      bool own = false;
      bool shared = false;
      for (const core::Shown& other : others) {
        own |= other.lease == id;
        if (other.lease == id) continue;
        LK_ASSIGN(const bool shows, still_shows(table.state(), *layout, other));
        shared |= shows;
        if (shows) row.identity = other.identity;
      }
      if (own) {
        // Recorded before, by one who may have died before it was published.
        LK_ASSIGN(const bool prepared, layout->is_prepared(id, artefact));
        if (prepared) plan({layout.get(), artefact, id, {}});
        continue;
      }
      rows.push_back(std::move(row));
      plan({layout.get(), artefact, id, {}});
      if (shared) continue;
      if (auto prepared = layout->prepare(lease, artefact); !prepared) {
        return fail(with_layout(std::move(prepared.error()), *layout));
      }
    }
  }
  if (rows.empty()) return {};
  return core::record_shown(table.state(), id, rows);
}

// Layouts that were opened again plan the same once more.
void Mirror::plan(Planned plan) {
  std::erase_if(planned_, [&](const Planned& before) {
    return before.lease == plan.lease && before.artefact == plan.artefact &&
           before.layout->id() == plan.layout->id();
  });
  planned_.push_back(std::move(plan));
}

void Mirror::may_replace(const std::string& layout, const std::string& artefact,
                         std::string identity) {
  for (Planned& plan : planned_) {
    if (plan.layout->id() == layout && plan.artefact == artefact) plan.replaces = identity;
  }
}

Result<void> Mirror::discard_unrecorded(core::State& state) {
  for (const Planned& plan : planned_) {
    LK_ASSIGN(const bool recorded,
              is_recorded(state, plan.layout->id(), plan.artefact, plan.lease));
    if (!recorded) static_cast<void>(plan.layout->discard(plan.lease, plan.artefact));
  }
  planned_.clear();
  return {};
}

// If it cannot be told what is recorded, nothing is discarded.
void Mirror::discard_unrecorded() {
  if (planned_.empty()) return;
  static_cast<void>(
      table_.read([&](core::Table& table) { return discard_unrecorded(table.state()); }));
  planned_.clear();
}

Result<std::optional<Sighting>> Mirror::who_is_there(Layout& layout, const std::string& artefact) {
  LK_ASSIGN(Seen seen, layout.look_at(source_of(artefact)));
  for (Sighting& sighting : seen.sightings) {
    if (sighting.lock.artefact == artefact) return std::move(sighting);
  }
  return std::nullopt;
}

// REQUIRES: lock_layouts(). Does what stands there show one of ours?
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

// REQUIRES: lock_layouts(), and the turn, taken under it.
Result<Published> Mirror::show_anew(Layout& layout, const std::string& artefact,
                                    const core::Lease& lease, const PublishTerms& terms) {
  LK_CHECK(layout.prepare(lease, artefact));
  return layout.publish(lease, artefact, terms);
}

// REQUIRES: lock_layouts().
Result<std::optional<core::ForeignLock>> Mirror::publish_one(const core::Lease& lease,
                                                             const Planned& plan,
                                                             const Standing& standing) {
  Layout& layout = *plan.layout;
  Result<Published> published = Published::kTaken;
  PublishTerms terms = standing.terms;
  if (!plan.replaces.empty()) terms.replaces.push_back(plan.replaces);
  if (standing.by_itself) {
    published = layout.publish(lease, plan.artefact, terms);
    if (published && *published == Published::kDone) return std::nullopt;
  }
  LK_ASSIGN(std::optional<Sighting> there, who_is_there(layout, plan.artefact));
  LK_ASSIGN(const bool prepared, layout.is_prepared(plan.lease, plan.artefact));
  if (!standing.by_itself || !prepared) {
    // Another of ours shows it, or has done so in our stead, or what was prepared is gone.
    Turn turn;
    LK_CHECK(table_.write([&](core::Table& table) -> Result<bool> {
      LK_ASSIGN(turn, take_turn(table.state(), layout, plan.artefact, lease, there));
      return false;
    }));
    if (turn.what == Turn::kEnded) return std::nullopt;  // what is prepared goes with its row
    if (turn.what == Turn::kShown) {
      LK_CHECK(layout.discard(plan.lease, plan.artefact));
      return std::nullopt;
    }
    if (!plan.replaces.empty()) turn.terms.replaces.push_back(plan.replaces);
    published = show_anew(layout, plan.artefact, lease, turn.terms);
    if (published && *published == Published::kDone) return std::nullopt;
    LK_ASSIGN(there, who_is_there(layout, plan.artefact));
  }
  if (!published) return fail(with_layout(std::move(published.error()), layout));
  if (there) return std::move(there->lock);
  // It went away again before it could be seen: unknown, but it was there first.
  core::ForeignLock unknown;
  unknown.layout = layout.id();
  unknown.artefact = plan.artefact;
  unknown.path = layout.entry().root + "/" + plan.artefact;
  unknown.owner.agent = "unknown";
  return unknown;
}

// REQUIRES: lock_layouts(). What the table says of each plan of the lease. Whoever ended the lease
// meanwhile took its rows away: what would appear now would be nobody's.
Result<std::vector<Standing>> Mirror::standings(const core::Lease& lease) {
  std::vector<Standing> all(planned_.size());
  std::map<std::pair<Layout*, std::string>, std::vector<std::string>> together;
  const auto source = [](const Planned& plan) {
    return std::pair(plan.layout, source_of(plan.artefact));
  };
  LK_CHECK(table_.read([&](core::Table& table) -> Result<void> {
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Planned& plan = planned_[i];
      if (plan.lease != lease.id) continue;
      LK_ASSIGN(all[i], standing_of(table.state(), *plan.layout, plan.artefact, lease));
      if (all[i].row && all[i].by_itself) together[source(plan)].push_back(plan.artefact);
    }
    return {};
  }));
  // The first of a source takes the others along.
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].terms.along = std::exchange(together[source(planned_[i])], {});
  }
  return all;
}

Result<std::optional<core::ForeignLock>> Mirror::publish_all(const core::Lease& lease) {
  // A layout that was registered or removed after ours were read: either whoever did that has seen
  // this lease, or it is seen here, where nobody can take away what is being published.
  std::optional<Fd> held;
  for (;;) {
    if (!held && !planned_.empty()) {
      LK_ASSIGN(held, lock_layouts(table_.realm()));
    }
    LK_ASSIGN(const bool changed, reopen());
    if (!changed) break;
    LK_CHECK(table_.write([&](core::Table& table) -> Result<bool> {
      LK_CHECK(record(table, lease.id));
      return false;
    }));
  }
  if (planned_.empty()) return std::nullopt;
  LK_ASSIGN(const std::vector<Standing> all, standings(lease));
  std::vector<core::Shown> nowhere;  // in layouts that were removed meanwhile
  for (std::size_t i = 0; i < planned_.size(); ++i) {
    const Planned& plan = planned_[i];
    if (plan.lease != lease.id) continue;
    const bool removed = find(plan.layout->id()) == nullptr;
    if (removed || !all[i].row) static_cast<void>(plan.layout->discard(plan.lease, plan.artefact));
    if (removed && all[i].row && plan.layout->remove(plan.artefact, all[i].row->identity)) {
      nowhere.push_back(*all[i].row);
    }
    if (removed || !all[i].row) continue;
    LK_ASSIGN(std::optional<core::ForeignLock> first, publish_one(lease, plan, all[i]));
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
  // What is prepared and not published has a row: clean() takes both away when the lease has ended.
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
  LK_ASSIGN(const Fd held, lock_layouts(table_.realm()));
  for (const core::Lease& lease : renewed) {
    for (const std::string& place : lease.shown) {
      const auto [id, artefact] = split_place(place);
      Layout* const layout = find(id);
      if (layout != nullptr) LK_CHECK(layout->refresh(lease, artefact));
    }
  }
  return {};
}

// REQUIRES: lock_layouts(). What the rows say in here stays so for what is on the disk.
Result<std::vector<core::Shown>> Mirror::remove_ended() {
  struct Leftover {
    core::Shown shown;
    bool needed = false;  // a live lease is shown by just this
    core::LeaseId next;   // a live lease is shown in its place, or is about to be
    bool alone = true;    // what is prepared is for nothing else of the lease
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
      Leftover each{one, false, {}, true};
      LK_ASSIGN(const core::Lease* lease, table.state().lease(one.lease));
      if (lease != nullptr) {
        each.alone = !shows_source(*lease, one.layout, source_of(one.artefact));
      }
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
    if (one.alone) {
      static_cast<void>(layout->discard(one.shown.lease, one.shown.artefact));
    }
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
    const Result<Fd> held = lock_layouts(table_.realm());
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
  const Result<Fd> held =
      lock_layouts(table_.realm());  // who publishes or removes it now is done then
  if (!held && held.error().code == Code::kStoreBusy) return {};  // the next look finds it again
  if (!held) return fail(held.error());
  LK_ASSIGN(const bool prepared, layout->is_prepared(shown.lease, shown.artefact));
  LK_ASSIGN(const Seen seen, layout->look_at(source_of(shown.artefact)));
  LK_ASSIGN(const std::optional<Sighting> there, who_is_there(*layout, shown.artefact));
  std::optional<core::Lease> again;
  Turn turn;
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
    LK_ASSIGN(turn, take_turn(table.state(), *layout, shown.artefact, lease, there));
    if (turn.what != Turn::kPublish) return false;
    if (!prepared) LK_CHECK(append_event(table, lease, "shown_again", shown.artefact));
    again = lease;
    return false;
  }));
  if (!again) return {};
  LK_ASSIGN(const Published published, show_anew(*layout, shown.artefact, *again, turn.terms));
  // Another was first. Whoever is about to publish it will see that for itself; without what it has
  // prepared the next one who looks would take it for removed, and it would answer for nothing.
  if (prepared || published == Published::kDone) return {};
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
      LK_CHECK(discard_unrecorded(table.state()));
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
  LK_ASSIGN(const Fd held, lock_layouts(table_.realm()));
  LK_ASSIGN(const bool ours, is_shown(*layout, artefact));
  if (ours) return {};
  LK_ASSIGN(const std::optional<Sighting> there, who_is_there(*layout, artefact));
  LK_CHECK(layout->remove(artefact, there ? there->identity : ""));
  return {};
}

Result<void> Mirror::hide(const std::string& id, Trouble trouble) {
  Layout* const layout = find_to_remove(id);
  if (layout == nullptr) return {};
  LK_ASSIGN(const Fd held, lock_layouts(table_.realm()));
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
