// One look at the layouts, against what the table knows: which locks of other tools are new, which
// are gone, which of ours are missing. Reads the disk and never writes it; apply() writes the
// table.
//
// The order is what makes it safe: look at the disk, then bring what was seen into the table inside
// the transaction that decides. What seems new or gone is looked at once more in there: ours are
// recorded before they appear and forgotten after they are gone, so what stands there without a row
// is another tool's.
//
// Thread safety: none; for one operation.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/mirrored.h"
#include "layout/open_layouts.h"

namespace lockkeeper::layout {

class Scan {
 public:
  // Sees nothing yet. Both must outlive it.
  Scan(LockTable& table, const OpenLayouts& layouts) : table_(table), layouts_(layouts) {}

  // Looks at what could overlap these; null: at everything. Each look forgets the one before.
  enum class Depth {
    kFull,
    kSparing,      // all is looked at once more before the answer: some of it can be spared now
    kLateWriters,  // only where others check before they write, and may have checked before us
  };
  Result<void> read(const std::vector<core::Claim>* wanted, Depth depth);
  // Looks at what stands behind these conflicts: another tool's lock, or one taken through a
  // layout.
  Result<void> read_behind(const std::vector<core::Conflict>& conflicts);
  bool empty() const { return parts().empty(); }

  // Is something not as the table has it?
  Result<bool> differs(core::State& state) const;
  // Brings what was seen into the table.
  struct Applied {
    bool more = false;                          // there is more than one commit should take
    std::vector<core::MirrorArtefact> missing;  // artefacts of ours that are not there
  };
  Result<Applied> apply(core::Table& table) const;
  // Brings one source into the table, as it is now.
  Result<void> apply_source(core::Table& table, Layout& layout, const std::string& source) const;
  // What was seen, without writing: takes conflicts that are gone away and adds those that are not
  // in the table yet. `table` is null where there is no store.
  Result<void> overlay(core::Table* table, const core::AcquireRequest& request,
                       core::CheckReply& reply) const;
  // What a look at everything leaves to be done, beside apply().
  struct Due {
    bool changed = false;          // apply() has something to write
    std::set<core::LeaseId> over;  // other tools would wait for these leases' ends for ever
    std::vector<core::MirrorArtefact> unlisted;  // ours that came and went since the last look
  };
  Result<Due> due(core::State& state) const;

  // What was seen of one layout.
  using Stamps = std::vector<std::pair<std::uint64_t, std::uint64_t>>;  // a source's hash; sorted
  struct LayoutScan {
    Layout* layout = nullptr;
    ScanResult seen;
    Stamps before;  // of the last complete look that was applied
  };

 private:
  void clear();
  std::span<const LayoutScan> parts() const;  // none of layouts that were opened again since

  LockTable& table_;
  const OpenLayouts& layouts_;
  std::vector<LayoutScan> parts_;
  int generation_ = 0;  // of the layouts that were looked at
};

}  // namespace lockkeeper::layout
