#include "layout/check.h"

#include <map>

#include "base/text.h"
#include "core/mirrored.h"
#include "layout/lock.h"
#include "layout/open_layouts.h"

namespace lockkeeper::layout {
namespace {

struct Recorded {
  core::MirrorArtefact row;
  core::Owner owner;
};

Result<std::vector<Recorded>> live_rows(LockTable& table, const std::string& layout) {
  return table.get([&](core::Table& open) -> Result<std::vector<Recorded>> {
    std::vector<Recorded> found;
    LK_ASSIGN(std::vector<core::MirrorArtefact> rows, core::all_mirrored(open.state(), layout));
    for (core::MirrorArtefact& row : rows) {
      LK_ASSIGN(const core::Lease* lease, open.state().lease(row.lease));
      if (row.live && lease != nullptr) found.push_back({std::move(row), lease->owner});
    }
    return found;
  });
}

// Nothing: they agree.
Result<std::optional<LayoutDisagreement>> compare(Layout& layout, const Recorded& recorded,
                                                  const ScanResult& seen) {
  const core::MirrorArtefact& row = recorded.row;
  if (seen.shows(row.artefact, row.identity)) return std::nullopt;
  LK_ASSIGN(const bool prepared, layout.is_prepared(row.lease, row.artefact));
  if (prepared) return std::nullopt;
  const std::string path = layout.entry().root + "/" + row.artefact;
  const std::string whose = "lease " + row.lease.text() + " of " + quote(recorded.owner.agent);
  const Sighting* const there = seen.find(row.artefact);
  if (there == nullptr)
    return LayoutDisagreement{path, quote(path) + " is missing; it should show " + whose};
  return LayoutDisagreement{path, quote(path) + " should show " + whose + " and shows a lock of " +
                                      quote(there->lock.owner.agent)};
}

}  // namespace

Result<std::optional<std::vector<LayoutDisagreement>>> check_layouts(LockTable& table) {
  OpenLayouts layouts(table);
  LK_CHECK(layouts.open());
  bool any = false;
  for (const Layout* const layout : layouts.all()) {
    LK_ASSIGN(const std::vector<Recorded> rows, live_rows(table, layout->id()));
    any |= !rows.empty();
  }
  if (!any) return std::nullopt;
  std::vector<LayoutDisagreement> all;
  LK_ASSIGN(const Fd held, lock_layouts(table.realm()));  // so that nobody is halfway
  for (Layout* const layout : layouts.all()) {
    LK_ASSIGN(const std::vector<Recorded> rows, live_rows(table, layout->id()));
    std::map<std::string, ScanResult> sources;
    for (const Recorded& recorded : rows) {
      const auto [at, unseen] = sources.try_emplace(source_of(recorded.row.artefact));
      if (unseen) {
        LK_ASSIGN(at->second, layout->scan_source(at->first));
      }
      LK_ASSIGN(std::optional<LayoutDisagreement> found, compare(*layout, recorded, at->second));
      if (found) all.push_back(std::move(*found));
    }
  }
  return all;
}

Result<std::vector<Error>> unreadable_layouts(const LockTable& table) {
  OpenLayouts layouts(table);
  LK_CHECK(layouts.open());
  std::vector<Error> errors;
  for (Layout* const layout : layouts.all()) {
    const auto seen = layout->scan({});
    if (!seen) errors.push_back(seen.error());
  }
  return errors;
}

}  // namespace lockkeeper::layout
