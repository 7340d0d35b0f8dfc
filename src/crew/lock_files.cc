#include "crew/lock_files.h"

#include <algorithm>

#include "layout/registration.h"
#include "layout/registry.h"

namespace lockkeeper::crew {
namespace {

constexpr const char* kKind = "workflow";
constexpr const char* kMark = ".locks-shown";  // this run registered the layout

}  // namespace

Result<void> LockFiles::show(service::Site& site, const Folder& output) {
  if (!site.runtime().layout_kinds.contains(kKind)) return {};
  LK_ASSIGN(const auto layouts, layout::load_layouts(site.realm(), site.settings()));
  layout::UseLayout use;
  use.entry.kind = kKind;
  use.entry.root = output.path();
  use.exclude = "*";  // all of OUTPUT stays out of `git status`
  const bool known = std::ranges::any_of(layouts, [&](const layout::LayoutEntry& each) {
    return each.kind == use.entry.kind && each.root == use.entry.root;
  });
  // Marked first: after a kill the next foreman must know that the run registered it.
  if (!known) {
    LK_CHECK(output.write(kMark, ""));
  }
  LK_ASSIGN(std::string id, layout::use_layout(site.table(), std::move(use)));
  LK_ASSIGN(const bool marked, output.has(kMark));
  if (!known || marked) layout_ = std::move(id);
  return {};
}

Result<void> LockFiles::hide(service::Site& site, const Folder& output) {
  if (layout_.empty()) return {};
  LK_CHECK(layout::remove_layout(site.table(), layout_));
  static_cast<void>(output.remove("locks"));  // fails if files of others are in it
  static_cast<void>(output.remove(kMark));
  return {};
}

}  // namespace lockkeeper::crew
