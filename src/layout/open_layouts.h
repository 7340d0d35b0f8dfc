// The realm's layouts, opened: one object for each registered layout. Opens them again when the
// registry changes. Reads nothing but the registry.
//
// Thread safety: none; for one operation.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "layout/layout.h"
#include "layout/lock_table.h"

namespace lockkeeper::layout {

class OpenLayouts {
 public:
  // Opens nothing yet. `table` must outlive it.
  explicit OpenLayouts(const LockTable& table);

  // Opens those that are registered, or just these. invalid_config: an unknown kind.
  Result<void> open();
  Result<void> open(std::vector<LayoutEntry> entries);
  // True: the registry has changed, and the new layouts are open. The old objects stay for callers
  // that still point to them.
  Result<bool> reopen();
  // Which of the layouts to scan were switched off or removed since they were opened. Exact inside
  // a write transaction, because the registry changes only inside one. Costs one stat.
  Result<std::set<std::string>> gone() const;
  const std::vector<LayoutEntry>& entries() const { return entries_; }
  // How often they were opened: whoever remembers something of them sees that it is of before.
  int generation() const { return generation_; }

  // The layouts to scan; none of them is switched off.
  const std::vector<Layout*>& all() const { return all_; }
  bool any() const { return !all_.empty(); }
  Layout* find(std::string_view id) const;
  // Where artefacts of ours may be left, including layouts that are switched off.
  const std::vector<Layout*>& all_to_remove() const { return to_remove_; }
  Layout* find_to_remove(std::string_view id) const;

 private:
  const LockTable& table_;
  const LayoutContext context_;
  int generation_ = 0;
  std::vector<LayoutEntry> entries_;
  std::uint64_t registry_ = 0;  // what its file looked like when they were read
  std::vector<std::unique_ptr<Layout>> opened_;
  std::vector<Layout*> all_;
  std::vector<Layout*> to_remove_;
};

}  // namespace lockkeeper::layout
