// A realm's layouts at work: brings other tools' locks into the table (Scan), shows ours to them
// (Publisher), and cleans up (cleaner.h). The service uses one Mirror for an operation. It keeps
// what one step hands to the next: the scan for apply(), and what apply() found missing for
// show_missing_again().
//
// Thread safety: none; one Mirror for one operation.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "layout/cleaner.h"
#include "layout/publisher.h"
#include "layout/registry.h"
#include "layout/scan.h"

namespace lockkeeper::layout {

class Mirror {
 public:
  explicit Mirror(LockTable& table);

  // False: the realm has no layouts, and nothing below need be called. open_to_write() first
  // removes what is left of layouts that are no longer in the settings or mirror less than before,
  // and shows what is held in layouts that are new there.
  Result<bool> open();
  Result<bool> open_to_write();
  bool any() const { return layouts_.any(); }
  Layout* find(std::string_view id) const { return layouts_.find(id); }

  // --- Reading; see Scan.
  // Scans what could overlap these. `spare`: a full scan follows in publish().
  Result<void> scan(const std::vector<core::Claim>& wanted, bool spare = false);
  // After either: if much was seen, most of it goes into the table before the decision.
  Result<void> bring_in() { return scan_.bring_in(); }
  // Scans again what these conflicts come from. True: the disk differs from the table, so decide
  // again.
  Result<bool> verify(const std::vector<core::Conflict>& conflicts);
  // Brings what was seen into the table. True: there is more than fits one commit.
  Result<bool> apply(core::Table& table);
  Result<void> overlay(core::Table* table, const core::AcquireRequest& request,
                       core::CheckReply& reply) const;
  // After a commit: artefacts of ours that others removed end their lease or are shown again.
  Result<void> show_missing_again();

  // --- Showing; see Publisher.
  Result<void> record(core::Table& table, const core::LeaseId& id) {
    return publisher_.record(table, id);
  }
  void may_replace(const std::string& layout, const std::string& artefact,
                   const std::string& identity) {
    publisher_.may_replace(layout, artefact, identity);
  }
  Result<void> discard_unrecorded(core::State& state) {
    return publisher_.discard_unrecorded(state);
  }
  void discard_unrecorded() { publisher_.discard_unrecorded(); }
  // As Publisher::publish(). `fresh`: nobody was told of this lease yet, so it checks once more
  // whether another tool was first.
  Result<std::optional<core::ForeignLock>> publish(const core::Lease& lease, bool fresh);
  // Ends the lease because another tool was first, and brings that tool's lock into the table.
  Result<void> withdraw(const core::LeaseId& id, const core::ForeignLock& first);
  std::vector<Unmirrored> unmirrored(const core::Lease& lease) const;
  // Shows what is held in layouts that came later, even if the process that added them died.
  Result<void> show_held();
  // The same, if some lease could be shown and is not: a layout's folder may have come back.
  Result<void> show_unshown();

  // --- Cleaning up; see cleaner.h.
  // Were layouts registered since open(), which found none?
  bool have_appeared() const { return registry_stamp(table_.realm()) != 0; }
  // Also in layouts that were registered meanwhile.
  Result<void> clean() {
    static_cast<void>(layouts_.reopen());
    return layout::clean(table_, layouts_);
  }
  Result<void> trim(core::Table& table, const core::Owner& owner) {
    return layout::trim(table, layouts_, owner);
  }
  Result<void> refresh(const std::vector<core::Lease>& leases) {
    return layout::refresh(table_, layouts_, leases);
  }
  Result<void> refresh_all(const core::Owner& owner);
  Result<void> remove_foreign(const core::Lease& lease) {
    return layout::remove_foreign(table_, layouts_, lease);
  }

  // Everything that needs no request. Call once a second while somebody waits or runs.
  Result<void> tick();

 private:
  Result<bool> update_layouts();
  bool is_unshown(const core::Lease& lease) const;
  Result<std::optional<core::ForeignLock>> find_late_writer(const core::Lease& lease);

  LockTable& table_;
  OpenLayouts layouts_;
  Scan scan_;
  Publisher publisher_;
  std::vector<core::MirrorArtefact> missing_;  // found by the last apply()
  bool unnoted_ = false;  // the layouts of the settings: there was no store when we opened
};

}  // namespace lockkeeper::layout
