#include "layout/registration.h"

#include <sys/stat.h>

#include <algorithm>

#include "base/fd.h"
#include "base/text.h"
#include "layout/leftovers.h"
#include "layout/lock.h"
#include "layout/mirror.h"
#include "layout/registry.h"
#include "realm/disk_path.h"

namespace lockkeeper::layout {
namespace {

// Keeps other tools' files out of `git status`. Best effort: locks work without it.
void exclude_from_git(const realm::Realm& realm, const std::string& root,
                      const std::string& below) {
  if (!realm.in_git || realm.common_dir.empty() || below.empty() || !realm.contains(root)) return;
  const std::string inside = root.substr(realm.root.size());
  const std::string line = inside + "/" + below;
  const std::string folder = realm::join_path(realm.common_dir, "info");
  const std::string path = realm::join_path(folder, "exclude");
  std::string text = read_file(path).value_or("");
  if (("\n" + text).find("\n" + line + "\n") != std::string::npos) return;
  if (!text.empty() && text.back() != '\n') text += '\n';
  if (!make_folders(folder, 0755)) return;
  struct stat before{};
  const bool there = ::stat(path.c_str(), &before) == 0;
  if (!replace_file_durably(path, text + line + "\n")) return;
  static_cast<void>(::chmod(path.c_str(), there ? before.st_mode & 0777 : 0644));
}

Result<void> check_kind(const LockTable& table, const std::string& wanted) {
  const LayoutKinds& kinds = table.runtime().layout_kinds;
  if (kinds.contains(wanted)) return {};
  return fail(Code::kInvalidInput, quote(wanted) + " is not a kind of layout", kinds_hint(kinds));
}

// The layout with that kind and root; nullopt: there is none.
Result<std::optional<LayoutEntry>> registered_there(const LockTable& table,
                                                    const LayoutEntry& wanted) {
  LK_ASSIGN(const std::vector<LayoutEntry> all, load_layouts(table.realm(), table.settings()));
  for (const LayoutEntry& one : all) {
    if (same_place(one, wanted)) return one;
  }
  return std::nullopt;
}

bool is_as_wanted(const std::optional<LayoutEntry>& there, const LayoutEntry& wanted) {
  return there && there->options == wanted.options &&
         (there->mode == wanted.mode || !there->origin.file.empty());
}

Result<void> show_held(LockTable& table) {
  Mirror mirror(table);
  LK_CHECK(mirror.open());
  return mirror.show_held();
}

// What is in it now, and what the table knows about it.
Result<void> describe(LockTable& table, Layout& layout, LayoutReport& report) {
  Interest everything;
  everything.known = [](const std::string&, std::uint64_t) { return false; };
  auto seen = layout.scan(everything);
  if (seen) {
    report.notes = std::move(seen->notes);
  } else {
    report.trouble = std::move(seen.error());
  }
  LK_CHECK(table.read([&](core::Table& open) -> Result<void> {
    LK_ASSIGN(const auto known, core::all_known_foreign(open.state(), layout.id()));
    LK_ASSIGN(const auto mirrored, core::all_mirrored(open.state(), layout.id()));
    report.foreign = known.size();
    report.mirrored = mirrored.size();
    return {};
  }));
  return {};
}

}  // namespace

Result<std::string> use_layout(LockTable& table, UseLayout use) {
  LayoutEntry& wanted = use.entry;
  LK_CHECK(check_kind(table, wanted.kind));
  LK_ASSIGN(wanted.root, physical_root(wanted.root));
  std::string id = wanted.id();
  LK_ASSIGN(std::optional<LayoutEntry> there, registered_there(table, wanted));
  if (is_as_wanted(there, wanted) && !there->pending) return id;
  // Options that make no sense must not be registered: nothing would work.
  OpenLayouts probe(table);
  LK_CHECK(probe.open({wanted}));
  // The lock's file lies in the store's folder.
  LK_CHECK(table.write([](core::Table&) -> Result<bool> { return false; }));
  LK_ASSIGN(const Fd held, lock_registry(table.realm()));
  LK_ASSIGN(there, registered_there(table, wanted));
  if (is_as_wanted(there, wanted)) {
    if (!there->pending) return id;  // another was faster
  } else {
    // In a folder that is not there nothing could be shown, and nobody would notice.
    if (wanted.mode == LayoutMode::kBoth) LK_CHECK(make_folders(wanted.root, 0777));
    wanted.pending = true;
    LK_CHECK(put_layout(table, wanted));
    exclude_from_git(table.realm(), wanted.root, use.exclude);
    if (there) LK_CHECK(retire(table, *there, wanted.mode, OnError::kFail));
  }
  LK_CHECK(show_held(table));
  // Such as what an older version left there: it would be another tool's lock from now on.
  const auto left = remove_left_artefacts(table);
  if (left && *left > 0) LK_CHECK(show_held(table));
  return id;
}

Result<void> remove_layout(LockTable& table, const std::string& id) {
  LK_ASSIGN(const LayoutEntry known, find_layout(table, id));
  if (!known.origin.file.empty()) {
    return fail(Code::kInvalidInput,
                "layout " + id + " comes from the settings (" + known.origin.text() + ")",
                "remove it there, or set its mode to \"off\"");
  }
  LK_ASSIGN(const Fd held, lock_registry(table.realm()));
  LK_ASSIGN(LayoutEntry was, find_layout(table, id));
  was.mode = LayoutMode::kBoth;
  // Switch it off first. A process that records a lease there later sees that; one that did so
  // before is seen below. If we die in between, it stays in the list, to be removed again.
  LK_CHECK(switch_off(table, id));
  LK_CHECK(retire(table, was, LayoutMode::kOff, OnError::kFail));
  return erase_layout(table, id);
}

Result<std::vector<LayoutReport>> layout_reports(LockTable& table) {
  LK_ASSIGN(const std::vector<LayoutEntry> all, load_layouts(table.realm(), table.settings()));
  Mirror mirror(table);
  LK_CHECK(mirror.open());
  auto ticked = mirror.tick();
  if (ticked) ticked = mirror.show_unshown();
  const auto left = remove_left_artefacts(table);
  if (left && *left > 0) ticked = mirror.tick();
  std::vector<LayoutReport> reports;
  for (const LayoutEntry& entry : all) {
    LayoutReport& report = reports.emplace_back();
    report.entry = entry;
    Layout* const layout = mirror.find(entry.id());
    if (layout != nullptr) LK_CHECK(describe(table, *layout, report));
  }
  const bool explained = std::ranges::any_of(
      reports, [](const LayoutReport& report) { return report.trouble.has_value(); });
  if (!ticked && !explained) return fail(ticked.error());
  return reports;
}

}  // namespace lockkeeper::layout
