// Registering and removing layouts, with all that belongs to it: what is held is shown in a new
// one, and what shows our leases in an old one is taken away before it is forgotten.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "layout/entry.h"
#include "layout/lock_table.h"

namespace lockkeeper::layout {

// Registers a layout, or does nothing if one of that kind and root is there with these options;
// gives its id. The root must be a folder, or a missing one inside an existing folder; it is made
// absolute and physical. A root inside the realm goes into git's info/exclude (the part `exclude`
// of it: "locks/"; empty: nothing to hide). invalid_input for an unknown kind.
struct UseLayout {
  LayoutEntry entry;
  std::string exclude;  // what the kind makes below its root
};
Result<std::string> use_layout(LockTable& table, UseLayout use);

// Takes what shows our leases there away, then forgets the layout. not_found if there is none of
// that id; invalid_input for one that comes from the settings.
Result<void> remove_layout(LockTable& table, const std::string& id);

// One row of `layout list`.
struct LayoutReport {
  LayoutEntry entry;
  std::size_t foreign = 0;         // locks of the other tool
  std::size_t mirrored = 0;        // artefacts of ours
  std::vector<std::string> notes;  // what is passed over there, and why
  std::optional<Error> trouble;    // it cannot be read: grants are blocked
};
Result<std::vector<LayoutReport>> layout_reports(LockTable& table);

}  // namespace lockkeeper::layout
