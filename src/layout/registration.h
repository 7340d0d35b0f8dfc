// Registers and removes layouts. A new one gets artefacts for what is held. Our artefacts are
// removed from an old one before it is forgotten.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "layout/entry.h"
#include "layout/lock_table.h"

namespace lockkeeper::layout {

// Registers a layout, or does nothing if there is one with that kind, root and options. Returns its
// id. The root must be a folder, or a missing one inside an existing folder, which is made (unless
// it is only read); it becomes absolute and physical. If it is inside the realm, its part `exclude`
// ("locks/"; empty: nothing) goes into git's info/exclude. invalid_input: an unknown kind.
struct UseLayout {
  LayoutEntry entry;
  std::string exclude;  // what the kind creates below its root
};
Result<std::string> use_layout(LockTable& table, UseLayout use);

// Removes our artefacts there, then forgets the layout. not_found: no layout has that id.
// invalid_input: it comes from the settings.
Result<void> remove_layout(LockTable& table, const std::string& id);

// One row of `layout list`.
struct LayoutReport {
  LayoutEntry entry;
  std::size_t foreign = 0;         // locks of the other tool
  std::size_t mirrored = 0;        // artefacts of ours
  std::vector<std::string> notes;  // what is skipped there, and why
  std::optional<Error> trouble;    // it cannot be read: grants are blocked
};
Result<std::vector<LayoutReport>> layout_reports(LockTable& table);

}  // namespace lockkeeper::layout
