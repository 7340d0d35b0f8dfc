// What the table says of the artefacts that show our leases, and the one place where it changes
// whose identity an artefact has. Table only: nothing here touches the disk. Internal to the room.
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

// Was the lease taken through this very artefact, as its own tools would take it?
bool taken_through(const core::Lease& lease, const core::MirrorArtefact& row);

// Is the live lease shown by that source, or by something in it?
bool shows_source(const core::Lease& lease, const std::string& layout, const std::string& source);

// Is something of the lease recorded there, live or still to be removed? What is prepared may stand
// for all that the lease shows in a source.
Result<bool> is_recorded(core::State& state, const std::string& layout, const std::string& artefact,
                         const core::LeaseId& lease);

// Do rows still hold? A lease that gave a part back is not shown by its artefact any more. Asks the
// layout once for each lease; for one transaction.
class StillMirrored {
 public:
  Result<bool> operator()(core::State& state, const Layout& layout,
                          const core::MirrorArtefact& row);

 private:
  std::map<std::pair<const Layout*, core::LeaseId>, std::set<std::string>> artefacts_;
};

// How a lease stands in its artefact.
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

// May the lease be shown anew? If this commit sees it alive and recorded there, the artefact has
// its identity from now on, in the rows of all others that are shown by it, too; unless what is
// `there` shows one of them: then it shows the lease as well. REQUIRES: lock_layouts(), until it is
// published. Rows are forgotten under that lock alone, so what appears has a row.
struct Turn {
  enum What { kEnded, kShown, kPublish };
  What what = kEnded;
  PublishTerms terms;
};
Result<Turn> take_turn(core::State& state, const Layout& layout, const std::string& artefact,
                       const core::Lease& lease, const Sighting* there);

}  // namespace lockkeeper::layout
