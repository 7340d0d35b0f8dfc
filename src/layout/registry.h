// Which layouts a realm has: those in its settings ([[layout]]), and those that `layout add` or the
// first use of a dialect registered in a small file beside the store. A realm without layouts costs
// one failed open. Knows nothing about their content; see registration.h for that.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "layout/entry.h"
#include "layout/lock_table.h"

namespace lockkeeper::layout {

inline constexpr std::string_view kLayoutsName = "layouts.json";  // beside the store

// Same kind and root: the same layout, whatever the options.
bool same_place(const LayoutEntry& a, const LayoutEntry& b);
// Absolute and physical; its last name may be missing. invalid_input: there is no such folder.
Result<std::string> physical_root(const std::string& typed);

// What the file of registered layouts looks like: changes when it does. 0: there is none.
std::uint64_t registry_stamp(const realm::Realm& realm);

// realm::load_settings(), and every layout in them is of a kind that `runtime` knows, otherwise
// invalid_config. Every door loads the settings here.
Result<realm::Settings> load_settings(const Runtime& runtime, const realm::Realm& realm,
                                      std::vector<Error>* mistakes = nullptr);
// "the kinds are coordmcp, mkdir"
std::string kinds_hint(const LayoutKinds& kinds);

// All layouts of the realm, including those that are off; settings first. invalid_config: the file
// cannot be read, and locks that cannot be seen must not be taken as absent (I10).
Result<std::vector<LayoutEntry>> load_layouts(const realm::Realm& realm,
                                              const realm::Settings& settings);

// What remains to be done since the settings changed or a process died on the way.
struct Unsettled {
  struct Less {
    LayoutEntry was;
    LayoutMode now = LayoutMode::kOff;
  };
  std::vector<LayoutEntry> layouts;  // as load_layouts()
  std::vector<Less> less;            // these mirror less now: remove their artefacts
  bool changed = false;              // call note_settings()
  bool pending = false;              // what is held may not be mirrored in some of them yet
  bool to_show() const { return changed || pending; }
  bool any() const { return to_show() || !less.empty(); }
};
Result<Unsettled> unsettled_layouts(LockTable& table);

// Changes of the file, each in a transaction, so that two at once do not lose each other's change.
Result<void> note_settings(LockTable& table, const std::vector<LayoutEntry>& layouts);
// What is held is shown in these: they are not pending any more, if they are still as they were.
Result<void> note_all_shown(LockTable& table, const std::vector<LayoutEntry>& layouts);
// In the place of the one there, whose ignored sources stay. limit_exceeded with too many.
Result<void> put_layout(LockTable& table, LayoutEntry entry);
Result<void> switch_off(LockTable& table, const std::string& id);
Result<void> erase_layout(LockTable& table, const std::string& id);
// Skips one source (its absolute path) from now on, or reads it again. not_found: no layout has
// that id.
Result<void> ignore_source(LockTable& table, const std::string& id, const std::string& source,
                           bool ignore);

// not_found: no layout has that id.
Result<LayoutEntry> find_layout(const LockTable& table, const std::string& id);

}  // namespace lockkeeper::layout
