#include "layout/leftovers.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/foreign.h"
#include "core/history.h"
#include "layout/lock.h"
#include "layout/open_layouts.h"

namespace lockkeeper::layout {
namespace {

constexpr std::size_t kEventsMax = 10'000;
constexpr std::int64_t kCertainMs = 2'000;  // artefacts have whole seconds

struct Ended {
  core::Lease lease;
  std::int64_t end_wall_ms = 0;
};

// The leases of ours in the history that are not in the table any more.
Result<std::vector<Ended>> ended_leases(core::Table& table, const key::Rules& rules) {
  LK_ASSIGN(const std::vector<core::Event> events, core::last_events(table.state(), kEventsMax));
  std::map<core::LeaseId, Ended> found;
  for (const core::Event& event : events) {
    if (event.lease.empty()) continue;
    const auto known = found.find(event.lease);
    if (known != found.end()) known->second.end_wall_ms = event.at_wall_ms;
    if (event.what != "granted" || known != found.end()) continue;
    LK_ASSIGN(const core::Lease* const live, table.state().lease(event.lease));
    if (live != nullptr) continue;
    Ended& ended = found[event.lease];
    ended.end_wall_ms = event.at_wall_ms;
    ended.lease.id = event.lease;
    ended.lease.owner = event.owner;
    ended.lease.terms.task = event.task;
    ended.lease.acquired_wall_ms = event.at_wall_ms;
    for (const std::string& text : event.resources) {
      if (auto parsed = key::parse(text, rules)) {
        ended.lease.claims.push_back({parsed->resource, core::Mode::kExclusive, 0});
      }
    }
  }
  std::vector<Ended> all;
  for (auto& [id, ended] : found) all.push_back(std::move(ended));
  return all;
}

Result<std::set<std::string>> foreign_artefacts(core::Table& table, const std::string& layout) {
  std::set<std::string> names;
  LK_ASSIGN(const std::vector<core::KnownForeign> known,
            core::all_known_foreign(table.state(), layout));
  for (const core::KnownForeign& one : known) names.insert(one.artefact);
  return names;
}

Result<void> match_ended(Layout& layout, const std::set<std::string>& foreign,
                         const std::vector<Ended>& ended, std::vector<LeftArtefact>& found) {
  for (const Ended& one : ended) {
    for (const std::string& name : layout.artefacts(one.lease).names) {
      if (!foreign.contains(name)) continue;
      LK_ASSIGN(const ScanResult now, layout.scan_source(source_of(name)));
      const Sighting* const there = now.find(name);
      if (there == nullptr || there->identity != layout.identity(one.lease, name)) continue;
      const bool certain = one.end_wall_ms - one.lease.acquired_wall_ms >= kCertainMs;
      found.push_back({layout.id(), name, there->lock.path, there->identity, one.lease.id,
                       one.lease.owner, certain});
    }
  }
  return {};
}

Result<std::vector<LeftArtefact>> look_for_left(LockTable& table, const OpenLayouts& layouts) {
  std::vector<LeftArtefact> found;
  std::vector<Ended> ended;
  const key::Rules rules = table.settings().key_rules(table.realm());
  for (Layout* const layout : layouts.all()) {
    LK_ASSIGN(const std::set<std::string> foreign,
              table.get([&](core::Table& open) { return foreign_artefacts(open, layout->id()); }));
    if (foreign.empty()) continue;
    if (ended.empty()) {
      LK_ASSIGN(ended, table.get([&](core::Table& open) { return ended_leases(open, rules); }));
    }
    LK_CHECK(match_ended(*layout, foreign, ended, found));
  }
  return found;
}

}  // namespace

Result<std::vector<LeftArtefact>> find_left_artefacts(LockTable& table) {
  OpenLayouts layouts(table);
  LK_CHECK(layouts.open());
  return look_for_left(table, layouts);
}

Result<std::size_t> remove_left_artefacts(LockTable& table) {
  OpenLayouts layouts(table);
  LK_CHECK(layouts.open());
  LK_ASSIGN(const std::vector<LeftArtefact> found, look_for_left(table, layouts));
  std::size_t removed = 0;
  if (found.empty()) return removed;
  LK_ASSIGN(const Fd held, lock_layouts(table.realm()));
  for (const LeftArtefact& one : found) {
    Layout* const layout = layouts.find(one.layout);
    if (!one.certain || layout->entry().mode != LayoutMode::kBoth) continue;
    LK_ASSIGN(const Removed done, layout->remove(one.artefact, one.identity));
    if (done == Removed::kDone) ++removed;
  }
  return removed;
}

}  // namespace lockkeeper::layout
