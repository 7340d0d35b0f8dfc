// What the table says of the artefacts that show our leases, and the one place where it changes
// whose identity an artefact has. Table only: nothing here touches the disk. Internal to the room.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/shown.h"
#include "layout/layout.h"

namespace lockkeeper::layout {

// Layout and artefact of a place of Lease::shown.
std::pair<std::string, std::string> split_place(const std::string& place);

// Is the live lease shown by that source, or by something in it?
bool shows_source(const core::Lease& lease, const std::string& layout, const std::string& source);

// Is something of the lease recorded there, live or still to be removed? What is prepared may stand
// for all that the lease shows in a source.
Result<bool> is_recorded(core::State& state, const std::string& layout, const std::string& artefact,
                         const core::LeaseId& lease);

// How a lease stands in its artefact.
struct Standing {
  std::optional<core::Shown> row;  // none: the lease is not shown there any more
  bool by_itself = false;          // all live rows have the identity of this lease
  PublishTerms terms;
};
Result<Standing> standing_of(core::State& state, const Layout& layout, const std::string& artefact,
                             const core::Lease& lease);

// May the lease be shown anew? If this commit sees it alive and recorded there, the artefact has
// its identity from now on, in the rows of all others that are shown by it, too; unless what is
// `there` shows one of them: then it shows the lease as well. REQUIRES: the layouts' lock, until it
// is published. Rows are forgotten under that lock alone, so what appears has a row.
struct Turn {
  enum What { kEnded, kShown, kPublish };
  What what = kEnded;
  PublishTerms terms;
};
Result<Turn> take_turn(core::State& state, const Layout& layout, const std::string& artefact,
                       const core::Lease& lease, const std::optional<Sighting>& there);

}  // namespace lockkeeper::layout
