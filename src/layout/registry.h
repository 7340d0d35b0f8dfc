// Which layouts a realm has: from its settings ([[layout]]), and those registered by `layout add`
// or by the first use of a dialect, kept in a small file beside the store. None: one failed open.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "layout/layout.h"
#include "layout/lock_table.h"

namespace lockkeeper::layout {

inline constexpr std::string_view kLayoutsName = "layouts.json";  // beside the store

// All of the realm, `off` ones included; settings first. invalid_config if the file cannot be read:
// locks that cannot be seen must not be taken as absent (I10).
Result<std::vector<LayoutEntry>> load_layouts(const realm::Realm& realm,
                                              const realm::Settings& settings);

// The same, for who may write: what layouts left behind that are no more in the settings, or show
// less than they did, is taken back, and what is held is shown in those that are new there.
Result<std::vector<LayoutEntry>> settled_layouts(LockTable& table);

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
// Passes over one source (its absolute path) from now on, or again looks at it.
Result<void> ignore_source(LockTable& table, const std::string& id, const std::string& source,
                           bool ignore);

// One row of `layout list`.
struct LayoutReport {
  LayoutEntry entry;
  std::size_t foreign = 0;         // locks of the other tool
  std::size_t shown = 0;           // of ours
  std::vector<std::string> notes;  // what is passed over there, and why
  std::optional<Error> trouble;    // it cannot be read: grants are blocked
};
Result<std::vector<LayoutReport>> layout_reports(LockTable& table);

}  // namespace lockkeeper::layout
