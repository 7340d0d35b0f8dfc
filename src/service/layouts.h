// Which layouts a realm has: from its settings ([[layout]]), and those registered by `layout add`
// or by the first use of a dialect, kept in a small file beside the store. None: one failed open.
#pragma once

#include <string>
#include <vector>

#include "service/layout.h"
#include "service/lock_table.h"

namespace lockkeeper::service {

inline constexpr std::string_view kLayoutsName = "layouts.json";  // beside the store

// All of the realm, `off` ones included; settings first. invalid_config if the file cannot be read:
// locks that cannot be seen must not be taken as absent (I10).
Result<std::vector<LayoutEntry>> load_layouts(const Realm& realm, const Settings& settings);

// Registers a layout, or does nothing if one of that kind and root is there with these options;
// gives its id. The root must be a folder, or a missing one inside an existing folder; it is made
// absolute and physical. A root inside the realm goes into git's info/exclude (the part `exclude`
// of it: "locks/"; empty: nothing to hide). invalid_input for an unknown kind.
struct UseLayout {
  LayoutEntry entry;
  std::string exclude;  // what the kind makes below its root
};
Result<std::string> use_layout(LockTable& table, UseLayout use);

// not_found if there is none of that id, or of that kind and root.
Result<void> remove_layout(LockTable& table, const std::string& id);
// Passes over one source (an absolute path) from now on, or again looks at it.
Result<void> ignore_source(LockTable& table, const std::string& id, const std::string& source,
                           bool ignore);

}  // namespace lockkeeper::service
