// Our leases as other tools see them: which artefacts in which layout are ours. We remove what
// these rows record, even after a crash. Anything else belongs to another tool.
//
//   o <layout> 0 <artefact> 0 <id>  → how to tell our artefact from another's of that name
//   u <id>                          → artefacts still to be removed: their lease ended or shrank
#pragma once

#include <string>
#include <vector>

#include "core/state.h"

namespace lockkeeper::core {

// One artefact that mirrors one lease. Shared leases may share an artefact.
struct MirrorArtefact {
  std::string layout;
  std::string artefact;
  LeaseId lease;
  std::string identity;  // of the artefact on disk: who wrote it, and when
  bool live = false;     // the lease is still in the table and still mirrored there
};

// A place as Lease::mirrored_at lists it.
std::string mirror_place(std::string_view layout, std::string_view artefact);
std::string mirror_key(std::string_view place, const LeaseId& lease);
Result<MirrorArtefact> read_mirror_row(const kv::Row& row);  // all but `live`

// Records that these artefacts mirror the lease: in the granting commit, before they are published.
Result<void> record_mirrored(State& state, const LeaseId& lease,
                             const std::vector<MirrorArtefact>& mirrored);
// Whose is this artefact? Empty: not ours. Ended leases first.
Result<std::vector<MirrorArtefact>> mirrored_as(State& state, std::string_view layout,
                                                std::string_view artefact);
// All of a layout, or those of one source: the source itself and `source#entry`. Peeks.
Result<std::vector<MirrorArtefact>> all_mirrored(State& state, std::string_view layout,
                                                 std::string_view source = {});
// Call in the commit in which the lease ends or gives a part back. The artefacts at these places
// of Lease::mirrored_at are then removed by whoever comes next.
Result<void> schedule_removal(State& state, const LeaseId& lease,
                              const std::vector<std::string>& places);
// Another lease now covers what `from` did, which is about to end: its artefacts are that one's.
Result<void> move_mirrored(State& state, Lease& from, const Lease& to);
// The lease lives on, but is no longer mirrored there.
Result<void> unmirror(State& state, const LeaseId& lease, const std::vector<std::string>& places);
// The artefacts of at most `most` leases that wait to be removed. With `layouts`, only those in
// these layouts: the others stay until their layout is back. Peeks.
Result<std::vector<MirrorArtefact>> artefacts_to_remove(
    State& state, std::size_t most, const std::vector<std::string>* layouts = nullptr);
Result<bool> any_to_remove(State& state);
// They are gone from the disk, or now mirror other leases.
Result<void> forget_mirrored(State& state, const std::vector<MirrorArtefact>& mirrored);
// The artefact is about to mirror another of the leases that are recorded for it.
Result<void> mirror_as(State& state, const MirrorArtefact& mirrored, const std::string& identity);

}  // namespace lockkeeper::core
