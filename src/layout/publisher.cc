#include "layout/publisher.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "layout/cleaner.h"
#include "layout/lock.h"

namespace lockkeeper::layout {
namespace {

Error with_layout(Error error, const Layout& layout) {
  if (error.hint.empty()) error.hint = "or give it up: lockkeeper layout remove " + layout.id();
  return error;
}

bool is_done(const Result<Published>& published) {
  return published && *published == Published::kDone;
}

// It was gone again before it could be read: its owner is unknown, but it was first.
core::ForeignLock unknown_lock(const Layout& layout, const std::string& artefact) {
  core::ForeignLock unknown;
  unknown.layout = layout.id();
  unknown.artefact = artefact;
  unknown.path = layout.entry().root + "/" + artefact;
  unknown.owner.agent = "unknown";
  return unknown;
}

struct OnDisk {
  bool prepared = false;
  ScanResult seen;
};

struct Again {  // what to show again
  core::Lease lease;
  PublishTerms terms;
};

// REQUIRES: lock_layouts(). Nothing: it is there, or over, or replaced by another tool's.
Result<std::optional<Again>> decide(core::Table& table, const Layout& layout,
                                    const core::MirrorArtefact& missing, const OnDisk& disk) {
  LK_ASSIGN(const std::vector<core::MirrorArtefact> rows,
            core::mirrored_as(table.state(), missing.layout, missing.artefact));
  const auto row = std::ranges::find(rows, missing.lease, &core::MirrorArtefact::lease);
  if (row == rows.end() || !row->live) return std::nullopt;
  if (disk.seen.shows(missing.artefact, row->identity)) return std::nullopt;
  // A lease that is over is not shown; it just has not been ended yet.
  LK_CHECK(table.settler().reap(missing.lease));
  LK_CHECK(table.settler().settle());
  LK_ASSIGN(const core::Lease* found, table.state().lease(missing.lease));
  if (found == nullptr) return std::nullopt;
  const core::Lease lease = *found;
  if (!disk.prepared && taken_through(lease, missing)) {
    const std::string path = layout.entry().root + "/" + missing.artefact;
    LK_CHECK(table.settler().end(lease, {"released", "artefact_removed", path, {}}, true));
    LK_CHECK(table.settler().settle());
    return std::nullopt;
  }
  // If another tool's is in its place, the scans record that and tell the holder.
  const Sighting* const there = disk.seen.find(missing.artefact);
  const bool taken =
      there != nullptr && std::ranges::none_of(rows, [&](const core::MirrorArtefact& one) {
        return one.identity == there->identity;
      });
  if (taken) return std::nullopt;
  const Artefacts wanted = layout.artefacts(lease);
  if (std::ranges::find(wanted.names, missing.artefact) == wanted.names.end()) {
    LK_CHECK(core::forget_mirrored(table.state(), {*row}));  // such as: its root is gone
    return std::nullopt;
  }
  LK_ASSIGN(Turn turn, take_turn(table.state(), layout, missing.artefact, lease, there));
  if (turn.what != Turn::kPublish) return std::nullopt;
  if (!disk.prepared) {
    LK_CHECK(table.state().append(core::Event::of(
        lease, core::EndedBy{"shown_again", "artefact_removed", missing.artefact, {}})));
  }
  return Again{lease, std::move(turn.terms)};
}

}  // namespace

Result<void> Publisher::record(core::Table& table, const core::LeaseId& id) {
  if (!layouts_.any()) return {};
  LK_ASSIGN(const core::Lease* found, table.state().lease(id));
  if (found == nullptr || found->foreign) return {};
  const core::Lease lease = *found;
  std::vector<core::MirrorArtefact> rows;
  StillMirrored still_mirrored;
  // Whoever removes a layout first switches it off, then removes what is recorded there: so nothing
  // may be recorded later.
  LK_ASSIGN(const std::set<std::string> gone, layouts_.gone());
  for (Layout* const layout : layouts_.all()) {
    if (layout->entry().mode != LayoutMode::kBoth || gone.contains(layout->id())) continue;
    LK_CHECK(record_in(table.state(), *layout, lease, still_mirrored, rows));
  }
  if (rows.empty()) return {};
  return core::record_mirrored(table.state(), id, rows);
}

Result<void> Publisher::record_in(core::State& state, Layout& layout, const core::Lease& lease,
                                  StillMirrored& still_mirrored,
                                  std::vector<core::MirrorArtefact>& rows) {
  const Artefacts artefacts = layout.artefacts(lease);
  for (const std::string& artefact : artefacts.names) {
    core::MirrorArtefact row{layout.id(), artefact, lease.id, layout.identity(lease, artefact),
                             true};
    LK_ASSIGN(const std::vector<core::MirrorArtefact> others,
              core::mirrored_as(state, layout.id(), artefact));
    bool own = false;
    bool shared = false;
    for (const core::MirrorArtefact& other : others) {
      own |= other.lease == lease.id;
      if (other.lease == lease.id) continue;
      LK_ASSIGN(const bool shows, still_mirrored(state, layout, other));
      shared |= shows;
      if (shows) row.identity = other.identity;
    }
    if (own) {  // recorded before, by one who may have died before it was published
      LK_ASSIGN(const bool prepared, layout.is_prepared(lease.id, artefact));
      if (!prepared) continue;
    }
    // A transaction that is run again, or layouts that were opened again, plan the same once more.
    std::erase_if(plans_, [&](const Plan& plan) {
      return plan.lease == lease.id && plan.artefact == artefact &&
             plan.layout->id() == layout.id();
    });
    plans_.push_back({&layout, artefact, lease.id});
    if (own) continue;
    rows.push_back(std::move(row));
    if (shared) continue;
    if (auto prepared = layout.prepare(lease, artefact); !prepared) {
      return fail(with_layout(std::move(prepared.error()), layout));
    }
  }
  return {};
}

void Publisher::may_replace(const std::string& layout, const std::string& artefact,
                            const std::string& identity) {
  for (Plan& plan : plans_) {
    if (plan.layout->id() == layout && plan.artefact == artefact) plan.replaces = identity;
  }
}

Result<void> Publisher::discard_unrecorded(core::State& state) {
  for (const Plan& plan : plans_) {
    LK_ASSIGN(const bool recorded,
              is_recorded(state, plan.layout->id(), plan.artefact, plan.lease));
    if (!recorded) static_cast<void>(plan.layout->discard(plan.lease, plan.artefact));
  }
  plans_.clear();
  return {};
}

// Discards nothing if the table cannot be read.
void Publisher::discard_unrecorded() {
  if (plans_.empty()) return;
  static_cast<void>(
      table_.read([&](core::Table& table) { return discard_unrecorded(table.state()); }));
  plans_.clear();
}

// The lease's plans, each with its current state in the table. REQUIRES: lock_layouts().
Result<std::vector<Publisher::Plan>> Publisher::take_plans(const core::Lease& lease) {
  const auto mine = std::ranges::stable_partition(
      plans_, [&](const Plan& plan) { return plan.lease != lease.id; });
  std::vector<Plan> plans(std::move_iterator(mine.begin()), std::move_iterator(mine.end()));
  plans_.erase(mine.begin(), mine.end());
  std::map<std::pair<Layout*, std::string>, std::vector<std::string>> together;
  LK_CHECK(table_.read([&](core::Table& table) -> Result<void> {
    for (Plan& plan : plans) {
      LK_ASSIGN(plan.standing, standing_of(table.state(), *plan.layout, plan.artefact, lease));
      if (!plan.standing.live() || !plan.standing.by_itself) continue;
      together[{plan.layout, source_of(plan.artefact)}].push_back(plan.artefact);
    }
    return {};
  }));
  for (Plan& plan : plans) {
    PublishTerms& terms = plan.standing.terms;
    if (plan.replaces) terms.replaces.push_back(*plan.replaces);
    // The first artefact of a source is published together with the others.
    terms.along = std::exchange(together[{plan.layout, source_of(plan.artefact)}], {});
  }
  return plans;
}

Result<std::optional<core::ForeignLock>> Publisher::publish(const core::Lease& lease) {
  // A layout may have been registered or removed after we read them. Either that process has seen
  // this lease, or we see the change here, under the lock.
  std::optional<Fd> held;
  for (;;) {
    if (!held && !plans_.empty()) {
      LK_ASSIGN(held, lock_layouts(table_.realm()));
    }
    LK_ASSIGN(const bool changed, layouts_.reopen());
    if (!changed) break;
    LK_CHECK(table_.write([&](core::Table& table) -> Result<bool> {
      LK_CHECK(record(table, lease.id));
      return false;
    }));
  }
  if (!held) return std::nullopt;
  LK_ASSIGN(const std::vector<Plan> plans, take_plans(lease));
  for (const Plan& plan : plans) {
    const Layout* const now = layouts_.find(plan.layout->id());
    const bool shows = now != nullptr && now->entry().mode == LayoutMode::kBoth;
    if (plan.standing.row && !shows) {
      // Its layout was removed meanwhile, or is only read; somebody may have shown it there in our
      // stead. What cannot be removed keeps its row.
      static_cast<void>(unmirror(table_, *plan.layout, {*plan.standing.row}, OnError::kFail));
      continue;
    }
    if (!plan.standing.live()) continue;  // its lease has ended: clean() removes it
    LK_ASSIGN(std::optional<core::ForeignLock> first, publish(lease, plan));
    if (first) return first;
  }
  return std::nullopt;
}

// REQUIRES: lock_layouts().
Result<std::optional<core::ForeignLock>> Publisher::publish(const core::Lease& lease,
                                                            const Plan& plan) {
  Layout& layout = *plan.layout;
  Result<Published> published = Published::kTaken;
  bool prepared = false;
  if (plan.standing.by_itself) {
    published = layout.publish(lease, plan.artefact, plan.standing.terms);
    if (is_done(published)) return std::nullopt;
    LK_ASSIGN(prepared, layout.is_prepared(plan.lease, plan.artefact));
  }
  // Another lease of ours is there, or another process published it, or what was prepared is gone.
  if (!prepared) published = publish_anew(lease, plan);
  if (is_done(published)) return std::nullopt;
  if (!published) return fail(with_layout(std::move(published.error()), layout));
  LK_ASSIGN(const ScanResult now, layout.scan_source(source_of(plan.artefact)));
  const Sighting* const first = now.find(plan.artefact);
  return first != nullptr ? first->lock : unknown_lock(layout, plan.artefact);
}

// REQUIRES: lock_layouts(). Also kDone if the lease has ended: what is prepared goes with its row.
Result<Published> Publisher::publish_anew(const core::Lease& lease, const Plan& plan) {
  Layout& layout = *plan.layout;
  LK_ASSIGN(const ScanResult now, layout.scan_source(source_of(plan.artefact)));
  Turn turn;
  LK_CHECK(table_.write([&](core::Table& table) -> Result<bool> {
    LK_ASSIGN(turn,
              take_turn(table.state(), layout, plan.artefact, lease, now.find(plan.artefact)));
    return false;
  }));
  if (turn.what == Turn::kShown) LK_CHECK(layout.discard(plan.lease, plan.artefact));
  if (turn.what != Turn::kPublish) return Published::kDone;
  if (plan.replaces) turn.terms.replaces.push_back(*plan.replaces);
  LK_CHECK(layout.prepare(lease, plan.artefact));
  return layout.publish(lease, plan.artefact, turn.terms);
}

Result<void> Publisher::show_again(const std::vector<core::MirrorArtefact>& missing) {
  for (const core::MirrorArtefact& one : missing) LK_CHECK(show_one_again(one));
  return {};
}

Result<void> Publisher::show_one_again(const core::MirrorArtefact& missing) {
  Layout* const layout = layouts_.find(missing.layout);
  if (layout == nullptr) return {};
  const Result<Fd> held =
      lock_layouts(table_.realm());  // waits for those that publish or remove it
  if (!held && held.error().code == Code::kStoreBusy) return {};  // the next scan finds it again
  if (!held) return fail(held.error());
  LK_ASSIGN(const std::set<std::string> gone, layouts_.gone());
  if (gone.contains(missing.layout)) return {};  // whoever removes it waits for our lock
  OnDisk disk;
  LK_ASSIGN(disk.prepared, layout->is_prepared(missing.lease, missing.artefact));
  LK_ASSIGN(disk.seen, layout->scan_source(source_of(missing.artefact)));
  std::optional<Again> again;
  LK_CHECK(table_.write([&](core::Table& table) -> Result<bool> {
    LK_ASSIGN(again, decide(table, *layout, missing, disk));
    return false;
  }));
  if (!again) return {};
  LK_CHECK(layout->prepare(again->lease, missing.artefact));
  LK_ASSIGN(const Published published,
            layout->publish(again->lease, missing.artefact, again->terms));
  // Another tool was first. The process that is about to publish will see that itself. It needs
  // what it has prepared: without that, the next scan would take the artefact for removed.
  if (disk.prepared || published == Published::kDone) return {};
  return layout->discard(missing.lease, missing.artefact);
}

}  // namespace lockkeeper::layout
