// What the table records about the artefacts of our leases, and the one place that changes whose
// identity an artefact has. Nothing here touches the disk. Private to this folder.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/mirrored.h"
#include "layout/layout.h"

namespace lockkeeper::layout {

// Layout and artefact of a place of Lease::mirrored_at.
std::pair<std::string, std::string> split_place(const std::string& place);

// Was the lease taken through this artefact, as its own tool would take it?
bool taken_through(const core::Lease& lease, const core::MirrorArtefact& row);

// Is the live lease mirrored by that source, or by an entry in it?
bool shows_source(const core::Lease& lease, const std::string& layout, const std::string& source);

// Is the lease recorded there, live or still to be removed? What is prepared may stand for all of
// the lease's artefacts in a source.
Result<bool> is_recorded(core::State& state, const std::string& layout, const std::string& artefact,
                         const core::LeaseId& lease);

// Is a row still true? A lease that gave a part back is no longer mirrored by that artefact. Asks
// the layout once for each lease. For one transaction.
class StillMirrored {
 public:
  Result<bool> operator()(core::State& state, const Layout& layout,
                          const core::MirrorArtefact& row);

 private:
  std::map<std::pair<const Layout*, core::LeaseId>, std::set<std::string>> artefacts_;
};

// How one artefact mirrors a lease.
struct Standing {
  std::optional<core::MirrorArtefact> row;
  bool by_itself = false;  // all live rows have the identity of this lease
  PublishTerms terms;
  bool live() const {
    return row && row->live;
  }  // else the lease has ended, or gave that part back
};
Result<Standing> standing_of(core::State& state, const Layout& layout, const std::string& artefact,
                             const core::Lease& lease);

// May the lease be shown again? If it is alive and recorded there, the artefact gets its identity,
// in the rows of all leases that it mirrors. But if what is `there` already shows one of them, it
// shows this lease as well. REQUIRES: lock_layouts() until it is published. Rows are forgotten only
// under that lock, so an artefact that appears has a row.
struct Turn {
  enum What { kEnded, kShown, kPublish };
  What what = kEnded;
  PublishTerms terms;
};
Result<Turn> take_turn(core::State& state, const Layout& layout, const std::string& artefact,
                       const core::Lease& lease, const Sighting* there);

}  // namespace lockkeeper::layout
