#include "layout/open_layouts.h"

#include <algorithm>

#include "base/text.h"
#include "layout/registry.h"

namespace lockkeeper::layout {
namespace {

Layout* find_in(const std::vector<Layout*>& layouts, std::string_view id) {
  const auto found = std::ranges::find(layouts, id, &Layout::id);
  return found == layouts.end() ? nullptr : *found;
}

bool same(const LayoutEntry& a, const LayoutEntry& b) {
  return a.kind == b.kind && a.root == b.root && a.mode == b.mode && a.options == b.options &&
         a.ignored == b.ignored;
}

}  // namespace

OpenLayouts::OpenLayouts(const LockTable& table)
    : table_(table),
      context_{table.realm(), table.settings(), table.runtime().env, *table.runtime().clock} {}

Result<void> OpenLayouts::open() {
  registry_ = registry_stamp(table_.realm());
  LK_ASSIGN(std::vector<LayoutEntry> entries, load_layouts(table_.realm(), table_.settings()));
  return open(std::move(entries));
}

Result<void> OpenLayouts::open(std::vector<LayoutEntry> entries) {
  ++generation_;
  entries_ = std::move(entries);
  all_.clear();
  to_remove_.clear();
  const LayoutKinds& kinds = table_.runtime().layout_kinds;
  for (const LayoutEntry& entry : entries_) {
    const bool off = entry.mode == LayoutMode::kOff;
    const auto kind = kinds.find(entry.kind);
    if (kind == kinds.end()) {
      if (off) continue;
      return fail(Code::kInvalidConfig,
                  "layout " + entry.id() + " has the unknown kind " + quote(entry.kind),
                  "remove it: lockkeeper layout remove " + entry.id());
    }
    auto layout = kind->second(entry, context_);
    if (!layout && off) continue;
    if (!layout) return fail(std::move(layout.error()));
    to_remove_.push_back(layout->get());
    if (!off) all_.push_back(layout->get());
    opened_.push_back(std::move(*layout));
  }
  return {};
}

Result<std::set<std::string>> OpenLayouts::gone() const {
  std::set<std::string> all;
  if (all_.empty() || registry_stamp(table_.realm()) == registry_) return all;
  LK_ASSIGN(const std::vector<LayoutEntry> now, load_layouts(table_.realm(), table_.settings()));
  for (const Layout* const layout : all_) {
    const bool on = std::ranges::any_of(now, [&](const LayoutEntry& one) {
      return one.mode != LayoutMode::kOff && one.id() == layout->id();
    });
    if (!on) all.insert(layout->id());
  }
  return all;
}

Result<bool> OpenLayouts::reopen() {
  const std::uint64_t registry = registry_stamp(table_.realm());
  LK_ASSIGN(std::vector<LayoutEntry> now, load_layouts(table_.realm(), table_.settings()));
  registry_ = registry;
  if (std::ranges::equal(now, entries_, same)) return false;
  LK_CHECK(open(std::move(now)));
  return true;
}

Layout* OpenLayouts::find(std::string_view id) const {
  return find_in(all_, id);
}

Layout* OpenLayouts::find_to_remove(std::string_view id) const {
  return find_in(to_remove_, id);
}

}  // namespace lockkeeper::layout
