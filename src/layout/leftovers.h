// Artefacts of ours that outlived their lease and that no row records any more, so that they look
// like another tool's. No order of steps should leave one; whoever finds one all the same can tell
// by the history that it was ours.
#pragma once

#include <string>
#include <vector>

#include "layout/lock_table.h"

namespace lockkeeper::layout {

struct LeftArtefact {
  std::string layout;
  std::string artefact;
  std::string path;  // of the artefact
  std::string identity;
  core::LeaseId lease;  // of ours, ended, whose name and time it has
  core::Owner owner;
  // The lease lasted for seconds, so nobody else can have made an artefact of the same second.
  bool certain = false;
};

// Locks of other tools, as the table has them, that have the name and the identity of a lease in
// the history which has ended. Writes nothing.
Result<std::vector<LeftArtefact>> find_left_artefacts(LockTable& table);

// Removes those that are certain; returns their number.
Result<std::size_t> remove_left_artefacts(LockTable& table);

}  // namespace lockkeeper::layout
