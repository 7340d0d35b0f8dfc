// One realm's layouts at work (design, section 8): what other tools hold is brought into the table,
// what we hold is shown to them. Internal to the room; Locks is the door.
//
// The order is what makes it safe. Reading: look at the disk, then bring what was seen into the
// table inside the transaction that decides; what seems new is looked at once more in there.
// Writing: prepare beside, record in the granting commit, publish by a step that never replaces,
// look again where the other tool checks before it writes, and only then answer. Removing: end the
// lease, commit, remove the artefact, forget its row. So at any moment, also after a crash, an
// artefact with a row of ours is ours, and any other is not.
//
// Thread safety: none; one Mirror for one operation.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "layout/layout.h"
#include "layout/lock_table.h"
#include "layout/shown_rows.h"

namespace lockkeeper::layout {

class Mirror {
 public:
  explicit Mirror(LockTable& table) : table_(table) {}

  // False: the realm has no layouts, and nothing below need be called.
  Result<bool> open();
  Result<bool> open_to_write(), open(std::vector<LayoutEntry> entries);  // settled_layouts()
  bool any() const { return !layouts_.empty(); }
  Layout* find(std::string_view id) const;
  std::vector<Layout*> layouts() const;

  // Looks at what could overlap these (`spare`: a whole look follows in publish()); at everything.
  Result<void> look(const std::vector<core::Claim>& wanted, bool spare = false);
  Result<void> look_at_all();
  // Looks again at what stands behind these conflicts: another tool's lock, or one taken through a
  // layout. True: some of it is not as the table has it, so decide again.
  Result<bool> verify(const std::vector<core::Conflict>& conflicts);
  // Brings what was seen into the table. True: there is more than one commit should take.
  Result<bool> apply(core::Table& table);
  // What was seen, without writing: takes conflicts that are gone away and adds those that are not
  // in the table yet. `table` is null where there is no store.
  Result<void> overlay(core::Table* table, const core::AcquireRequest& request,
                       core::CheckReply& reply);
  // After a commit: our artefacts that others removed end their lease or are made again.
  Result<void> settle_missing();
  // In the granting commit: prepares and records how the lease is shown.
  Result<void> record(core::Table& table, const core::LeaseId& id);
  // An artefact of another tool that the recorded lease takes over, as it is now.
  void may_replace(const std::string& layout, const std::string& artefact, std::string identity);
  // What record() prepared for a commit that did not come. What did come has a row and is left
  // alone: others may be about to publish it. Within a transaction; outside of any.
  Result<void> discard_unrecorded(core::State& state);
  void discard_unrecorded();
  // After the commit. nullopt: shown everywhere. Else another tool was first, and the lease must be
  // withdrawn and cleaned up after. `fresh`: nobody was told of this lease yet, so it is looked
  // once more who was first.
  Result<std::optional<core::ForeignLock>> publish(const core::Lease& lease, bool fresh);
  // Ends the lease, because this one was first; who was first is brought into the table with it.
  Result<void> withdraw(const core::LeaseId& id, const core::ForeignLock& first);
  std::vector<Unmirrored> unmirrored(const core::Lease& lease) const;
  Result<void> refresh(const std::vector<core::Lease>& renewed);
  // In the commit in which the owner's leases shrank: what shows no more is to be removed.
  Result<void> trim(core::Table& table, const core::Owner& owner);
  Result<void> refresh_all(const core::Owner& owner);
  // Removes the artefacts of ended leases, whoever ended them.
  Result<void> clean();
  // All of the above that needs no request: once a second while somebody waits or runs.
  Result<void> tick();
  Result<void> show_existing();  // in layouts that came later
  // Takes all that shows our leases in this layout away; and forgets what the table knows of it.
  enum class Trouble { kTold, kPassedOver };
  Result<void> hide(const std::string& id, Trouble trouble);
  Result<void> forget_layout(const std::string& id, Trouble trouble);
  // Another tool's artefact, on a person's word; not what shows one of ours there meanwhile.
  Result<void> remove_foreign(const core::Lease& lease);

 private:
  struct Looked {
    Layout* layout = nullptr;
    Seen seen;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> before;  // source, stamp, of the last look
  };
  struct Changes {
    std::set<std::pair<Layout*, std::string>> sources;  // with something new of another tool
    std::vector<core::KnownForeign> gone;
    std::vector<core::Shown> missing;
    bool any() const { return !sources.empty() || !gone.empty() || !missing.empty(); }
  };
  struct Planned {
    Layout* layout = nullptr;
    std::string artefact;
    core::LeaseId lease;
    std::string replaces;  // identity of another tool's artefact that it takes over
  };
  struct View {  // what one look saw, by name
    std::map<std::string_view, const Sighting*> sightings;
    std::set<std::string_view> sources, ours;
  };
  using Relooked = std::map<std::pair<Layout*, std::string>, Seen>;  // in one transaction

  Result<bool> reopen();  // true: layouts were registered or removed since
  Result<void> look(const std::vector<key::Resource>* wanted, bool spare);
  Result<void> add_look(Layout& layout, const Interest& interest, bool spare = false);
  Result<Changes> changes(core::State& state);
  static Result<View> view(core::State& state, const Looked& looked);
  Result<void> look_for_gone(core::State& state, const Looked& looked, const View& view,
                             Changes& changes);
  static Result<bool> is_ours(core::State& state, const Sighting& sighting);
  Result<bool> is_removed(const core::Shown& shown);
  Result<bool> end_gone(core::Table& table, const core::KnownForeign& gone, Relooked& relooked);
  Result<bool> place(core::Table& table, Layout& layout, const std::string& source,
                     Relooked& relooked);
  Result<void> put_stamps(core::State& state, const Looked& looked);
  Result<void> settle_missing(const core::Shown& shown);
  Result<std::optional<core::ForeignLock>> publish_all(const core::Lease& lease);
  void plan(Planned plan);
  Result<std::vector<Standing>> standings(const core::Lease& lease);
  Result<std::optional<core::ForeignLock>> publish_one(const core::Lease& lease,
                                                       const Planned& plan,
                                                       const Standing& standing);
  static Result<Published> show_anew(Layout& layout, const std::string& artefact,
                                     const core::Lease& lease, const PublishTerms& terms);
  Result<bool> is_shown(Layout& layout, const std::string& artefact);
  Result<std::vector<core::Shown>> remove_ended();
  Result<void> forget(const std::vector<core::Shown>& gone);
  Result<bool> still_shows(core::State& state, Layout& layout, const core::Shown& shown);
  Result<std::optional<core::ForeignLock>> look_after(const core::Lease& lease);
  static Result<std::optional<Sighting>> who_is_there(Layout& layout, const std::string& artefact);
  Layout* find_to_remove(std::string_view id) const;  // `off` ones too

  LockTable& table_;
  std::optional<LayoutContext> context_;
  std::vector<LayoutEntry> entries_;
  std::vector<std::unique_ptr<Layout>> layouts_;
  std::vector<std::unique_ptr<Layout>> off_, retired_;  // to remove ours there; for plans of before
  std::map<std::pair<Layout*, core::LeaseId>, std::set<std::string>> showings_;  // of one record()
  std::vector<Looked> looked_;
  std::vector<core::Shown> missing_;
  std::vector<Planned> planned_;
};

}  // namespace lockkeeper::layout
