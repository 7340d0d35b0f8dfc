// One realm's layouts at work: what other tools hold is brought into the table (Scan), what we hold
// is shown to them (Publisher), and goes away again (cleaner.h). This is what an operation of the
// service uses; it keeps what they hand to each other between the steps of one operation: the look
// for apply(), what apply() missed for show_missing_again().
//
// Thread safety: none; one Mirror for one operation.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "layout/cleaner.h"
#include "layout/publisher.h"
#include "layout/scan.h"

namespace lockkeeper::layout {

class Mirror {
 public:
  explicit Mirror(LockTable& table);

  // False: the realm has no layouts, and nothing below need be called. To write: what layouts left
  // behind that are not in the settings any more, or show less than they did, is removed first, and
  // what is held is shown in those that are new there.
  Result<bool> open();
  Result<bool> open_to_write();
  bool any() const { return layouts_.any(); }
  Layout* find(std::string_view id) const { return layouts_.find(id); }

  // --- Reading; see Scan.
  // Looks at what could overlap these. `spare`: a whole look follows in publish().
  Result<void> scan(const std::vector<core::Claim>& wanted, bool spare = false);
  // Looks again at what stands behind these conflicts. True: some of it is not as the table has it,
  // so decide again.
  Result<bool> verify(const std::vector<core::Conflict>& conflicts);
  // Brings what was seen into the table. True: there is more than one commit should take.
  Result<bool> apply(core::Table& table);
  Result<void> overlay(core::Table* table, const core::AcquireRequest& request,
                       core::CheckReply& reply) const;
  // After a commit: our artefacts that others removed end their lease or are made again.
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
  // As Publisher's. `fresh`: nobody was told of this lease yet, so it is looked once more who was
  // first.
  Result<std::optional<core::ForeignLock>> publish(const core::Lease& lease, bool fresh);
  // Ends the lease, because this one was first; who was first is brought into the table with it.
  Result<void> withdraw(const core::LeaseId& id, const core::ForeignLock& first);
  std::vector<Unmirrored> unmirrored(const core::Lease& lease) const;
  // Shows what is held in layouts that came later, also where whoever added them died on the way.
  Result<void> show_held();

  // --- Cleaning up; see cleaner.h.
  Result<void> clean() { return layout::clean(table_, layouts_); }
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

  // All of it that needs no request: once a second while somebody waits or runs.
  Result<void> tick();

 private:
  Result<bool> update_layouts();
  Result<std::optional<core::ForeignLock>> find_late_writer(const core::Lease& lease);

  LockTable& table_;
  OpenLayouts layouts_;
  Scan scan_;
  Publisher publisher_;
  std::vector<core::MirrorArtefact> missing_;  // by the last apply()
};

}  // namespace lockkeeper::layout
