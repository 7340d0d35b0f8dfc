// Which layouts a realm has: from its settings ([[layout]]), and those registered by `layout add`
// or by the first use of a dialect, kept in a small file beside the store. None: one failed open.
// Knows nothing of what is in them; registering one with all that belongs to it is registration.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "layout/entry.h"
#include "layout/lock_table.h"

namespace lockkeeper::layout {

inline constexpr std::string_view kLayoutsName = "layouts.json";  // beside the store

// Of one tool, in one place: they are the same layout, whatever their options.
bool same_place(const LayoutEntry& a, const LayoutEntry& b);
// Absolute and physical; its last name may be missing. invalid_input if there is no such folder.
Result<std::string> physical_root(const std::string& typed);

// All of the realm, `off` ones included; settings first. invalid_config if the file cannot be read:
// locks that cannot be seen must not be taken as absent (I10).
Result<std::vector<LayoutEntry>> load_layouts(const realm::Realm& realm,
                                              const realm::Settings& settings);

// What the settings have changed since somebody last settled it, and what others died over.
struct Unsettled {
  struct Less {
    LayoutEntry was;
    LayoutMode now = LayoutMode::kOff;
  };
  std::vector<LayoutEntry> layouts;  // as load_layouts()
  std::vector<Less> less;            // what these showed is to be taken away
  bool changed = false;              // to be noted: note_settings()
  bool pending = false;              // what is held may not be shown in some of them yet
  bool to_show() const { return changed || pending; }
  bool any() const { return to_show() || !less.empty(); }
};
Result<Unsettled> unsettled_layouts(LockTable& table);

// Changes of the file, each in a transaction, so that two at once do not lose one another.
Result<void> note_settings(LockTable& table, const std::vector<LayoutEntry>& layouts);
// What is held is shown in these: they are not pending any more, if they are still as they were.
Result<void> note_all_shown(LockTable& table, const std::vector<LayoutEntry>& layouts);
// In the place of the one there, whose ignored sources stay. limit_exceeded with too many.
Result<void> put_layout(LockTable& table, LayoutEntry entry);
Result<void> switch_off(LockTable& table, const std::string& id);
Result<void> erase_layout(LockTable& table, const std::string& id);
// Passes over one source (its absolute path) from now on, or again looks at it. not_found if there
// is no layout of that id.
Result<void> ignore_source(LockTable& table, const std::string& id, const std::string& source,
                           bool ignore);

// not_found if there is none of that id.
Result<LayoutEntry> find_layout(const LockTable& table, const std::string& id);

}  // namespace lockkeeper::layout
