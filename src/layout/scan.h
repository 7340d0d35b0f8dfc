// One scan of the layouts, compared with the table: which locks of other tools are new, which are
// gone, which of ours are missing. Reads the disk and never writes it; apply() writes the table.
//
// The order makes it safe: read the disk, then bring what was seen into the table inside the
// transaction that decides. That transaction scans once more what seems new or gone. Of many
// changes, only those that matter to the decision are left to it (bring_in). Our artefacts
// are recorded before they appear and forgotten after they are gone, so what is there without a row
// is another tool's.
//
// Thread safety: none; for one operation.
#pragma once

#include <cstdint>
#include <optional>
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
  // Reads nothing yet. Both must outlive it.
  Scan(LockTable& table, const OpenLayouts& layouts) : table_(table), layouts_(layouts) {}

  // Reads what could overlap these; null: everything. Forgets what was read before.
  enum class Depth {
    kFull,
    kSparing,      // another scan follows before the answer, so some of this can be skipped
    kLateWriters,  // only where tools check before they write, and may have checked before us
  };
  Result<void> read(const std::vector<core::Claim>* wanted, Depth depth);
  // Reads what these conflicts come from: another tool's lock, or one taken through a layout.
  Result<void> read_behind(const std::vector<core::Conflict>& conflicts);
  bool empty() const { return parts().empty(); }
  // If much was seen, brings it into the table before the decision: a portion in each commit, so
  // that others get their turn. Leaves to apply() what could overlap the claims of read(). It may
  // have to read again.
  Result<void> bring_in();

  // Does the disk differ from the table?
  Result<bool> differs(core::State& state) const;
  // Brings what was seen into the table.
  struct Applied {
    bool more = false;                          // there is more than fits one commit
    std::vector<core::MirrorArtefact> missing;  // artefacts of ours that are not there
  };
  Result<Applied> apply(core::Table& table) const;
  // Brings one source into the table, as it is now.
  Result<void> apply_source(core::Table& table, Layout& layout, const std::string& source) const;
  // Applies what was seen to a reply, without writing: removes conflicts that are gone and adds
  // those that are not in the table yet. `table` is null if there is no store.
  Result<void> overlay(core::Table* table, const core::AcquireRequest& request,
                       core::CheckReply& reply) const;
  // What a full scan leaves to do besides apply().
  struct Due {
    bool changed = false;                        // apply() has something to write
    std::set<core::LeaseId> over;                // other tools would wait forever for these leases
    std::vector<core::MirrorArtefact> unlisted;  // ours that came and went since the last scan
  };
  Result<Due> due(core::State& state) const;

  // What was seen of one layout.
  using Stamps = std::vector<std::pair<std::uint64_t, std::uint64_t>>;  // a source's hash; sorted
  struct LayoutScan {
    Layout* layout = nullptr;
    ScanResult seen;
    Stamps before;         // of the last complete scan that was applied
    bool partial = false;  // the rest is in the table: what is not seen here may well be there
  };

 private:
  Result<Applied> apply(core::Table& table, std::span<const LayoutScan> looks) const;
  void clear();
  Result<void> read_again();
  bool is_much() const;
  void keep_wanted();
  std::span<const LayoutScan> parts() const;  // empty if the layouts were opened again since

  LockTable& table_;
  const OpenLayouts& layouts_;
  std::vector<LayoutScan> parts_;
  int generation_ = 0;  // of the layouts that were looked at
  // Arguments of read(), for read_again().
  std::optional<std::vector<key::Resource>> wanted_;
  Depth depth_ = Depth::kFull;
  std::vector<core::MirrorArtefact> missing_;  // found by bring_in()
};

}  // namespace lockkeeper::layout
