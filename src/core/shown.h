// Our leases as other tools see them: which artefacts in which layout are ours (design, section 8).
// What these rows record is ours to remove, also after a crash; anything else is another tool's.
//
//   o <layout> 0 <artefact> 0 <id>  → how to tell our artefact from another's of that name
//   u <id>                          → artefacts still to be removed: their lease ended or shrank
#pragma once

#include <string>
#include <vector>

#include "core/state.h"

namespace lockkeeper::core {

// One artefact that shows one lease. Shared leases may share an artefact.
struct Shown {
  std::string layout;
  std::string artefact;
  LeaseId lease;
  std::string identity;  // of the artefact on disk: who wrote it, and when
  bool live = false;     // the lease is still in the table, and shown by it
};

// As Lease::shown has it.
std::string shown_place(std::string_view layout, std::string_view artefact);
std::string shown_key(std::string_view place, const LeaseId& lease);
Result<Shown> read_shown(const kv::Row& row);  // all but `live`

// Records that these show the lease; before they are published, in the granting commit.
Result<void> record_shown(State& state, const LeaseId& lease, const std::vector<Shown>& shown);
// Whose is this artefact? Empty: not ours. Ended leases first.
Result<std::vector<Shown>> shown_as(State& state, std::string_view layout,
                                    std::string_view artefact);
// All of a layout, or those of one source: itself, and `source#entry`. Peeks.
Result<std::vector<Shown>> all_shown(State& state, std::string_view layout,
                                     std::string_view source = {});
// The lease is not shown there any more, because it ended or gave that part back: in the commit
// that does so, and for whoever comes next to remove. `places` are of Lease::shown.
Result<void> to_be_removed(State& state, const LeaseId& lease,
                           const std::vector<std::string>& places);
// The lease lives on without being shown there.
Result<void> unshow(State& state, const LeaseId& lease, const std::vector<std::string>& places);
// Leases whose artefacts nobody has removed yet, at most `most` leases; in these layouts
// alone if they are given, so that what is in others stays until they are back. Peeks.
Result<std::vector<Shown>> to_unshow(State& state, std::size_t most,
                                     const std::vector<std::string>* layouts = nullptr);
Result<bool> any_to_unshow(State& state);
// They are gone from the disk, or other leases show themselves there now.
Result<void> forget_shown(State& state, const std::vector<Shown>& shown);
inline Result<void> forget_shown(State& state, const Shown& shown) {
  return forget_shown(state, std::vector<Shown>{shown});
}
// The artefact is about to show another of the leases that are recorded for it.
Result<void> show_as(State& state, const Shown& shown, const std::string& identity);

}  // namespace lockkeeper::core
